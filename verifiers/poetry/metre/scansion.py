"""The metre of a line, as metrical annotation and as a reader performs it.

Two notations of stress are in use, and both are given. Asked for a metre, a line is *scanned*: `+` for each beat
of the metre's pattern, its substitutions included, `-` for the rest (the notation of metrical annotation, w and
s). Asked for none, its likeliest metre is found and the line is *performed*: `+` for each syllable that a reader
would stress, so that a noun off the beat is `+` and a preposition on it often `-`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp

from learnable.verifiers.poetry.metre.alignment import PATTERN_FIRST, Alignment, align
from learnable.verifiers.poetry.metre.costs import metre_cost, rival_cost, spoken_words
from learnable.verifiers.poetry.metre.metres import METRES, RIVALS, find_metre
from learnable.verifiers.poetry.metre.scansion import performed

MOST_WORDS = 40  # a longer line is prose and is judged by its beginning


@dataclass(frozen=True, slots=True)
class Scansion:
    """A line's metre, number of beats, marks (one a syllable), syllables, fit in [0, 1], and whether its end is weak."""

    metre: str
    feet: int
    stress: str
    syllables: int
    fit: float
    feminine: bool


def scan(words: Sequence[str], metre: str | None = None, feet: int | None = None) -> Scansion:
    """Return the line's scansion in the metre asked for, or performed in the likeliest one.

    >>> scan("the plowman homeward plods his weary way".split(), "iambic").stress
    '-+-+-+-+-+'

    Raises `LearnableError` for an unknown metre.
    """
    return _scan(tuple(words[:MOST_WORDS]), find_metre(metre).name if metre else None, feet)


@lru_cache(maxsize=16_384)
def _scan(words: tuple[str, ...], metre: str | None, feet: int | None) -> Scansion:
    if metre:
        name, found = metre, align(words, METRES[metre], feet, PATTERN_FIRST)
    else:
        options = [(name, align(words, METRES[name], feet)) for name in METRES]
        name, found = min(options, key=lambda option: option[1].cost + METRES[option[0]].rarity)
    marks = found.beats if metre else performed(found)
    return Scansion(name, found.beats.count("+"), marks, len(marks), fit_of(found), found.beats.endswith("-"))


def fit_of(found: Alignment) -> float:
    """Return exp(-cost per beat), 1 for a line in which nothing departs from the metre."""
    return exp(-found.cost / max(1, found.beats.count("+"))) if found.beats else 0.0


# Cost of a syllable up to which a line keeps its metre wholly, and from which on not at all. Three quarters of
# Shakespeare's lines lie below the first as pentameter, prose of ten syllables about the middle.
_WHOLLY, _NOT_AT_ALL = 0.6, 1.3
_RIVALRY = 0.6  # weight of what the line would cost less in another metre


def metre_credit(words: Sequence[str], metre: str, feet: int) -> float:
    """Return how well a line keeps a metre of so many feet, in [0, 1].

    1 for a line that departs from it no more than most lines of good verse do; less with every
    departure, and where another metre, of any length, would suit the line better.

    >>> metre_credit("the plowman homeward plods his weary way".split(), "iambic", 5)
    1.0

    Raises `LearnableError` for an unknown metre.
    """
    return _credit(tuple(words[:MOST_WORDS]), find_metre(metre).name, feet)


@lru_cache(maxsize=16_384)
def _credit(words: tuple[str, ...], metre: str, feet: int) -> float:
    line = spoken_words(words)
    syllables = sum(len(word[0][1]) for word in line)
    if not syllables:
        return 0.0
    own = metre_cost(line, METRES[metre], feet) / syllables
    if own > _NOT_AT_ALL:
        return 0.0
    if own + _RIVALRY * own > _WHOLLY:  # or no rival could matter
        rival = min(rival_cost(line, other) for other in RIVALS[metre]) / syllables
        own += _RIVALRY * max(0.0, own - rival)
    return min(1.0, max(0.0, (_NOT_AT_ALL - own) / (_NOT_AT_ALL - _WHOLLY)))
