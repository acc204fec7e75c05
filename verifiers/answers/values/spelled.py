"""Whole numbers in English words, from zero to ninety-nine."""

from __future__ import annotations

import re

MAX_NUMBER_WORDS = 4  # of a text that spells out a number and says hardly more

_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()
_UNITS += "sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
SPELLED_NUMBER = rf"\b(?:({'|'.join(_TENS)})(?:[\s-]+({'|'.join(_UNITS[1:10])})\b)?|({'|'.join(_UNITS)})\b)"
_SPELLED = re.compile(SPELLED_NUMBER, re.IGNORECASE)
_LARGER = re.compile(r"\b(?:hundred|thousand|million|billion|dozen|half|thirds?|quarters?|of|or)\b", re.IGNORECASE)


def write_digits(text: str) -> str:
    """Return the text with digits for its numbers in words.

    >>> write_digits("Twenty-one apples, or two")
    '21 apples, or 2'
    """
    return _SPELLED.sub(lambda match: str(_value(match)), text)


def open_spelled(text: str) -> tuple[int, int] | None:
    """Return the number in words that a text opens with, and where it ends, None for a part of a larger one.

    >>> open_spelled("nineteen pears"), open_spelled("two hundred")
    ((19, 8), None)
    """
    match = _SPELLED.match(text)
    if match is None or _LARGER.match(text[match.end() :].lstrip(" -")):
        return None
    return _value(match), match.end()


def read_spelled(text: str) -> int | None:
    """Return the number that a text spells out, with at most two more words behind it.

    >>> read_spelled("Twenty-one apples."), read_spelled("one of them is three"), read_spelled("one hundred")
    (21, None, None)
    """
    match = _SPELLED.match(text.strip(" \t\n*_`.(["))
    if match is None or len(text.split()) > MAX_NUMBER_WORDS or len(_SPELLED.findall(text)) > 1:
        return None
    return None if _LARGER.search(text) else _value(match)


def _value(match: re.Match[str]) -> int:
    tens, unit, small = (part and part.lower() for part in match.groups())
    if small:
        return _UNITS.index(small)
    return 10 * (_TENS.index(tens) + 2) + (_UNITS.index(unit) if unit else 0)
