"""Sentences have many words of grammar; a few frames, said by turns, always the same."""

from __future__ import annotations

import random

import pytest

from benchmarks.poetry.other_salads import FRAMES, OTHER_SALADS
from benchmarks.poetry.salads import Pantry
from learnable.verifiers.poetry.bounds import GRAMMAR
from learnable.verifiers.poetry.language.grammar import measure_grammar
from learnable.verifiers.poetry.language.reading import read_language
from learnable.verifiers.poetry.language.training.corpus import read_own_verse
from learnable.verifiers.poetry.poem import read_line
from tests.verifiers.poetry.language.test_reading import ANAPHORA, DIALECT, NEW, OLD, REFRAIN

LINES = tuple(line for poem in read_own_verse() for line in poem.lines)
PANTRY = Pantry(tuple(word for line in LINES for word in line), LINES)
LIMERICK = """\
A baker who lived by the weir
Kept a cat that would drink all his beer
When he asked for his mug
She would lie on the rug
And pretend that she just could not hear"""


def words(poem: str) -> list[tuple[str, ...]]:
    return [read_line(line).words for line in poem.split("\n")]


@pytest.mark.parametrize("poem", [OLD, NEW, DIALECT, REFRAIN, LIMERICK])
def test_verse_has_many_words_of_grammar(poem: str) -> None:
    assert measure_grammar(list(dict.fromkeys(words(poem)))) == 1.0


def test_frames_by_turns_have_few() -> None:
    salads = [OTHER_SALADS["many frames"](PANTRY, words(LIMERICK), random.Random(seed)) for seed in range(40)]
    reads = [read_language([tuple(line) for line in salad]).strict >= 0.5 for salad in salads]
    assert sum(reads) <= 8  # a fifth; half of them read as language by their neighbours alone


def test_frames_in_a_longer_poem_are_no_language() -> None:
    chance = random.Random(5)
    poem = [
        (*("night" if word in "NJ" else word for word in chance.choice(FRAMES)), word)
        for word in "sea day rain moon hill door lamp road".split()
    ]
    assert measure_grammar(poem) < 0.5


def test_few_words_of_grammar_tell_nothing() -> None:
    assert measure_grammar([("the", "moon")] * (GRAMMAR.words_told - 1)) == 1.0
    assert measure_grammar([("the", "moon")] * GRAMMAR.words_told) == 0.0


def test_lines_that_a_form_makes_alike_may_have_the_same_words_of_grammar() -> None:
    poem = [("i", "am", "the", noun) for noun in "sea day rain moon hill door lamp road".split()]
    assert measure_grammar(poem) == 0.0
    assert read_language(poem).variety == 0.0
    assert read_language(words(ANAPHORA), may_be_alike=True).strict >= 0.5
