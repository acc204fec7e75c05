"""Tables of pass counts: of so many completions of a prompt by a model, how many passed. They hold no completion."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject, PassCount, PromptText, Row, text_key
from learnable.data.sources.files.bad_rows import BadRowError, OnBad
from learnable.data.sources.files.columns import PROMPT, PROMPT_LIKE
from learnable.data.sources.files.prompts import location_rows
from learnable.data.sources.rollouts.files import read_first
from learnable.data.sources.rollouts.values import chat_or_text

MAX_K = 10**9  # completions of one prompt
ID_DIGITS = 20
# The pairs of columns that are known; the second one is open-instruct's (scripts/data/filtering_vllm.py).
PAIRS = (("k", "passes"), ("total_rollouts", "total_correct_rollouts"))
RATE_COLUMN = re.compile(r"(?P<model>.*?)_?(?:solve|pass)_?rate", re.ASCII | re.I)  # Big-Math: llama8b_solve_rate
EXACT = 0.005  # of a rate, or a quarter of one pass: how far it may be from a whole number of passes


@dataclass(frozen=True, slots=True)
class CountColumns:
    """Which columns of a count table say what: `k` is a number where no column has it, `model` a name likewise."""

    k: int | None = None
    rate: str = ""
    prompt: str = PROMPT
    model: str = ""


@dataclass(frozen=True, slots=True)
class Counted:
    """A row of a count table: the count, and the prompt where the table has its text, with the row's other columns."""

    place: str
    count: PassCount
    prompt: PromptText | None
    row: JsonObject = field(default_factory=dict)


def is_count_table(row: Row, columns: CountColumns) -> bool:
    """Whether a file whose first row this is holds counts: both columns of a pair, or a rate."""
    return not {"completion", "response", "traces"} & row.keys() and (
        any(set(pair) <= row.keys() for pair in PAIRS) or bool(_find_rate(row, columns))
    )


def is_text_table(row: Row) -> bool:
    """Whether a file whose first row this is says what prompts of a count table read: `prompt_id` and `prompt`."""
    return {"prompt_id", "prompt"} <= row.keys() and not {"completion", "k", "passes"} & row.keys()


def read_counts(files: Sequence[str], columns: CountColumns, on_bad: OnBad) -> Iterator[Counted]:
    """Yield the counts of tables; those without texts are given them by `prompt_id` from the files that have both.

    `on_bad` is given each row that is no count. Raises `LearnableError` for what cannot be read.
    """
    firsts = {file: next(iter(read_first(file)), {}) for file in dict.fromkeys(files)}
    texts = {
        str(row["prompt_id"]): row
        for file, first in firsts.items()
        if is_text_table(first)
        for _, row in location_rows(file, "train", what="counts")
    }
    empty = True
    for file, first in firsts.items():
        if is_text_table(first):
            continue
        for place, row in location_rows(file, "train", on_bad, what="counts"):
            empty = False
            try:
                yield _read_row(place, {**texts.get(str(row.get("prompt_id")), {}), **row}, columns)
            except BadRowError as error:
                on_bad(error)
    if empty:
        names = ", ".join(Path(file).name for file in firsts)
        raise LearnableError(f"counts {names!r} is empty: it needs rows with prompt, model, k and passes")


def _read_row(place: str, row: Row, columns: CountColumns) -> Counted:
    rate = _find_rate(row, columns)
    pair = next((pair for pair in PAIRS if pair[0] in row or pair[1] in row), PAIRS[0])
    if rate and not set(pair) <= row.keys():
        k, passes = _count_rate(row, rate, columns.k, place)
    else:
        k = _read_number(row, pair[0], place, 1, MAX_K)
        passes = _read_number(row, pair[1], place, 0, k)
    prompt = _find_prompt(row, columns, place)
    counted = {*pair, "model", "prompt_id", rate, *([_prompt_column(row, columns)] if prompt is not None else [])}
    return Counted(
        place,
        PassCount(_read_key(row, prompt, place), _find_model(row, rate, columns, place), k, passes),
        prompt,
        {str(name): value for name, value in row.items() if name not in counted},
    )


def _find_rate(row: Row, columns: CountColumns) -> str:
    """Return the column of rates: the one that was named, or the only one whose name says so."""
    if columns.rate:
        return columns.rate
    likely = [str(name) for name in row if RATE_COLUMN.fullmatch(str(name))]
    return likely[0] if len(likely) == 1 else ""


def _count_rate(row: Row, column: str, k: int | None, place: str) -> tuple[int, int]:
    value = _get(row, column, place, "the share of completions that passed")
    if k is None:
        raise BadRowError(
            place,
            f"column {column!r} is a rate, {value}, and says not of how many completions: give `k`, as the "
            "data set's card says it",
        )
    try:
        rate = float(value)
    except (TypeError, ValueError):
        rate = float("nan")
    if not 0 <= rate <= 1:
        raise BadRowError(place, f"column {column!r} is {str(value)[:60]!r}: it must be a rate from 0 to 1")
    passes = round(rate * k)
    if abs(rate - passes / k) > min(EXACT, 0.25 / k):
        raise BadRowError(
            place,
            f"column {column!r} is {rate}, which {k} completions cannot give (nearest: {passes}/{k} = "
            f"{passes / k:.4g}): give the `k` that it was measured with",
        )
    return k, passes


def _prompt_column(row: Row, columns: CountColumns) -> str:
    if columns.prompt in row or columns.prompt != PROMPT:
        return columns.prompt
    return next((name for name in PROMPT_LIKE if row.get(name)), PROMPT)


def _find_prompt(row: Row, columns: CountColumns, place: str) -> PromptText | None:
    column = _prompt_column(row, columns)
    return None if row.get(column) in (None, "") else chat_or_text(row[column], place, column)


def _read_key(row: Row, prompt: PromptText | None, place: str) -> str:
    if prompt is not None:
        return text_key(prompt if isinstance(prompt, str) else prompt[-1].content)
    if row.get("prompt_id") in (None, ""):
        _get(row, "prompt", place, "the text, or 'prompt_id'")
    prompt_id = str(row["prompt_id"])
    if len(prompt_id) != ID_DIGITS or not set(prompt_id) <= set("0123456789abcdef"):
        raise BadRowError(
            place,
            f"column 'prompt_id' is {prompt_id[:60]!r}, which is no id of a store's prompt ({ID_DIGITS} hex "
            "digits, as `learnable show` prints): give a column 'prompt' with the text instead, or a second file with "
            "the columns prompt_id and prompt",
        )
    return prompt_id


def _find_model(row: Row, rate: str, columns: CountColumns, place: str) -> str:
    named = RATE_COLUMN.fullmatch(rate)
    if row.get("model") in (None, "") and (columns.model or (named and named["model"])):
        return columns.model or str(named["model"] if named else "")
    value = _get(row, "model", place, "the model that answered")
    if not isinstance(value, str) or not value.strip():
        raise BadRowError(place, f"column 'model' is {str(value)[:60]!r}: it must hold the model that answered")
    return value


def _read_number(row: Row, column: str, place: str, least: int, most: int) -> int:
    value = _get(row, column, place, "a whole number")
    try:
        number = int(value)
        if isinstance(value, bool) or number != float(value):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise BadRowError(place, f"column {column!r} is {str(value)[:60]!r}: it must be a whole number") from None
    if not least <= number <= most:
        limit = "at least 1, the completions of the prompt" if least == 1 else f"from 0 to the row's k, {most}"
        raise BadRowError(place, f"column {column!r} is {number}: it must be {limit}")
    return number


def _get(row: Mapping[str, Any], column: str, place: str, what: str) -> Any:
    if row.get(column) in (None, ""):
        has = ", ".join(map(str, row)) or "no column"
        raise BadRowError(place, f"no {column!r}: add a column {column!r} with {what} (the row has {has})")
    return row[column]
