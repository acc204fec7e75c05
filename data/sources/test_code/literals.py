"""The values of constant expressions in source code: literals, arithmetic on them, and a little more. Nothing is run.

This is the only place that works such values out. `literal_value` is strict: what it takes, JSON may have to store.
`constant_value` also takes names whose values are known and the constructors of plain values.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from learnable.data.errors import LearnableError

MAX_BITS = 4096  # of a whole number that is worked out: JSON writers refuse one of 4,300 digits
MAX_LENGTH = 100_000  # of a text or list that is worked out

CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    kind.__name__: kind for kind in (bool, bytes, complex, dict, float, frozenset, int, len, list, set, str, sum, tuple)
} | {"sorted": sorted}
OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
SIGNS: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}


class NotConstantError(LearnableError):
    """The expression depends on something else, or its value would be very large."""


def literal_value(node: ast.expr) -> Any:
    """Return the value of a literal or of arithmetic on literals. Raises `NotConstantError` for anything else.

    Literals are those of `ast.literal_eval`. A list of lists is not repeated.

    >>> [literal_value(ast.parse(code, mode="eval").body) for code in ("[3 * 5, -1]", "'ab' + 'c'", "(1, 2.0 / 4)")]
    [[15, -1], 'abc', (1, 0.5)]
    """
    return _value_of(node, _Strict())


def constant_value(node: ast.expr, bound: Mapping[str, Any]) -> Any:
    """Return the value of an expression whose names are in `bound`. Raises `NotConstantError` for anything else.

    >>> constant_value(ast.parse("(3 + 5, tuple([-1] * 2))", mode="eval").body, {})
    (8, (-1, -1))
    """
    return _value_of(node, _Evaluator(bound))


class _Evaluator:
    """Works out expressions of literals, known names, signs, operators and constructors."""

    def __init__(self, bound: Mapping[str, Any]) -> None:
        self.bound = bound

    def evaluate(self, node: ast.expr) -> Any:
        match node:
            case ast.Tuple(elts=items):
                return tuple(map(self.evaluate, items))
            case ast.List(elts=items):
                return list(map(self.evaluate, items))
            case ast.Set(elts=items):
                return set(map(self.evaluate, items))
            case ast.Dict(keys=keys, values=values) if None not in keys:
                return {
                    self.evaluate(key): self.evaluate(value) for key, value in zip(keys, values, strict=True) if key
                }
            case ast.BinOp(left=left, op=symbol, right=right) if type(symbol) in OPERATORS:
                return self.combine(symbol, self.evaluate(left), self.evaluate(right))
        return self.evaluate_rest(node)

    def evaluate_rest(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value) if value is not Ellipsis:
                return value
            case ast.Name(id=name) if name in self.bound:
                return self.bound[name]
            case ast.UnaryOp(op=sign, operand=operand) if type(sign) in SIGNS:
                return SIGNS[type(sign)](self.evaluate(operand))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in CONSTRUCTORS:
                return CONSTRUCTORS[name](*map(self.evaluate, arguments))
        raise NotConstantError(f"not a constant: {ast.unparse(node)}")

    def combine(self, symbol: ast.operator, left: Any, right: Any) -> Any:
        """Apply an operator where the result stays small."""
        if isinstance(symbol, ast.Mod) and isinstance(left, str | bytes):
            raise NotConstantError("not a constant: formatted text may be of any width")
        bits = length = 0
        if isinstance(left, int) and isinstance(right, int):
            power = isinstance(symbol, ast.Pow)
            bits = left.bit_length() * abs(right) if power else left.bit_length() + right.bit_length()
        elif isinstance(symbol, ast.Mult):  # one of them repeats the other, or they are floats
            length = max(self.length(left) * _count(right), self.length(right) * _count(left))
        if bits > MAX_BITS or length > MAX_LENGTH:
            raise NotConstantError("not a constant: its value would be too large")
        return OPERATORS[type(symbol)](left, right)

    def length(self, value: Any) -> int:
        return len(value) if isinstance(value, str | bytes | list | tuple) else 0


class _Strict(_Evaluator):
    """Works out what `ast.literal_eval` takes, and arithmetic on it."""

    def __init__(self) -> None:
        super().__init__({})

    def evaluate_rest(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=ast.Constant() | ast.BinOp() as operand):
                value = self.evaluate(operand)
                if type(value) in (int, float, complex):
                    return SIGNS[type(sign)](value)
            case ast.Call(func=ast.Name(id="set"), args=[], keywords=[]):
                return set()
        raise NotConstantError(f"not a literal: {ast.unparse(node)}")

    def length(self, value: Any) -> int:
        if isinstance(value, list | tuple) and any(isinstance(item, list | tuple | dict | set) for item in value):
            return MAX_LENGTH + 1  # repeated lists of lists grow with every level
        return super().length(value)


def _value_of(node: ast.expr, evaluator: _Evaluator) -> Any:
    try:
        return evaluator.evaluate(node)
    except (TypeError, ValueError, ArithmeticError, MemoryError, RecursionError) as error:  # TypeError: a set of lists
        raise NotConstantError(f"not a constant: {error}") from error


def _count(value: Any) -> int:
    return max(0, value) if isinstance(value, int) else 0
