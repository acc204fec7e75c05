"""Rhymes over two words: feminine ends of a light last word."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.verifiers.poetry.rhyme.mosaic import End, credit_mosaic, find_end, list_mosaics
from learnable.verifiers.poetry.rhyme.pairs import FULL_RHYME, SPELLED_RHYME
from learnable.verifiers.poetry.rhyme.rimes import relax

ENDS = st.sampled_from(
    [
        ("show", "it"),
        ("know", "it"),
        ("", "poet"),
        ("no", "it"),
        ("hush", "her"),
        ("", "russia"),
        ("", "zzuttock"),
        ("", "night"),
        ("", ""),
    ]
)


@pytest.mark.parametrize(
    ("first", "second", "credit"),
    [
        (("show", "it"), ("bestow", "it"), FULL_RHYME),
        (("accuse", "thee"), ("misuse", "thee"), FULL_RHYME),
        (("owe", "them"), ("bestow", "them"), FULL_RHYME),
        (("riot", "he"), ("", "variety"), FULL_RHYME),
        (("show", "it"), ("", "poet"), SPELLED_RHYME),
        (("hush", "her"), ("", "russia"), SPELLED_RHYME),
        (("forsook", "her"), ("", "lucca"), SPELLED_RHYME),
        (("show", "it"), ("show", "it"), 0.0),
        (("know", "it"), ("no", "it"), 0.0),
        (("love", "thee"), ("leave", "me"), 0.0),
        (("", "prided"), ("", "decided"), 0.0),
        (("show", "it"), ("", "it"), 0.0),
        (("", ""), ("show", "it"), 0.0),
    ],
)
def test_credit(first: End, second: End, credit: float) -> None:
    assert credit_mosaic(first, second) == credit_mosaic(second, first) == credit


@pytest.mark.parametrize(
    ("line", "end"),
    [
        ("to show it", ("show", "it")),
        ("he gave it to me", ("", "me")),
        ("it", ("", "it")),
        ("a summer night", ("", "night")),
        ("", ("", "")),
    ],
)
def test_only_a_light_word_after_a_heavier_one_is_heard_with_it(line: str, end: End) -> None:
    assert find_end(line.split()) == end


@given(st.lists(ENDS, max_size=7))
def test_every_pair_that_rhymes_over_two_words_is_listed_once(ends: list[End]) -> None:
    pairs = [(i, j, credit_mosaic(ends[i], ends[j])) for i, j in combinations(range(len(ends)), 2)]
    assert sorted(list_mosaics(ends, len(ends))) == [pair for pair in pairs if pair[2]]
    assert sorted(list_mosaics(ends, 1)) == [pair for pair in pairs if pair[2] and pair[1] - pair[0] == 1]


@pytest.mark.parametrize(
    ("tail", "said"),
    [
        ("AH T ER", "AH T AH"),
        ("AO R TH", "AO TH"),
        ("AO R IY", "AO R IY"),
        ("AH F IH NG", "AH F AH N"),
        ("AH NG", "AH NG"),
        ("AA R T", "AA R T"),
        ("ER D", "ER D"),
    ],
)
def test_easy_speech(tail: str, said: str) -> None:
    assert relax(tuple(tail.split())) == tuple(said.split())
