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
TEST_COLUMNS = (
    *("test", "test_list", "tests", "test_code", "input_output"),
    *("official_tests", "public_test_cases", "public_tests", "test_cases", "examples"),
)
MORE_TESTS = "challenge_test_list"
READ_FROM = ("input", "inputs", "stdin")  # keys of what a program reads
WRITTEN = ("output", "outputs", "expected_output", "stdout")  # and of what it writes
STARTER = "starter_code"  # the head of a function or of a class, where it is not in the prompt


class BadTestsError(LearnableError):
    """Tests that no program could be judged by; the message names the column and the fix."""


def read_program_row(row: Row, prompt_column: str, tests_column: str | None, verifier: str | None) -> Row | None:
    """Return the row with `prompt_column`, `spec` and `verifier` filled from its tests, or None where it has none.

    Read are rows without a `spec` that are for the verifier `programs`, by their own column or by `verifier`, and
    rows of no verifier that have the columns of HumanEval or MBPP. The tests are in `tests_column`, or else in the
    first of `TEST_COLUMNS` that there is. Raises `BadTestsError`.
    """
    judge = row.get("verifier") or verifier
    # HumanEval and MBPP are known by their columns.
    known = not judge and ({"entry_point", "test"} <= row.keys() or {"test_list", "code"} <= row.keys())
    column = tests_column or next((name for name in TEST_COLUMNS if row.get(name)), None)
    if row.get("spec") is not None or not (known or judge == VERIFIER) or column is None or not row.get(column):
        return None
    tests = _parse_json(row[column])
    prompt = _find_prompt(row, prompt_column)
    if isinstance(tests, Mapping) and isinstance(tests.get("functional"), str):
        tests = tests["functional"]
    prompt = _with_starter(prompt, row.get(STARTER))
    if (pairs := _pairs(row, column, tests)) is not None:
        return {**row, prompt_column: prompt, "spec": _pairs_spec(row, column, pairs), "verifier": VERIFIER}
    test_code = _join_tests(row, column, tests)
    entry = _find_entry(row, column, test_code, prompt)
    spec = _make_spec(_without_own_call(test_code, entry), entry, prompt)
    return {**row, prompt_column: _name_function(prompt, entry, test_code), "spec": spec, "verifier": VERIFIER}


def _with_starter(prompt: Any, starter: Any) -> Any:
    """Return a prompt with the code that the answer is to begin with, where it does not show it."""
    if not (isinstance(prompt, str) and isinstance(starter, str) and starter.strip()) or starter.strip() in prompt:
        return prompt
    return f"{prompt.rstrip()}\n\nBegin with this code:\n\n```python\n{starter.rstrip()}\n```"


def _find_prompt(row: Row, prompt_column: str) -> Any:
    if prompt_column in row or prompt_column != "prompt":
        return row.get(prompt_column)
    names = ("text", "question", "problem", "description", "question_content")
    return next((row[name] for name in names if row.get(name)), None)


def _parse_json(tests: Any) -> Any:
    if isinstance(tests, str) and tests.lstrip().startswith(("[", "{")):
        try:
            return json.loads(tests)
        except json.JSONDecodeError:
            return tests  # code that starts with a bracket
    return tests


def _pairs(row: Row, column: str, tests: Any) -> list[tuple[Any, Any]] | None:
    """Return what a program reads and what it writes, in pairs, None for tests of another kind.

    Raises `BadTestsError` for an object that has no such pairs.
    """
    private = {"public_tests": "private_tests", "public_test_cases": "private_test_cases"}
    more = _parse_json(row.get(private.get(column, "")))
    both = [tests, more] if isinstance(more, type(tests)) else [tests]
    if isinstance(tests, Mapping):
        inputs, outputs = ([value for part in both for value in _listed(part, keys)] for keys in (READ_FROM, WRITTEN))
        if tests.get("fn_name") or not inputs or len(inputs) != len(outputs):
            raise BadTestsError(
                f"column {column!r} must have as many texts in 'inputs' as in 'outputs', what a program reads and what "
                "it writes; for calls of a function, give 'spec' with 'entry' and 'cases'"
            )
        return list(zip(inputs, outputs, strict=True))
    items = [item for part in both for item in part] if isinstance(tests, list) else []
    if not items or not all(isinstance(item, Mapping) for item in items):
        return None
    pairs = [
        tuple(next((item[key] for key in keys if key in item), None) for keys in (READ_FROM, WRITTEN)) for item in items
    ]
    if any(value is None for pair in pairs for value in pair):
        raise BadTestsError(
            f"column {column!r} has a test without input or output: give a list of {{'input': ..., 'output': ...}}"
        )
    return [(given, wanted) for given, wanted in pairs]


def _listed(tests: Row, keys: tuple[str, ...]) -> list[Any]:
    value: Any = next((tests[key] for key in keys if tests.get(key)), [])
    return value if isinstance(value, list) else [value]


def _pairs_spec(row: Row, column: str, pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    """Return the spec of pairs: runs of a program, or calls of a function that the row's metadata names."""
    name = _function_name(row)
    kinds = {item.get("testtype") for item in _parse_json(row[column]) if isinstance(item, Mapping)}
    if name is None or kinds != {"functional"}:
        return {"stdin": [[_as_lines(given, column), _as_lines(wanted, column)] for given, wanted in pairs]}
    try:
        cases = [
            [[json.loads(line) for line in given.splitlines() if line.strip()], json.loads(wanted)]
            for given, wanted in pairs
        ]
    except (ValueError, AttributeError) as error:
        raise BadTestsError(f"column {column!r}: the arguments of a call are JSON, one a line: {error}") from error
    return {"entry": name, "cases": cases, "equality": "plain"}


def _as_lines(value: Any, column: str) -> str:
    """Return what a program reads or writes as text: a list has its lines."""
    if isinstance(value, list) and all(isinstance(line, str | int | float) for line in value):
        return "\n".join(map(str, value))
    if isinstance(value, str | int | float):
        return str(value)
    raise BadTestsError(f"column {column!r} has {str(value)[:40]!r} for what a program reads or writes: give text")


def _function_name(row: Row) -> str | None:
    """Return the function that a row names, in a column or in its metadata; of a class `Solution` the method."""
    metadata = _parse_json(row.get("metadata"))
    inner = metadata if isinstance(metadata, Mapping) else {}
    columns = ("entry_point", "entry", "function_name")
    names = [row.get(name) for name in columns] + [inner.get(name) for name in ("func_name", *columns)]
    named = next((name.replace("Solution().", "") for name in names if isinstance(name, str) and name), "")
    return named if named.isidentifier() else None


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and bool(values) and all(isinstance(value, str) for value in values)


def _join_tests(row: Row, column: str, tests: Any) -> str:
    parts = [row[name] for name in ("test_setup_code", "test_imports") if row.get(name)] + [tests]
    if row.get(MORE_TESTS) and column == "test_list":
        parts.append(row[MORE_TESTS])
    lines: list[str] = []
    for part in parts:
        if not isinstance(part, str) and not _are_texts(part):
            raise BadTestsError(f"column {column!r} must have Python tests: code, or a list of asserts")
        lines += [part] if isinstance(part, str) else part
    return "\n".join(lines)


def _find_entry(row: Row, column: str, test_code: str, prompt: Any) -> str:
    if named := _function_name(row):
        return named
    if not (body := parse(test_code)):
        raise BadTestsError(f"column {column!r} is not Python code: correct or remove the row")
    entry = find_entry(test_code, row.get("code")) or _checked(body)
    if entry is None and CHECK in bound_names(body):
        entry = _named_function(row, prompt)
    if entry is None:
        raise BadTestsError(
            f"column {column!r} has no one function that every assert calls: name it in a column 'entry_point'"
        )
    return entry


def _checked(body: list[ast.stmt]) -> str | None:
    """Return the function that tests give to their `check`, also as a method: `check(Solution().add)`."""
    for statement in body:
        match statement:
            case ast.Expr(
                value=ast.Call(func=ast.Name(id=name), args=[ast.Name(id=given) | ast.Attribute(attr=given)])
            ):
                if name == CHECK:
                    return given
    return None


def _without_own_call(test_code: str, entry: str) -> str:
    """Return tests without the call of `check` that they end in: it is made with the function by its name."""
    body = parse(test_code)
    statements = [one for one in body if not (isinstance(one, ast.Expr) and _checked([one]))]
    return test_code if len(statements) == len(body) else "\n".join(map(ast.unparse, statements)) + "\n"


def _named_function(row: Row, prompt: Any) -> str | None:
    """Return the one function that the starter code, a solution or the prompt has, None where there are more."""
    columns = (STARTER, "code", "canonical_solution", "completion", "solution")
    for text in (*(row.get(name) for name in columns), _words(prompt)):
        names = set(re.findall(r"^\s*(?:async\s+)?def\s+(\w+)", text, re.MULTILINE)) if isinstance(text, str) else ()
        if len(names) == 1:
            return str(next(iter(names)))
    quoted = set(re.findall(r"`([A-Za-z_]\w*)(?:\([^`]*\))?`", _words(prompt)))
    return str(quoted.pop()) if len(quoted) == 1 else None


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
    helpers = [
        statement
        for statement in parse(stub) or parse(stub + BODY)
        if isinstance(statement, ast.Import | ast.ImportFrom)
        or (isinstance(statement, ast.FunctionDef) and statement.name != entry)
    ]
    return "".join(f"{ast.unparse(statement)}\n" for statement in helpers)


def _name_function(prompt: Any, entry: str, test_code: str) -> Any:
    """Add the function's name and one test, where there are more, to a prompt that does not say what it is called.

    The bare word does not mean that it does: "write a function to add ..." may want `sum_all`, or `add`.
    """
    if not isinstance(prompt, str) or not prompt.strip() or re.search(rf"\b{entry}\s*\(|`{entry}`", prompt):
        return prompt
    tests = [statement for statement in parse(test_code) if isinstance(statement, ast.Assert)]
    example = f" For example:\n\n{ast.unparse(tests[0])}" if len(tests) > 1 else ""
    return f"{prompt.rstrip()}\n\nCall the function {entry}.{example}"
