"""Salads of another making keep the shape of their poem and read as no language either."""

from __future__ import annotations

import random

import pytest

from benchmarks.poetry.other_salads import BEYOND, OTHER_SALADS, make_other_salads
from benchmarks.poetry.salads import Pantry
from learnable.verifiers.poetry.language.reading import read_language
from learnable.verifiers.poetry.language.training.corpus import read_own_verse
from learnable.verifiers.poetry.poem import read_line
from tests.verifiers.poetry.language.test_reading import NEW, OLD

LINES = tuple(line for poem in read_own_verse() for line in poem.lines)
PANTRY = Pantry(tuple(word for line in LINES for word in line), LINES)
POEMS = [OLD.split("\n"), NEW.split("\n")]


@pytest.mark.parametrize("kind", [kind for kind in OTHER_SALADS if kind not in BEYOND])
def test_a_salad_has_the_poems_lines_and_no_language(kind: str) -> None:
    for poem in POEMS:
        read = [read_line(line).words for line in poem]
        salads = [[*OTHER_SALADS[kind](PANTRY, read, random.Random(seed))] for seed in range(5)]
        assert {len(salad) for salad in salads} == {len(poem)}
        assert [read_language(salad).strict >= 0.5 for salad in salads] == [False] * 5


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        ("words of the same stress between those of grammar", 0.03),
        ("words of meaning between those of grammar", 0.03),
        ("dictionary words of the same stress between those of grammar", 0.03),
        ("any words of the verse of the same stress between those of grammar", 0.06),
        ("dictionary words of the same ending between those of grammar", 0.03),
        ("another line's words between those of grammar", 0.05),
        ("its own words of meaning in other places", 0.05),
    ],
)
def test_words_of_grammar_that_stay_save_few_salads(kind: str, most: float) -> None:
    reads = [
        read_language([*OTHER_SALADS[kind](PANTRY, [read_line(line).words for line in poem], random.Random(seed))])
        for poem in POEMS
        for seed in range(60)
    ]
    assert sum(reading.strict >= 0.5 for reading in reads) <= most * len(reads)


@pytest.mark.parametrize("kind", sorted(set(OTHER_SALADS) - {"names"}))
def test_the_rhymes_stay(kind: str) -> None:
    salad = make_other_salads(PANTRY, POEMS[1], random.Random(3))[kind]
    assert [line.split()[-1] for line in salad] == [read_line(line).words[-1] for line in POEMS[1]]
