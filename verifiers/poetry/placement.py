"""Which line of a poem goes into which line (slot) of its form.

Where the poem has as many lines as the form, they go in order. Otherwise they are aligned by dynamic programming
(Needleman and Wunsch 1970), so that a missing or added line costs only that line and does not shift all that follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import accumulate, pairwise

from learnable.verifiers.poetry.forms import Count, span
from learnable.verifiers.poetry.forms.plan import NO_RHYME, FormPlan
from learnable.verifiers.poetry.poem import Poem, PoemLine
from learnable.verifiers.poetry.rhyme.pairs import credit_rhyme

# With larger tables the lines go in order, to save time. The bound is higher for a poem of nearly the right length.
MAX_CELLS, MAX_CELLS_FAR_OFF, NEARLY = 20_000, 3_000, 8

Slots = tuple[int | None, ...]


def place_lines(poem: Poem, plan: FormPlan) -> Slots:
    """Return for each line of the plan the index of the poem's line that goes into it, or None."""
    expected, actual = plan.size, len(poem.lines)
    if expected == actual:
        return tuple(range(actual))
    width = min(actual, 2 * expected + 16)
    if expected * width > (MAX_CELLS if abs(expected - actual) <= NEARLY else MAX_CELLS_FAR_OFF):
        return tuple(index if index < actual else None for index in range(expected))
    return _trace(_table(_gains(poem, plan, width)), expected, width)


def _gains(poem: Poem, plan: FormPlan, width: int) -> list[list[float]]:
    """Return what each line of the poem gains in each line of the plan."""
    links, groups = _links(plan.classes), _group_links(plan)
    starts = set(accumulate(plan.stanzas, initial=0))
    tops = set(accumulate(poem.blocks, initial=0)) if len(poem.blocks) > 1 else set()
    lines = poem.lines[:width]

    @cache  # many lines of a plan want the same length, and rhyme as far away
    def lengths(syllables: Count | None, words: Count | None) -> list[float]:
        return [_length_gain(line, syllables, words) for line in lines]

    @cache
    def rhymes(links: tuple[int, ...]) -> list[float]:
        return [_rhyme_gain(poem.lines, index, links) for index in range(len(lines))]

    rows = []
    for slot in range(plan.size):
        opens, equals, row = slot in starts, groups.get(slot, ()), []
        wanted = (counts[slot] if counts else None for counts in (plan.syllables, plan.words))
        for index, (length, rhyme) in enumerate(zip(lengths(*wanted), rhymes(links[slot]), strict=True)):
            gain = 0.2 + length + 0.3 * (opens and index in tops) + rhyme
            row.append(gain + sum(_same(poem.lines, index, index + by) for by in equals))
        rows.append(row)
    return rows


def _table(gains: list[list[float]]) -> list[list[tuple[float, int]]]:
    """Return the best total up to each cell, and its last step: 0 line in slot, 1 slot unfilled, 2 line unused."""
    width = len(gains[0]) if gains else 0
    table = [[(0.0, 2)] * (width + 1)]
    for row in gains:
        above, here = table[-1], [(0.0, 1)]
        for index, gain in enumerate(row):
            best, step = above[index][0] + gain, 0
            if above[index + 1][0] > best:
                best, step = above[index + 1][0], 1
            if here[index][0] > best:
                best, step = here[index][0], 2
            here.append((best, step))
        table.append(here)
    return table


def _trace(table: list[list[tuple[float, int]]], expected: int, width: int) -> Slots:
    slots: list[int | None] = [None] * expected
    slot, index = expected, width
    while slot and index:
        step = table[slot][index][1]
        if step == 0:
            slots[slot - 1] = index - 1
        slot, index = slot - (step != 2), index - (step != 1)
    return tuple(slots)


def _length_gain(line: PoemLine, syllables: Count | None, words: Count | None) -> float:
    gain = 0.0
    if syllables is not None:
        low, high = span(syllables)
        gain += max(0.0, 1 - min(max(low - count, count - high, 0) for count in line.counts) / max(1, low / 2))
    if words is not None:
        low, high = span(words)
        count = len(line.words)
        gain += max(0.0, 1 - max(low - count, count - high, 0) / max(1, low / 2))
    return gain


def _links(classes: Sequence[int]) -> list[tuple[int, ...]]:
    """Return for each line the distances to the nearest lines of its class, before (negative) and after it."""
    places: dict[int, list[int]] = {}
    for index, name in enumerate(classes):
        places.setdefault(name, []).append(index)
    links: list[tuple[int, ...]] = []
    for index, name in enumerate(classes):
        same = places[name] if name != NO_RHYME else []
        near = [other - index for other in same if other != index]
        links.append(
            tuple(
                by
                for by in (max((b for b in near if b < 0), default=0), min((b for b in near if b > 0), default=0))
                if by
            )
        )
    return links


def _group_links(plan: FormPlan) -> dict[int, tuple[int, ...]]:
    links: dict[int, tuple[int, ...]] = {}
    for group in plan.groups:
        for one, other in pairwise(group):
            links[one] = (*links.get(one, ()), other - one)
            links[other] = (*links.get(other, ()), one - other)
    return links


def _rhyme_gain(lines: Sequence[PoemLine], index: int, links: Sequence[int]) -> float:
    near = [index + by for by in links if 0 <= index + by < len(lines)]
    return 0.5 * sum(credit_rhyme(lines[index].end, lines[other].end) for other in near)


def _same(lines: Sequence[PoemLine], index: int, other: int) -> float:
    return float(0 <= other < len(lines) and lines[index].words == lines[other].words)
