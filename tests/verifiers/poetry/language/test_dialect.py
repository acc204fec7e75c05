"""Dialect reads as the standard English that it stands for."""

from __future__ import annotations

from learnable.verifiers.poetry.language.dialect import load_dialect
from learnable.verifiers.poetry.language.reading import read_language
from learnable.verifiers.poetry.language.word_classes import load_closed_words
from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.poetry.sound.lexicon import load_lexicon

SCOTS = """I gied my mither a' my shillin' gowd
An' left the toun afore the nicht was auld;
The snaw lay white alang the wa' o' stane,
An' mony a licht was oot, an' I alane."""
STANDARD = """I gave my mother all my shillin' gold
And left the town afore the night was old;
The snow lay white along the wall o' stone,
And many a light was out, and I alone."""


def read(poem: str) -> list[tuple[str, ...]]:
    return [read_line(line).words for line in poem.splitlines()]


def test_a_poem_in_dialect_reads_as_in_standard_english() -> None:
    scots = read_language(read(SCOTS))
    assert scots == read_language(read(STANDARD))
    assert scots.strict >= 0.5


def test_a_line_is_read_into_the_words_of_the_table() -> None:
    words = load_dialect()
    assert [word for word in words if read_line(f"{word} moon").words != (word, "moon")] == []


def test_the_standard_words_are_known_and_none_is_a_word_of_dialect() -> None:
    table = load_dialect()
    known = load_closed_words().keys() | load_lexicon().entries.keys()
    assert set(table.values()) <= known
    assert table.keys().isdisjoint({*table.values(), *load_closed_words()})
