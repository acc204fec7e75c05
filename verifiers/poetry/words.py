"""The words of a line, and what in it is none."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_TOKEN = re.compile(r"[^\s\-\u2010-\u2015/\u2026]+")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*'?")
_EDGES = "\"'`.,;:!?()[]{}*_<>|~#&\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a\u00a1\u00bf"
_ASCII_WORD = re.compile(r"[a-z]+(?:'[a-z]+)*")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a poem: its words in lower case, and how many of its tokens are no words.

    Hyphens and dashes separate words; numbers, emoji and mixtures such as `b4` are `strange`: nobody can
    count their syllables, so they count against the poem.
    """

    words: tuple[str, ...]
    strange: int = 0


def read_line(text: str) -> Line:
    """Split a line into words.

    >>> read_line("The moon-lit sea -- 'tis 99!")
    Line(words=('the', 'moon', 'lit', 'sea', 'tis'), strange=1)
    """
    words, strange = [], 0
    for token in _TOKEN.findall(text.lower()):
        if _ASCII_WORD.fullmatch(token):
            words.append(token)
        elif core := token.strip(_EDGES):
            if _WORD.fullmatch(core):
                words.append(plain_word(core))
            else:
                strange += 1
    return Line(tuple(words), strange)


@lru_cache(maxsize=4096)
def plain_word(word: str) -> str:
    """Return a word without its accents, as the dictionary has it: `café` is `cafe`."""
    if word.isascii():
        return word
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
