"""How many: a number, or a range, as form declarations write it."""

from __future__ import annotations

import re
from typing import Any, TypeGuard

Count = int | tuple[int, int]  # exactly, or from ... to ...
MAX_COUNT = 100_000  # stands for "no upper bound"

_RANGE = re.compile(r"(\d+)(?:-(\d+)|(\+))?")


def span(count: Count) -> tuple[int, int]:
    """Return the smallest and the largest number that `count` allows.

    >>> span(10), span((14, 16))
    ((10, 10), (14, 16))
    """
    return (count, count) if isinstance(count, int) else count


def parse_count(value: Any) -> Count:
    """Read a whole number, or a text `"14-16"`, `"10+"`. Raises `ValueError` for anything else.

    >>> parse_count("14-16"), parse_count("10+"), parse_count(8)
    ((14, 16), (10, 100000), 8)
    """
    if is_whole(value):
        return value
    match = _RANGE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{value!r} is not a count: give a number, or a range such as '14-16' or '10+'")
    low = int(match[1])
    high = MAX_COUNT if match[3] else int(match[2] or low)
    if low > high or high > MAX_COUNT:
        raise ValueError(f"{value!r} is not a range: its first number is the smallest, its second the largest")
    return low if low == high else (low, high)


def parse_counts(value: Any) -> tuple[Count, ...]:
    """Read one count or a list of them."""
    return tuple(map(parse_count, value)) if isinstance(value, list | tuple) else (parse_count(value),)


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether `value` is a whole number, 0 or more (a boolean is none)."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT


def say_count(count: Count) -> str:
    """Say a count in words.

    >>> say_count((14, 16)), say_count((10, MAX_COUNT))
    ('14 to 16', 'at least 10')
    """
    low, high = span(count)
    if high == MAX_COUNT:
        return f"at least {low}"
    return str(low) if low == high else f"{low} to {high}" if low else f"at most {high}"


def say_counts(counts: tuple[Count, ...]) -> str:
    """Say one count a line: `5, 7 and 5`, or once where all are the same."""
    names = [say_count(count) for count in counts]
    return names[0] if len(set(names)) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
