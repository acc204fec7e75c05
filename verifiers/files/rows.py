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
from learnable.data.records import JsonObject, Prompt, Score, canonical_json, is_own_verifier
from learnable.data.sources.family import DeclaredForm, fold_name
from learnable.data.sources.files.layouts.readings import READINGS, UnreadError
from learnable.data.sources.files.problems import find_problem, row_ids
from learnable.data.sources.files.rows import read_answer_spec
from learnable.data.sources.test_code.program_rows import VERIFIER, read_program_row
from learnable.verifiers.pool.jobs import ScoreJob
from learnable.verifiers.protocol import Verifier
from learnable.verifiers.registry import find_verifier

_OPTIONAL = {"form": (str, "the name of a form"), "spec": (dict, "an object")}
IFEVAL = "instruction_id_list"  # the column of an IFEval row that its spec is made of


@dataclass(frozen=True, slots=True)
class Problems:
    """The problems that completions may name, and where they were read."""

    source: str = ""
    by_id: Mapping[str, Prompt] = field(default_factory=dict)


NO_PROBLEMS = Problems()


@dataclass(frozen=True, slots=True)
class RowReader:
    """How rows of a completions file become jobs of `verifier`. Forms of `own`, a user's, are judged by declaration.

    A row is `{"completion", "prompt"?, "form"?, "answer"?, "choices"?, "spec"?}`, of which the first two are texts or
    lists of messages; or `{"messages", ...}`, whose last turn is the completion. `form` stands for `{"form": ...}` in
    the spec, and an answer is read as in files of prompts. A judge of the user's own gets all of a row that has no
    `spec` as the spec, but for the completion; for others such a row may name one of `problems` by its id, or carry the
    tests of HumanEval or MBPP, or the instructions of IFEval.
    """

    verifier: str
    own: Mapping[str, DeclaredForm] | None = None
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
        if IFEVAL in row and "spec" not in row:
            return _read_instructions(row, where)
        if "answer" in row and not row.keys() & {"spec", "form"}:
            return dict(read_answer_spec(row, self.verifier, where))
        form = {"form": row["form"]} if "form" in row else {}
        return add_declaration({**form, **row.get("spec", {})}, self.own)

    def make_job(self, row: JsonObject) -> ScoreJob | Score:
        """Return what a pool needs to score the row, or the score of one that has no completion to judge.

        Raises `LearnableError` for a row that cannot be scored.
        """
        _check_types("", row)
        completion = _completion(row)
        if completion is None:
            return Score.unscored("no completion: the row has null in its place", "engine_error")
        turns = _turns_before(row)
        text = turns[-1]["content"] if isinstance(turns, list) else turns
        row = self.complete({**row, "prompt": text} if turns else row)
        messages = canonical_json(turns) if isinstance(turns, list) and is_own_verifier(self.verifier) else ""
        spec_json = canonical_json(self.make_spec(row))
        return ScoreJob(self.verifier, completion, row.get("prompt", ""), spec_json, messages_json=messages)


@dataclass(slots=True)
class CheckedRows:
    """How many lines a file has, and what is wrong with those that cannot be scored, by their places."""

    count: int = 0
    bad: dict[str, LearnableError] = field(default_factory=dict)


def check_rows(path: Path, reader: RowReader, name: str) -> CheckedRows:
    """Return what the verifier can score of the file, called `name`.

    Raises `LearnableError` naming file, line, key, value and fix where that is nothing.
    """
    summary = CheckedRows()
    checked: set[str] = set()  # the rows of a file share a few specs
    verifier = find_verifier(reader.verifier)
    for where, row in read_rows(path, name):
        summary.count += 1
        try:
            _check_row(where, row, reader, verifier, checked)
        except LearnableError as error:
            summary.bad[where] = error
    if not summary.count:
        raise LearnableError(f"{name}: no rows; put one JSON object a line, with at least 'completion'")
    if len(summary.bad) == summary.count:
        raise next(iter(summary.bad.values()))
    return summary


def _check_row(
    where: str, row: JsonObject | LearnableError, reader: RowReader, verifier: Verifier, checked: set[str]
) -> None:
    """Raise `LearnableError` for what the verifier cannot score. `checked` are specs that it can."""
    if isinstance(row, LearnableError):
        raise row
    _check_types(where, row)
    if _completion(row) is None:
        return
    spec = reader.make_spec(reader.complete(row, where), where)
    if (spec_json := canonical_json(spec)) in checked:
        return
    try:
        verifier.check_spec(spec)
    except LearnableError as error:
        raise LearnableError(f"{where}: {error}") from error
    if len(checked) < 1000:
        checked.add(spec_json)


def read_rows(path: Path, name: str) -> Iterator[tuple[str, JsonObject | LearnableError]]:
    """Yield each row, or what is wrong with its line, with the words that name its place.

    Blank lines are no rows; a gzip file is read as what it holds. Raises `LearnableError` for a file that cannot be
    read.
    """
    try:
        # How a file begins that gzip has packed.
        with path.open("rb") as raw, gzip.open(raw) if raw.peek(2)[:2] == b"\x1f\x8b" else nullcontext(raw) as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    where = f"{name}, line {number}"
                    yield where, _parse(where, line)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise LearnableError(f"{name} is no whole gzip file ({error}): fetch or pack it again") from error
    except OSError as error:
        raise LearnableError(f"{name}: cannot be read ({error.strerror}): give a JSON Lines file") from error


def add_declaration(spec: JsonObject, own: Mapping[str, DeclaredForm] | None) -> JsonObject:
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


def _parse(where: str, line: bytes) -> JsonObject | LearnableError:
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return LearnableError(f"{where}: not UTF-8 (byte {error.start + 1} of the line): save it as UTF-8")
    except (ValueError, RecursionError) as error:
        shown = line.decode(errors="replace").strip()[:60]
        return LearnableError(f"{where}: not JSON ({error}): {shown!r}; put one whole object on each line")
    if isinstance(row, dict):
        return dict(row)
    return LearnableError(f'{where}: {row!r:.60} is not an object: write {{"completion": ...}}')


def _check_types(where: str, row: JsonObject) -> None:
    if "completion" not in row and not _is_chat(row.get("messages")):
        raise LearnableError(f"{where}: key 'completion' is missing: give the text to judge; keys here: {sorted(row)}")
    if not isinstance(row.get("completion"), str | None) and not _is_chat(row["completion"]):
        raise LearnableError(f"{where}: key 'completion' is {_shown(row['completion'])}: give a string, or messages")
    if not isinstance(row.get("prompt", ""), str) and not _is_chat(row["prompt"]):
        raise LearnableError(f"{where}: key 'prompt' is {_shown(row['prompt'])}: give a string, or messages")
    for key, (kind, fix) in _OPTIONAL.items():
        if key in row and not isinstance(row[key], kind):
            raise LearnableError(f"{where}: key {key!r} is {_shown(row[key])}: give {fix}, or leave it out")
    if "form" in row and row.get("spec", {}).get("form", row["form"]) != row["form"]:
        raise LearnableError(f"{where}: key 'form' is {row['form']!r} but its spec has another: leave one out")


def _is_chat(value: object) -> bool:
    return (
        isinstance(value, list) and bool(value) and all(isinstance(turn, dict) and "content" in turn for turn in value)
    )


def _completion(row: JsonObject) -> str | None:
    """Return the text that is judged: of messages the last; None where there is none."""
    given = row.get("completion") if "completion" in row else row["messages"]
    return _text_of(given[-1]["content"]) if isinstance(given, list) else given


def _turns_before(row: JsonObject) -> str | list[JsonObject]:
    """Return the prompt: a text, or the turns before the completion, "" for none."""
    given = row.get("prompt") or ("" if "completion" in row else row["messages"][:-1])
    if not isinstance(given, list):
        return str(given)
    return [{"role": str(turn.get("role", "user")), "content": _text_of(turn["content"]) or ""} for turn in given] or ""


def _text_of(content: object) -> str | None:
    """Return the text of a message, whose content may be a list of parts; None where it is null."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") if isinstance(part, dict) else str(part) for part in content)
    return None if content is None else str(content)


def _read_instructions(row: JsonObject, where: str) -> JsonObject:
    try:
        return dict(READINGS["instructions"].read(row[IFEVAL], row.get("kwargs")))
    except UnreadError as error:
        raise LearnableError(f"{where}: key {IFEVAL!r} is {_shown(row[IFEVAL])}: {error}") from error


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _add_tests(row: JsonObject) -> JsonObject:
    columns = {key: value for key, value in row.items() if key not in ("completion", *row_ids(row))}
    read = json.loads(_read_tests(canonical_json(columns)))
    if read is None and (ids := row_ids(row)):
        name = next(iter(ids.values()))
        raise LearnableError(
            f"no tests for {name!r}: name the table with the problems, as in `prompts` HumanEval.jsonl.gz"
        )
    return row if read is None else {**row, **read}


@lru_cache(maxsize=1024)
def _read_tests(columns_json: str) -> str:
    """Return the prompt and spec of a row as JSON, or null where it has no tests. Many completions share them."""
    read = read_program_row(json.loads(columns_json), "prompt", None, VERIFIER)
    return json.dumps(read and {key: read[key] for key in ("prompt", "spec") if read[key] is not None})
