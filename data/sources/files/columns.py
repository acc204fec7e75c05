"""Columns of a user's rows: which is what, how nested ones are reached, and their values as JSON has them."""

from __future__ import annotations

import ast
import base64
import json
import math
import re
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any

from learnable.data.errors import LearnableError, nearest_names
from learnable.data.records import JsonObject, Row, Spec
from learnable.data.sources.files.bad_rows import BadRowError

PROMPT = "prompt"  # the column of prompts where none is named
# What data sets call the prompt, the likeliest first: named in errors, never guessed.
PROMPT_LIKE = (
    *("messages", "conversations", "conversation", "question", "problem", "instruction", "query", "text"),
    *("content", "input", "sentence", "goal", "task"),
)
# What data sets write for a difficulty, easiest first.
DIFFICULTY_LEVELS = {"easy": 1.0, "medium": 2.0, "moderate": 2.0, "hard": 3.0, "difficult": 3.0}

_NUMBER = re.compile(r"[-+\u2212]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?", re.ASCII)
_LEVEL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns to read. `verifier` judges rows that name none; `answer` fills the spec of rows without one.

    `spec` is no column: it has what the specs of rows leave out.

    A dot reaches into an object, or into its JSON or Python literal, and by a number into a list:
    `reward_model.ground_truth`, `turns.0.text`. A column that has the dot in its own name comes first. `problem` says
    which rows are one problem, None for what their cases or questions say. `template` makes the prompt of several
    columns, in place of `prompt` (`templates.Template`); rows may lack those that are `optional`. `advice` is what
    messages say of a file whose rows have no judge.
    """

    prompt: str = PROMPT
    answer: str | None = None
    verifier: str | None = None
    problem: str | None = None
    spec: Spec = field(default_factory=dict)
    template: str = ""
    optional: bool = False
    advice: str = ""


class NoColumnError(LearnableError):
    """The row has no such column; the message says which it has."""


def column_value(row: Row, column: str) -> Any:
    """Return what a row has under the name, which may be dotted. Raises `NoColumnError` where it has nothing.

    >>> column_value({"extra": {"a.b": '{"c": 3}'}}, "extra.a.b.c")
    3
    """
    if column in row:
        return row[column]
    within = None
    for head, rest in _splits(column):
        if head in row and (inner := _as_object(row[head])) is not None:
            try:
                return column_value(inner, rest)
            except NoColumnError:
                within = within or (head, rest, inner)
    if within is not None:
        head, rest, inner = within
        raise NoColumnError(f"column {head!r} has no {rest!r} (it has: {', '.join(map(str, islice(inner, 40)))})")
    raise NoColumnError(f"no column {column!r} (there are: {', '.join(map(str, row))})")


def read_column(row: Row, column: str, place: str, setting: str) -> Any:
    """Return a column's value.

    Raises `BadRowError` where there is none. The message has the `flag` that names another column, and the likeliest
    name.
    """
    try:
        return column_value(row, column)
    except NoColumnError as error:
        near = nearest_names(column, map(str, row))
        likely = [name for name in PROMPT_LIKE if name in row] if setting == "prompt_column" else []
        hint = f"; did you mean {near[0]!r}?" if near else f", as in `{setting}` {likely[0]}" if likely else ""
        raise BadRowError(place, f"{error}: name it with `{setting}`{hint}") from error


def roots(column: str) -> set[str]:
    """Return the names of the columns that a dotted name may begin with.

    >>> sorted(roots("a.b.c"))
    ['a', 'a.b', 'a.b.c']
    """
    return {column, *(head for head, _ in _splits(column))}


def carried(row: Row, read: Collection[str]) -> JsonObject:
    """Return the columns of a row but those that were `read` into a prompt's own fields, JSON-ready."""
    return {str(name): json_ready(value) for name, value in row.items() if name not in read}


def json_ready(value: Any) -> Any:
    """Return a value as JSON has it.

    Dates become ISO text, durations seconds, bytes base64, decimals numbers (text where a float would change them),
    numpy's scalars and arrays become Python's, NaN and infinities become None, and anything else becomes text. Raises
    `UnicodeEncodeError` for half of a surrogate pair, which JSON can say and no file can store.

    >>> json_ready({"day": date(2024, 2, 29), "price": Decimal("2.50"), "rate": float("nan"), "tags": ("a", b"b")})
    {'day': '2024-02-29', 'price': 2.5, 'rate': None, 'tags': ['a', 'Yg==']}
    """
    match value:
        case None | bool() | int():
            return value
        case str():
            value.encode()  # half of a surrogate pair is not text
            return value
        case float():
            return float(value) if math.isfinite(value) else None
        case Mapping():
            return {json_ready(str(key)): json_ready(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [json_ready(item) for item in value]
    return _plain(value)


def _plain(value: Any) -> Any:
    match value:
        case bytes() | bytearray():
            return base64.b64encode(value).decode()
        case date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal():
            return _number(value)
    return json_ready(value.tolist()) if hasattr(value, "tolist") else str(value)


def _number(value: Decimal) -> int | float | str | None:
    if not value.is_finite():
        return None
    if value == value.to_integral_value():
        return int(value)
    return float(value) if Decimal(repr(float(value))) == value else str(value)


def parse_cell(text: str) -> Any:
    """Return the JSON or the Python literal that a cell holds, None where it is neither.

    >>> parse_cell('["a", null]'), parse_cell("{'a': None}"), parse_cell("a")
    (['a', None], {'a': None}, None)
    """
    for read in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, TypeError, RecursionError, MemoryError), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\\d" in other people's text is no news
            return read(text)
    return None


def fit_number(answer: Any) -> Any:
    """Return a number that is written as text as a number, and a whole one as an `int`; anything else as it is.

    >>> [fit_number(answer) for answer in ("7", " -1,024 ", "007", 7.0, "2.5", "seven", True)]
    [7, -1024, 7, 7, 2.5, 'seven', True]
    """
    if isinstance(answer, str) and _NUMBER.fullmatch(answer.strip()) and len(answer) < 300:
        integer, _, fraction = answer.strip().replace(",", "").replace("\u2212", "-").partition(".")
        return float(f"{integer}.{fraction}") if fraction.strip("0") else int(integer)
    return int(answer) if isinstance(answer, float) and answer.is_integer() else answer


def choice_text(answer: Any) -> Any:
    """Return an answer as text without spaces around it: JSON's words for booleans, digits for whole numbers.

    >>> [choice_text(answer) for answer in (0, 1.0, True, " Yes", None)]
    ['0', '1', 'true', 'Yes', None]
    """
    if isinstance(answer, bool):
        return str(answer).lower()
    if isinstance(answer, str):
        return answer.strip()
    answer = fit_number(answer) if isinstance(answer, float) else answer
    return str(answer) if isinstance(answer, int | float) else answer


def single(value: Any) -> Any:
    """Return the item of a list of one, in a cell too, and anything else as it is.

    >>> single(["gsm8k"]), single('["gsm8k"]'), single([1, 2]), single("easy")
    ('gsm8k', 'gsm8k', [1, 2], 'easy')
    """
    listed = parse_cell(value) if isinstance(value, str) and value.lstrip().startswith("[") else value
    return listed[0] if isinstance(listed, list | tuple) and len(listed) == 1 else value


def level_number(value: Any, levels: Mapping[str, float] | None = None) -> float | None:
    """Return a difficulty as a number: one of the `levels` by its word, or the number in it; None where it has none.

    >>> [level_number(value) for value in ("Level 3", "easy", ["Hard"], 7, "-1", "tricky", True)]
    [3.0, 1.0, 3.0, 7.0, -1.0, None, None]
    """
    value = single(value)
    if isinstance(value, str):
        digits = _LEVEL.search(value)
        return {**DIFFICULTY_LEVELS, **(levels or {})}.get(
            value.strip().casefold(), float(digits[0]) if digits else None
        )
    return float(value) if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else None


def _splits(column: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to part a dotted name in two, the longest first part first."""
    parts = column.split(".")
    for end in range(len(parts) - 1, 0, -1):
        yield ".".join(parts[:end]), ".".join(parts[end:])


def _as_object(value: Any) -> Row | None:
    """Return what has names in it: an object, or a list under its places from 0 on, itself or as text in a cell."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        value = parse_cell(value)
    if isinstance(value, list):
        return {str(place): item for place, item in enumerate(value)}
    return value if isinstance(value, Mapping) else None
