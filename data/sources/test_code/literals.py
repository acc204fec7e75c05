"""The value of an expression that anyone can work out: literals and arithmetic on them. Nothing is run.

Two readers share one walk over the expression. `literal_value` reads what a case of a spec may hold. `constant_value`
also knows names and calls the constructors of plain values, and is for judges, which compare values and never write
them down.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

MAX_LENGTH = 100_000  # of a computed text or list

CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    kind.__name__: kind for kind in (bool, bytes, complex, dict, float, frozenset, int, len, list, set, str, sum, tuple)
} | {"sorted": sorted}
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_SIGNS: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}


def literal_value(node: ast.expr) -> Any:
    """Return the value of a literal or of arithmetic on literals. Raises `ValueError` for anything else.

    >>> [literal_value(ast.parse(code, mode="eval").body) for code in ("[3 * 5, -1]", "'ab' + 'c'", "(1, 2.0 / 4)")]
    [[15, -1], 'abc', (1, 0.5)]
    """
    return _worked_out(node, None)


def constant_value(node: ast.expr, names: Mapping[str, object]) -> Any:
    """Return the value of an expression of literals, of `names`, and of `CONSTRUCTORS`. Raises `ValueError` for others.

    >>> constant_value(ast.parse("(3 + n, tuple([-1] * 2))", mode="eval").body, {"n": 5})
    (8, (-1, -1))
    """
    return _worked_out(node, names)


def _worked_out(node: ast.expr, names: Mapping[str, object] | None) -> Any:
    try:
        return _value(node, names)
    except (TypeError, ArithmeticError, MemoryError, RecursionError) as error:  # TypeError: a set of lists, say
        raise ValueError(f"not a literal: {error}") from error


def _value(node: ast.expr, names: Mapping[str, object] | None) -> Any:
    match node:
        case ast.Constant(value=value) if value is not Ellipsis or names is None:
            return value
        case ast.Tuple(elts=items):
            return tuple([_value(item, names) for item in items])
        case ast.List(elts=items):
            return [_value(item, names) for item in items]
        case ast.Set(elts=items):
            return {_value(item, names) for item in items}
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return {_value(key, names): _value(value, names) for key, value in zip(keys, values, strict=True) if key}
        case ast.BinOp(left=left, op=symbol, right=right) if type(symbol) in _OPERATORS:
            return _combine(symbol, _value(left, names), _value(right, names), named=names is not None)
    return _literal(node) if names is None else _constant(node, names)


def _literal(node: ast.expr) -> Any:
    """Return what only a literal may be besides: a number with a sign, or the empty set."""
    match node:
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=ast.Constant() | ast.BinOp() as operand):
            value = _value(operand, None)
            if type(value) in (int, float, complex):
                return _SIGNS[type(sign)](value)
        case ast.Call(func=ast.Name(id="set"), args=[], keywords=[]):
            return set()
    raise ValueError(f"not a literal: {ast.unparse(node)}")


def _constant(node: ast.expr, names: Mapping[str, object]) -> Any:
    match node:
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _SIGNS:
            return _SIGNS[type(sign)](_value(operand, names))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in CONSTRUCTORS:
            return CONSTRUCTORS[name](*(_value(argument, names) for argument in arguments))
    raise ValueError(f"not a literal: {ast.unparse(node)}")


def _combine(symbol: ast.operator, left: Any, right: Any, *, named: bool) -> Any:
    """Apply an operator where the result stays small."""
    if isinstance(symbol, ast.Mod) and isinstance(left, str | bytes):
        raise ValueError("not a literal: formatting may give any width")
    bits, length = (_constant_size if named else _literal_size)(symbol, left, right)
    # JSON writers refuse an integer of 4,300 digits.
    if not (bits <= 4096 and length <= MAX_LENGTH):  # a size may be NaN
        raise ValueError("not a literal: the value would be too large")
    return _OPERATORS[type(symbol)](left, right)


def _constant_size(symbol: ast.operator, left: Any, right: Any) -> tuple[float, float]:
    """Return about how many bits and items the result has, where that is more than both operands have together."""
    if isinstance(symbol, ast.Pow):
        return _bits(left) * max(1, abs(right)), 0
    if isinstance(symbol, ast.Mult):
        return 0, max((len(one) * other for one, other in _repetitions(left, right)), default=0)
    return 0, 0


def _literal_size(symbol: ast.operator, left: Any, right: Any) -> tuple[float, float]:
    """Return the same, with every integer counted, and a list of lists as too long: a case is written out as JSON."""
    if isinstance(left, int) and isinstance(right, int):
        power = isinstance(symbol, ast.Pow)
        return left.bit_length() * abs(right) if power else left.bit_length() + right.bit_length(), 0
    if isinstance(symbol, ast.Mult):  # one of them repeats the other, or they are floats
        return 0, max((_length(one) * other for one, other in _repetitions(left, right)), default=0)
    return 0, 0


def _repetitions(left: Any, right: Any) -> list[tuple[Any, int]]:
    """Return the sequence that an operand repeats and how often, if one does."""
    pairs = ((left, right), (right, left))
    return [
        (one, other) for one, other in pairs if isinstance(one, str | bytes | list | tuple) and isinstance(other, int)
    ]


def _length(value: Any) -> int:
    if isinstance(value, list | tuple) and any(isinstance(item, list | tuple | dict | set) for item in value):
        return MAX_LENGTH + 1  # repeated lists of lists grow with every level
    return len(value)


def _bits(number: Any) -> int:
    return number.bit_length() if isinstance(number, int) else 64
