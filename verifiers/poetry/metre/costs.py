"""What a line costs in a metre, without saying how it is laid out: the fast half of `alignment`.

The same dynamic programme on three numbers (the least costs with no, one or two weak syllables since the last
beat) for each count of beats, instead of paths; `cramped` and `hurried` ends are left out. This is the inner loop of judging
metre, so it is written out rather than split up.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import inf

from learnable.verifiers.poetry.metre.alignment import OFF_BEAT, ON_BEAT, WRONG_FEET, line_readings
from learnable.verifiers.poetry.metre.metres import Metre
from learnable.verifiers.poetry.metre.stress import Reading

Costs = tuple[float, float, float]
Rows = tuple[Costs, ...]  # by beats so far; the last row is that many or more
SpokenWord = tuple[tuple[float, tuple[tuple[float, float], ...]], ...]  # each reading's cost, and its syllables'

# Costs before any beat and after one, each with no, one or two weak syllables since.
Six = tuple[float, float, float, float, float, float]

_NEVER: Costs = (inf, inf, inf)


def spoken_words(words: Sequence[str]) -> list[SpokenWord]:
    """Return the costs of each word's readings: its own, then on and off the beat for each syllable."""
    return [_spoken(readings) for readings in line_readings(words)]


@lru_cache(maxsize=65_536)
def _spoken(readings: tuple[Reading, ...]) -> SpokenWord:
    return tuple(
        (reading.cost, tuple((ON_BEAT[letter], OFF_BEAT[letter]) for letter in reading.syllables))
        for reading in readings
    )


def metre_cost(line: Sequence[SpokenWord], metre: Metre, feet: int) -> float:
    """Return the least cost of a line in a metre and a number of feet; a foot more or less costs `WRONG_FEET`.

    Counts from `feet + 2` on are not told apart. The cost is inf where no word has a syllable.
    """
    # The row before the beats, then one for each count of beats, the last one for a line begun with an inversion.
    rows: Rows = ((0.0, inf, inf), _NEVER)
    for word in line:
        if len(word) == 1:
            rows = _said(rows, word[0][1], metre, feet + 2)
        else:
            rows = _least([_said(_dearer(rows, cost), syllables, metre, feet + 2) for cost, syllables in word])
    zero, one, two = metre.closing
    ends = [min(a + zero, b + one, c + two) for a, b, c in rows]
    ends[1] = min(ends[1], ends.pop())
    return min((end + WRONG_FEET * abs(beats - feet) for beats, end in enumerate(ends) if beats), default=inf)


def _said(rows: Rows, syllables: Sequence[tuple[float, float]], metre: Metre, most: int) -> Rows:
    """Return the rows after the syllables, each on the beat or off it, with rows for at most `most` beats."""
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
        if len(following) <= most:
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


def _dearer(rows: Rows, cost: float) -> Rows:
    return tuple((a + cost, b + cost, c + cost) for a, b, c in rows) if cost else rows


def rival_cost(line: Sequence[SpokenWord], metre: Metre) -> float:
    """Return the least cost of a line in a metre of any number of feet, without the discount of an inversion."""
    state: Six = (0.0, inf, inf, inf, inf, inf)
    for word in line:
        if len(word) == 1:
            state = _said_freely(state, word[0][1], metre)
        else:
            ways = [[way + cost for way in _said_freely(state, syllables, metre)] for cost, syllables in word]
            first, second, third, a, b, c = map(min, *ways)
            state = (first, second, third, a, b, c)
    zero, one, two = metre.closing
    return min(state[3] + zero, state[4] + one, state[5] + two)


def _said_freely(state: Six, syllables: Sequence[tuple[float, float]], metre: Metre) -> Six:
    first, second, third, a, b, c = state
    none, one, two = metre.between
    first_none, first_one, first_two = metre.opening
    for on, off in syllables:
        beat = on + min(first + first_none, second + first_one, third + first_two, a + none, b + one, c + two)
        first, second, third, a, b, c = inf, first + off, second + off, beat, a + off, b + off
    return first, second, third, a, b, c


def _least(options: Sequence[Rows]) -> Rows:
    # Readings of fewer syllables have fewer rows; the row of an inversion stays the last.
    longest = max(map(len, options))
    level = [(*rows[:-1], *[_NEVER] * (longest - len(rows)), rows[-1]) for rows in options]
    return tuple(
        (min(a for a, _, _ in row), min(b for _, b, _ in row), min(c for _, _, c in row))
        for row in zip(*level, strict=True)
    )
