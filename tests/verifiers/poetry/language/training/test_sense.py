"""Where words belong is learned from texts, and what is learned is what the verifier computes."""

from __future__ import annotations

import random

import numpy as np
import pytest

from learnable.verifiers.poetry.language.sense import REACH, STRANGER
from learnable.verifiers.poetry.language.training import sense
from learnable.verifiers.poetry.language.training.corpus import Verse
from learnable.verifiers.poetry.language.training.sense import Pool, make_pools, read_corpus
from learnable.verifiers.poetry.language.word_classes import Vocabulary

CLASSES = Vocabulary(("the", "and"), {"boats": 0, "lamps": 0, "come": 1}, {"": 1, "s": 0}, (0, 1), most_common=2)
LINES = (
    ("the", "boats", "come", "slowly", "home"),
    ("and", "lamps", "are", "lit", "along", "the", "wall"),
    ("the", "women", "lift", "the", "lamps"),
)
VERSE = [Verse("one", LINES), Verse("two", LINES[::-1])]
SENTENCES = [("a", "boat", "is", "a", "small", "vessel"), ("lamps", "give", "light"), ("the", "boats", "come", "home")]


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sense, "MIN_COUNT", 1)
    monkeypatch.setattr(sense, "MIN_DRAWN", 1)


def test_rare_words_have_no_row_but_that_of_their_ending() -> None:
    corpus = read_corpus(VERSE, SENTENCES, CLASSES)
    assert len(corpus.verse) == 2
    assert "vessel" not in corpus.model_words
    assert {"boats", "lamps", "the"} <= set(corpus.model_words)
    number = corpus.words.index("vessel")
    assert corpus.rows[number] == STRANGER
    assert corpus.ends[number] == corpus.model_endings["sel"]
    assert not corpus.meant[0]
    assert [corpus.words[one] for one in corpus.verse[0][1]] == list(LINES[1])


@pytest.mark.usefixtures("_small")
def test_the_verifier_fits_as_the_network_does() -> None:
    import torch

    torch.manual_seed(3)
    corpus = read_corpus(VERSE, SENTENCES, CLASSES)
    network = sense._make_network(corpus).eval()
    tokens = sense._fill([sense._join(corpus.verse[0])])
    inner = slice(REACH, -REACH)
    meant = torch.from_numpy(corpus.meant[tokens[:, inner]])
    rows, ends = torch.from_numpy(corpus.rows[tokens]), torch.from_numpy(corpus.ends[tokens])
    with torch.no_grad():
        places = sense._read_places(network, rows, ends, meant)
        own = network["own"](rows[:, inner]) + network["own_endings"](ends[:, inner])
        wanted = (places @ own.transpose(1, 2))[0][meant[0]][:, meant[0]].numpy()
    found, fits, _ = sense._freeze(network, corpus, ()).fit(LINES)
    assert list(found) == list(np.flatnonzero(meant[0].numpy()))
    assert fits == pytest.approx(wanted, abs=0.02)


@pytest.mark.usefixtures("_small")
def test_words_are_told_from_others_of_their_class() -> None:
    corpus = read_corpus(VERSE, SENTENCES, CLASSES)
    chance = np.random.default_rng(1)
    for pool in make_pools(corpus, chance):
        beside = np.repeat(corpus.verse[0][0], 50)
        meant = beside[corpus.meant[beside]]
        drawn = pool.draw(meant, corpus.kind[meant], chance)
        assert (corpus.kind[drawn] == corpus.kind[meant]).all()
        assert (drawn != meant).any()
    empty = Pool(np.array([1]), np.zeros(99, dtype=np.int64), np.zeros(99, dtype=np.int64))
    assert empty.draw(np.array([7, 8]), np.array([1, 2]), chance).tolist() == [7, 8]


def test_the_background_has_each_word_of_meaning_about_as_often_as_verse_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sense, "BACKGROUND", 20)
    words = ["rose"] * 6 + ["the"] * 90 + ["door"] * 3 + ["lamp"]
    drawn = sense.draw_background([Verse("one", (tuple(words),))])
    assert drawn == ["rose"] * 12 + ["door"] * 6 + ["lamp"] * 2


def test_sentences_that_follow_each_other_are_read_together_and_cut_into_lines() -> None:
    sentences = [np.arange(1, 18), np.arange(20, 41), np.arange(50, 60)]
    passages = [*sense._cut_sentences(sentences, random.Random(2))]
    words = [int(token) for passage in passages for token in passage if token]
    assert words == [int(token) for sentence in sentences for token in sentence]
    assert all(passage[0] == passage[-1] == 0 for passage in passages)
    assert max(np.diff(np.flatnonzero(passages[0] == 0))) <= sense.LINE_WORDS[1] + 1


@pytest.mark.usefixtures("_small")
def test_what_is_learned_tells_a_text_from_one_whose_words_change_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sense, "VERSE_ROUNDS", 600)
    monkeypatch.setattr(sense, "BATCH", 8)
    model = sense.learn_sense(VERSE, SENTENCES, CLASSES, seed=5)
    changed = (("the", "wall", "lit", "boats", "come"), ("and", "home", "are", "slowly", "along", "the", "lamps"))
    assert model.measure(LINES[:2]).lean(0, 0) > 0.5 > model.measure(changed).lean(0, 0)
