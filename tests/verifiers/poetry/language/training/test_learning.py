"""What the language model learns from, and that what is fitted is what the verifier computes."""

from __future__ import annotations

import random
from array import array
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from learnable.data.errors import LearnableError
from learnable.verifiers.poetry.language.training.corpus import (
    Example,
    Verse,
    assign_halves,
    draw_grammar,
    make_examples,
    make_nonsense,
    read_own_verse,
    read_verse,
    shuffle,
)
from learnable.verifiers.poetry.language.training.fitting import WeightLayout, count_features, fit_neighbours, quantise
from learnable.verifiers.poetry.language.training.nonsense import load_words, write_nonsense
from learnable.verifiers.poetry.language.word_classes import Vocabulary, load_closed_words

LINE = tuple("the boats come home and every lamp is lit".split())
OTHER = tuple("a heron lifts its foot out of the cold water".split())
WORDS = Vocabulary(
    ("the", "and", "boats"), {"boats": 0, "lamp": 0, "lit": 1}, {"": 1, "s": 0, "er": 2}, (0, 0, 1), most_common=2
)


def test_the_verifier_scores_as_the_regression_does() -> None:
    weights = np.random.default_rng(7).normal(size=WeightLayout.of(WORDS).starts[-1])
    model = quantise(WORDS, weights, 0.25)
    assert isinstance(model.pairs, array)
    features = count_features(WORDS, [Example(LINE, True, True, 1.0), Example(OTHER, True, True, 1.0)])
    exact = features @ weights + 0.25
    for words, wanted in zip((LINE, OTHER), exact, strict=True):
        assert model.score(words) == pytest.approx(wanted, abs=model.step * (2 * len(words) + 1))


def test_edges_count_only_where_a_line_has_them() -> None:
    with_edges, without = (count_features(WORDS, [Example(LINE, True, edges, 1.0)]).sum() for edges in (True, False))
    assert with_edges - without == 2 * 4 + 2  # two pairs, in four tables each, and two triples


def test_lines_are_told_from_the_same_lines_shuffled() -> None:
    chance = random.Random(3)
    examples = [Example(LINE, True, True, 1.0)] * 20
    examples += [Example(shuffle(LINE, chance), False, True, 1.0) for _ in range(20)]
    model = fit_neighbours(WORDS, examples)
    assert model.score(LINE) > 0 > model.score(LINE[::-1])


def test_halves_share_no_author_and_are_alike_in_size() -> None:
    verse = [Verse(f"poet {index % 9}x", (LINE,) * (1 + index % 4)) for index in range(60)]
    halves = assign_halves(verse)
    sizes = [sum(len(poem.lines) for poem in verse if halves[poem.author] == half) for half in (0, 1)]
    assert set(halves) == {poem.author for poem in verse}
    assert abs(sizes[0] - sizes[1]) < sum(sizes) / 4


def test_each_line_comes_with_spoilt_ones_of_its_length() -> None:
    examples = [*make_examples([Verse("one", (LINE, OTHER))], [OTHER[:5]], random.Random(1))]
    spoilt = [example for example in examples if not example.is_language]
    assert [example.words for example in examples if example.is_language] == [LINE, OTHER, OTHER[:5]]
    assert {len(example.words) for example in spoilt} == {len(LINE), len(OTHER), 5}
    assert all(example.words not in (LINE, OTHER) for example in spoilt)


def test_our_own_verse_is_halved_and_nonsense_is_made_to_measure() -> None:
    own = [*read_own_verse()]
    assert len(own) > 1000
    assert all(poem.lines for poem in own)
    assert {poem.author for poem in own} == {"own 0", "own 1"}
    lines = [*make_nonsense(50, random.Random(2))]
    assert len(set(lines)) == 50
    assert min(map(len, lines)) >= 2


def test_missing_verse_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LearnableError, match="LEARNABLE_DATA"):
        next(read_verse(tmp_path / "nowhere"))


def test_nonsense_is_grammatical_and_ends_as_told() -> None:
    chance, words = random.Random(3), load_words()
    lines = [write_nonsense(chance, 6, "slept", "intransitive") for _ in range(30)]
    assert {line[-1] for line in lines} == {"slept"}
    assert all(3 <= len(line) <= 9 for line in lines)
    known = {word for listed in words.values() for word in listed}
    assert {word for line in lines for word in line} <= known | {"slept"}


def test_every_class_of_grammar_is_drawn_as_often() -> None:
    drawn = draw_grammar(random.Random(1))
    counts = Counter(load_closed_words()[word] for word in drawn)
    assert len(counts) == max(load_closed_words().values())
    assert len(set(counts.values())) == 1
