"""Rows of a completions file: read, and checked so that scoring meets no surprise."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from learnable.data.errors import LearnableError
from learnable.data.forms import Form, fold_name
from learnable.data.records import JsonObject, Prompt, canonical_json, is_own_verifier
from learnable.data.sources.files.problems import find_problem, row_ids
from learnable.data.sources.files.rows import read_answer_spec
from learnable.data.sources.test_code.program_rows import VERIFIER, read_program_row
from learnable.verifiers.pool.jobs import ScoreJob
from learnable.verifiers.registry import find_verifier

MAX_REMEMBERED_SPECS = 1000
GZIP = b"\x1f\x8b"  # how such a file begins

_OPTIONAL = {"prompt": (str, "a string"), "form": (str, "the name of a form"), "spec": (dict, "an object")}


@dataclass(frozen=True, slots=True)
class Problems:
    """The problems that completions may name, and where they were read."""

    source: str = ""
    by_id: Mapping[str, Prompt] = field(default_factory=dict)


NO_PROBLEMS = Problems()


@dataclass(frozen=True, slots=True)
class RowReader:
    """How rows of a completions file become jobs of `verifier`. Forms of `own`, a user's, are judged by declaration.

    A row is `{"completion", "prompt"?, "form"?, "answer"?, "choices"?, "spec"?}`; `form` stands for `{"form": ...}` in
    the spec, and an answer is read as in files of prompts. A judge of the user's own gets all of a row that has no
    `spec` as the spec, but for the completion; for others such a row may name one of `problems` by its id, or carry the
    tests of HumanEval or MBPP.
    """

    verifier: str
    own: Mapping[str, Form] | None = None
    problems: Problems = NO_PROBLEMS

    def complete(self, row: JsonObject, where: str = "") -> JsonObject:
        """Return the row with what its problem adds to it. Raises `LearnableError` for a problem that is not known."""
        return add_problem(where, row, self.verifier, self.problems)

    def make_spec(self, row: JsonObject, where: str = "") -> JsonObject:
        """Return the spec of a whole row: its `spec`, with its `form` in it, and the declaration of a user's form.

        Raises `LearnableError` for an answer that is none.
        """
        if "spec" not in row and is_own_verifier(self.verifier):
            return {key: value for key, value in row.items() if key != "completion"}
        if "answer" in row and not row.keys() & {"spec", "form"}:
            return dict(read_answer_spec(row, self.verifier, where))
        form = {"form": row["form"]} if "form" in row else {}
        return add_declaration({**form, **row.get("spec", {})}, self.own)

    def make_job(self, row: JsonObject) -> ScoreJob:
        """Return what a pool needs to score the row. Raises `LearnableError` for a problem that is not known."""
        row = self.complete(row)
        return ScoreJob(self.verifier, row["completion"], row.get("prompt", ""), canonical_json(self.make_spec(row)))


def check_rows(path: Path, reader: RowReader, name: str) -> int:
    """Return the number of rows in the file, called `name`, all of which the verifier can score.

    Raises `LearnableError` naming file, line, key, value and fix.
    """
    count = 0
    checked: set[str] = set()  # the rows of a file share a few specs
    verifier = find_verifier(reader.verifier)
    for where, row in read_rows(path, name):
        count += 1
        _check_types(where, row)
        spec = reader.make_spec(reader.complete(row, where), where)
        if (spec_json := canonical_json(spec)) in checked:
            continue
        try:
            verifier.check_spec(spec)
        except LearnableError as error:
            raise LearnableError(f"{where}: {error}") from error
        if len(checked) < MAX_REMEMBERED_SPECS:
            checked.add(spec_json)
    if not count:
        raise LearnableError(f"{name}: no rows; put one JSON object a line, with at least 'completion'")
    return count


def read_rows(path: Path, name: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield each row with the words that name its place. Blank lines are no rows; a gzip file is read as what it holds.

    Raises `LearnableError` for a file that cannot be read and for a line that is no JSON object.
    """
    try:
        with path.open("rb") as raw, gzip.open(raw) if raw.peek(2)[:2] == GZIP else nullcontext(raw) as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    where = f"{name}, line {number}"
                    yield where, _parse(where, line)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise LearnableError(f"{name} is no whole gzip file ({error}): fetch or pack it again") from error
    except OSError as error:
        raise LearnableError(f"{name}: cannot be read ({error.strerror}): give a JSON Lines file") from error


def add_declaration(spec: JsonObject, own: Mapping[str, Form] | None) -> JsonObject:
    """Return a spec with the declaration of the form that it names, where that is one of `own`."""
    if own and "declaration" not in spec and isinstance(spec.get("form"), str):
        for declared in own.values():
            if fold_name(spec["form"]) in map(fold_name, (declared.name, declared.title, *declared.aliases)):
                return spec | {"form": declared.name, "declaration": declared.declaration()}
    return spec


def add_problem(where: str, row: JsonObject, verifier: str, problems: Problems) -> JsonObject:
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
            return _add_tests(row)
    except LearnableError as error:
        raise LearnableError(f"{where}: {error}") from error
    return row


def _parse(where: str, line: bytes) -> JsonObject:
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


def _check_types(where: str, row: JsonObject) -> None:
    if "completion" not in row:
        raise LearnableError(f"{where}: key 'completion' is missing: give the text to judge; keys here: {sorted(row)}")
    if not isinstance(row["completion"], str):
        raise LearnableError(f"{where}: key 'completion' is {_shown(row['completion'])}: give a string")
    for key, (kind, fix) in _OPTIONAL.items():
        if key in row and not isinstance(row[key], kind):
            raise LearnableError(f"{where}: key {key!r} is {_shown(row[key])}: give {fix}, or leave it out")
    if "form" in row and row.get("spec", {}).get("form", row["form"]) != row["form"]:
        raise LearnableError(f"{where}: key 'form' is {row['form']!r} but its spec has another: leave one out")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _add_tests(row: JsonObject) -> JsonObject:
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
    """Return the prompt and spec of a row as JSON, or null where it has no tests. Many completions share them."""
    read = read_program_row(json.loads(columns_json), "prompt", None, VERIFIER)
    return json.dumps(read and {key: read[key] for key in ("prompt", "spec") if read[key] is not None})
