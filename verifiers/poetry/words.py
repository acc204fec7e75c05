"""The words of a line, and what in it is none."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from learnable.verifiers.poetry.extraction import normal_text

_TOKEN = re.compile(r"[^\s\-\u2010-\u2015/\u2026]+")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*'?")
_EDGES = "\"'`.,;:!?()[]{}*_<>|~#&\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a\u00a1\u00bf"
_ASCII_WORD = re.compile(r"[a-z]+(?:'[a-z]+)*")
_CLIPPED = frozenset(["th'", "o'", "wi'", "i'", "a'", "an'", "ha'", "thro'", "tho'", "upo'"])
_PARTED_TIS = re.compile(r"'t (?=(?:is|was|were|will|would)\b)")
_LIGATURES = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "ß": "ss", "ł": "l", "ð": "th", "þ": "th"})
_ACUTE_ED = "\u00e9d"
_GRAVE_ED = "\u00e8d"
_LONGEST_WORD = 40  # letters; more are no word of a poem, and looking for its parts would take seconds


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a poem: its words in lower case, and how many of its tokens are no words.

    Hyphens and dashes separate words; numbers, emoji and mixtures such as `b4` are `strange`: nobody can
    count their syllables, so they count against the poem.
    """

    words: tuple[str, ...]
    strange: int = 0


def read_line(text: str) -> Line:
    """Split a line into words, after NFKC and without invisible characters.

    An accent stays only where verse uses it for a syllable, in `wing\u00e8d`; a clipped article joined to its noun is a
    word of its own; `&` is `and`. Letters of other scripts are strange, however much they look like ours.

    >>> read_line("The moon-lit sea -- 'tis 99!")
    Line(words=('the', 'moon', 'lit', 'sea', 'tis'), strange=1)
    >>> read_line("Th'expense & a wing\u00e9d caf\u00e9").words
    ("th'", 'expense', 'and', 'a', 'wing\u00e8d', 'cafe')
    """
    words: list[str] = []
    strange = 0
    lowered = (text if text.isascii() else normal_text(text)).lower()
    if "'t " in lowered:
        lowered = _PARTED_TIS.sub("'t", lowered)
    for token in _TOKEN.findall(lowered):
        found = _words_of(token) if len(token) <= _LONGEST_WORD else None
        if found is None:
            strange += 1
        else:
            words += found
    return Line(tuple(words), strange)


@lru_cache(maxsize=65_536)
def _words_of(token: str) -> tuple[str, ...] | None:
    """Return the words in a token; none in bare punctuation, None for what is no word."""
    if _ASCII_WORD.fullmatch(token) and not token.startswith("th'"):
        return (token,)
    return _odd_token(token) or (None if token.strip(_EDGES) else ())


def _odd_token(token: str) -> tuple[str, ...]:
    """Return the words in a token with punctuation, accents or a clipped article; none where it is no word."""
    if token == "&":
        return ("and",)
    if (core := token.strip(_EDGES.replace("'", "")).lstrip("'")) in _CLIPPED:
        return (core,)
    core = token.strip(_EDGES)
    article = ("th'",) if core.startswith("th'") else ()
    core = core.removeprefix("th'")
    plain = plain_word(core) if _WORD.fullmatch(core) else ""
    return (*article, plain) if plain.removesuffix(_GRAVE_ED).isascii() and plain else ()


@lru_cache(maxsize=4096)
def plain_word(word: str) -> str:
    """Return a word without its accents, as the dictionary has it: `caf\u00e9` is `cafe`; `wing\u00e9d` keeps one."""
    if word.isascii():
        return word
    if word.endswith((_ACUTE_ED, _GRAVE_ED)):
        return plain_word(word[:-2]) + _GRAVE_ED
    spelled = unicodedata.normalize("NFKD", word.translate(_LIGATURES))
    return "".join(c for c in spelled if not unicodedata.combining(c))
