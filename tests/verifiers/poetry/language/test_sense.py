"""Words of meaning fit their own places in sentences, and those of others as well in salad."""

from __future__ import annotations

import random
from dataclasses import replace
from math import exp, log

import numpy as np
import pytest

from learnable.verifiers.poetry.language.model import LanguageModel, load_model, pack_model, unpack_model
from learnable.verifiers.poetry.language.packing import round_numbers
from learnable.verifiers.poetry.language.sense import (
    EDGE_OF_LINE,
    ENDING,
    KNOWN,
    PASSAGE,
    REACH,
    STRANGER,
    SenseModel,
    cut_passages,
    is_meaning,
    measure_sense,
)
from learnable.verifiers.poetry.language.training.corpus import fill_between, read_own_verse
from learnable.verifiers.poetry.poem import read_line
from tests.verifiers.poetry.language.test_reading import DIALECT, NEW, OLD

SIZE, HIDDEN = 3, 5
LINES = [("the", "boats", "come", "slowly", "home"), ("and", "lamps", "are", "lit")]


def make_model(seed: int = 4) -> SenseModel:
    chance = np.random.default_rng(seed)

    def draw(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return round_numbers(chance.normal(size=shape).astype(np.float32))

    words, endings = {"boats": 2, "the": 3, "lit": 4}, {"ats": 1, "mps": 2}
    tables = draw(5, SIZE), draw(3, SIZE), draw(5, SIZE), draw(3, SIZE)
    layers = draw(2 * REACH * SIZE, HIDDEN), draw(HIDDEN), draw(HIDDEN, SIZE), draw(SIZE), draw(SIZE, SIZE)
    return SenseModel(words, endings, *tables, *layers, background=("boats", "clamps", "the"))


def read(poem: str) -> tuple[tuple[str, ...], ...]:
    return tuple(words for line in poem.split("\n") if (words := read_line(line).words))


def measure(lines: tuple[tuple[str, ...], ...]) -> float:
    return load_model().sense.measure(lines).lean(0.0, 0)


def test_a_place_is_told_by_the_words_around_it_and_the_topic() -> None:
    model = make_model()
    places, fits, _ = model.fit(LINES)
    tokens = ["", *LINES[0], "", *LINES[1], ""]
    assert [tokens[place] for place in places] == [word for line in LINES for word in line if is_meaning(word)]
    padded = [""] * REACH + tokens + [""] * REACH
    rows = {word: (model.words.get(word, STRANGER), model.endings.get(word[-ENDING:], 0)) for word in tokens if word}
    rows[""] = (EDGE_OF_LINE, 0)
    assert rows["slowly"] == (STRANGER, 0)
    around = {word: model.context[row] + model.context_endings[end] for word, (row, end) in rows.items()}
    for index, place in enumerate(places):
        near = padded[place : place + REACH] + padded[place + REACH + 1 : place + 2 * REACH + 1]
        hidden = np.maximum(np.concatenate([around[word] for word in near]) @ model.hidden + model.hidden_bias, 0)
        others = np.mean([around[tokens[other]] for other in places if other != place], 0)
        numbers = hidden @ model.outer + model.outer_bias + others @ model.topic
        columns = [*(rows[tokens[other]] for other in places), (2, 1), (STRANGER, 2), (3, 0)]
        for column, (row, end) in enumerate(columns):
            assert fits[index, column] == pytest.approx(
                numbers @ (model.own[row] + model.own_endings[end]), rel=1e-3, abs=1e-3
            )


def test_sense_is_the_mean_log_odds_of_each_word_against_an_average_one() -> None:
    model = make_model()
    _, fits, _ = model.fit(LINES)
    wanted = [row[index] - log(sum(map(exp, row)) / len(row)) for index, row in enumerate(fits.tolist())]
    found, first = model.measure(LINES), sum(map(is_meaning, LINES[0]))
    assert found.counts == (first, len(wanted) - first)
    assert found.sums == pytest.approx([sum(wanted[:first]), sum(wanted[first:])], abs=1e-3)
    assert found.lean(0.0, 0) == pytest.approx(sum(wanted) / len(wanted), abs=1e-3)
    assert found.lean(9.0, 2) == pytest.approx((sum(wanted) + 18) / (len(wanted) + 2), abs=1e-3)


def test_the_word_that_fits_least_is_shown_with_the_one_that_fits_best_there() -> None:
    model = make_model()
    places, fits, _ = model.fit(LINES)
    odds = [row[index] - log(sum(map(exp, row)) / len(row)) for index, row in enumerate(fits.tolist())]
    worst = odds.index(min(odds))
    tokens = ["", *LINES[0], "", *LINES[1], ""]
    found = model.find_misplaced(LINES)
    assert found is not None
    assert found.word == tokens[places[worst]] == LINES[found.line][LINES[found.line].index(found.word)]
    assert found.better == [*(tokens[place] for place in places), *model.background][fits[worst].argmax()]
    assert model.find_misplaced([("the", "boats")]) is None
    assert replace(model, background=()).find_misplaced([("boats", "boats", "boats")]) is None


@pytest.mark.parametrize("poem", [OLD, NEW, DIALECT], ids=["old", "new", "dialect"])
def test_words_of_verse_stand_where_they_belong(poem: str) -> None:
    lines, chance = read(poem), random.Random(7)
    words = [word for line in lines for word in line if is_meaning(word)]
    exchanged = []
    for _ in range(20):
        other = iter(chance.sample(words, len(words)))
        exchanged.append(tuple(tuple(next(other) if is_meaning(word) else word for word in line) for line in lines))
    assert measure(lines) > max(map(measure, exchanged)) + 0.1


def test_other_words_between_those_of_grammar_do_not() -> None:
    chance = random.Random(2)
    drawn = [word for poem in read_own_verse() for line in poem.lines for word in line if is_meaning(word)]
    salads = [tuple(fill_between(line, drawn, chance) for line in read(NEW)) for _ in range(40)]
    assert max(map(measure, salads)) < measure(read(NEW))


def test_words_known_by_their_endings_only_are_counted() -> None:
    found = make_model().measure(LINES)  # of which it knows boats and lit
    assert found.strangers == sum(found.counts) - 2
    assert found.strangeness == found.strangers / (sum(found.counts) + KNOWN)
    assert make_model().list_strangers(LINES) == ["come", "slowly", "home", "lamps"]


def test_a_long_text_is_read_in_passages_between_lines() -> None:
    lines = [("word",) * 30] * 20
    passages = [*cut_passages(lines)]
    assert [line for passage in passages for line in passage] == lines
    assert {sum(len(line) + 1 for line in passage) for passage in passages[:-1]} == {31 * 5}
    assert [len(line) for passage in cut_passages([("word",) * 900]) for line in passage] == [PASSAGE - 2]
    model = make_model()
    assert model.measure(LINES * 60).counts == 60 * model.measure(LINES).counts


@pytest.mark.parametrize("lines", [(), (("rain",),), (("and", "the"), ("of", "it"))])
def test_a_text_of_hardly_a_word_of_meaning_has_no_sense(lines: tuple[tuple[str, ...], ...]) -> None:
    found = measure_sense(lines, make_model())
    assert (found.sums, found.counts) == ((0.0,) * len(lines), (0,) * len(lines))
    assert found.lean(0.5, 3) == 0.5


def test_a_model_that_is_packed_is_the_same() -> None:
    model = make_model()
    other = unpack_model(pack_model(LanguageModel(load_model().neighbours, model))).sense
    assert (other.words, other.endings, other.background) == (model.words, model.endings, model.background)
    assert np.allclose(other.fit(LINES)[1], model.fit(LINES)[1], atol=1e-5)
