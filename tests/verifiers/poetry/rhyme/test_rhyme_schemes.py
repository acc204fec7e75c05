"""Kinds of rhyme, and schemes inferred from sound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.verifiers.poetry.rhyme.pairs import FULL, Bond, bond, repeats, rhyme_credit, rhyme_kind
from learnable.verifiers.poetry.rhyme.schemes import infer_scheme

WORDS = st.sampled_from(
    "light night knight moon love move stone home singing morning eternity memory me fire desire azzight skies".split()
)


@given(WORDS, WORDS)
def test_rhyme_does_not_depend_on_order(first: str, second: str) -> None:
    assert bond(first, second) == bond(second, first)
    assert rhyme_credit(first, second) == rhyme_credit(second, first)
    assert rhyme_kind(first, second) == rhyme_kind(second, first)


@given(WORDS, WORDS)
def test_only_perfect_rhymes_are_full_and_repetitions_earn_nothing(first: str, second: str) -> None:
    credit = rhyme_credit(first, second)
    assert 0.0 <= credit <= FULL
    assert (credit == FULL) == (rhyme_kind(first, second) == "perfect")
    if repeats(first, second):
        assert credit == 0.0


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("light", "tonight", "perfect"),
        ("me", "eternity", "perfect"),
        ("night", "knight", "identical"),
        ("love", "prove", "eye"),
        ("stone", "home", "family"),
        ("singing", "morning", "last"),
        ("memory", "eternity", "last"),
        ("moor", "more", "slant"),
        ("light", "moon", "none"),
        ("", "moon", "none"),
    ],
)
def test_kinds(first: str, second: str, kind: str) -> None:
    assert rhyme_kind(first, second) == kind


def test_unknown_words_never_rhyme_fully() -> None:
    assert bond("azzight", "pzzight") is Bond.GUESSED_SPELLED
    assert rhyme_credit("azzight", "pzzight") < FULL


@pytest.mark.parametrize(
    ("ends", "scheme"),
    [
        ("day may", "aa"),
        ("day night", "xx"),
        ("hill stone still alone", "abab"),
        ("hill stone alone still", "abba"),
        ("garden stone river alone", "xaxa"),
        ("rose shade stone rain", "xxxx"),
        ("hill stone still alone sea tree", "ababcc"),
        ("day stone alone way may bone moan play", "abbaabba"),
        ("chair bear hat cat air", "aabba"),
        ("love stone prove alone", "abab"),
        ("hill stone still grown alone fill", "ababba"),
    ],
)
def test_schemes(ends: str, scheme: str) -> None:
    assert "".join(infer_scheme(ends.split())) == scheme


@given(st.lists(WORDS, max_size=16))
def test_a_scheme_names_every_line_and_no_letter_once(ends: list[str]) -> None:
    scheme = infer_scheme(ends)
    assert len(scheme) == len(ends)
    assert all(letter == "x" or scheme.count(letter) > 1 for letter in scheme)
    letters = list(dict.fromkeys(letter for letter in scheme if letter != "x"))
    assert letters == sorted(letters)


def test_long_poems_have_letters_enough() -> None:
    pairs = "day may hill still stone bone light night moon soon rain pain sea tree house mouse star far"
    scheme = infer_scheme((pairs.split() + ["grass"] * 7) * 4)
    assert len(set(scheme)) >= 9
