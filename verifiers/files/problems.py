"""Rows that carry no spec: what is right comes from their own tests, or from the table of problems that they name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.records import Prompt, canonical_json
from learnable.data.sources.files.problems import find_problem, row_ids
from learnable.data.sources.test_code.program_rows import VERIFIER, read_program_row

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Problems:
    """The problems that completions may name, and where they were read."""

    source: str = ""
    by_id: Mapping[str, Prompt] = field(default_factory=dict)


def with_problem(where: str, row: Row, verifier: str, problems: Problems) -> Row:
    """Return the row with the `spec` and `prompt` of its problem; a row with a spec is returned as it is.

    Raises `LearnableError` for an id that is no problem's, and for tests that no program could be judged by.
    """
    if row.get("spec") is not None:
        return row
    try:
        if problems.by_id:
            problem = find_problem(problems.by_id, row, problems.source)
            return {"prompt": problem.text, **row, "spec": dict(problem.spec)}
        if verifier == VERIFIER:
            return _with_tests(row)
    except LearnableError as error:
        raise LearnableError(f"{where}: {error}") from error
    return row


def _with_tests(row: Row) -> Row:
    columns = {key: value for key, value in row.items() if key not in ("completion", *row_ids(row))}
    read = json.loads(_read_tests(canonical_json(columns)))
    if read is None and (ids := row_ids(row)):
        name = next(iter(ids.values()))
        raise LearnableError(
            f"no tests for {name!r}: name the table with the problems, as in --prompts HumanEval.jsonl.gz"
        )
    return row if read is None else {**row, **read}


@lru_cache(maxsize=1024)
def _read_tests(columns_json: str) -> str:
    """Return the prompt and spec of a row as JSON, or null where it has no tests: completions of one problem share them."""
    read = read_program_row(json.loads(columns_json), "prompt", None, VERIFIER)
    return json.dumps(read and {key: read[key] for key in ("prompt", "spec") if read[key] is not None})
