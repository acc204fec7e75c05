"""A poem as it is judged: its lines read once each, and where blank lines part them."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.poetry.sound.pronunciation import reachable_counts

LONGEST_CACHED = 200  # characters: a line of verse; longer ones must not fill the memory
MOST_WORDS = 120  # of one line: what follows is prose, and its syllables need no count


@dataclass(frozen=True, slots=True)
class PoemLine:
    """A line: its text, its words in lower case, how many tokens are no words, the syllable counts it can have."""

    text: str
    words: tuple[str, ...]
    strange: int
    counts: tuple[int, ...]

    @property
    def end(self) -> str:
        """The last word, or nothing."""
        return self.words[-1] if self.words else ""


@dataclass(frozen=True, slots=True)
class Poem:
    """Lines, and the size of each block that blank lines part (one block where nothing does)."""

    lines: tuple[PoemLine, ...]
    blocks: tuple[int, ...]


def read_poem_line(text: str) -> PoemLine:
    """Read one line; the cache is what makes refrains and common lines cheap."""
    return _cached_line(text) if len(text) <= LONGEST_CACHED else _read(text)


def _read(text: str) -> PoemLine:
    line = read_line(text)
    foreign = 0 if text.isascii() else sum(not word.isascii() and not _is_latin(word) for word in line.words)
    counts = reachable_counts(line.words[:MOST_WORDS])
    return PoemLine(text, line.words, line.strange + foreign, tuple(sorted(counts)))


_cached_line = lru_cache(maxsize=65_536)(_read)


def read_poem(blocks: Sequence[Sequence[str]]) -> Poem:
    """Read blocks of lines. Where every line stands alone the spacing says nothing, and all is one block."""
    lines = tuple(read_poem_line(text) for block in blocks for text in block)
    sizes = tuple(len(block) for block in blocks if block)
    return Poem(lines, (len(lines),) if len(sizes) == len(lines) else sizes)


@lru_cache(maxsize=4096)
def _is_latin(word: str) -> bool:
    """Whether all letters are Latin: a Cyrillic look-alike is no letter of the word it hides in."""
    return all(unicodedata.name(letter, "").startswith("LATIN") or letter == "'" for letter in word)
