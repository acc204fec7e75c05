"""Which columns belong to a question: those that no flag names are told, with the flag that would use them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from learnable.data.records import Row
from learnable.data.sources.files.columns import PROMPT, PROMPT_LIKE, Columns, fit_number, single
from learnable.data.sources.files.options import find_choices
from learnable.data.sources.files.templates import find_column

OPTION_COLUMNS = re.compile(r"options?|choices|endings|alternatives|candidate_answers|answer_choices", re.IGNORECASE)
ONE_OPTION = re.compile(r"(?:(?:option|choice|answer|ending|opt?|op|sol)[_ ]?)?([a-j]|\d)", re.IGNORECASE)
# Parts of names of columns that are for judges, trainers and people, and not for whoever is asked.
APART = re.compile(
    r"\b(?:answer|solution|rational|explanation|reason|thought|cot|respon|output|complet|generat|target|label|gold|truth|"
    r"ground|gt|correct|equation|formula|code|program|test|url|link|source|licen[cs]e|author|date|lang|subject|topic|"
    r"categor|type|tag|level|difficult|split|dataset|meta|hint|score|model|step|expr|pred|chosen|reject|history|annotat|"
    r"rubric|refer|criteri|keyword|expected|support|fact|concept|skill|domain|name|id|ids|idx|index|uuid|path|file|image|"
    r"verifier|spec|family|form|title|other|error|comment|note|grade|unit|judge)|id\b",
    re.IGNORECASE,
)
ANSWER_LIKE = (
    *("answer", "final_answer", "expected_answer", "correct_answer", "ground_truth", "target", "label", "answerkey"),
    *("correct", "answer_idx", "gold", "gt", "result", "reference", "solution", "output", "response"),
)
MIN_ROW_SHARE = 0.05  # of the rows, that have a text there or an answer of a kind
LINE = "\\n"  # as the flag takes a new line


@dataclass(frozen=True, slots=True)
class Overlooked:
    """Columns of a question that no prompt shows: those above it, and those below it, choices among them."""

    above: tuple[str, ...]
    below: tuple[str, ...]

    def template(self, prompt: str) -> str:
        """Return the template that asks with them."""
        letters = [name for name in self.below if ONE_OPTION.fullmatch(name)]
        above = "".join(f"{{{name}}}{' ' if name.casefold() == 'body' else LINE}" for name in self.above)
        below = "".join(f"{LINE}{{{name}}}" for name in self.below if name not in letters)
        listed = "".join(f"{LINE}{chr(ord('A') + place)}. {{{name}}}" for place, name in enumerate(letters))
        return f"{above}{{{prompt}}}{below}{listed}"


def find_overlooked(rows: Sequence[Row], prompts: Sequence[str], columns: Columns, used: Collection[str]) -> Overlooked:
    """Return the columns of text that are in no prompt.

    Args:
        rows: the first rows of a file.
        prompts: what they became.
        columns: those that flags name.
        used: further columns that are used for something.
    """
    named = {columns.prompt, columns.answer, columns.problem, PROMPT, *used}
    names = [str(name) for name in dict.fromkeys(name for row in rows for name in row) if name not in named]
    missed = [name for name in names if not _is_shown([row.get(name) for row in rows], prompts)]
    letters = [name for name in missed if ONE_OPTION.fullmatch(name)]
    by_name = ("input", "hypothesis", "input_format", "output_format", "constraints")  # whatever is in them
    below = [
        name for name in missed if _are_options(name, rows) or (name.casefold() in by_name and _has_text(name, rows))
    ]
    above = [name for name in missed if name not in below and _is_part(name, rows)]
    return Overlooked(tuple(above), (*below, *(letters if len(letters) > 1 else ())))


def advise(rows: Sequence[Row], columns: Columns) -> str:
    """Return the flags that rows without a judge seem to need, as the end of a message; "" where nothing is seen."""
    row = rows[0]
    prompt = columns.prompt if find_column(row, columns.prompt) else _first(row, PROMPT_LIKE)
    answer = columns.answer or _first(row, ANSWER_LIKE)
    if prompt is None:
        return ""
    questions = [str(row.get(prompt)) for row in rows]
    missed = find_overlooked(rows, questions, Columns(prompt=prompt, answer=answer), ())
    flags = [f"`prompt_column` {_quoted(prompt)}"] if prompt != PROMPT else []
    if columns.template:
        flags = []
    elif missed.above or missed.below:
        flags = [f"`prompt_template` {_quoted(missed.template(prompt))}"]
    if answer is not None and answer in row:
        flags += [f"`answer_column` {_quoted(answer)}"] if answer != "answer" or flags else []
        return f", as in {' '.join([*flags, f'`verifier` {_judge(rows, answer, missed)}'])}"
    return f", as in {' '.join([*flags, '`verifier` FILE.py:OBJECT'])}"


def tell_overlooked(missed: Overlooked, prompt: str, source: str) -> str:
    """Return a warning of columns that no prompt shows."""
    names = [*missed.above, *missed.below]
    listed = (
        f"columns {', '.join(map(repr, names[:-1]))} and {names[-1]!r} have"
        if names[1:]
        else f"column {names[0]!r} has"
    )
    return (
        f"{source}: {listed} text that no prompt shows and no setting names: "
        f"`prompt_template` {_quoted(missed.template(prompt))} asks with it, where it belongs to the question"
    )


def _first(row: Row, names: Sequence[str]) -> str | None:
    return next((column for name in names if (column := find_column(row, name))), None)


def _judge(rows: Sequence[Row], column: str, missed: Overlooked) -> str:
    """Return the verifier that reads the answers of a column."""
    if any(_are_options(name, rows) or ONE_OPTION.fullmatch(name) for name in missed.below):
        return "choice"
    judges = Counter(_judge_one(single(row[column])) for row in rows if row.get(column) not in (None, ""))
    formal = judges["number"] + judges["mathematics"]
    if (
        judges["mathematics"] > MIN_ROW_SHARE * judges.total() and 2 * formal >= judges.total()
    ):  # which reads numbers too
        return "mathematics"
    return max(judges, key=lambda judge: judges[judge], default="text")


def _judge_one(answer: Any) -> str:
    if isinstance(answer, bool) or re.fullmatch(r"\(?[A-J]\)?|yes|no|true|false", str(answer), re.IGNORECASE):
        return "choice"
    if isinstance(fit_number(answer), int | float) or re.search(r"####\s*-?[$\d]", str(answer)):
        return "number"
    return "mathematics" if re.search(r"[\\$^=<>]|\d\s*[-+*/]\s*\d", str(answer)) else "text"


def _is_part(name: str, rows: Sequence[Row]) -> bool:
    by_name = "passage context article body story paragraph premise background scenario table".split()
    if name.casefold() in by_name:
        return _has_text(name, rows)
    texts = list(_texts(name, rows))
    if APART.search(_words(name)) or len(texts) < MIN_ROW_SHARE * len(rows) or not texts:
        return False
    varies = len(set(texts)) > 1 or len(rows) == 1
    # Texts of fewer than 12 characters on average are labels.
    return varies and sum(map(_length, texts)) >= 12 * len(texts) and any(map(_is_prose, texts))


def _has_text(name: str, rows: Sequence[Row]) -> bool:
    return any(text.strip() for text in _texts(name, rows))


def _are_options(name: str, rows: Sequence[Row]) -> bool:
    values = [row[name] for row in rows if row.get(name) not in (None, "", [], {})]
    lists = [choices for value in values[:20] if (choices := find_choices(value)) and len(choices.texts) > 1]
    if not lists or len(lists) < len(values[:20]):
        return False
    return bool(OPTION_COLUMNS.fullmatch(name)) or all(
        choices.labels and not isinstance(choices, Mapping) for choices in lists
    )


def _is_shown(values: Sequence[Any], prompts: Sequence[str]) -> bool:
    """Whether what is in a column stands in the prompts, in nearly all rows that have something there."""
    pairs = [(value, prompt) for value, prompt in zip(values, prompts, strict=False) if value not in (None, "", [], {})]
    shown = sum(all(_even(text) in _even(prompt) for text in _pieces(value)) for value, prompt in pairs)
    return shown >= 0.9 * len(pairs)


def _pieces(value: Any) -> Iterator[str]:
    options = find_choices(value)
    yield from options.texts if options is not None else [str(value)]


def _even(text: str) -> str:
    return "".join(text.split()).casefold()


def _texts(name: str, rows: Sequence[Row]) -> Iterator[str]:
    return (value for row in rows if isinstance(value := row.get(name), str) and value.strip())


def _length(text: str) -> int:
    """Return how long a text is; a sign of Chinese or Japanese says as much as some letters."""
    return sum(1 if sign < "\u2e80" else 3 for sign in text)


def _is_prose(text: str) -> bool:
    return re.search(r"[^\W\d_]{2,}\s+\S*[^\W\d_]", text) is not None or any(sign >= "\u2e80" for sign in text)


def _words(name: str) -> str:
    """Return a name with its words apart, for `id` is no part of "guide"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_|-", " ", name)


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"[\w.]+", text) else f'"{text}"'
