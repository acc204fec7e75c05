r"""Places in a poem, as declarations name them: `n.2 = n+1.1`, `1 = last`, `n.1@6 ~ n.2@6`.

A place is `stanza.line`, or `line` of the whole poem. Each of the two is a sum of numbers, `n` and `last`; a rule with
`n` holds for every n from 1 on for which all its places exist. `last` is the last stanza, or the stanza's (or poem's)
last line. `@s` after a place means the word that ends at, or contains, syllable s; `@3-5` any word that does so for one
of 3 to 5.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from learnable.verifiers.poetry.forms.counts import Count, parse_count

_SUM = re.compile(r"[+-]?(?:\d+|n|last)(?:[+-](?:\d+|n|last))*")
_TERM = re.compile(r"([+-]?)(\d+|n|last)")


class Sum(NamedTuple):
    """`number + n * times_n + last * times_last`."""

    number: int
    times_n: int
    times_last: int

    def value(self, n: int, last: int) -> int:
        """Return the sum for these values."""
        return self.number + self.times_n * n + self.times_last * last


class Coordinate(NamedTuple):
    """A line, or a syllable in it (or any of a range). `stanza` is None where lines are counted from the poem's top."""

    stanza: Sum | None
    line: Sum
    syllable: Count | None = None

    def line_index(self, n: int, stanzas: Sequence[int]) -> int | None:
        """Return the line's index from 0 in a poem of these stanza sizes, or None where there is no such line."""
        if self.stanza is None:
            number, size, before = self.line.value(n, sum(stanzas)), sum(stanzas), 0
        else:
            stanza = self.stanza.value(n, len(stanzas))
            if not 1 <= stanza <= len(stanzas):
                return None
            size, before = stanzas[stanza - 1], sum(stanzas[: stanza - 1])
            number = self.line.value(n, size)
        return before + number - 1 if 1 <= number <= size else None


@cache
def parse_place(text: str) -> Coordinate:
    """Read a place. Raises `ValueError` for text that is not one."""
    where, _, syllable = text.strip().partition("@")
    stanza, dot, line = where.rpartition(".")
    count = None if syllable in ("", "end") else parse_count(int(syllable) if syllable.isdigit() else syllable)
    return Coordinate(_parse_sum(stanza) if dot else None, _parse_sum(line), count)


@cache
def parse_equality(text: str) -> tuple[Coordinate, tuple[Coordinate, ...]]:
    """Read `place = place`, or `place = place or place` where either will do. Raises `ValueError` for anything else."""
    left, equals, right = text.partition("=")
    if not equals:
        raise ValueError(f"{text!r} is not an equality of lines: write 'n.2 = n+1.1'")
    return parse_place(left), tuple(map(parse_place, right.split(" or ")))


@cache
def parse_comparison(text: str) -> tuple[tuple[Coordinate, ...], tuple[Coordinate, ...]]:
    """Read `3, 4 < 1, 2, 5`: each line on the left is shorter than each on the right.

    Raises `ValueError` for anything else.
    """
    left, less, right = text.partition("<")
    if not less:
        raise ValueError(f"{text!r} does not compare lines: write '3, 4 < 1, 2, 5'")
    shorter, longer = (tuple(map(parse_place, side.split(","))) for side in (left, right))
    return shorter, longer


@cache
def parse_link(text: str) -> tuple[Coordinate, Coordinate]:
    """Read `place@syllable ~ place@syllable`: the words there rhyme. Without `@s` it is the line's last word.

    Raises `ValueError` for anything else.
    """
    left, tilde, right = text.partition("~")
    if not tilde:
        raise ValueError(f"{text!r} is not a rhyme inside lines: write 'n.1@6 ~ n.2@6'")
    return parse_place(left), parse_place(right)


def equal_lines(rules: Sequence[str], stanzas: Sequence[int], choice: int = 0) -> list[tuple[int, int]]:
    """Return the pairs of line indexes that rules make equal; `choice` picks among the places after `or`.

    >>> equal_lines(["n.2 = n+1.1", "last.2 = 1.1"], [2, 2])
    [(1, 2), (3, 0)]
    """
    pairs = []
    for left, rights in map(parse_equality, rules):
        right = rights[choice % len(rights)]
        choice = choice // 2 if len(rights) > 1 else choice
        pairs += place_pairs(left, right, stanzas)
    return [(i, j) for i, j in pairs if i != j]


def place_pairs(left: Coordinate, right: Coordinate, stanzas: Sequence[int]) -> list[tuple[int, int]]:
    """Return the line indexes of both places, for each n where both exist."""
    numbers = range(1, sum(stanzas) + 1) if _has_n(left) or _has_n(right) else range(1, 2)
    places = [(left.line_index(n, stanzas), right.line_index(n, stanzas)) for n in numbers]
    return [(i, j) for i, j in places if i is not None and j is not None]


def _has_n(place: Coordinate) -> bool:
    return bool(place.line.times_n or (place.stanza and place.stanza.times_n))


def _parse_sum(text: str) -> Sum:
    text = text.replace(" ", "")
    if not _SUM.fullmatch(text):
        raise ValueError(f"{text!r} is not a place: use numbers, n and last, as in n+1.2 or last")
    number = times_n = times_last = 0
    for sign, term in _TERM.findall(text):
        by = -1 if sign == "-" else 1
        number += by * int(term) if term.isdigit() else 0
        times_n += by * (term == "n")
        times_last += by * (term == "last")
    return Sum(number, times_n, times_last)
