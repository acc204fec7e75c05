"""Every kind of salad keeps the shape of its poem and reads as no language."""

from __future__ import annotations

import random

import pytest

from benchmarks.poetry.salads import SALADS, Pantry, stress_of
from learnable.verifiers.poetry.language.reading import read_language
from learnable.verifiers.poetry.language.training.corpus import read_own_verse
from learnable.verifiers.poetry.poem import read_line
from tests.verifiers.poetry.language.test_reading import NEW, OLD

PANTRY = Pantry(tuple(word for poem in read_own_verse() for line in poem.lines for word in line))
POEMS = [[read_line(line).words for line in poem.split("\n")] for poem in (OLD, NEW)]
# Rhymes among the words of the verse need more verse than we have written.
CASES = [(kind, recipe) for kind in SALADS for recipe in (0, 1) if (kind, recipe) != ("rhyme run", 1)]


@pytest.mark.parametrize(("kind", "recipe"), CASES)
def test_a_salad_has_the_poems_lines_and_no_language(kind: str, recipe: int) -> None:
    for poem in POEMS:
        salad = [*SALADS[kind][recipe](PANTRY, poem, random.Random(5))]
        assert len(salad) == len(poem)
        assert salad != poem
        assert read_language(salad).strict < 0.5


def test_words_of_the_same_stress_have_it_and_the_rhymes_stay() -> None:
    salad = SALADS["same stress"][0](PANTRY, POEMS[0], random.Random(1))
    for before, after in zip(POEMS[0], salad, strict=True):
        assert before[-1] == after[-1]
        assert [*map(stress_of, before)] == [*map(stress_of, after)]


def test_shuffling_keeps_the_words_of_a_line_or_of_the_poem() -> None:
    in_lines = SALADS["shuffled in lines"][0](PANTRY, POEMS[1], random.Random(2))
    in_poem = SALADS["shuffled in poem"][0](PANTRY, POEMS[1], random.Random(2))
    assert [sorted(line) for line in in_lines] == [sorted(line) for line in POEMS[1]]
    assert sorted(word for line in in_poem for word in line) == sorted(word for line in POEMS[1] for word in line)
