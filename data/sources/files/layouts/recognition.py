"""Which layout the rows of a file have, told by their columns and answers, and a row as a prompt's fields."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass

from learnable.data.records import Row, Spec, is_own_verifier
from learnable.data.sources.files.bad_rows import BadRowError
from learnable.data.sources.files.columns import (
    PROMPT,
    Columns,
    NoColumnError,
    choice_text,
    column_value,
    fit_number,
    level_number,
    read_column,
    single,
)
from learnable.data.sources.files.layouts.readings import READINGS, UnreadError
from learnable.data.sources.files.layouts.table import CONTEXT, LAYOUTS, LETTER_COLUMNS, OPEN_LAYOUTS, FileLayout
from learnable.data.sources.files.options import NO_OPTIONS, AnswerOptions, read_choices
from learnable.data.sources.files.templates import Template, find_column, read_template

LOOKED_AT = 200  # rows at the beginning of a file, by which its layout is told
OTHERWISE = "`prompt_column`, `answer_column` and `verifier` say otherwise"
MADE_SPECS = ("tests", "instructions")  # readings of what is a spec without an answer


@dataclass(frozen=True, slots=True)
class Question:
    """What a row asks: the column that names it, and how it is made where that is not the column alone.

    `listed` are the columns of the choices that stand below it, if any.
    """

    column: str
    template: Template | None = None
    listed: tuple[str, ...] = ()

    def describe(self) -> str:
        """Return in words what the prompt is made of."""
        columns = name_columns((self.column,) if self.template is None else self.template.names)
        return columns + (" with the choices below it" if self.listed else "")

    def whole_template(self) -> Template | None:
        """Return how all of it is made, the choices included; None where the column is all of it."""
        if not self.listed:
            return self.template
        names = string.ascii_uppercase if self.listed == LETTER_COLUMNS else self.listed
        lines = (f"{letter}. {{{name}}}" for letter, name in zip(string.ascii_uppercase, names, strict=False))
        listed = "\n".join(lines) if len(names) > 1 else f"{{{names[0]}}}"
        text = self.template.text if self.template is not None else f"{{{self.column}}}"
        return Template(f"{text}\n\n{listed}", known=True)

    def read(self, row: Row, place: str, choices: AnswerOptions = NO_OPTIONS) -> object:
        """Return the prompt of a row. Raises `BadRowError` where there is no such column."""
        question = read_column(row, self.column, place, "prompt_column")
        if not isinstance(question, str) or not question.strip():
            return question
        question = question if self.template is None else self.template.fill(row, place)
        return _list_choices(question, choices) if self.listed and choices.texts else question


@dataclass(frozen=True, slots=True)
class Recognised:
    """A layout with the names that its columns have in a file; `verifier` is the judge that a flag names, or None."""

    layout: FileLayout
    question: Question
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
        right = "the spec" if self.layout.reading in MADE_SPECS else "the answer"
        return (
            f"{source} looks like {self.layout.name}: the prompt is {self.question.describe()}, {right} "
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
            question = {} if self.question.template is None else {PROMPT: self.question.read(row, place)}
            return {**row, **level, **question, "verifier": self.verifier or self.layout.verifiers[0]}
        spec, choices = self.read_spec(row, place)
        number = isinstance(fit_number(spec.get("answer")), int | float)
        own = "choice" if choices.texts else self.layout.verifiers[0 if number else -1]
        prompt = self.question.read(row, place, choices)
        return {**row, **level, "prompt": prompt, "spec": spec, "verifier": self.verifier or own}

    def read_spec(self, row: Row, place: str) -> tuple[Spec, AnswerOptions]:
        """Return the spec of a row, and its choices. Raises `BadRowError`."""
        self._check_kind(row, place)
        value = None
        try:
            value = column_value(row, self.answer)
            read = READINGS[self.layout.reading].read
            if self.layout.arguments:
                name = find_column(row, self.layout.arguments) or self.layout.arguments
                return read(value, column_value(row, name)), NO_OPTIONS
            choices = _find_choices(row, self.layout, place)
            return read(value, choices), choices
        except NoColumnError as error:
            raise BadRowError(place, f"{error} ({self._told})") from error
        except UnreadError as error:
            raise self._misfit(place, self.answer, value, str(error)) from error

    def _check_kind(self, row: Row, place: str) -> None:
        column, kinds = self.layout.of
        kind = single(row.get(column)) if column else None
        if kind and not self.verifier and not str(kind).casefold().startswith(kinds):
            raise self._misfit(place, column, kind, f"rows of {' and '.join(kinds)} alone have a judge here")

    def _misfit(self, place: str, column: str, value: object, why: str) -> BadRowError:
        shown = repr(value)
        shown = shown if len(shown) <= 60 else f"{shown[:20]}...{shown[-37:]}"  # an answer stands at the end
        return BadRowError(place, f"column {column!r} is {shown}: {why} ({self._told})")

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

    Raises `BadRowError` where two layouts read the rows equally well and find different answers.
    """
    named = columns.prompt != PROMPT or columns.template or columns.answer is not None
    if columns.verifier and (named or is_own_verifier(columns.verifier)):
        return None
    plain = [(place, row) for place, row in rows if not _is_complete(row, columns.verifier)]
    layouts = [layout for layout in LAYOUTS if _may_judge(columns.verifier, layout)]
    recognised = list(filter(None, (_find_columns(layout, plain, columns) for layout in layouts)))
    read = {one: sum(_can_read(one, row, place) for place, row in plain) for one in recognised}
    most = max(read.values(), default=0)
    if not most:  # the columns may tell a layout by themselves; then each row says what is wrong with its answer
        recognised = [one for one in recognised if not one.layout.marked]
    recognised = [one for one in recognised if not one.layout.unsure or read[one] == len(plain)]
    best = {
        (one.question.column, one.answer, one.layout.choices): one for one in reversed(recognised) if read[one] == most
    }
    if not best or (len(best) > 1 and not most):
        return None
    if len(best) > 1 and not _agree(list(best.values()), plain):
        raise BadRowError(plain[0][0], _two_layouts(list(reversed(best.values()))))
    return next(one for one in recognised if one in best.values())


def _agree(layouts: Sequence[Recognised], rows: Sequence[tuple[str, Row]]) -> bool:
    """Whether layouts ask the same and find the same answers in the rows that all can read."""
    one, *others = layouts
    return all(other.question == one.question for other in others) and all(
        str(other.read_spec(row, place)[0].get("answer")) == str(one.read_spec(row, place)[0].get("answer"))
        for place, row in rows
        if all(_can_read(each, row, place) for each in layouts)
        for other in others
    )


def find_question(rows: Sequence[tuple[str, Row]], columns: Columns) -> tuple[str, Template] | None:
    """Return the name of a well-known set and how its prompts are made of several columns, None where none is known.

    It is for rows of which flags say what is right, and no flag says what is question.
    """
    plain = [(place, row) for place, row in rows if not find_column(row, PROMPT)]
    if columns.prompt != PROMPT or columns.template or not plain:
        return None
    for layout in OPEN_LAYOUTS:
        if all(any(find_column(row, name) for _, row in plain) for name in (*layout.prompt, *layout.more)):
            return layout.name, Template(layout.template, known=True).among(row for _, row in plain)
    try:
        recognised = recognise(plain, Columns())
    except BadRowError:  # it may be of two layouts, and flags say what matters
        return None
    template = recognised.question.whole_template() if recognised is not None else None
    return None if recognised is None or template is None else (recognised.layout.name, template)


def _may_judge(verifier: str | None, layout: FileLayout) -> bool:
    """Whether a judge that a flag names, if any, can do with what the layout reads: tests are for programs alone."""
    specs = {one.verifiers[0] for one in LAYOUTS if one.reading in MADE_SPECS}
    return verifier in layout.verifiers if verifier in specs else True


def tell_question(source: str, name: str, template: Template) -> str:
    """Say how the prompts of a well-known set are made, and how to say otherwise."""
    prompt = name_columns(template.names)
    return f"{source} looks like {name}: the prompt is {prompt}; `prompt_column` and `prompt_template` say otherwise"


def name_columns(names: Sequence[str]) -> str:
    """Return names as words.

    >>> name_columns(["a"]), name_columns(["a", "b", "c"])
    ("column 'a'", "columns 'a', 'b' and 'c'")
    """
    *first, last = map(repr, names)
    return f"columns {', '.join(first)} and {last}" if first else f"column {last}"


def _is_complete(row: Row, verifier: str | None) -> bool:
    if row.get("verifier") or row.get("spec") not in (None, ""):
        return True
    return bool(verifier and find_column(row, PROMPT) and (find_column(row, "answer") or find_column(row, "form")))


def _find_columns(layout: FileLayout, rows: Sequence[tuple[str, Row]], columns: Columns) -> Recognised | None:
    """Return the layout with the columns of the first row that has them all."""
    for _, row in rows:
        prompt, answer = _prompt_column(layout, row, columns), _answer_column(layout, row, columns)
        choices = () if layout.may_lack_choices else layout.choices
        needed = [name for name in (*layout.more, *choices, layout.arguments) if name]
        unwanted = () if columns.answer else layout.without
        if not (prompt and answer) or not all(find_column(row, name) for name in needed):
            continue
        if not any(find_column(row, name) for name in unwanted):
            return Recognised(layout, _find_question(layout, prompt, rows, columns), answer, columns.verifier)
    return None


def _find_question(layout: FileLayout, prompt: str, rows: Sequence[tuple[str, Row]], columns: Columns) -> Question:
    if columns.template:
        return Question(prompt, read_template(columns.template))
    if columns.prompt != PROMPT:
        return Question(prompt, None, layout.choices)
    context = "".join(f"{{{name}}}\n\n" for name in CONTEXT if name != prompt.casefold())
    template = Template(layout.template or f"{context}{{{prompt}}}", known=True).among(row for _, row in rows)
    return Question(prompt, template if template.text != f"{{{prompt}}}" else None, layout.choices)


def _prompt_column(layout: FileLayout, row: Row, columns: Columns) -> str | None:
    if columns.prompt != PROMPT or (find_column(row, PROMPT) and not columns.template):
        fits = columns.prompt.casefold() in map(
            str.casefold, layout.prompt
        )  # named, or by the name that flags have for it
        return columns.prompt if fits or (layout.marked and columns.prompt != PROMPT) else None
    return next(filter(None, (find_column(row, name) for name in layout.prompt)), None)


def _answer_column(layout: FileLayout, row: Row, columns: Columns) -> str | None:
    if columns.answer is None:
        return next(filter(None, (find_column(row, name) for name in layout.answer)), None)
    own = columns.answer.casefold() in (name.casefold() for name in layout.answer)
    return columns.answer if (own or layout.marked) and find_column(row, columns.answer) else None


def _can_read(one: Recognised, row: Row, place: str) -> bool:
    if one.layout.reading == "tests":
        return find_column(row, one.answer) is not None
    try:
        one.read_spec(row, place)
    except BadRowError:
        return False
    return True


def _find_choices(row: Row, layout: FileLayout, place: str) -> AnswerOptions:
    """Return a row's choices. Raises `BadRowError` for what cannot be read."""
    if layout.choices == LETTER_COLUMNS:
        return _lettered_columns(row, place)
    names = [find_column(row, name) or name for name in layout.choices]
    if not names or (layout.may_lack_choices and find_column(row, names[0]) is None):
        return NO_OPTIONS
    if len(names) == 1:
        return read_choices(column_value(row, names[0]), place, layout.choices[0])
    texts = [str(choice_text(column_value(row, name))) for name in names]
    # Else the place of the right one would be the same in every row.
    return _name_options(sorted(texts) if set(layout.choices) & set(layout.answer) else texts)


def _lettered_columns(row: Row, place: str) -> AnswerOptions:
    names = [find_column(row, letter) for letter in string.ascii_uppercase]
    count = names.index(None) if None in names else len(names)
    if any(names[count:]):
        raise BadRowError(place, f"column {string.ascii_uppercase[count]!r} is empty, and later ones are not: fill it")
    return _name_options([str(choice_text(row[name])) for name in names[:count] if name])


def _name_options(texts: list[str]) -> AnswerOptions:
    lines = [f"{letter}. {text}" for letter, text in zip(string.ascii_uppercase, texts, strict=False)]
    return AnswerOptions([], texts, lines)


def _list_choices(question: str, choices: AnswerOptions) -> str:
    labels = choices.labels or string.ascii_uppercase[: len(choices.texts)]
    listed = "\n".join(choices.lines)
    return f"{question.rstrip()}\n\n{listed}\n\nAnswer with {', '.join(labels[:-1])} or {labels[-1]}."


def _level(row: Row, layout: FileLayout) -> float | None:
    name = find_column(row, layout.level)
    return None if name is None else level_number(column_value(row, name), layout.levels)


def _two_layouts(layouts: Sequence[Recognised]) -> str:
    listing = " and like ".join(f"{one.layout.name} ({one.question.column}, {one.answer})" for one in layouts)
    column = layouts[0].answer
    return (
        f"the rows look like {listing}: say which column has the answer, as in `answer_column` {column}, and "
        "which has the prompt with `prompt_column`, or split a file that has rows of both"
    )
