"""Words: their syllables, their rhymes, and what is no word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.verifiers.poetry.extraction import poem_lines
from learnable.verifiers.poetry.gate import validity
from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.poetry.rhyme.pairs import FULL, LIGHT, NEAR, SPELLED, rhyme_credit
from learnable.verifiers.poetry.sound.pronunciation import (
    WORDS_A_LICENCE,
    estimated_syllables,
    reachable_counts,
    syllable_counts,
)

WORDS = st.sampled_from(
    "light night tonight knight moon june silver singing morning zzight zrun time rhyme a the".split()
)


@pytest.mark.parametrize(
    ("word", "counts"),
    [
        ("moon", {1}),
        ("silver", {2}),
        ("fire", {1, 2}),
        ("every", {2, 3}),
        ("above", {2}),
        ("ask'd", {1}),
        ("sea's", {1}),
    ],
)
def test_known_words_have_the_dictionarys_counts(word: str, counts: set[int]) -> None:
    assert syllable_counts(word) == counts


@pytest.mark.parametrize(("word", "count"), [("glave", 1), ("brindled", 2), ("moontide", 2), ("brr", 1), ("x", 1)])
def test_unknown_words_are_estimated(word: str, count: int) -> None:
    assert estimated_syllables(word) == count


@given(st.lists(st.sampled_from(["fire", "every", "moon", "our", "silver"]), max_size=6))
def test_reachable_counts_are_all_sums_and_a_licence_for_every_four_words(words: list[str]) -> None:
    sums = {0}
    for word in words:
        sums = {total + count for total in sums for count in syllable_counts(word)}
    reached = reachable_counts(words)
    assert sums <= reached
    licences = -(-len(words) // WORDS_A_LICENCE)
    assert all(min(abs(count - total) for total in sums) <= licences for count in reached)


@pytest.mark.parametrize(
    ("first", "second", "credit"),
    [
        ("light", "tonight", FULL),
        ("moonlight", "night", FULL),
        ("reason", "season", FULL),
        ("leave", "believe", FULL),
        ("light", "light", 0.0),
        ("knight", "night", 0.0),
        ("light", "moon", 0.0),
        ("love", "move", SPELLED),
        ("me", "eternity", FULL),
        ("memory", "eternity", LIGHT),
        ("desire", "aspire", FULL),
        ("singing", "morning", NEAR),
        ("light", "azzight", SPELLED),
        ("light", "azzoom", 0.0),
        ("", "light", 0.0),
    ],
)
def test_rhyme_credit(first: str, second: str, credit: float) -> None:
    assert rhyme_credit(first, second) == credit


@given(WORDS, WORDS)
def test_rhyme_is_symmetric_for_known_words(first: str, second: str) -> None:
    if not {first, second} & {"zzight", "zrun"}:
        assert rhyme_credit(first, second) == rhyme_credit(second, first)
    else:
        assert rhyme_credit(first, second) < FULL


@pytest.mark.parametrize(
    ("text", "words", "strange"),
    [
        ("The moon-lit sea", ("the", "moon", "lit", "sea"), 0),
        ("Caf\u00e9 \u2014 \u201cna\u00efve\u201d, she said\u2026", ("cafe", "naive", "she", "said"), 0),
        ("don\u2019t \ufb01nd", ("don't", "find"), 0),
        ("b4 99 \U0001f600 x", ("x",), 3),
        ("a\u200bb", ("ab",), 0),
    ],
)
def test_words_and_what_is_none(text: str, words: tuple[str, ...], strange: int) -> None:
    (line,) = [read_line(line) for line in poem_lines(text)]
    assert (line.words, line.strange) == (words, strange)


def test_a_poem_ends_where_thinking_never_does() -> None:
    assert poem_lines("<think>An old silent pond") == []
    assert poem_lines("plan</think>\nAn old silent pond") == ["An old silent pond"]


def test_verse_passes_the_gate_and_its_imitations_do_not() -> None:
    verse = [read_line(line) for line in ("Rain on the tin roof", "the old cat turns in her sleep", "a door shuts")]
    assert validity(verse) == 1.0
    assert validity([read_line("b d g k m"), read_line("n p q r t")]) == 0.0
    assert validity([read_line("zorb blat krem"), read_line("fneg drop plish")]) < 0.9
    assert validity([verse[0]] * 3) < 0.9 < validity([verse[0], verse[1], verse[0]], refrain_returns=1)
    assert validity([]) == 0.0
