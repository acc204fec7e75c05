"""Test code as data: asserts that compare one call with a literal become cases. The code is read, never run.

A case is one call: the arguments and what is expected of it. Whoever judges a program by cases can keep the
expected answers away from the process that runs it, which test code cannot.
"""

from __future__ import annotations

import ast
import builtins
import json
import math
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from learnable.data.errors import LearnableError
from learnable.data.sources.test_code.literals import literal_value

CHECK = "check"  # the function of HumanEval's tests: it takes the candidate and asserts


class ParsedCase(NamedTuple):
    """One call with its expected answer, as Python values."""

    arguments: tuple[Any, ...]
    expected: Any


class _NoCaseError(LearnableError):
    """A statement that says more than a case can."""


def read_cases(test_code: str, entry: str) -> list[ParsedCase] | None:
    """Return the cases that `test_code` is made of, or None where it is made of anything more.

    It reads top-level asserts on `entry` and those of a `check(candidate)` function, in the forms `call == literal`,
    `literal == call` and `call is None`, with positional literal arguments. Arithmetic on literals counts as a literal.
    Imports, constants and docstrings around them are passed over, since no such assert can depend on them. Tolerances,
    bare truth values, loops, and calls inside calls give None: as cases they would require more, or less.

    >>> read_cases("assert add(1, 2) == 3", "add")
    [ParsedCase(arguments=(1, 2), expected=3)]
    >>> read_cases("assert abs(half(3) - 1.5) < 1e-6", "half") is None
    True
    """
    try:
        cases = list(_read_block(parse(test_code), entry))
    except _NoCaseError:
        return None
    return cases or None


def json_cases(test_code: str, entry: str) -> list[list[Any]] | None:
    """Return the cases as `[[arguments, expected], ...]` where JSON stores every value as it is, else None.

    Tuples, sets, bytes, complex numbers, NaN and infinities, and dictionaries with keys other than text, or out of
    order, come out of canonical JSON as something else or not at all.

    >>> json_cases("assert pair([1]) == [1, 1]", "pair")
    [[[[1]], [1, 1]]]
    >>> json_cases("assert pair([1]) == (1, 1)", "pair") is None
    True
    """
    cases = read_cases(test_code, entry)
    if cases is None or not all(survives_json([*case.arguments, case.expected]) for case in cases):
        return None
    return [[list(case.arguments), case.expected] for case in cases]


def survives_json(value: Any) -> bool:
    """Whether canonical JSON gives `value` back, with the same types and the same order all through.

    It sorts the keys of a dictionary, and a program may depend on their order.

    >>> [survives_json(value) for value in ([1, None, {"a": 2.5}], (1, 2), {1: "a"}, float("nan"), {"b": 1, "a": 2})]
    [True, False, False, False, False]
    """
    match value:
        case None | bool() | int():
            return True
        case float():
            return math.isfinite(value)
        case str():
            return _is_unicode(value)
        case list():
            return all(map(survives_json, value))
        case dict():
            return list(value) == sorted(value, key=str) and all(
                isinstance(key, str) and survives_json([key, item]) for key, item in value.items()
            )
    return False


def find_entry(test_code: str, solution: str | None = None) -> str | None:
    """Return the one function that every top-level assert calls and nothing in the code defines, or None.

    A reference `solution` rules out what it does not define either: a class that the tests make, say.

    >>> find_entry("assert set(evens([1, 2])) == set([2])")
    'evens'
    """
    body = parse(test_code)
    known = {*dir(builtins), *bound_names(body)}
    called = [_called_names(statement) for statement in body if isinstance(statement, ast.Assert)]
    shared = [name for name in called[0] if all(name in names for names in called)] if called else []
    names = [name for name in shared if name not in known]
    if len(names) > 1 and solution:
        functions = [part.name for part in parse(solution) if isinstance(part, ast.FunctionDef)]
        names = [name for name in names if name in functions]
    return names[0] if len(names) == 1 else None


def parse(code: str) -> list[ast.stmt]:
    """Return the statements of the code: none where it is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\\d" in other people's code is no news
            return ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError):
        return []


def _read_block(statements: list[ast.stmt], entry: str) -> Iterator[ParsedCase]:
    for statement in statements:
        match statement:
            case ast.Assert(test=ast.Constant(value=value)) if value:
                continue  # `assert True, "..."` holds for every program
            case ast.Assert(test=test):
                yield _read_compare(test, entry)
            case ast.FunctionDef(name=name, args=ast.arguments(args=[ast.arg(arg=candidate)])) if name == CHECK:
                yield from _read_block(statement.body, candidate)
            case _ if not _is_idle(statement, entry):
                raise _NoCaseError


def _is_idle(statement: ast.stmt, entry: str) -> bool:
    """Whether no assert on literals can depend on the statement."""
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Expr(value=ast.Constant()):
            return entry not in bound_names([statement])
        case ast.Expr(value=ast.Name(id=name)):
            return name in dir(builtins)
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name != entry and _is_literal(value)
        case ast.Expr(value=ast.Call(func=ast.Name(id=called), args=[ast.Name(id=given)], keywords=[])):
            return called == CHECK and given == entry  # the script's own call of its tests
    return False


def _read_compare(test: ast.expr, entry: str) -> ParsedCase:
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            call, literal = (left, right) if isinstance(left, ast.Call) else (right, left)
            return ParsedCase(_read_call(call, entry), _read_literal(literal))
        case ast.Compare(left=call, ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            return ParsedCase(_read_call(call, entry), None)
    raise _NoCaseError


def _read_call(call: ast.expr, entry: str) -> tuple[Any, ...]:
    match call:
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name == entry:
            return tuple(map(_read_literal, arguments))
    raise _NoCaseError


def _read_literal(node: ast.expr) -> Any:
    try:
        return literal_value(node)
    except ValueError as error:
        raise _NoCaseError from error


def _is_literal(node: ast.expr) -> bool:
    try:
        _read_literal(node)
    except _NoCaseError:
        return False
    return True


def _called_names(node: ast.AST) -> list[str]:
    calls = (part for part in ast.walk(node) if isinstance(part, ast.Call))
    return list(dict.fromkeys(call.func.id for call in calls if isinstance(call.func, ast.Name)))


def bound_names(statements: list[ast.stmt]) -> set[str]:
    """Return the names that the statements, or statements inside them, give a value to."""
    names: set[str] = set()
    for node in (part for statement in statements for part in ast.walk(statement)):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names.update((alias.asname or alias.name).split(".")[0] for alias in aliases)
    return names


def _is_unicode(text: str) -> bool:
    try:
        json.dumps(text, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True
