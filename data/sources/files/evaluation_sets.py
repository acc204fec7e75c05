"""Evaluation sets: the texts that no training prompt may repeat, from files, folders of a data set and the hub."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from learnable.data.errors import LearnableError, nearest_names
from learnable.data.records import Row
from learnable.data.sources.files.data_sets import split_names
from learnable.data.sources.files.layouts.table import CONTEXT
from learnable.data.sources.files.locations import find_local, local_path, path_exists, plain_name
from learnable.data.sources.files.prompts import location_rows
from learnable.data.sources.files.templates import find_column

TEXT_COLUMNS = ("prompt", "question", "problem", "text", "input")
ID_COLUMNS = ("task_id", "id")
SPLITS = ("test", "validation", "train")
WHAT = "evaluation set"


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """A named evaluation set: one id and one text for each item."""

    name: str
    item_ids: tuple[str, ...]
    texts: tuple[str, ...]


def read_evaluation_set(location: str) -> EvaluationSet:
    """Read the texts to be kept out of training; answers and solutions are not looked at.

    Args:
        location: a file that `files.location_rows` reads, a folder or a hub id (of which the first of `SPLITS` that it
            has is read); `:column` behind it names the column, which is otherwise the first of `TEXT_COLUMNS` that
            there is, in whatever case, behind those of `CONTEXT` that a row has.

    Items are named by the first of `ID_COLUMNS`, or else by their number from 1 on.
    Raises `LearnableError` naming the place and the fix.
    """
    place, column = _split_column(location)
    item_ids, texts = [], []
    is_unnamed = column is None
    for number, (where, row) in enumerate(_rows(place), start=1):
        column = column or _find_column(row, place)
        text = _text(row, column, place, where)
        texts.append("\n\n".join([*_contexts(row, column), text]) if is_unnamed else text)
        item_ids.append(_item_id(row, number))
    if not texts:
        raise LearnableError(f"evaluation set {place!r} is empty: it needs at least one row with a text")
    return EvaluationSet(_name(place), tuple(item_ids), tuple(texts))


def _split_column(location: str) -> tuple[str, str | None]:
    place, colon, column = location.rpartition(":")
    if not colon or not place or "/" in column or path_exists(local_path(location)):
        return location, None
    return place, column or None


def _name(place: str) -> str:
    path = local_path(place)
    return plain_name(path) if path_exists(path) else place


def _rows(place: str) -> Iterator[tuple[str, Row]]:
    path = find_local(place, WHAT)
    if path is not None and not path.is_dir():
        return location_rows(place, SPLITS[0], what=WHAT)
    splits = split_names(place, path, WHAT)
    split = next((split for split in SPLITS if split in splits), splits[0])
    return location_rows(place, split, what=WHAT)


def _find_column(row: Row, place: str) -> str:
    for column in TEXT_COLUMNS:
        if column in row:
            return column
        if name := find_column(row, column):
            return name
    raise LearnableError(
        f"evaluation set {place!r} has none of the columns {', '.join(TEXT_COLUMNS)} (there are: {', '.join(row)}): "
        f"name the one with the question, as in {place}:COLUMN"
    )


def _contexts(row: Row, column: str) -> list[str]:
    """Return what a question is about: without it, many questions have the same words."""
    names = (find_column(row, name) for name in CONTEXT)
    return [row[name] for name in names if name and name != column and isinstance(row.get(name), str)]


def _text(row: Row, column: str, place: str, where: str) -> str:
    if column not in row:
        near = nearest_names(column, row)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise LearnableError(
            f"evaluation set {place!r}, {where}: no column {column!r} (there are: {', '.join(row)}): "
            f"name one that every row has, as in {place}:COLUMN{hint}"
        )
    value = row[column]
    if isinstance(value, list) and value and all(_is_message(turn) for turn in value):
        return "\n".join(turn["content"] for turn in value)
    if isinstance(value, str) and value.strip():
        return value
    raise LearnableError(
        f"evaluation set {place!r}, {where}: column {column!r} is {str(value)[:60]!r}: it must be text or chat messages"
    )


def _is_message(turn: Any) -> bool:
    return isinstance(turn, Mapping) and isinstance(turn.get("content"), str)


def _item_id(row: Row, number: int) -> str:
    return next((str(row[column]) for column in ID_COLUMNS if row.get(column) not in (None, "")), str(number))
