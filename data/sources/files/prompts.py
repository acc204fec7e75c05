"""Prompts from users' files, from folders of them, from saved data sets and from the hub."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import islice

from learnable.data.errors import LearnableError
from learnable.data.progress import progress
from learnable.data.records import Prompt, Row
from learnable.data.sources.files.answers import choice_columns
from learnable.data.sources.files.bad_rows import BadRowError, OnBad, refuse
from learnable.data.sources.files.columns import Columns
from learnable.data.sources.files.data_sets import data_set_rows
from learnable.data.sources.files.doubts import Doubts
from learnable.data.sources.files.layouts.recognition import (
    LOOKED_AT,
    Recognised,
    find_question,
    recognise,
    tell_question,
)
from learnable.data.sources.files.locations import find_local, local_path, plain_name
from learnable.data.sources.files.problems import problems_by_id
from learnable.data.sources.files.questions import advise
from learnable.data.sources.files.readers import FileRows, file_rows
from learnable.data.sources.files.rows import prompts_from_rows


def file_prompts(location: str, columns: Columns, split: str = "train", on_bad: OnBad = refuse) -> Iterator[Prompt]:
    """Read prompts from a file by its suffix, which `.gz` may follow, from a folder, or from a data set on the hub.

    `on_bad` is given each row that is not a prompt, as a `BadRowError` naming file and line; by default it is raised.
    Raises `LearnableError` for what is missing, empty or cannot be read.
    """
    count = 0

    def count_bad(error: BadRowError) -> None:
        nonlocal count
        count += 1
        on_bad(error)

    rows = _LookedAhead(location, split, count_bad)
    path = find_local(location)
    name = path.name if path is not None and path.name else location
    if layout := recognise(rows.first, columns):
        progress().note(layout.describe(name))
    elif known := find_question(rows.first, columns):
        columns = replace(columns, template=known[1].text, optional=True)
        progress().note(tell_question(name, *known))
    if layout is None and rows.first:
        columns = replace(columns, advice=advise([row for _, row in rows.first], columns))
    answers = location_rows(location, split, _ignore, choice_columns(columns))  # read where it is needed alone
    source = plain_name(local_path(location))
    prompts = prompts_from_rows(rows.read(), columns, source, count_bad, answers, layout)
    for prompt in Doubts(name, dict(rows.first), columns, layout).watch(prompts):
        count += 1
        yield prompt
    if not count:
        raise LearnableError(f"prompts {location!r} is empty: it needs at least one row with a prompt")


class _LookedAhead:
    """The rows of a source, of which the `first` are read already; bad ones are told when their turn comes."""

    def __init__(self, location: str, split: str, on_bad: OnBad) -> None:
        self.first: list[tuple[str, Row]] = []
        self._on_bad = on_bad
        self._early: list[tuple[int, BadRowError]] = []  # and how many rows stand before each
        self._ahead = True
        self._rows = location_rows(location, split, self._note_bad)
        for row in islice(self._rows, LOOKED_AT):
            self.first.append(row)

    def _note_bad(self, error: BadRowError) -> None:
        if self._ahead:
            self._early.append((len(self.first), error))
        else:
            self._on_bad(error)

    def read(self) -> FileRows:
        """Yield all rows."""
        self._ahead = False
        early = iter([*self._early, (len(self.first), None)])
        place, error = next(early)
        for number, row in enumerate(self.first):
            while error is not None and place == number:
                self._on_bad(error)
                place, error = next(early)
            yield row
        for late in (error, *(left for _, left in early)):
            if late is not None:
                self._on_bad(late)
        yield from self._rows


def find_layout(location: str, columns: Columns, split: str = "train") -> Recognised | None:
    """Return the layout by which `file_prompts` reads a source, None where it is none that is known.

    Raises `LearnableError` as that does.
    """
    return recognise(list(islice(location_rows(location, split, _ignore), LOOKED_AT)), columns)


def read_problems(location: str, verifier: str, split: str = "test") -> dict[str, Prompt]:
    """Read a table of problems as `file_prompts` does; return them under the ids of their rows (`problems_by_id`).

    Raises `LearnableError` for what is missing, empty or cannot be read.
    """
    problems = problems_by_id(location_rows(location, split, what="problems"), verifier, location)
    if not problems:
        raise LearnableError(f"problems {location!r} is empty: it needs at least one row with an id and a prompt")
    return problems


def location_rows(
    location: str,
    split: str,
    on_bad: OnBad = refuse,
    columns: Collection[str] | None = None,
    what: str = "prompts",
) -> FileRows:
    """Yield the rows of a file, a folder or a hub id, each with the place it came from.

    `split` names what is read where there are several; `columns` what is looked at, where that is not every column;
    `what` is the word of messages for it. Raises `LearnableError` for what cannot be read.
    """
    path = find_local(location, what)
    if path is not None and not path.is_dir():
        yield from file_rows(path, on_bad, columns, split)
    else:
        yield from data_set_rows(location, path, split, on_bad, columns, what)


def _ignore(error: LearnableError) -> None:
    """Leave a bad row to whoever reads it for its prompt."""
