"""Rows of a user's table to prompts: which column means what, and clear errors where a row does not fit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from learnable.data.records import Message, Prompt, PromptText, Row, Spec, is_own_verifier, name_problem
from learnable.data.sources.files.answers import (
    NUMERIC,
    ChoiceSpecs,
    final_answer,
)
from learnable.data.sources.files.bad_rows import BadRowError, OnBad, refuse
from learnable.data.sources.files.columns import (
    PROMPT,
    Columns,
    NoColumnError,
    carried,
    column_value,
    fit_number,
    json_ready,
    level_number,
    read_column,
)
from learnable.data.sources.files.layouts.readings import UnreadError, read_choice
from learnable.data.sources.files.layouts.recognition import Recognised
from learnable.data.sources.files.templates import read_template
from learnable.data.sources.test_code.program_rows import MORE_TESTS, TEST_COLUMNS, BadTestsError, read_program_row


def prompts_from_rows(
    rows: Iterable[tuple[str, Row]],
    columns: Columns,
    source: str,
    on_bad: OnBad = refuse,
    all_rows: Iterable[tuple[str, Row]] = (),
    layout: Recognised | None = None,
) -> Iterator[Prompt]:
    """Turn rows, each with the place it came from (`file.jsonl, line 3`), into prompts.

    A row may also have `spec` (an object, or its JSON), `verifier`, `family`, `form` and `difficulty`, and for `choice`
    `choices`. Rows of programming problems may have tests instead of a spec (`program_rows`). What else a row has goes
    along in `Prompt.columns`, and is the spec of a user's own verifier where there is no other spec. Every spec gets
    what `columns.spec` has besides. `all_rows` are the rows of the whole source again (see `ChoiceSpecs`). Rows that
    name no verifier and have no spec are read by the `layout` of their file, where it has one.

    `on_bad` is given the error of each row that does not fit. Raises `BadRowError` where it is left out.
    """
    choices = ChoiceSpecs(all_rows, columns)
    for place, row in rows:
        try:
            yield _read_row(row, columns, place, source, choices, layout)
        except BadRowError as error:
            on_bad(error)


def read_answer_spec(row: Row, verifier: str, place: str) -> Spec:
    """Return the spec that the `answer` of a row, and its `choices`, are for a verifier.

    Raises `BadRowError` for choices that cannot be read.
    """
    columns = Columns(verifier=verifier)
    return _spec(row, columns, place, ChoiceSpecs((), columns))


def _read_row(
    given: Row, columns: Columns, place: str, source: str, choices: ChoiceSpecs, layout: Recognised | None
) -> Prompt:
    read = {"" if columns.template else columns.prompt, "verifier", "spec", "family", "form", "difficulty"}
    reached = row = _reach(given, columns)
    if layout is not None and layout.is_for(given):
        row = layout.fill(reached, place)
        if _has_spec(row):
            read |= set() if columns.template else {PROMPT, layout.question.column}
            columns = replace(columns, prompt=PROMPT, answer=None, template="")
    if columns.template:
        row, columns = {**row, PROMPT: _fill(columns, row, place)}, replace(columns, prompt=PROMPT)
    tests = row
    row = _program_row(row, columns, place)
    if row is not tests:
        read |= {*TEST_COLUMNS, MORE_TESTS, columns.answer or ""}
        columns = replace(columns, answer=None)
    verifier = _verifier(row, columns, place)
    if (level := level_number(row.get("difficulty"))) is None:
        read -= {"difficulty"}  # words that are no level go along as they are
    try:
        return Prompt(
            prompt=_prompt_text(row, columns.prompt, place),
            verifier=verifier,
            spec=json_ready({**columns.spec, **_spec_of_row(given, row, columns, place, choices)}),
            family=json_ready(str(row.get("family") or source)),
            form=json_ready(str(row.get("form") or source)),
            difficulty=level,
            source=place,
            columns=carried(given, read),
            named_problem=_problem(reached, columns, place),
        )
    except UnicodeEncodeError as error:  # JSON can say "\\ud83d", half of a sign
        half = error.object[error.start : error.end]
        raise BadRowError(place, f"{half!a} is half of a sign, which no file can store: correct the text") from error


def _reach(row: Row, columns: Columns) -> Row:
    """Return the row with what a dotted name reaches under that name."""
    for name in (columns.prompt, columns.answer or "", columns.problem or ""):
        if "." in name and name not in row:
            with suppress(NoColumnError):  # whoever needs it says so
                row = {**row, name: column_value(row, name)}
    return row


def _fill(columns: Columns, row: Row, place: str) -> str:
    if text := read_template(columns.template, columns.optional).fill(row, place):
        return text
    raise BadRowError(place, f"the columns of `prompt_template` {columns.template!r} are all empty: fill one")


def _program_row(row: Row, columns: Columns, place: str) -> Row:
    try:
        read = read_program_row(row, columns.prompt, columns.answer, columns.verifier)
    except BadTestsError as error:
        raise BadRowError(place, str(error)) from error
    return row if read is None else read


def _prompt_text(row: Row, column: str, place: str) -> PromptText:
    value = read_column(row, column, place, "prompt_column")
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, list) and value and all(_is_message(turn) for turn in value):
        if value[-1]["role"] == "assistant":
            raise BadRowError(
                place,
                f"column {column!r} ends with a turn of the assistant's, {_short(value[-1]['content'])}: drop "
                "that turn, for the policy is to write it",
            )
        return tuple(Message(role=turn["role"], content=turn["content"]) for turn in value)
    raise BadRowError(
        place,
        f"column {column!r} is {_short(value)}: it must be a non-empty string, "
        'or a list of {"role": ..., "content": ...} messages',
    )


def _spec_of_row(given: Row, row: Row, columns: Columns, place: str, choices: ChoiceSpecs) -> Spec:
    """Return what a row itself says of its spec; `row` is the `given` one with its tests read."""
    if is_own_verifier(_verifier(row, columns, place)):
        return _own_spec(given, columns, place)
    return _spec(row, columns, place, choices)


def _spec(row: Row, columns: Columns, place: str, choices: ChoiceSpecs) -> Spec:
    """Return the spec for a verifier of ours."""
    verifier = _verifier(row, columns, place)
    if columns.answer is not None:
        answer = read_column(row, columns.answer, place, "answer_column")
    elif _has_spec(row):
        spec = _parse_spec(row["spec"], place)
        return spec | {"answer": fit_number(spec["answer"])} if verifier in NUMERIC and "answer" in spec else spec
    elif "answer" in row and verifier != "regex":  # it needs no answer, whatever columns a row has
        answer = row["answer"]
    elif "form" in row:
        return {"form": row["form"]}
    elif columns.spec:  # it may be all that the verifier needs, which the verifier knows
        return {}
    else:
        raise BadRowError(
            place,
            "no column says what is right: add 'spec' or 'answer', name one with `answer_column`, or give "
            "all rows one `spec`",
        )
    answer = json_ready(answer)
    if verifier == "choice":
        return _choice_spec(answer, row, columns, place, choices)
    return {"answer": fit_number(final_answer(answer)) if verifier in NUMERIC else answer}


def _choice_spec(answer: Any, row: Row, columns: Columns, place: str, choices: ChoiceSpecs) -> Spec:
    """Return the spec of a choice: of those that the prompt lists by letters, where a template lists them."""
    listed = read_template(columns.template).options(row) if columns.template else None
    if listed is None:
        return choices.make(answer, row.get("choices") or columns.spec.get("choices"), place)
    try:
        return read_choice(answer, listed)
    except UnreadError as error:
        raise BadRowError(place, f"the right answer is {_short(answer)}: {error}") from error


def _own_spec(row: Row, columns: Columns, place: str) -> dict[str, Any]:
    """Return the spec for a user's own verifier: the row's, or else all that the row has but the prompt.

    `answer_column` adds the answer by that name.
    """
    if _has_spec(row):
        return _parse_spec(row["spec"], place)
    spec = {name: value for name, value in row.items() if name not in (columns.prompt, "spec")}
    if columns.answer is not None:
        spec["answer"] = read_column(row, columns.answer, place, "answer_column")
    return spec


def _has_spec(row: Row) -> bool:
    return row.get("spec") not in (None, "")  # CSV has no null


def _parse_spec(value: Any, place: str) -> dict[str, Any]:
    try:
        spec = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError) as error:
        raise BadRowError(place, f"column 'spec' is not valid JSON ({error}): {_short(value)}") from error
    if not isinstance(spec, Mapping):
        raise BadRowError(place, f"column 'spec' is {_short(value)}: it must be a JSON object")
    return {key: item for key, item in spec.items() if item is not None}  # Arrow structs fill absent keys with null


def _verifier(row: Row, columns: Columns, place: str) -> str:
    verifier = row.get("verifier") or columns.verifier
    if not verifier:
        raise BadRowError(
            place, f"no verifier: add a 'verifier' column, or name one for all rows with `verifier`{columns.advice}"
        )
    return str(verifier)


def _problem(row: Row, columns: Columns, place: str) -> str:
    """Return the id of the problem that a row says it is of, "" where it says nothing."""
    if columns.problem is None:
        return ""
    value = json_ready(read_column(row, columns.problem, place, "split_by"))
    return "" if value in (None, "") else name_problem("split-by", value)


def _is_message(turn: object) -> bool:
    return isinstance(turn, Mapping) and isinstance(turn.get("role"), str) and isinstance(turn.get("content"), str)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
