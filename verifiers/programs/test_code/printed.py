"""When what a program printed counts as what it should have."""

from __future__ import annotations

import math

from learnable.verifiers.programs.test_code.equality import TOLERANCE


def same_output(printed: str, expected: str, equality: str) -> bool:
    r"""Compare two texts: `strict` to the character, else without blanks at the ends of lines and of the text.

    `close` compares numbers with a tolerance, word by word, and `unordered` takes the lines in any order.

    >>> same_output("1 2 \n\n", "1 2", "plain"), same_output("0.3333333", "0.33333334", "close")
    (True, True)
    """
    if equality == "strict":
        return printed == expected
    if equality == "close":
        ours, theirs = printed.split(), expected.split()
        return len(ours) == len(theirs) and all(map(_same_word, ours, theirs))
    lines, wanted = _lines(printed), _lines(expected)
    return sorted(lines) == sorted(wanted) if equality == "unordered" else lines == wanted


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def _same_word(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return math.isclose(float(one), float(other), rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    except ValueError:
        return False
