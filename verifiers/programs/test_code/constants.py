"""The value of an expression that anyone can work out: literals, arithmetic and the constructors of plain values."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

MAX_ITEMS = 100_000
MAX_POWER = 1 << 12  # bits of a result, about

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


class NotConstant(Exception):
    """It depends on something else, or would be very large."""


def constant(node: ast.expr, bound: Mapping[str, Any]) -> Any:
    """Return the value of an expression whose names are in `bound`. Raises `NotConstant`.

    >>> constant(ast.parse("(3 + 5, tuple([-1] * 2))", mode="eval").body, {})
    (8, (-1, -1))
    """
    try:
        return _value(node, bound)
    except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise NotConstant(str(error)) from error


def _value(node: ast.expr, bound: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value) if value is not Ellipsis:
            return value
        case ast.Name(id=name) if name in bound:
            return bound[name]
        case ast.Tuple(elts=items):
            return tuple(_value(item, bound) for item in items)
        case ast.List(elts=items):
            return [_value(item, bound) for item in items]
        case ast.Set(elts=items):
            return {_value(item, bound) for item in items}
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return {_value(key, bound): _value(value, bound) for key, value in zip(keys, values, strict=True) if key}
        case _:
            return _computed(node, bound)


def _computed(node: ast.expr, bound: Mapping[str, Any]) -> Any:
    match node:
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in SIGNS:
            return SIGNS[type(sign)](_value(operand, bound))
        case ast.BinOp(left=left, op=symbol, right=right) if type(symbol) in OPERATORS:
            return _combined(symbol, _value(left, bound), _value(right, bound))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in CONSTRUCTORS:
            return CONSTRUCTORS[name](*(_value(argument, bound) for argument in arguments))
    raise NotConstant(ast.unparse(node))


def _combined(symbol: ast.operator, left: Any, right: Any) -> Any:
    """Apply an operator where the result stays small."""
    if isinstance(symbol, ast.Pow) and not _bits(left) * max(1, abs(right)) <= MAX_POWER:
        raise NotConstant("a large power")
    if isinstance(symbol, ast.Mult):
        for one, other in ((left, right), (right, left)):
            if isinstance(one, str | bytes | list | tuple) and len(one) * other > MAX_ITEMS:
                raise NotConstant("a long repetition")
    if isinstance(symbol, ast.Mod) and isinstance(left, str | bytes):
        raise NotConstant("formatting")  # its width may be any
    return OPERATORS[type(symbol)](left, right)


def _bits(number: Any) -> int:
    return number.bit_length() if isinstance(number, int) else 64
