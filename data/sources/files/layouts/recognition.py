"""Which layout the rows of a file have, told by their columns and answers, and a row as a prompt's fields."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

from learnable.data.records import Row, Spec, is_own_verifier
from learnable.data.sources.files.answers import choice_text, fit_number, read_choices
from learnable.data.sources.files.bad_rows import BadRowError
from learnable.data.sources.files.columns import PROMPT, Columns, NoColumnError, column_value, read_column
from learnable.data.sources.files.layouts.readings import READINGS, Choices, UnreadError
from learnable.data.sources.files.layouts.table import LAYOUTS, LETTERS, Layout

LOOKED_AT = 200  # rows at the beginning of a file, by which its layout is told
OTHERWISE = "--prompt-column, --answer-column and --verifier say otherwise"
MADE_SPECS = ("tests", "instructions")  # readings of what is a spec without an answer

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Recognised:
    """A layout with the names that its columns have in a file; `verifier` is the judge that a flag names, or None."""

    layout: Layout
    prompt: str
    answer: str
    verifier: str | None = None

    @property
    def told_answer(self) -> str:
        """Where the answer comes from, in words."""
        return f"{READINGS[self.layout.reading].words} column {self.answer!r}"

    def describe(self, source: str) -> str:
        """Say what was recognised, and how to say otherwise, in one line."""
        judges = [self.verifier] if self.verifier else self.layout.verifiers
        first, *others = (f"the verifier {judge!r}" for judge in judges)
        judged = f"{first} where it is a number, else by {others[0]}" if others else first
        listed = " with the choices below it" if self.layout.choices else ""
        right = "the spec" if self.layout.reading in MADE_SPECS else "the answer"
        return (
            f"{source} looks like {self.layout.name}: the prompt is column {self.prompt!r}{listed}, {right} "
            f"is {self.told_answer}, judged by {judged}; {OTHERWISE}"
        )

    def is_for(self, row: Row) -> bool:
        """Whether a row does not say for itself how it is judged."""
        return not _is_complete(row, self.verifier)

    def fill(self, row: Row, place: str) -> Row:
        """Return the row with `prompt`, `spec`, `verifier` and `difficulty` as its layout has them.

        Rows of programming problems keep prompt and tests, which `test_code` reads. Raises `BadRowError`.
        """
        level = {"difficulty": _level(row, self.layout)}
        if self.layout.reading == "tests":
            return {**row, **level, "verifier": self.verifier or self.layout.verifiers[0]}
        spec, texts = self.read_spec(row, place)
        prompt = read_column(row, self.prompt, place, "--prompt-column")
        if texts and isinstance(prompt, str) and prompt.strip():
            prompt = _list_choices(prompt, spec["choices"], texts)
        number = isinstance(fit_number(spec.get("answer")), int | float)
        verifier = self.verifier or self.layout.verifiers[0 if number else -1]
        return {**row, **level, "prompt": prompt, "spec": spec, "verifier": verifier}

    def read_spec(self, row: Row, place: str) -> tuple[Spec, Sequence[str]]:
        """Return the spec of a row, and the texts of its choices, none where it has none. Raises `BadRowError`."""
        self._check_kind(row, place)
        value = None
        try:
            value = column_value(row, self.answer)
            read = READINGS[self.layout.reading].read
            if self.layout.arguments:
                return read(value, column_value(row, _find(row, self.layout.arguments) or self.layout.arguments)), ()
            choices = _find_choices(row, self.layout.choices, place)
            return read(value, choices), choices[1]
        except NoColumnError as error:
            raise BadRowError(f"{place}: {error} ({self._told})") from error
        except UnreadError as error:
            raise self._misfit(place, self.answer, value, str(error)) from error

    def _check_kind(self, row: Row, place: str) -> None:
        column, kinds = self.layout.of
        kind = row.get(column) if column else None
        if kind and not self.verifier and not str(kind).casefold().startswith(kinds):
            raise self._misfit(place, column, kind, f"rows of {' and '.join(kinds)} alone have a judge here")

    def _misfit(self, place: str, column: str, value: object, why: str) -> BadRowError:
        shown = repr(value)
        shown = shown if len(shown) <= 60 else f"{shown[:20]}...{shown[-37:]}"  # an answer stands at the end
        return BadRowError(f"{place}: column {column!r} is {shown}: {why} ({self._told})")

    @property
    def _told(self) -> str:
        return f"the file looks like {self.layout.name}; {OTHERWISE}"


def recognise(rows: Sequence[tuple[str, Row]], columns: Columns) -> Recognised | None:
    """Return the layout of a file by its first rows, None where they have none that is known.

    Flags come first: where a judge and a column are named, or a judge of one's own, nothing is recognised, and a column
    that is named has to be the layout's own, unless the answers themselves tell it. Rows with a `spec` or a `verifier`
    say for themselves how they are judged, and so do those with `prompt` and `answer` where a flag names the judge.
    Several layouts are no matter where all but one fail to read some of the rows, or where they read the same columns:
    then the table's first is meant.

    Raises `BadRowError` where two layouts read the rows equally well.
    """
    named = columns.prompt != PROMPT or columns.answer is not None
    if columns.verifier and (named or is_own_verifier(columns.verifier)):
        return None
    plain = [(place, row) for place, row in rows if not _is_complete(row, columns.verifier)]
    found = list(filter(None, (_find_columns(layout, plain, columns) for layout in LAYOUTS)))
    read = {one: sum(_can_read(one, row, place) for place, row in plain) for one in found}
    most = max(read.values(), default=0)
    if not most:  # the columns may tell a layout by themselves; then each row says what is wrong with its answer
        found = [one for one in found if not one.layout.marked]
    best = {(one.prompt, one.answer, one.layout.choices): one for one in reversed(found) if read[one] == most}
    if not best or (len(best) > 1 and not most):
        return None
    if len(best) > 1:
        raise BadRowError(_two_layouts(plain[0][0], list(reversed(best.values()))))
    return next(iter(best.values()))


def _is_complete(row: Row, verifier: str | None) -> bool:
    if row.get("verifier") or row.get("spec") not in (None, ""):
        return True
    return bool(verifier and _find(row, PROMPT) and (_find(row, "answer") or _find(row, "form")))


def _find_columns(layout: Layout, rows: Sequence[tuple[str, Row]], columns: Columns) -> Recognised | None:
    """Return the layout with the columns of the first row that has them all."""
    for _, row in rows:
        prompt, answer = _prompt_column(layout, row, columns), _answer_column(layout, row, columns)
        needed = [name for name in (*layout.more, layout.choices, layout.arguments) if name]
        unwanted = () if columns.answer else layout.without
        if not (prompt and answer) or not all(_find(row, name) for name in needed):
            continue
        if not any(_find(row, name) for name in unwanted):
            return Recognised(layout, prompt, answer, columns.verifier)
    return None


def _prompt_column(layout: Layout, row: Row, columns: Columns) -> str | None:
    if columns.prompt != PROMPT or _find(row, PROMPT):  # named, or by the name that flags have for it
        fits = columns.prompt.casefold() in layout.prompt
        return columns.prompt if fits or (layout.marked and columns.prompt != PROMPT) else None
    return next(filter(None, (_find(row, name) for name in layout.prompt)), None)


def _answer_column(layout: Layout, row: Row, columns: Columns) -> str | None:
    if columns.answer is None:
        return next(filter(None, (_find(row, name) for name in layout.answer)), None)
    own = columns.answer.casefold() in (name.casefold() for name in layout.answer)
    return columns.answer if (own or layout.marked) and _find(row, columns.answer) else None


def _find(row: Row, column: str) -> str | None:
    """Return a column's name as the row has it, where there is something in it."""
    names = [column, *(name for name in row if name.casefold() == column.casefold())]
    for name in names:
        try:
            if column_value(row, name) not in (None, ""):
                return name
        except NoColumnError:
            continue
    return None


def _can_read(one: Recognised, row: Row, place: str) -> bool:
    if one.layout.reading == "tests":
        return _find(row, one.answer) is not None
    try:
        one.read_spec(row, place)
    except BadRowError:
        return False
    return True


def _find_choices(row: Row, column: str, place: str) -> Choices:
    """Return the labels of a row's choices, none where they have none, and their texts."""
    if not column:
        return (), ()
    if column != LETTERS:
        return read_choices(column_value(row, _find(row, column) or column), place, column)
    names = [_find(row, letter) for letter in string.ascii_uppercase]
    count = names.index(None) if None in names else len(names)
    if any(names[count:]):
        raise BadRowError(
            f"{place}: column {string.ascii_uppercase[count]!r} is empty, and later ones are not: fill it"
        )
    return (), [str(choice_text(row[name])) for name in names[:count] if name]


def _list_choices(question: str, labels: Sequence[str], texts: Sequence[str]) -> str:
    listed = "\n".join(f"{label}. {text}" for label, text in zip(labels, texts, strict=True))
    return f"{question.rstrip()}\n\n{listed}\n\nAnswer with {', '.join(labels[:-1])} or {labels[-1]}."


def _level(row: Row, layout: Layout) -> float | None:
    name = _find(row, layout.level)
    value = row[name] if name else None
    if isinstance(value, str):
        digits = _NUMBER.search(value)
        return layout.levels.get(value.strip().casefold(), float(digits[0]) if digits else None)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _two_layouts(place: str, found: Sequence[Recognised]) -> str:
    told = " and like ".join(f"{one.layout.name} ({one.prompt}, {one.answer})" for one in found)
    column = found[0].answer
    return (
        f"{place}: the rows look like {told}: say which column has the answer, as in --answer-column {column}, and "
        "which has the prompt with --prompt-column, or split a file that has rows of both"
    )
