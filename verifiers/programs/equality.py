"""When an answer counts as the expected one. Both are plain JSON values: a tuple has become a list."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

MAX_DEPTH = 100


def plain(answer: Any, expected: Any) -> bool:
    """Python's own equality: 1, 1.0 and True are equal."""
    try:
        return bool(answer == expected)
    except RecursionError:
        return False


def strict(answer: Any, expected: Any) -> bool:
    """Equality of value and type throughout: 1 is neither 1.0 nor True."""
    return _same(answer, expected, lambda one, other: type(one) is type(other) and bool(one == other))


def close(answer: Any, expected: Any) -> bool:
    """Python's equality, but floats may differ by 1e-6, relative or absolute."""
    return _same(answer, expected, _close_leaf)


EQUALITIES: dict[str, Callable[[Any, Any], bool]] = {"plain": plain, "strict": strict, "close": close}


def _close_leaf(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        numbers = isinstance(one, int | float) and isinstance(other, int | float)
        try:
            return numbers and math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)
        except OverflowError:
            return False
    return bool(one == other)


def _same(one: Any, other: Any, leaf: Callable[[Any, Any], bool], depth: int = 0) -> bool:
    if depth > MAX_DEPTH:
        return False
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_same(a, b, leaf, depth + 1) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key], leaf, depth + 1) for key in one)
    return leaf(one, other)
