"""What reasoning-gym's scorers may evaluate as Python: numbers, names, sums of them, lists, and known functions.

Several hand text to `eval`, and more to sympy, which does: text of a completion, and of a row that anyone may have
written. So `install` puts `evaluate` in the place of `eval` in all of the library's modules, and in sympy's parser.
While a scorer runs (`watched`) that reads the text as a tree, and runs it only where each node is one of a few. Nothing
in such a tree reaches an attribute, an item, or a function that is not in `_CALLED`, and nothing outgrows `_MAX_SIZE`.
Outside of it sympy is as it was, for others who use it.
"""

from __future__ import annotations

import ast
import builtins
import math
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from learnable.data.errors import LearnableError, shorten_reason

_PARSER = "sympy.parsing.sympy_parser"  # whose `eval` all of sympy's readings of text come to
_CALLED = frozenset(
    "exp log ln sqrt cbrt root sin cos tan cot sec csc asin acos atan acot asec acsc sinh cosh tanh coth asinh acosh "
    "atanh erf Abs abs sign Rational Symbol Integer Float".split()
)
_WRITTEN = ("Symbol", "Integer", "Float")  # by sympy's parser, with one argument: a second may be a precision
_GROWING = frozenset({"exp", "sinh", "cosh"})
_LEAVES = (ast.Name, ast.Load, ast.expr_context, ast.operator, ast.unaryop)
_NODES = (ast.Expression, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Call, ast.List, ast.Tuple, *_LEAVES)
_MAX_SIZE = 1 << 17  # bits of a value
_MAX_POWER = 256  # bits of a power of what has names: sympy may multiply it out
_LONG_EXPONENT = re.compile(r"[eE][-+]?\d{4}")
_REFUSALS: ContextVar[list[str] | None] = ContextVar("refusals", default=None)


class RefusedError(LearnableError):
    """A text that is not evaluated, and why."""


@contextmanager
def watched() -> Iterator[list[str]]:
    """Evaluate nothing that `check_expression` refuses until the end of the block. Yields why things were refused.

    Scorers take an error in an answer for a wrong answer, and so the caller is told here.
    """
    refusals: list[str] = []
    token = _REFUSALS.set(refusals)
    try:
        yield refusals
    finally:
        _REFUSALS.reset(token)


def install() -> None:
    """Put `evaluate` in the place of `eval` in the modules of reasoning-gym that are loaded, and in sympy's parser."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "reasoning_gym" or name == _PARSER:
            vars(module)["eval"] = evaluate


def evaluate(source: Any, known: dict[str, object] | None = None, local: Mapping[str, object] | None = None) -> Any:
    """Return what a text is worth, as `eval` does, with the names of `known` and `local`.

    Raises `RefusedError` for what is not to be run, `SyntaxError` for what is no expression, and whatever the sum does.
    """
    refusals = _REFUSALS.get()
    if refusals is None:
        return builtins.eval(source, {} if known is None else known, local)
    try:
        tree = check_expression(source)
    except RefusedError as error:
        refusals.append(str(error))
        raise
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    values = {name: where[name] for where in (known or {}, local or {}) for name in names if name in where}
    return builtins.eval(compile(tree, "<answer>", "eval"), {"__builtins__": {}} | values)


def check_expression(source: object, *, names: bool = True) -> ast.Expression:
    """Return the tree of a text that may be evaluated, without `names` only where it has none.

    Raises `RefusedError` for what may not, and `SyntaxError` for what is no expression.

    >>> check_expression("2*x**3 + log(x)").body.__class__.__name__
    'BinOp'
    """
    if not isinstance(source, str):
        raise RefusedError(f"{type(source).__name__} is no text")
    if "#" in source or _LONG_EXPONENT.search(source):
        raise RefusedError("it has a comment, or an exponent of four digits")
    try:
        tree = ast.parse(source.strip(), mode="eval")
        nodes = list(ast.walk(tree))
        for node in nodes:
            _check_node(node)
        if not names and any(isinstance(node, ast.Name) for node in nodes):
            raise RefusedError("it has names, where numbers alone are known")
        if not _size(tree.body) <= _MAX_SIZE:  # nor where infinities have no sum
            raise RefusedError("it is too large a number or power")
    except (MemoryError, RecursionError) as error:
        raise RefusedError("it is nested too deep") from error
    except ValueError as error:  # a null character
        raise SyntaxError(str(error)) from error
    return tree


def _check_node(node: ast.AST) -> None:
    """Raise `RefusedError` for a node that is none of the few."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            known = not isinstance(op, ast.MatMult) and not (_is_sequence(left) or _is_sequence(right))
        case ast.UnaryOp(op=op, operand=operand):
            known = not isinstance(op, ast.Not) and not _is_sequence(operand)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            known = name in _CALLED and (name not in _WRITTEN or len(args) == 1)
        case ast.Name(id=name):
            known = name in _CALLED or not (name in vars(builtins) or "__" in name)
        case ast.Constant(value=bytes()) | ast.Call():
            known = False
        case _:
            known = isinstance(node, _NODES)
    if not known:
        what = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
        raise RefusedError(f"{shorten_reason(what)} is not evaluated, only numbers, sums, lists and known functions")


def _is_sequence(node: ast.AST) -> bool:
    """Say whether a sum of these would repeat, join or format something."""
    return isinstance(node, ast.List | ast.Tuple) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _size(node: ast.expr) -> float:
    """Return about how many bits a value has at most; a name counts as one."""
    match node:
        case ast.Constant(value=int() as value):
            return float(value.bit_length())
        case ast.Constant(value=float() | complex() as value):
            return math.log2(abs(value) + 1)
        case ast.Constant(value=str() as text):
            return 4.0 * len(text)  # of digits, as sympy's parser writes them
        case ast.UnaryOp(operand=operand):
            return _size(operand)
        case ast.BinOp(left=left, op=op, right=right):
            size = _size_of_sum(_size(left), op, _size(right), right)
            grown = isinstance(op, ast.Pow) and size > _MAX_POWER and _has_unknowns(left)
            return math.inf if grown else size
        case ast.Call(func=ast.Name(id=name), args=args):
            inner = max(map(_size, args), default=0.0)
            return 1.5 * _power_of_two(inner) if name in _GROWING and not _has_unknowns(node) else inner
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return max(map(_size, items), default=0.0)
    return 1.0


def _size_of_sum(left: float, op: ast.operator, right: float, exponent: ast.expr) -> float:
    match op:
        case ast.Pow() if not _has_unknowns(exponent):
            value = _number(exponent)
            return max(left, 1.0) * (_power_of_two(right) if value is None else value)
        case ast.LShift():
            return left + _power_of_two(right)
        case ast.Add() | ast.Sub():
            most, least = max(left, right), min(left, right)
            return most + math.log2(1 + 2 ** (least - most))
    return left + right


def _has_unknowns(node: ast.expr) -> bool:
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return bool(names - _CALLED) or "Symbol" in names


def _power_of_two(exponent: float) -> float:
    return 2 ** min(exponent, 64.0)


def _number(node: ast.expr) -> float | None:
    """Return the magnitude of a number as it is written, or as sympy's parser writes it: `Integer (3)`."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return abs(float(min(value, 1e9)))
        case ast.UnaryOp(operand=operand) | ast.Call(func=ast.Name(id="Integer"), args=[operand]):
            return _number(operand)
    return None
