"""Which line of a poem stands for which line of its form.

Where the poem has as many lines as the form, each stands for itself. Otherwise they are aligned by dynamic programming
(Needleman and Wunsch 1970), so that a missing or added line costs that one line and does not shift all that follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from learnable.data.forms import span
from learnable.data.forms.plan import NO_RHYME, Plan
from learnable.verifiers.poetry.poem import Poem, PoemLine
from learnable.verifiers.poetry.rhyme.pairs import rhyme_credit

# Larger tables are not worth their time: lines then stand in order. A poem that is nearly of the right length is.
MOST_CELLS, FAR_OFF_CELLS, NEARLY = 20_000, 3_000, 8

Slots = tuple[int | None, ...]


def align(poem: Poem, plan: Plan) -> Slots:
    """Return, for each line of the plan, the index of the poem's line that stands for it, or None."""
    expected, actual = plan.size, len(poem.lines)
    if expected == actual:
        return tuple(range(actual))
    width = min(actual, 2 * expected + 16)
    if expected * width > (MOST_CELLS if abs(expected - actual) <= NEARLY else FAR_OFF_CELLS):
        return tuple(index if index < actual else None for index in range(expected))
    return _trace(_table(_gains(poem, plan, width)), expected, width)


def _gains(poem: Poem, plan: Plan, width: int) -> list[list[float]]:
    """Return what each line of the poem gains by standing for each line of the plan."""
    links, groups = _links(plan.classes), _group_links(plan)
    starts = set(accumulate(plan.stanzas, initial=0))
    tops = set(accumulate(poem.blocks, initial=0)) if len(poem.blocks) > 1 else set()
    rows = []
    for slot in range(plan.size):
        row = []
        for index, line in enumerate(poem.lines[:width]):
            gain = 0.2 + _length_gain(line, plan, slot) + 0.3 * (slot in starts and index in tops)
            gain += _rhyme_gain(poem.lines, index, links[slot])
            gain += sum(_same(poem.lines, index, index + by) for by in groups.get(slot, ()))
            row.append(gain)
        rows.append(row)
    return rows


def _table(gains: list[list[float]]) -> list[list[tuple[float, int]]]:
    """Return the best total up to each cell, and the step that led there: 0 both, 1 slot unfilled, 2 line unused."""
    width = len(gains[0]) if gains else 0
    table = [[(0.0, 2)] * (width + 1)]
    for row in gains:
        above, here = table[-1], [(0.0, 1)]
        for index, gain in enumerate(row):
            options = ((above[index][0] + gain, 0), (above[index + 1][0], 1), (here[index][0], 2))
            here.append(max(options, key=lambda option: option[0]))
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


def _length_gain(line: PoemLine, plan: Plan, slot: int) -> float:
    gain = 0.0
    if plan.syllables and (wanted := plan.syllables[slot]) is not None:
        low, high = span(wanted)
        gain += max(0.0, 1 - min(max(low - count, count - high, 0) for count in line.counts) / max(1, low / 2))
    if plan.words and (wanted := plan.words[slot]) is not None:
        low, high = span(wanted)
        count = len(line.words)
        gain += max(0.0, 1 - max(low - count, count - high, 0) / max(1, low / 2))
    return gain


def _links(classes: Sequence[int]) -> list[tuple[int, ...]]:
    """Return for each line how far before and after it the nearest lines of its class stand."""
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


def _group_links(plan: Plan) -> dict[int, tuple[int, ...]]:
    links: dict[int, tuple[int, ...]] = {}
    for group in plan.groups:
        for one, other in pairwise(group):
            links[one] = (*links.get(one, ()), other - one)
            links[other] = (*links.get(other, ()), one - other)
    return links


def _rhyme_gain(lines: Sequence[PoemLine], index: int, links: Sequence[int]) -> float:
    near = [index + by for by in links if 0 <= index + by < len(lines)]
    return 0.5 * sum(rhyme_credit(lines[index].end, lines[other].end) for other in near)


def _same(lines: Sequence[PoemLine], index: int, other: int) -> float:
    return float(0 <= other < len(lines) and lines[index].words == lines[other].words)
