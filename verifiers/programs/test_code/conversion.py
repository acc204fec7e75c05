"""Test code as cases: `assert f(1) == 2` becomes a call and its expected answer, so that both stay apart.

Reads HumanEval's `check(candidate)` and MBPP's lists of asserts, without running anything. What it does not
understand it leaves alone: then the test code runs in a jail of its own (see `exam`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.sources.test_code.literals import constant_value
from learnable.verifiers.programs.sandbox.process import Call
from learnable.verifiers.programs.test_code.cases import CallCase, check_equal, check_truth, check_within

WRAPPERS = frozenset(
    "abs all any bool dict float frozenset int len list max min round set sorted str sum tuple".split()
)


class NotConvertibleError(LearnableError):
    """This test says something other than what a call should return."""


def convert(test_code: str, entry: str, equality: str = "plain") -> list[CallCase] | None:
    r"""Return the cases that test code comes to, None where it cannot be said in cases. Raises `SyntaxError`.

    >>> len(convert("assert double(2) == 4\nassert not double(0)", "double"))
    2
    >>> convert("for n in range(3): assert double(n) == n + n", "double") is None
    True
    """
    converter = _Converter({entry, "candidate"}, equality)
    body = ast.parse(test_code).body
    try:
        cases = list(converter.read_statements(body))
    except (NotConvertibleError, ValueError):  # ValueError: a value that cannot be worked out
        return None
    return cases or None


@dataclass(slots=True)
class _Converter:
    """Reads statements in order. `bound` holds the constants that they have named.

    Raises `NotConvertibleError` for a statement that is no case, and `ValueError` for a value that nobody can
    work out.
    """

    callables: set[str]
    equality: str
    bound: dict[str, Any] = field(default_factory=dict)

    def read_statements(self, body: list[ast.stmt]) -> Iterator[CallCase]:
        for statement in body:
            match statement:
                case ast.Assert(test=test):
                    yield from self.read_test(test)
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in self.callables:
                    self.bound[name] = constant_value(value, self.bound)
                case ast.FunctionDef(name="check", args=ast.arguments(args=[ast.arg(arg=argument)])):
                    self.callables.add(argument)
                    yield from self.read_statements(statement.body)
                case ast.Expr(value=ast.Call(func=ast.Name(id="check"), args=[ast.Name()])):
                    continue
                case ast.Expr(value=ast.Constant() | ast.Name()) | ast.Pass() | ast.Import() | ast.ImportFrom():
                    continue  # a name that was imported is no constant, and ends the conversion where it is used
                case _:
                    raise NotConvertibleError(ast.unparse(statement))

    def read_test(self, test: ast.expr) -> Iterator[CallCase]:
        match test:
            case ast.Constant(value=True):
                return
            case ast.BoolOp(op=ast.And(), values=values):
                for value in values:
                    yield from self.read_test(value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield CallCase(self.read_call(operand), check_truth(False))
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                yield self.read_comparison(left, operator, right)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="math"), attr="isclose")):
                yield self.read_isclose(test)
            case _:
                yield CallCase(self.read_call(test), check_truth(True))

    def read_comparison(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> CallCase:
        match left, operator:
            case ast.Call(func=ast.Name(id="abs"), args=[ast.BinOp(op=ast.Sub()) as difference]), ast.Lt() | ast.LtE():
                below = constant_value(right, self.bound)
                return self.read_difference(difference, below, included=isinstance(operator, ast.LtE))
            case _, ast.Eq():
                return self.read_equality(left, right, self.equality)
            case _, ast.Is() if isinstance(right, ast.Constant) and right.value in (True, False, None):
                return self.read_equality(left, right, "strict")
        raise NotConvertibleError(ast.unparse(left))

    def read_equality(self, left: ast.expr, right: ast.expr, equality: str) -> CallCase:
        for one, other in ((left, right), (right, left)):
            if self.calls_candidate(one):
                return CallCase(self.read_call(one), check_equal(constant_value(other, self.bound), equality))
        raise NotConvertibleError(ast.unparse(left))

    def read_difference(self, difference: ast.BinOp, below: Any, *, included: bool) -> CallCase:
        for one, other in ((difference.left, difference.right), (difference.right, difference.left)):
            if self.calls_candidate(one):
                return CallCase(
                    self.read_call(one), check_within(constant_value(other, self.bound), below, included=included)
                )
        raise NotConvertibleError(ast.unparse(difference))

    def read_isclose(self, test: ast.Call) -> CallCase:
        if len(test.args) != 2 or not self.calls_candidate(test.args[0]):
            raise NotConvertibleError(ast.unparse(test))
        expected = constant_value(test.args[1], self.bound)
        options = {str(word.arg): constant_value(word.value, self.bound) for word in test.keywords}
        relative = options.get("rel_tol", 1e-9) * abs(expected)  # of the larger of both, and they are that close
        return CallCase(
            self.read_call(test.args[0]),
            check_within(expected, max(relative, options.get("abs_tol", 0.0)), included=True),
        )

    def calls_candidate(self, node: ast.expr) -> bool:
        return any(isinstance(part, ast.Name) and part.id in self.callables for part in ast.walk(node))

    def read_call(self, node: ast.expr) -> Call:
        """Return the call of the candidate in an expression, with the built-ins around it."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise NotConvertibleError(ast.unparse(node))
        name = node.func.id
        if name in self.callables:
            positional = tuple(constant_value(argument, self.bound) for argument in node.args)
            return positional, {str(word.arg): constant_value(word.value, self.bound) for word in node.keywords}, []
        if name not in WRAPPERS or not node.args or node.keywords:
            raise NotConvertibleError(ast.unparse(node))
        positional, keywords, wrappers = self.read_call(node.args[0])
        more = tuple(constant_value(argument, self.bound) for argument in node.args[1:])
        return positional, keywords, [*wrappers, (name, more)]
