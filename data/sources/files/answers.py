"""Fits the answer of a user's row to the verifier that judges it: numbers for some, one of the choices for another."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from typing import Any

from learnable.data.progress import progress
from learnable.data.records import Row, Spec
from learnable.data.sources.files.columns import (
    Columns,
    NoColumnError,
    choice_text,
    column_value,
    fit_number,
    json_ready,
    roots,
)
from learnable.data.sources.files.options import read_choices

NUMERIC = ("arithmetic", "counting", "number")  # their answer is a number

_FINAL = re.compile(r"####[ \t]*(\S[^\n]*?)\s*\Z")


def final_answer(answer: Any) -> Any:
    r"""Return what stands behind the "####" that ends a worked solution, and anything else as it is.

    >>> final_answer("48 / 2 = 24\n#### 1,024"), final_answer("1,024"), final_answer(7)
    ('1,024', '1,024', 7)
    """
    match = _FINAL.search(answer) if isinstance(answer, str) else None
    return match[1] if match else answer


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
        labels, texts, _ = read_choices(given, place)
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
        most, longest = 26, 40  # answers, and characters of one
        for _, row in self._rows:
            text = self._answer_without_choices(row)
            if text is None:
                continue
            known[text.casefold()] = min(text, known.get(text.casefold(), text))
            if len(known) > most or len(text) > longest:
                progress().warn(
                    f"the answers are not a closed set (more than {most} of them, or over {longest} "
                    "characters), so a completion need only name the right one: add a column 'choices'"
                )
                return []
        choices = [known[name] for name in sorted(known)]
        if len(choices) < 2:  # one answer alone tells nothing
            return []
        progress().note(f"choices taken from the file's answers: {', '.join(choices)}")
        return choices

    def _answer_without_choices(self, row: Row) -> str | None:
        if (row.get("verifier") or self._columns.verifier) != "choice" or row.get("choices"):
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


def _index(answer: Any) -> int | None:
    """Return the place that a whole number names. CSV has it as text."""
    number = None if isinstance(answer, bool) else fit_number(answer)
    return number if isinstance(number, int) and number >= 0 else None
