"""A stand-in for math-verify where that is not installed: sympy reads and compares, alarms end what hangs.

It costs about what the real one does for short answers, and keeps its two functions and its time limits. Figures made
with it are of the pool, not of math-verify.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import sympy


class TimeoutException(BaseException):
    """No `Exception`, as the library's own is none."""


def parse(
    pred: str,
    fallback_mode: str = "first_match",
    parsing_timeout: int | None = 5,
    raise_on_error: bool = False,
) -> list[Any]:
    """Return the expression of a text, an empty list for none."""
    return list(_within(parsing_timeout, lambda: _read(pred), []))


def verify(
    gold: Sequence[Any], target: Sequence[Any], timeout_seconds: int | None = 5, raise_on_error: bool = False
) -> bool:
    """Say whether two parsed answers are equal."""
    return bool(_within(timeout_seconds, lambda: sympy.simplify(gold[0] - target[0]) == 0, False))


def _read(text: str) -> list[Any]:
    if "hang" in text:
        while True:
            pass
    plain = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text).strip("$ ").replace("^", "**")
    with suppress(sympy.SympifyError, TypeError, AttributeError):
        return [sympy.sympify(plain)]
    return []


def _within(seconds: int | None, work: Callable[[], Any], late: Any) -> Any:
    if not seconds:
        return work()

    def ring(*_: object) -> None:
        raise TimeoutException

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        return work()
    except TimeoutException:
        return late
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
