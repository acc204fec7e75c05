"""Tables of pass counts of other models: one row a prompt and a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.records import PassCount, Row, text_key
from learnable.data.sources.files.prompts import location_rows

MAX_K = 10**9  # completions of one prompt
ID_DIGITS = 20


def read_pass_counts(location: str) -> Iterator[PassCount]:
    """Yield the counts of a file with the columns `model`, `k`, `passes`, and `prompt` or `prompt_id`.

    Raises `LearnableError` for what cannot be read, and for a row that is no count: it names column, row and fix.
    """
    empty = True
    for place, row in location_rows(location, "train", what="counts"):
        empty = False
        k = _read_number(row, "k", place, 1, MAX_K)
        passes = _read_number(row, "passes", place, 0, k)
        yield PassCount(_read_key(row, place), _read_text(row, "model", place, "the model that answered"), k, passes)
    if empty:
        raise LearnableError(f"counts {location!r} is empty: it needs rows with prompt, model, k and passes")


def _read_key(row: Row, place: str) -> str:
    if row.get("prompt") in (None, "") and row.get("prompt_id") not in (None, ""):
        given = str(row["prompt_id"])
        if len(given) != ID_DIGITS or not set(given) <= set("0123456789abcdef"):
            raise LearnableError(
                f"{place}: column 'prompt_id' is {given[:60]!r}, which is no id of a store's prompt ({ID_DIGITS} hex "
                "digits, as `learnable show` prints): give a column 'prompt' with the text instead"
            )
        return given
    chat = row.get("prompt")
    if isinstance(chat, list) and chat and isinstance(chat[-1], dict):
        row = {"prompt": chat[-1].get("content")}
    return text_key(_read_text(row, "prompt", place, "the text, or 'prompt_id'"))


def _read_text(row: Row, column: str, place: str, what: str) -> str:
    value = _get(row, column, place, what)
    if not isinstance(value, str) or not value.strip():
        raise LearnableError(f"{place}: column {column!r} is {str(value)[:60]!r}: it must hold {what}")
    return value


def _read_number(row: Row, column: str, place: str, least: int, most: int) -> int:
    value = _get(row, column, place, "a whole number")
    try:
        number = int(value)
        if isinstance(value, bool) or number != float(value):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise LearnableError(f"{place}: column {column!r} is {str(value)[:60]!r}: it must be a whole number") from None
    if not least <= number <= most:
        limit = "at least 1, the completions of the prompt" if column == "k" else f"from 0 to the row's k, {most}"
        raise LearnableError(f"{place}: column {column!r} is {number}: it must be {limit}")
    return number


def _get(row: Row, column: str, place: str, what: str) -> Any:
    if row.get(column) in (None, ""):
        has = ", ".join(map(str, row)) or "no column"
        raise LearnableError(f"{place}: no {column!r}: add a column {column!r} with {what} (the row has {has})")
    return row[column]
