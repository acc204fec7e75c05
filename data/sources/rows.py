"""Rows of a user's table to prompts: which column means what, and clear errors where a row does not fit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from learnable.data.errors import LearnableError, nearest_names
from learnable.data.records import Message, Prompt, PromptText
from learnable.data.sources.program_rows import BadTestsError, read_program_row

Row = Mapping[str, Any]


class BadRowError(LearnableError):
    """A row that is no prompt; the message starts with the place it was read from."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns to read. `verifier` judges rows that name none; `answer` fills the spec of rows without one."""

    prompt: str = "prompt"
    answer: str | None = None
    verifier: str | None = None


def prompts_from_rows(rows: Iterable[tuple[str, Row]], asked: Columns, source: str) -> Iterator[Prompt]:
    """Turn rows, each with the place it came from (`file.jsonl, line 3`), into prompts.

    A row may also carry `spec` (an object, or its JSON), `verifier`, `family`, `form` and `difficulty`. Rows of
    programming problems may carry tests instead of a spec (`program_rows`).
    Raises `BadRowError` at the first row that does not fit.
    """
    for place, given in rows:
        row, columns = _program_row(given, asked, place)
        verifier = _verifier(row, columns, place)
        form = str(row.get("form") or source)
        yield Prompt(
            prompt=_prompt_text(row, columns.prompt, place),
            verifier=verifier,
            spec=_spec(row, columns, place),
            family=str(row.get("family") or source),
            form=form,
            difficulty=_difficulty(row, place),
            source=place,
        )


def _program_row(row: Row, columns: Columns, place: str) -> tuple[Row, Columns]:
    try:
        read = read_program_row(row, columns.prompt, columns.answer, columns.verifier)
    except BadTestsError as error:
        raise BadRowError(f"{place}: {error}") from error
    return (row, columns) if read is None else (read, replace(columns, answer=None))


def _prompt_text(row: Row, column: str, place: str) -> PromptText:
    value = _value(row, column, place, "--prompt-column")
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, list) and value and all(_is_message(turn) for turn in value):
        return tuple(Message(role=turn["role"], content=turn["content"]) for turn in value)
    raise BadRowError(
        f"{place}: column {column!r} is {_short(value)}: it must be a non-empty string, "
        'or a list of {"role": ..., "content": ...} messages'
    )


def _spec(row: Row, columns: Columns, place: str) -> dict[str, Any]:
    if columns.answer is not None:
        return {"answer": _value(row, columns.answer, place, "--answer-column")}
    value = row.get("spec")
    if value is None:
        if "answer" in row:
            return {"answer": row["answer"]}
        if "form" in row:
            return {"form": row["form"]}
        raise BadRowError(
            f"{place}: no column says what is right: add 'spec' or 'answer', or name one with --answer-column"
        )
    try:
        spec = json.loads(value) if isinstance(value, str) else value
    except json.JSONDecodeError as error:
        raise BadRowError(f"{place}: column 'spec' is not valid JSON ({error}): {_short(value)}") from error
    if not isinstance(spec, Mapping):
        raise BadRowError(f"{place}: column 'spec' is {_short(value)}: it must be a JSON object")
    return {key: item for key, item in spec.items() if item is not None}  # Arrow structs fill absent keys with null


def _verifier(row: Row, columns: Columns, place: str) -> str:
    verifier = row.get("verifier") or columns.verifier
    if not verifier:
        raise BadRowError(f"{place}: no verifier: add a 'verifier' column, or name one for all rows with --verifier")
    return str(verifier)


def _difficulty(row: Row, place: str) -> float | None:
    value = row.get("difficulty")
    if value is None or value == "":
        return None
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise BadRowError(f"{place}: column 'difficulty' is {_short(value)}: it must be a number") from error


def _value(row: Row, column: str, place: str, flag: str) -> Any:
    if column not in row:
        near = nearest_names(column, row)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise BadRowError(f"{place}: no column {column!r} (there are: {', '.join(row)}): name it with {flag}{hint}")
    return row[column]


def _is_message(turn: object) -> bool:
    return isinstance(turn, Mapping) and isinstance(turn.get("role"), str) and isinstance(turn.get("content"), str)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
