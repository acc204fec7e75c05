"""Rhyme schemes inferred from sound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.verifiers.poetry.rhyme.pairs import Bond
from learnable.verifiers.poetry.rhyme.schemes import ODDS, Odds, divide_stanza, infer_scheme

WORDS = st.sampled_from(
    "light night knight moon love move stone home singing morning eternity memory me fire desire azzight skies".split()
)


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


def test_the_odds_may_be_others() -> None:
    ends = "hill stone still alone".split()
    assert infer_scheme(ends, Odds(ODDS.bonds, {"x": 0.0})) == ["a", "b", "a", "b"]  # joined where they rhyme
    assert infer_scheme(ends, Odds(dict.fromkeys(Bond, -4.0), ODDS.units)) == ["x"] * 4


def test_a_stanza_is_divided_into_its_likeliest_units() -> None:
    scheme = "ababbcc"
    odds = {True: 5.0, False: -4.5}
    for rare, expected in ((-1.0, ["abab", "bcc"]), (-3.0, ["abab", "x", "aa"])):
        known = {"x": -1.0, "abab": -1.0, "bcc": rare, "aa": -1.0}
        assert divide_stanza(7, lambda i, j: odds[scheme[i] == scheme[j]], known) == expected


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
