"""Choices as rows write them: a list, an object, or one text, with letters of their own or without."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from learnable.data.sources.files.bad_rows import BadRowError
from learnable.data.sources.files.columns import choice_text, parse_cell

_LABEL = re.compile(r"\s*\(?([A-Za-z])\s?[).:]\s*(?=\S)")
_FIRST = re.compile(r"\s*(\(?)([Aa])(\s?[).:])")


class AnswerOptions(NamedTuple):
    """The choices of a row: their labels, none where they have none, their texts, and each on a line as it is shown."""

    labels: list[str]
    texts: list[str]
    lines: list[str]


NO_OPTIONS = AnswerOptions([], [], [])


def read_choices(given: Any, place: str, column: str = "choices") -> AnswerOptions:
    """Return the choices of a row.

    It reads a list of texts, a list of `{"label", "text"}`, `{"label": [...], "text": [...]}`, and `{"A": ..., "B":
    ...}`, each also as JSON or as a Python literal, as cells of CSV files have it, and one text "A) ... B) ...". Where
    the texts carry letters, those are the labels, and lines keep them as they are. Raises `BadRowError` for anything
    else.
    """
    options = find_choices(given)
    if options is None:
        raise BadRowError(
            place,
            f"column {column!r} is {str(given)[:60]!r}: give a list of texts, a list of "
            '{"label": ..., "text": ...}, or {"label": [...], "text": [...]}',
        )
    return options


def find_choices(given: Any) -> AnswerOptions | None:
    """Return the choices that a value holds, None where it holds none.

    >>> find_choices(["A)3", "B)4"]).texts, find_choices({"A": "yes", "B": "no"}).lines
    (['3', '4'], ['A. yes', 'B. no'])
    """
    value = given
    if isinstance(given, str):
        value = parse_cell(given)
        if not isinstance(value, Mapping | list | tuple):
            value = _split_text(given)
    labels, texts = _labels_and_texts(value)
    if not (_are_texts(texts) and texts) or not (_are_texts(labels) and len(labels) in (0, len(texts))):
        return None
    labels, texts = [choice_text(label) for label in labels], [choice_text(text) for text in texts]
    if not labels and (carried := _carried_labels(texts)):
        return AnswerOptions(carried, [text[_end_of_label(text) :].strip() for text in texts], texts)
    shown = labels or list(
        string.ascii_uppercase if len(texts) <= len(string.ascii_uppercase) else map(str, range(1, len(texts) + 1))
    )
    return AnswerOptions(labels, texts, [f"{label}. {text}" for label, text in zip(shown, texts, strict=False)])


def _labels_and_texts(value: Any) -> tuple[Any, Any]:
    if isinstance(value, Mapping):
        if {"label", "text"} <= value.keys():
            return value["label"], value["text"]
        return _by_key({str(key): text for key, text in value.items() if text is not None})  # Arrow fills absent keys
    if _is_sequence(value) and value and all(isinstance(item, Mapping) for item in value):
        labels, texts = ("label", "key", "id", "letter"), ("text", "value", "content", "option")
        keys = [next((name for name in names if name in value[0]), "") for names in (labels, texts)]
        if all(key and all(key in item for item in value) for key in keys):
            return [item[keys[0]] for item in value], [item[keys[1]] for item in value]
    return [], value


def _by_key(filled: Mapping[str, Any]) -> tuple[list[str], list[Any]]:
    """Return the keys as labels where they are letters from A on, or short; names such as "option_a" are none."""
    letters = {key.strip("()").upper(): text for key, text in filled.items()}
    if letters.keys() == set(string.ascii_uppercase[: len(filled)]):
        return sorted(letters), [letters[letter] for letter in sorted(letters)]
    # A label has three characters at most.
    return (list(filled) if all(len(key) <= 3 for key in filled) else []), list(filled.values())


def _split_text(text: str) -> list[str]:
    """Return the parts of "A) ... B) ...", each with its letter; none where the text is no such list."""
    if not (first := _FIRST.match(text)):
        return []
    starts = list(_starts(text, first))
    ends = [*starts[1:], len(text)]
    return [text[start:end].strip(" \t\r\n,;") for start, end in zip(starts, ends, strict=True)] if starts[1:] else []


def _starts(text: str, first: re.Match[str]) -> Iterator[int]:
    """Yield where each letter in order stands, written as the first one is."""
    opening, letter, closing = (re.escape(first[group]) for group in (1, 2, 3))
    letters = string.ascii_uppercase if letter == "A" else string.ascii_lowercase
    start = first.start(1)
    for letter in letters:
        match = re.compile(rf"(?:\A|(?<=[\s,;])){opening}{letter}{closing}").search(text, start)
        if match is None:
            return
        yield match.start()
        start = match.end()


def _carried_labels(texts: Sequence[str]) -> list[str]:
    """Return the letters that all texts begin with, in order from A on; none where one has another or none."""
    matches = [_LABEL.match(text) for text in texts]
    letters = [match[1].upper() for match in matches if match]
    return letters if letters == list(string.ascii_uppercase[: len(texts)]) and len(texts) > 1 else []


def _end_of_label(text: str) -> int:
    match = _LABEL.match(text)
    return match.end() if match else 0


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _are_texts(values: Any) -> bool:
    return _is_sequence(values) and all(isinstance(choice_text(value), str) for value in values)
