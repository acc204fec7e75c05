"""The words of a line, and what in it is not a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.verifiers.poetry.extraction import extract_blocks
from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.poetry.sound.pronunciation import (
    find_line_counts,
)


@pytest.mark.parametrize(
    ("text", "words", "strange"),
    [
        ("The moon-lit sea", ("the", "moon", "lit", "sea"), 0),
        ("Caf\u00e9 \u2014 \u201cna\u00efve\u201d, she said\u2026", ("cafe", "naive", "she", "said"), 0),
        ("don\u2019t \ufb01nd", ("don't", "find"), 0),
        ("b4 999 \U0001f600 x", ("x",), 3),
        ("At 3 a.m. on the 24, by", ("at", "three", "a.m.", "on", "the", "twenty", "four", "by"), 0),
        ("100 men, 20 of the F.B.I.", ("one", "hundred", "men", "twenty", "of", "the", "fbi"), 0),
        ("1. The moon", ("the", "moon"), 1),
        ("I saw the tower fall to dust. 3", ("i", "saw", "the", "tower", "fall", "to", "dust"), 1),
        ("3) The moon of 1999", ("the", "moon", "of"), 2),
        ("a\u200bb", ("ab",), 0),
    ],
)
def test_words_and_what_is_none(text: str, words: tuple[str, ...], strange: int) -> None:
    (line,) = [read_line(line) for block in extract_blocks(text) for line in block]
    assert (line.words, line.strange) == (words, strange)


def test_letters_of_another_script_are_no_word() -> None:
    assert read_line("p\u0430le moon").strange == 1
    assert read_line("p\u0430le moon").words == ("moon",)


@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    line = read_line(text)
    assert all(word == word.lower() and word.strip() for word in line.words)
    assert min(find_line_counts(line.words)) >= 0


def test_a_word_too_long_to_be_one_is_strange() -> None:
    assert read_line("moon " + "a" * 100_000).strange == 1
