"""The cost of a line in feet of three syllables, without the placing of its syllables.

It runs the dynamic programme of `alignment`, but for each count of beats it keeps three numbers instead of paths: the
least costs with no, one or two weak syllables since the last beat. `cramped` and `hurried` ends are left out. It holds
for any of the `METRES`; for feet of two syllables `duple` is faster and knows more licences.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import inf

from learnable.verifiers.poetry.metre.metres import OFF_BEAT, ON_BEAT, WRONG_FEET, Metre
from learnable.verifiers.poetry.metre.stress import StressPattern, find_line_readings

Costs = tuple[float, float, float]
Rows = tuple[Costs, ...]  # one for each number of beats so far; the last is for a line that began with an inversion
SpokenWord = tuple[tuple[float, tuple[tuple[float, float], ...]], ...]  # each reading's cost, and its syllables' costs

_NEVER: Costs = (inf, inf, inf)


def price_words(words: Sequence[str]) -> list[SpokenWord]:
    """Return each word's readings as costs: the reading's own, then a pair (on, off the beat) for each syllable."""
    return [_price_word(readings) for readings in find_line_readings(words)]


@lru_cache(maxsize=65_536)
def _price_word(readings: tuple[StressPattern, ...]) -> SpokenWord:
    return tuple(
        (reading.cost, tuple((ON_BEAT[letter], OFF_BEAT[letter]) for letter in reading.syllables))
        for reading in readings
    )


def find_metre_cost(line: Sequence[SpokenWord], metre: Metre, feet: int) -> float:
    """Return the least cost of a line in a metre and a number of feet; each foot more or less costs `WRONG_FEET`.

    `feet + 2` beats and more count alike. The cost is inf where no word has a syllable.
    """
    # The row before the beats, then one for each count of beats; the last is for a line that began with an inversion.
    rows: Rows = ((0.0, inf, inf), _NEVER)
    for word in line:
        if len(word) == 1:
            rows = _say(rows, word[0][1], metre, feet + 2)
        else:
            rows = _least([_say(_raise_costs(rows, cost), syllables, metre, feet + 2) for cost, syllables in word])
    zero, one, two = metre.closing
    ends = [min(a + zero, b + one, c + two) for a, b, c in rows]
    ends[1] = min(ends[1], ends.pop())
    return min((end + WRONG_FEET * abs(beats - feet) for beats, end in enumerate(ends) if beats), default=inf)


def _say(rows: Rows, syllables: Sequence[tuple[float, float]], metre: Metre, max_beats: int) -> Rows:
    """Return the rows after the syllables, each on the beat or off it, with rows for at most `max_beats` beats."""
    none, one, two = metre.between
    first_none, first_one, first_two = metre.opening
    for on, off in syllables:
        a, b, c = rows[0]
        beat = on + min(a + first_none, b + first_one, c + first_two)
        following: list[Costs] = [(inf, a + off, b + off)]
        inverted = on + a + first_none
        for a, b, c in rows[1:-1]:
            following.append((beat, a + off, b + off))
            beat = on + min(a + none, b + one, c + two)
        if len(following) <= max_beats:
            following.append((beat, inf, inf))
        else:
            a, b, c = following[-1]
            following[-1] = (min(a, beat), b, c)
        a, b, c = rows[-1]
        if c < inf:
            a2, b2, c2 = following[2]
            following[2] = (min(a2, on + c + two - metre.inversion), b2, c2)
        following.append((inverted, a + off, b + off))
        rows = tuple(following)
    return rows


def _raise_costs(rows: Rows, cost: float) -> Rows:
    return tuple((a + cost, b + cost, c + cost) for a, b, c in rows) if cost else rows


def _least(options: Sequence[Rows]) -> Rows:
    # Readings of fewer syllables have fewer rows; the row of an inversion stays the last.
    longest = max(map(len, options))
    level = [(*rows[:-1], *[_NEVER] * (longest - len(rows)), rows[-1]) for rows in options]
    return tuple(
        (min(a for a, _, _ in row), min(b for _, b, _ in row), min(c for _, _, c in row))
        for row in zip(*level, strict=True)
    )
