"""How lines are built inside: their caesura, the length of their last word, and whether they are of like length."""

from __future__ import annotations

from functools import lru_cache

from learnable.verifiers.poetry.constraints.case import Case, Result, each_line, near
from learnable.verifiers.poetry.poem import PoemLine
from learnable.verifiers.poetry.sound.pronunciation import syllable_counts


@each_line
def caesura(case: Case, line: PoemLine) -> float:
    """Share of lines in which a word ends at the caesura's syllable."""
    return float(case.form.caesura in word_ends(line.words))


@lru_cache(maxsize=65_536)
def word_ends(words: tuple[str, ...]) -> frozenset[int]:
    """Return the syllables at which a word can end, the last word left out: nothing is parted there.

    >>> sorted(word_ends(("the", "silver", "moon")))
    [1, 3]
    """
    ends: set[int] = set()
    reached = {0}
    for word in words[:-1]:
        reached = {start + count for start in reached for count in syllable_counts(word)}
        ends |= reached
    return frozenset(ends)


def end_syllables(case: Case) -> Result:
    """Share of lines whose last word has the syllables asked for."""
    wanted = case.form.end_syllables
    credits = []
    for slot, line in enumerate(case.lines):
        counts = syllable_counts(line.end) if line and line.end else frozenset({0})
        credits.append(max(near(count, wanted[slot % len(wanted)], slack=2) for count in counts) if line else 0.0)
    return case.per_line(credits)


def even(case: Case) -> Result:
    """Share of lines whose lengths in syllables lie within `even` of each other, for the best such span."""
    width = case.form.even
    lines = case.said()
    starts = {count for line in lines for count in line.counts}
    best = max(starts, key=lambda low: sum(_within(line, low, low + width) for line in lines), default=0)
    return case.per_line([max(near(count, (best, best + width)) for count in line.counts) for line in lines])


def _within(line: PoemLine, low: int, high: int) -> bool:
    return any(low <= count <= high for count in line.counts)
