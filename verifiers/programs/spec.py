"""What a spec for programs may hold."""

from __future__ import annotations

import ast
from typing import Any

from learnable.data.records import Spec
from learnable.data.sources.test_code.stubs import read_stub
from learnable.verifiers.programs.test_code.equality import EQUALITIES
from learnable.verifiers.protocol import check_keys, check_text, fault

MAX_CPU_SECONDS = 60.0
SPEC_OPTIONS = ("equality", "cpu_seconds", "partial_credit")


def check(spec: Spec) -> None:
    """Raise `SpecError` for a spec that no program could be judged by."""
    kinds = [kind for kind in ("cases", "stdin", "test_code") if kind in spec]
    if len(kinds) > 1:
        raise fault(kinds[1], spec[kinds[1]], f"a spec with {kinds[0]!r} has its tests already: leave one out")
    kind = kinds[0] if kinds else "cases"
    check_keys(
        spec,
        [kind] if kind == "stdin" else ["entry", kind],
        SPEC_OPTIONS if kind == "stdin" else (*SPEC_OPTIONS, "stub"),
    )
    if kind != "stdin":
        check_text(spec, "entry")
        if not spec["entry"].isidentifier():
            raise fault("entry", spec["entry"], "give the name of the function to call")
    if "stub" in spec and not (isinstance(spec["stub"], str) and read_stub(spec["stub"], spec["entry"])):
        raise fault("stub", spec["stub"], f"give code that ends in the head of {spec['entry']}, without its body")
    TEST_CHECKS[kind](spec[kind])
    if (equality := spec.get("equality", "plain")) not in EQUALITIES:
        raise fault("equality", equality, f"use one of {', '.join(EQUALITIES)}")
    _check_number(spec, "cpu_seconds", MAX_CPU_SECONDS)
    _check_number(spec, "partial_credit", 1.0)


def _check_number(spec: Spec, key: str, most: float) -> None:
    value = spec.get(key, most)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise fault(key, value, f"give a number, more than 0 and at most {most:g}")
    if key == "cpu_seconds" and value == 0:
        raise fault(key, value, "give seconds, more than 0")


def _check_cases(cases: Any) -> None:
    if not isinstance(cases, list | tuple) or not cases:
        raise fault("cases", cases, "give a non-empty list of [[argument, ...], expected]")
    for index, case in enumerate(cases):
        if not isinstance(case, list | tuple) or len(case) != 2 or not isinstance(case[0], list | tuple):
            raise fault("cases", case, f"case {index} must be [[argument, ...], expected]")


def _check_stdin(cases: Any) -> None:
    if not isinstance(cases, list | tuple) or not cases:
        raise fault("stdin", cases, "give a non-empty list of [input, output]")
    for index, case in enumerate(cases):
        if not isinstance(case, list | tuple) or len(case) != 2 or not all(isinstance(text, str) for text in case):
            raise fault("stdin", case, f"case {index} must be [input, output], two texts")


def _check_test_code(text: Any) -> None:
    if not isinstance(text, str):
        raise fault("test_code", text, "give the text of the tests")
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError) as error:
        raise fault("test_code", text, f"give Python: {error}") from error
    if not any(isinstance(statement, ast.Assert) or _is_check(statement) for statement in body):
        raise fault("test_code", text, "give asserts, or a function check(candidate) that holds them")


def _is_check(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.FunctionDef) and statement.name == "check"


TEST_CHECKS = {"cases": _check_cases, "stdin": _check_stdin, "test_code": _check_test_code}
