"""A poem as it is judged: its lines, the words of each line, and the blocks that blank lines divide it into."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from learnable.verifiers.poetry.extraction import normalise_text
from learnable.verifiers.poetry.sound.pronunciation import is_listed, list_line_counts
from learnable.verifiers.poetry.sound.word_table import WordTable

MAX_CACHED = 200  # characters: longer lines are not verse and must not fill the memory

_TOKEN = re.compile(r"[^\s\-\u2010-\u2015/\u2026]+")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*'?")
_EDGES = "\"'`.,;:!?()[]{}*_<>|~#&\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a\u00a1\u00bf"
_ASCII_WORD = re.compile(r"[a-z]+(?:'[a-z]+)*")
_CLIPPED = frozenset(  # without their apostrophe they would be other words, or none
    """th' o' wi' i' a' an' ha' thro' tho' upo' awa' ca' fa' fo' fu' mo' mou' po' sho' sma' twa' wa' yo'""".split()
)
_INITIALS = re.compile(r"(?:[a-z]\.)+[a-z]")
_NUMBER = re.compile(r"[1-9]?\d|100")  # of which it is plain how it is said
_EDGES_OF_NUMBER = "\"'`,;!?(*_"  # what else may stand beside it: with a full stop it may number the line
_UNITS = tuple(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen""".split()
)
_TENS = tuple("twenty thirty forty fifty sixty seventy eighty ninety".split())
_PARTED_TIS = re.compile(r"'t (?=(?:is|was|were|will|would)\b)")
_LIGATURES = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "ß": "ss", "ł": "l", "ð": "th", "þ": "th"})
_GRAVE_ED = "\u00e8d"
_MAX_WORD = 40  # letters; longer tokens are not words, and to look for their parts would take seconds


@dataclass(frozen=True, slots=True)
class Line:
    """The words of a line in lower case, and how many of its tokens are not words.

    Hyphens and dashes separate words. Numbers from 0 to 100 are the words for them. Greater ones, those that may number
    a line (`1.`) or a note (at its end), emoji and mixtures such as `b4` are `strange`: they count against the poem.
    """

    words: tuple[str, ...]
    strange: int = 0


@dataclass(frozen=True, slots=True)
class PoemLine:
    """A line of a poem: `Line`'s words and strange tokens, with its text and its possible syllable counts, sorted."""

    text: str
    words: tuple[str, ...]
    strange: int
    counts: tuple[int, ...]

    @property
    def end(self) -> str:
        """The last word, or an empty string."""
        return self.words[-1] if self.words else ""


@dataclass(frozen=True, slots=True)
class Poem:
    """The lines of a poem, and the number of lines in each block; blank lines separate the blocks."""

    lines: tuple[PoemLine, ...]
    blocks: tuple[int, ...]


def read_poem(blocks: Sequence[Sequence[str]]) -> Poem:
    """Read blocks of lines. Where every block is a single line, all lines are one block."""
    lines = tuple(read_poem_line(text) for block in blocks for text in block)
    sizes = tuple(len(block) for block in blocks if block)
    return Poem(lines, (len(lines),) if len(sizes) == len(lines) else sizes)


def read_poem_line(text: str) -> PoemLine:
    """Read one line. Lines are cached, so that refrains and common lines are read once."""
    return _cached_line(text) if len(text) <= MAX_CACHED else _read_poem_line(text)


def _read_poem_line(text: str) -> PoemLine:
    words, strange = _split(text)
    if not text.isascii():
        strange += sum(not word.isascii() and not _is_latin(word) for word in words)
    # What follows 120 words is prose, and its syllables are not counted.
    return PoemLine(text, words, strange, list_line_counts(words[:120]))


_cached_line = lru_cache(maxsize=65_536)(_read_poem_line)


@lru_cache(maxsize=4096)
def _is_latin(word: str) -> bool:
    """Whether all letters are Latin; a similar Cyrillic letter is not."""
    return all(unicodedata.name(letter, "").startswith("LATIN") or letter == "'" for letter in word)


def read_line(text: str) -> Line:
    """Split a line into words, after NFKC and without invisible characters.

    An accent stays only where verse uses it for a syllable, as in `wing\u00e8d`. A clipped article before its noun is a
    separate word, and `&` is `and`. Letters of other scripts are strange, even where they look like Latin ones.

    >>> read_line("The moon-lit sea -- 'tis 1999!")
    Line(words=('the', 'moon', 'lit', 'sea', 'tis'), strange=1)
    >>> read_line("at 3 a.m. on the 24 bus").words
    ('at', 'three', 'a.m.', 'on', 'the', 'twenty', 'four', 'bus')
    >>> read_line("Th'expense & a wing\u00e9d caf\u00e9").words
    ("th'", 'expense', 'and', 'a', 'wing\u00e8d', 'cafe')
    """
    return Line(*_split(text))


def _split(text: str) -> tuple[tuple[str, ...], int]:
    """Return the words of a line, and how many of its tokens are not words."""
    words: list[str] = []
    strange = 0
    lowered = (text if text.isascii() else normalise_text(text)).lower()
    if "'t " in lowered:
        lowered = _PARTED_TIS.sub("'t", lowered)
    tokens = _TOKEN.findall(lowered)
    for token in tokens:
        known = _WORDS[token] if len(token) <= _MAX_WORD else None
        if known is None and token != tokens[-1] and _NUMBER.fullmatch(core := token.strip(_EDGES_OF_NUMBER)):
            words += _spell_number(int(core))
        elif known is None:
            strange += 1
        else:
            words += known
    return tuple(words), strange


def _words_of(token: str) -> tuple[str, ...] | None:
    """Return the words in a token; an empty tuple for bare punctuation, None for what is not a word."""
    if _ASCII_WORD.fullmatch(token) and not token.startswith("th'"):
        return (token,)
    return _odd_token(token) or (None if token.strip(_EDGES) else ())


_WORDS = WordTable(_words_of)


def _odd_token(token: str) -> tuple[str, ...]:
    """Return the words in a token with punctuation, accents or a clipped article; empty where it is not a word."""
    if token == "&":
        return ("and",)
    if (core := token.strip(_EDGES.replace("'", "")).lstrip("'")) in _CLIPPED:
        return (core,)
    core = token.strip(_EDGES)
    if _INITIALS.fullmatch(core):
        return (f"{core}." if is_listed(f"{core}.") else core.replace(".", ""),)
    article = ("th'",) if core.startswith("th'") else ()
    core = core.removeprefix("th'")
    plain = drop_accents(core) if _WORD.fullmatch(core) else ""
    return (*article, plain) if plain.removesuffix(_GRAVE_ED).isascii() and plain else ()


def _spell_number(number: int) -> tuple[str, ...]:
    """Return the words of a number from 0 to 100."""
    if number == 100:
        return "one", "hundred"
    if number < len(_UNITS):
        return (_UNITS[number],)
    tens, units = divmod(number, 10)
    return (_TENS[tens - 2], _UNITS[units]) if units else (_TENS[tens - 2],)


@lru_cache(maxsize=4096)
def drop_accents(word: str) -> str:
    """Return a word as the dictionary spells it: `caf\u00e9` as `cafe`; the accented ending of `wing\u00e9d` stays."""
    if word.isascii():
        return word
    if word.endswith(("\u00e9d", _GRAVE_ED)):
        return drop_accents(word[:-2]) + _GRAVE_ED
    spelled = unicodedata.normalize("NFKD", word.translate(_LIGATURES))
    return "".join(c for c in spelled if not unicodedata.combining(c))
