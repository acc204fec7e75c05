"""Expressions that math-verify has read, tried with numbers in place of their letters.

It spares `simplify`, which may take minutes to find that two expressions differ, sees small numbers apart, which
math-verify rounds to six places, and equations without real solutions, which are all equal to it.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from fractions import Fraction
from math import isfinite
from typing import Any

from learnable.verifiers.answers.expressions.whole import IMAGINARY

TRIAL_POINTS = (Fraction(13, 10), Fraction(-27, 10))  # the first letter's number; each further one is a seventh more
NUMERIC_TOLERANCE = 2e-6  # of a number: so far off may be what has six digits
_NO_VALUE = (
    ValueError,
    TypeError,
    ZeroDivisionError,
    OverflowError,
    AttributeError,
    KeyError,
    NotImplementedError,
    SyntaxError,
)


def differ(one: Any, other: Any) -> bool:
    """Say whether two expressions differ by more than rounding where their letters stand for some numbers.

    Of equations, whether one holds where the other does not.
    """
    kinds = [getattr(each, "is_Equality", False) for each in (one, other)]
    if any(kinds):
        return all(kinds) and (_is_broken(one, other) or _is_broken(other, one))
    if getattr(one, "is_Relational", True) or getattr(other, "is_Relational", True):
        return False
    for point in TRIAL_POINTS:
        places = _places(point, one, other)
        gold, given = _value(one, places), _value(other, places)
        if (
            gold is not None
            and given is not None
            and abs(gold - given) > NUMERIC_TOLERANCE * max(abs(gold), abs(given))
        ):
            return True
    return False


def _is_broken(one: Any, other: Any) -> bool:
    """Say whether an equation fails at a place, found by Newton's steps along one letter, where the other one holds."""
    places = _places(TRIAL_POINTS[0], one, other)
    first, tried = (each.lhs - each.rhs for each in (one, other))
    for letter in sorted(first.free_symbols, key=str):
        rest = {each: place for each, place in places.items() if each.name != letter.name}
        root = _find_root(first.subs(rest), letter)
        if root is not None:
            value = _value(tried, {**rest, **{each: root for each in places if each.name == letter.name}})
            # So far off may be an equation's sides at a root that Newton's steps found.
            return value is not None and abs(value) > NUMERIC_TOLERANCE * 100
    return False


def _find_root(expression: Any, letter: Any) -> Any:
    try:
        root = importlib.import_module("sympy").nsolve(expression, letter, complex(1.3, 0.7))
    except _NO_VALUE:
        return None
    return root if abs(complex(root)) < 1 / NUMERIC_TOLERANCE else None


def _places(point: Fraction, *expressions: Any) -> dict[Any, Fraction]:
    """Return a number for every letter; letters of one name have the same, whatever else is known of them."""
    letters = {letter for each in expressions for letter in each.free_symbols}
    names = sorted({letter.name for letter in letters})
    return {letter: point + Fraction(names.index(letter.name), 7) for letter in letters}


def _value(expression: Any, places: Mapping[Any, Any]) -> complex | None:
    try:
        value = complex(expression.subs(places).evalf())
    except _NO_VALUE:
        return None
    return value if isfinite(abs(value)) else None


def write_imaginary(expression: Any) -> Any:
    """Return an expression of math-verify with the imaginary unit in place of the name that it was read under."""
    letters: set[Any] = getattr(expression, "free_symbols", set())
    named = {letter: importlib.import_module("sympy").I for letter in letters if letter.name == IMAGINARY}
    return expression.xreplace(named) if named else expression
