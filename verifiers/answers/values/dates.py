"""Dates as people write them, as ISO has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Literal

DateOrder = Literal["mdy", "dmy"]

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = r"(?P<month>" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _MONTHS) + r"|sept)\.?"
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[0-9]{4})"
_WRITTEN = (
    re.compile(rf"(?<![\w.]){_YEAR}[-/.](?P<month>[0-9]{{1,2}})[-/.](?P<day>[0-9]{{1,2}})(?![\w-])"),
    re.compile(rf"(?<![\w.]){_DAY}(?:\s+of)?[\s-]+{_MONTH},?[\s-]+{_YEAR}(?!\w)", re.IGNORECASE),
    re.compile(rf"(?<!\w){_MONTH}\s+(?:the\s+)?{_DAY},?\s+{_YEAR}(?!\w)", re.IGNORECASE),
    re.compile(rf"(?<![\w.]){_YEAR},?\s+{_MONTH}\s+{_DAY}(?!\w)", re.IGNORECASE),
)
_NUMBERS = re.compile(
    rf"(?<![\w./-])(?P<first>[0-9]{{1,2}})(?P<by>[./-])(?P<second>[0-9]{{1,2}})(?P=by){_YEAR}(?![\w-])"
)


def find_dates(text: str, order: DateOrder | None = None) -> Iterator[tuple[str | None, int, int]]:
    """Yield each date of a text as ISO text with its start and end, in order.

    03/04/2024 is two dates: without an `order` it is None, unless only one reading is a date; with points the day comes
    first. What no calendar has, as 30 February, is None too.

    >>> [date[0] for date in find_dates("29 Feb 2024, 31/12/1999, 3/4/2024, 1.2.2003")]
    ['2024-02-29', '1999-12-31', None, '2003-02-01']
    """
    dates = [(_written(match), *match.span()) for pattern in _WRITTEN for match in pattern.finditer(text)]
    dates += [(_numbers(match, order), *match.span()) for match in _NUMBERS.finditer(text)]
    end = 0
    for day, start, stop in sorted(dates, key=lambda one: (one[1], -one[2])):
        if start >= end:
            yield day, start, stop
            end = stop


def _written(match: re.Match[str]) -> str | None:
    month = match["month"].casefold()
    number = int(month) if month.isdigit() else [name[:3] for name in _MONTHS].index(month[:3]) + 1
    return _iso(int(match["year"]), number, int(match["day"]))


def _numbers(match: re.Match[str], order: DateOrder | None) -> str | None:
    first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
    if match["by"] == ".":
        order = "dmy"
    month_first, day_first = _iso(year, first, second), _iso(year, second, first)
    if order is not None:
        return month_first if order == "mdy" else day_first
    if month_first and day_first and month_first != day_first:
        return None
    return month_first or day_first


def _iso(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None
