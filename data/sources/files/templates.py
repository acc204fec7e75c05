"""Prompts that are made of several columns, as "{Body} {Question}" says: nothing of a question is left in the row."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.records import Row
from learnable.data.sources.files.bad_rows import BadRowError
from learnable.data.sources.files.columns import NoColumnError, choice_text, column_value, read_column
from learnable.data.sources.files.options import AnswerOptions, find_choices

SETTING = "prompt_template"


@dataclass(frozen=True)
class Template:
    """A text with the names of columns in braces; `{{` and `}}` are braces themselves.

    A name is exact, dotted where it reaches into an object, or in another case. A list or an object of choices is shown
    as lines, each behind its letter. A line of the template whose columns are all empty is left out of a prompt. Of a
    `known` data set, columns may be missing as they may be empty.

    Raises `LearnableError` for a text that names no column.
    """

    text: str
    known: bool = False

    def __post_init__(self) -> None:
        if not self.names:
            raise LearnableError(
                f"`{SETTING}` {self.text!r} names no column: write names in braces, as in '{{context}} {{question}}'"
            )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns, in order. Raises `LearnableError` for braces that do not pair, and for what is no name."""
        return tuple(dict.fromkeys(name for line in self._lines for _, name in line if name))

    def fill(self, row: Row, place: str) -> str:
        """Return the prompt of a row, "" where all of its columns are empty.

        Raises `BadRowError` for a column that is missing or cannot be shown, `LearnableError` as `names` does.
        """
        values = {name: self._show(row, name, place) for name in self.names}
        if self.known:  # a question may have what it is about in it already
            values = {name: "" if _begins_another(text, values.values()) else text for name, text in values.items()}
        shown: list[str] = []
        left_out = False  # and the blank line behind what is left out goes with it
        for parts in self._lines:
            names = [name for _, name in parts if name]
            line = "".join(words + values.get(name, "") for words, name in parts)
            left_out = not any(map(values.get, names)) if names else left_out and not line.strip()
            if not left_out:
                shown.append(line if all(map(values.get, names)) else line.strip())
        return "\n".join(shown).strip("\n") if any(values.values()) else ""

    def among(self, rows: Iterable[Row]) -> Template:
        """Return the template with the names that rows have for its columns, and without those that no row has."""
        columns: dict[str, str] = {}
        for row in rows:
            columns |= {name: own for name in self.names if name not in columns and (own := find_column(row, name))}
        text = self.text
        for name in self.names:
            text = text.replace(f"{{{name}}}", f"{{{columns[name]}}}" if name in columns else "")
        return replace(self, text=re.sub(r"\n{3,}", "\n\n", text.strip()))

    def options(self, row: Row) -> AnswerOptions | None:
        """Return the choices that the prompt of a row lists, None where it lists none."""
        values = (_find(row, name) for name in self.names)
        return next((choices for value in values if value and (choices := find_choices(value))), None)

    @cached_property
    def _lines(self) -> list[list[tuple[str, str]]]:
        """The lines of the text, each as pairs of words and the name that follows them, "" for none."""
        lines: list[list[tuple[str, str]]] = [[]]
        for words, name in self._parts():
            first, *more = words.split("\n")
            for text in [first, *more][:-1]:
                lines[-1].append((text, ""))
                lines.append([])
            lines[-1].append((more[-1] if more else first, name))
        return lines

    def _parts(self) -> Iterator[tuple[str, str]]:
        try:
            for words, name, form, conversion in string.Formatter().parse(self.text):
                if name is not None and (not name.strip() or form or conversion):
                    raise LearnableError(
                        f"`{SETTING}` {self.text!r}: {{{name}}} is no column: a name stands alone in braces"
                    )
                yield words, (name or "").strip()
        except ValueError as error:
            raise LearnableError(
                f"`{SETTING}` {self.text!r}: {error}: names stand in braces, and a brace itself is written twice"
            ) from error

    def _show(self, row: Row, name: str, place: str) -> str:
        value = _find(row, name)
        if value is None:
            if not self.known:
                read_column(row, name, place, SETTING)
            return ""
        if _may_be_list(value) and (options := find_choices(value)):
            return "\n".join(options.lines)
        text = value if isinstance(value, str) else choice_text(value)
        if isinstance(text, str):
            return text
        raise BadRowError(
            place,
            f"column {name!r} is {str(value)[:60]!r}: a template takes texts, numbers and lists of choices; a "
            "chat is named with `prompt_column`",
        )


@lru_cache(maxsize=64)
def read_template(text: str, known: bool = False) -> Template:
    """Return the template that a text is. Raises `LearnableError` as `Template` does."""
    return Template(text, known)


def find_column(row: Row, column: str) -> str | None:
    """Return a column's name as the row has it, in whatever case, where there is something in it."""
    names = [column, *(name for name in row if str(name).casefold() == column.casefold())]
    for name in names:
        try:
            if column_value(row, name) not in (None, "", [], {}):
                return name
        except NoColumnError:
            continue
    return None


def _find(row: Row, name: str) -> Any:
    found = find_column(row, name)
    if found is not None:
        return column_value(row, found)
    return "" if any(str(column).casefold() == name.casefold() for column in row) else None


def _begins_another(text: str, others: Iterable[str]) -> bool:
    """Whether this text, of several words, is what a longer one begins with."""
    plain = " ".join(text.split())
    return " " in plain and any(
        len(text) < len(other) and " ".join(other.split()).startswith(plain) for other in others
    )


def _may_be_list(value: Any) -> bool:
    """Whether this is more than words: text in a cell counts where it is a list."""
    return not isinstance(value, str) or value.lstrip().startswith(("[", "{"))
