"""Rows of a completions file: read, and checked so that scoring meets no surprise."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.forms import Form, fold_name
from learnable.data.records import canonical_json
from learnable.verifiers.jobs import ScoreJob
from learnable.verifiers.problems import Problems, with_problem
from learnable.verifiers.protocol import Verifier

MAX_REMEMBERED_SPECS = 1000

NO_PROBLEMS = Problems()

Row = dict[str, Any]

_OPTIONAL = {"prompt": (str, "a string"), "form": (str, "the name of a form"), "spec": (dict, "an object")}


def check_rows(
    path: Path, verifier: Verifier, own: Mapping[str, Form] | None = None, problems: Problems = NO_PROBLEMS
) -> int:
    """Return the number of rows in the file, all of which `verifier` can score.

    Raises `LearnableError` naming file, line, key, value and fix.
    """
    count = 0
    checked: set[str] = set()  # the rows of a file share a few specs
    for where, row in read_rows(path):
        count += 1
        _check_types(where, row)
        spec = row_spec(with_problem(where, row, verifier.name, problems), own)
        if (spec_json := canonical_json(spec)) in checked:
            continue
        try:
            verifier.check_spec(spec)
        except LearnableError as error:
            raise LearnableError(f"{where}: {error}") from error
        if len(checked) < MAX_REMEMBERED_SPECS:
            checked.add(spec_json)
    if not count:
        raise LearnableError(f"{path}: no rows; put one JSON object a line, with at least 'completion'")
    return count


def read_rows(path: Path) -> Iterator[tuple[str, Row]]:
    """Yield each row with the words that name its place. Blank lines are no rows."""
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    where = f"{path}, line {number}"
                    yield where, _parse(where, line)
    except OSError as error:
        raise LearnableError(f"{path}: cannot be read ({error.strerror}): give a JSON Lines file") from error


def row_spec(row: Row, own: Mapping[str, Form] | None = None) -> Row:
    """Return the spec of a row: its `spec`, with its `form` in it, and the declaration of a user's `own` form."""
    form = {"form": row["form"]} if "form" in row else {}
    spec = {**form, **row.get("spec", {})}
    if own and "declaration" not in spec and isinstance(spec.get("form"), str):
        for declared in own.values():
            if fold_name(spec["form"]) in map(fold_name, (declared.name, declared.title, *declared.aliases)):
                return spec | {"form": declared.name, "declaration": declared.declaration()}
    return spec


def row_job(
    verifier: str, row: Row, own: Mapping[str, Form] | None = None, problems: Problems = NO_PROBLEMS
) -> ScoreJob:
    """Return what a pool needs to score the row."""
    row = with_problem("", row, verifier, problems)
    return ScoreJob(verifier, row["completion"], row.get("prompt", ""), canonical_json(row_spec(row, own)))


def _parse(where: str, line: bytes) -> Row:
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise LearnableError(f"{where}: not UTF-8 (byte {error.start + 1} of the line): save it as UTF-8") from error
    except (ValueError, RecursionError) as error:
        shown = line.decode(errors="replace").strip()[:60]
        raise LearnableError(f"{where}: not JSON ({error}): {shown!r}; put one whole object on each line") from error
    if isinstance(row, dict):
        return dict(row)
    raise LearnableError(f'{where}: {row!r:.60} is not an object: write {{"completion": ...}}')


def _check_types(where: str, row: Row) -> None:
    if "completion" not in row:
        raise LearnableError(f"{where}: key 'completion' is missing: give the text to judge; keys here: {sorted(row)}")
    if not isinstance(row["completion"], str):
        raise LearnableError(f"{where}: key 'completion' is {_shown(row['completion'])}: give a string")
    for key, (kind, fix) in _OPTIONAL.items():
        if key in row and not isinstance(row[key], kind):
            raise LearnableError(f"{where}: key {key!r} is {_shown(row[key])}: give {fix}, or leave it out")
    if row_spec(row).get("form") != row.get("form", row_spec(row).get("form")):
        raise LearnableError(f"{where}: key 'form' is {row['form']!r} but its spec has another: leave one out")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
