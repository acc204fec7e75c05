"""Rows of programming data sets to prompts: HumanEval, MBPP, and any table with a prompt and tests.

A row's tests become `cases` where `tests_to_cases` can read them and JSON can store them, and `test_code` otherwise: a
script that raises unless the function `entry`, bound by its name, is right. Where the prompt gives a stub of that
function, in a fence or not, the spec has it as `stub`: completions may continue it, and tests may use its helpers.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.records import Row
from learnable.data.sources.test_code.stubs import BODY, find_stub
from learnable.data.sources.test_code.tests_to_cases import CHECK, bound_names, find_entry, json_cases, parse

VERIFIER = "programs"
TEST_COLUMNS = ("test", "test_list", "tests", "test_code", "input_output")
ENTRY_COLUMNS = ("entry_point", "entry", "function_name")
PROMPT_COLUMNS = ("text", "question", "problem", "description")  # where there is no column 'prompt'
SETUP_COLUMNS = ("test_setup_code", "test_imports")
MORE_TESTS = "challenge_test_list"
PUBLIC = ({"entry_point", "test"}, {"test_list", "code"})  # HumanEval, MBPP: known by their columns


class BadTestsError(LearnableError):
    """Tests that no program could be judged by; the message names the column and the fix."""


def read_program_row(row: Row, prompt_column: str, tests_column: str | None, verifier: str | None) -> Row | None:
    """Return the row with `prompt_column`, `spec` and `verifier` filled from its tests, or None where it has none.

    Read are rows without a `spec` that are for the verifier `programs`, by their own column or by `verifier`, and
    rows of no verifier that have the columns of HumanEval or MBPP. The tests are in `tests_column`, or else in the
    first of `TEST_COLUMNS` that there is. Raises `BadTestsError`.
    """
    judge = row.get("verifier") or verifier
    known = not judge and any(columns <= row.keys() for columns in PUBLIC)
    column = tests_column or next((name for name in TEST_COLUMNS if row.get(name)), None)
    if row.get("spec") is not None or not (known or judge == VERIFIER) or column is None or not row.get(column):
        return None
    tests = _parse_json(row[column])
    prompt = _find_prompt(row, prompt_column)
    if isinstance(tests, Mapping):
        return {**row, prompt_column: prompt, "spec": {"stdin": _stdin_cases(tests, column)}, "verifier": VERIFIER}
    test_code = _join_tests(row, column, tests)
    entry = _find_entry(row, column, test_code)
    spec = _make_spec(test_code, entry, prompt)
    return {**row, prompt_column: _name_function(prompt, entry, test_code), "spec": spec, "verifier": VERIFIER}


def _find_prompt(row: Row, prompt_column: str) -> Any:
    if prompt_column in row or prompt_column != "prompt":
        return row.get(prompt_column)
    return next((row[name] for name in PROMPT_COLUMNS if row.get(name)), None)


def _parse_json(tests: Any) -> Any:
    if isinstance(tests, str) and tests.lstrip().startswith(("[", "{")):
        try:
            return json.loads(tests)
        except json.JSONDecodeError:
            return tests  # code that starts with a bracket
    return tests


def _stdin_cases(tests: Row, column: str) -> list[list[str]]:
    inputs, outputs = (tests.get(name, tests.get(f"{name}s")) for name in ("input", "output"))
    if tests.get("fn_name") or not _are_texts(inputs) or not _are_texts(outputs) or len(inputs) != len(outputs):
        raise BadTestsError(
            f"column {column!r} must have as many texts in 'inputs' as in 'outputs', what a program reads and what it "
            "writes; for calls of a function, give 'spec' with 'entry' and 'cases'"
        )
    return [list(pair) for pair in zip(inputs, outputs, strict=True)]


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and bool(values) and all(isinstance(value, str) for value in values)


def _join_tests(row: Row, column: str, tests: Any) -> str:
    parts = [row[name] for name in SETUP_COLUMNS if row.get(name)] + [tests]
    if row.get(MORE_TESTS) and column == "test_list":
        parts.append(row[MORE_TESTS])
    lines: list[str] = []
    for part in parts:
        if not isinstance(part, str) and not _are_texts(part):
            raise BadTestsError(f"column {column!r} must have Python tests: code, or a list of asserts")
        lines += [part] if isinstance(part, str) else part
    return "\n".join(lines)


def _find_entry(row: Row, column: str, test_code: str) -> str:
    named = next((row[name] for name in ENTRY_COLUMNS if row.get(name)), None)
    if isinstance(named, str) and named.isidentifier():
        return named
    if not parse(test_code):
        raise BadTestsError(f"column {column!r} is not Python code: correct or remove the row")
    if (found := find_entry(test_code, row.get("code"))) is None:
        raise BadTestsError(
            f"column {column!r} has no one function that every assert calls: name it in a column 'entry_point'"
        )
    return found


def _make_spec(test_code: str, entry: str, prompt: Any) -> dict[str, Any]:
    stub = find_stub(_words(prompt), entry)
    given = {} if stub is None else {"stub": stub}
    if (cases := json_cases(test_code, entry)) is not None:
        return {"entry": entry, "cases": cases, "equality": "plain"} | given
    call = f"\n{CHECK}({entry})\n" if CHECK in bound_names(parse(test_code)) else "\n"
    return {"entry": entry, "test_code": _helpers(stub or _words(prompt), entry) + test_code + call} | given


def _words(prompt: Any) -> str:
    """Return the text of a prompt, or of all its messages."""
    if isinstance(prompt, str):
        return prompt
    turns = [turn for turn in prompt if isinstance(turn, Mapping)] if isinstance(prompt, list) else []
    return "\n\n".join(str(turn.get("content") or "") for turn in turns)


def _helpers(stub: str, entry: str) -> str:
    """Return the imports and functions that a stub gives beside the one it asks for: tests may use them."""
    kept = [
        statement
        for statement in parse(stub) or parse(stub + BODY)
        if isinstance(statement, ast.Import | ast.ImportFrom)
        or (isinstance(statement, ast.FunctionDef) and statement.name != entry)
    ]
    return "".join(f"{ast.unparse(statement)}\n" for statement in kept)


def _name_function(prompt: Any, entry: str, test_code: str) -> Any:
    """Add the function's name and one test, where there are more, to a prompt that does not say what it is called.

    The bare word does not mean that it does: "write a function to add ..." may want `sum_all`, or `add`.
    """
    if not isinstance(prompt, str) or not prompt.strip() or re.search(rf"\b{entry}\s*\(|`{entry}`", prompt):
        return prompt
    tests = [statement for statement in parse(test_code) if isinstance(statement, ast.Assert)]
    example = f" For example:\n\n{ast.unparse(tests[0])}" if len(tests) > 1 else ""
    return f"{prompt.rstrip()}\n\nCall the function {entry}.{example}"
