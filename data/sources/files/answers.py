"""Fits the answer of a user's row to the verifier that judges it: numbers for some, one of the choices for another."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from learnable.data.progress import progress
from learnable.data.records import Row, Spec
from learnable.data.sources.files.bad_rows import BadRowError
from learnable.data.sources.files.columns import Columns, NoColumnError, column_value, json_ready, parse_cell, roots

NUMERIC = ("arithmetic", "counting", "number")  # their answer is a number
CHOICE = "choice"
PATTERN = "regex"  # it needs no answer, whatever columns a row has
MAX_CHOICES = 26
MAX_CHOICE_LENGTH = 40  # characters; longer answers are not a closed set

_NUMBER = re.compile(r"[-+\u2212]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?", re.ASCII)
_FINAL = re.compile(r"####[ \t]*(\S[^\n]*?)\s*\Z")


def final_answer(answer: Any) -> Any:
    r"""Return what stands behind the "####" that ends a worked solution, and anything else as it is.

    >>> final_answer("48 / 2 = 24\n#### 1,024"), final_answer("1,024"), final_answer(7)
    ('1,024', '1,024', 7)
    """
    found = _FINAL.search(answer) if isinstance(answer, str) else None
    return found[1] if found else answer


def fit_number(answer: Any) -> Any:
    """Return a number that is written as text as a number, and a whole one as an `int`; anything else as it is.

    >>> [fit_number(answer) for answer in ("7", " -1,024 ", "007", 7.0, "2.5", "seven", True)]
    [7, -1024, 7, 7, 2.5, 'seven', True]
    """
    if isinstance(answer, str) and _NUMBER.fullmatch(answer.strip()) and len(answer) < 300:
        whole, _, fraction = answer.strip().replace(",", "").replace("\u2212", "-").partition(".")
        return float(f"{whole}.{fraction}") if fraction.strip("0") else int(whole)
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


class ChoiceSpecs:
    """Makes the specs of rows for `choice`, and says once what it took for granted.

    Args:
        rows: the rows of the whole source again, of which answers, verifiers, specs and choices are looked at. Where
            rows give no choices, the choices are the answers that occur, if they are few.
        columns: which columns are read.
    """

    def __init__(self, rows: Iterable[tuple[str, Row]], columns: Columns) -> None:
        self._rows = rows
        self._columns = columns
        self._closed: list[str] | None = None
        self._said: set[str] = set()

    def make(self, answer: Any, given: Any, place: str) -> Spec:
        """Return the spec for an answer, where `given` is what the row has as `choices`, None for nothing.

        Raises `BadRowError` for choices that cannot be read. Whether the answer is one of them, the verifier says.
        """
        if given is None or given in ("", [], {}):
            text, choices = choice_text(answer), self._closed_set()
            return {"answer": text, "choices": choices} if choices else {"answer": text}
        labels, texts = read_choices(given, place)
        text = choice_text(answer)
        for choices in (labels, texts):
            if str(text).casefold() in map(str.casefold, choices):
                return {"answer": text, "choices": choices, **_texts(choices, texts)}
        if (index := _index(answer)) is not None and index < len(texts):
            self.say("whole numbers as answers are read as places in 'choices', from 0 on")
            return {"answer": (labels or texts)[index], "choices": labels or texts, **_texts(labels or texts, texts)}
        letters = list(string.ascii_uppercase[: len(texts)])
        if str(text).upper() in letters:
            self.say("letters as answers are read as places in 'choices': the model is to answer with the letter")
            return {"answer": str(text).upper(), "choices": letters, **_texts(letters, texts)}
        return {"answer": text, "choices": texts}

    def _closed_set(self) -> list[str]:
        if self._closed is None:
            self._closed = self._find_closed_set()
        return self._closed

    def _find_closed_set(self) -> list[str]:
        known: dict[str, str] = {}
        for _, row in self._rows:
            text = self._answer_without_choices(row)
            if text is None:
                continue
            known[text.casefold()] = min(text, known.get(text.casefold(), text))
            if len(known) > MAX_CHOICES or len(text) > MAX_CHOICE_LENGTH:
                progress().warn(
                    f"the answers are not a closed set (more than {MAX_CHOICES} of them, or over {MAX_CHOICE_LENGTH} "
                    "characters), so a completion need only name the right one: add a column 'choices'"
                )
                return []
        choices = [known[name] for name in sorted(known)]
        if len(choices) < 2:  # one answer alone tells nothing
            return []
        progress().note(f"choices taken from the file's answers: {', '.join(choices)}")
        return choices

    def _answer_without_choices(self, row: Row) -> str | None:
        if (row.get("verifier") or self._columns.verifier) != CHOICE or row.get("choices"):
            return None
        if self._columns.answer is None and row.get("spec"):
            return None
        try:
            text = choice_text(json_ready(column_value(row, self._columns.answer or "answer")))
        except NoColumnError:
            return None
        return text if isinstance(text, str) and text else None

    def say(self, text: str) -> None:
        """Tell `progress()` what was taken for granted, once."""
        if text not in self._said:
            self._said.add(text)
            progress().note(text)


def _texts(choices: list[str], texts: list[str]) -> Spec:
    """Return what a spec says of the words that choices stand for, nothing where the choices are these words."""
    return {} if choices == texts else {"texts": texts}


def choice_columns(columns: Columns) -> set[str]:
    """Return the names of the columns that `ChoiceSpecs` looks at."""
    return {"verifier", "choices", "spec", *roots(columns.answer or "answer")}


def read_choices(given: Any, place: str, column: str = "choices") -> tuple[list[str], list[str]]:
    """Return the labels of the choices, none where they have none, and their texts.

    It reads a list of texts, a list of `{"label", "text"}`, and `{"label": [...], "text": [...]}`, each also as JSON or
    as a Python literal, as cells of CSV files have it. Raises `BadRowError` for anything else.
    """
    value = parse_cell(given) if isinstance(given, str) else given
    if isinstance(value, Mapping) and {"label", "text"} <= value.keys():
        labels, texts = value["label"], value["text"]
    elif _is_sequence(value) and all(isinstance(item, Mapping) and {"label", "text"} <= item.keys() for item in value):
        labels, texts = [item["label"] for item in value], [item["text"] for item in value]
    else:
        labels, texts = [], value
    if not (_are_texts(texts) and texts) or not (_are_texts(labels) and len(labels) in (0, len(texts))):
        raise BadRowError(
            f"{place}: column {column!r} is {str(given)[:60]!r}: give a list of texts, a list of "
            '{"label": ..., "text": ...}, or {"label": [...], "text": [...]}'
        )
    return [choice_text(label) for label in labels], [choice_text(text) for text in texts]


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _are_texts(values: Any) -> bool:
    return _is_sequence(values) and all(isinstance(choice_text(value), str) for value in values)


def _index(answer: Any) -> int | None:
    """Return the place that a whole number names. CSV has it as text."""
    number = None if isinstance(answer, bool) else fit_number(answer)
    return number if isinstance(number, int) and number >= 0 else None
