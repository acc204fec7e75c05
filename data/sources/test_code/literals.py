"""The values of literals in source code, arithmetic on literals included; nothing is run."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

MAX_BITS = 4096  # of a folded integer: JSON writers refuse one of 4,300 digits
MAX_LENGTH = 100_000  # of a folded text or list

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


def literal_value(node: ast.expr) -> Any:
    """Return the value of a literal or of arithmetic on literals. Raises `ValueError` for anything else.

    >>> [literal_value(ast.parse(code, mode="eval").body) for code in ("[3 * 5, -1]", "'ab' + 'c'", "(1, 2.0 / 4)")]
    [[15, -1], 'abc', (1, 0.5)]
    """
    try:
        return ast.literal_eval(_Folder().visit(node))
    except (TypeError, ArithmeticError, MemoryError, RecursionError) as error:  # TypeError: a set of lists, say
        raise ValueError(f"no literal: {error}") from error


class _Folder(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Replace arithmetic on literals by its result."""
        left, right = literal_value(node.left), literal_value(node.right)
        action = _OPERATORS.get(type(node.op))
        formats = isinstance(node.op, ast.Mod) and isinstance(left, str | bytes)  # may ask for any width
        if action is None or formats:
            raise ValueError("no literal: an operator that is not folded")
        _check_size(node.op, left, right)
        return ast.Constant(action(left, right))


def _check_size(action: ast.operator, left: Any, right: Any) -> None:
    bits = length = 0
    if isinstance(left, int) and isinstance(right, int):
        power = isinstance(action, ast.Pow)
        bits = left.bit_length() * abs(right) if power else left.bit_length() + right.bit_length()
    elif isinstance(action, ast.Mult):  # one of them repeats the other, or they are floats
        length = max(_length(left) * _count(right), _length(right) * _count(left))
    if bits > MAX_BITS or length > MAX_LENGTH:
        raise ValueError("no literal: its value would be too large")


def _length(value: Any) -> int:
    if isinstance(value, list | tuple) and any(isinstance(item, list | tuple | dict | set) for item in value):
        return MAX_LENGTH + 1  # repeated lists of lists grow with every level
    return len(value) if isinstance(value, str | bytes | list | tuple) else 0


def _count(value: Any) -> int:
    return max(0, value) if isinstance(value, int) else 0
