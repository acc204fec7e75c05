"""The rollouts of several files: what they are, read once to know the questions and once more to store the answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from learnable.data.errors import LearnableError
from learnable.data.progress import progress
from learnable.data.records import JsonObject, PromptText, Row, content_id, message_list
from learnable.data.sources.files.bad_rows import BadRowError, BadRows, OnBad
from learnable.data.sources.files.columns import json_ready
from learnable.data.sources.files.locations import find_local, plain_name
from learnable.data.sources.files.prompts import location_rows
from learnable.data.sources.rollouts.formats import (
    FIRST_ROWS,
    Imported,
    RolloutFormat,
    Wanted,
    describe_formats,
    recognise_rollouts,
)


@dataclass(slots=True)
class ImportedQuestion:
    """One question of the files: where it first stands, how many rollouts answer it, and what all its rows agree on."""

    place: str
    prompt: PromptText
    form: str
    row: JsonObject
    rollouts: int = 0


@dataclass(slots=True)
class Survey:
    """What the files hold: questions by their ids, models, rollouts with a reward and without, and the longest."""

    questions: dict[str, ImportedQuestion] = field(default_factory=dict)
    models: Counter[str] = field(default_factory=Counter)
    rollouts: int = 0
    unrewarded: int = 0
    longest: int = 0
    uncounted: int = 0
    bad_rows: int = 0
    rewards: tuple[float, float] = (0.0, 0.0)

    @property
    def largest_group(self) -> int:
        """How many rollouts the question with the most of them has."""
        return max((question.rollouts for question in self.questions.values()), default=0)


@dataclass(frozen=True, slots=True)
class RolloutFiles:
    """Files of one format. `reward` names the number that is the reward, `model` whose rollouts are read ("": all)."""

    files: Sequence[str]
    format: RolloutFormat
    reward: str = ""
    model: str = ""
    skip_bad_rows: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The files' names, without their folders."""
        return tuple(Path(file).name for file in self.files)

    def survey(self) -> Survey:
        """Read everything once, and keep no completion.

        Raises `LearnableError` for rows that are no rollouts, unless they are to be skipped, and where there is none.
        """
        found, bad_rows = Survey(), BadRows(skip=self.skip_bad_rows)
        low, high = float("inf"), float("-inf")
        for one in self._read(bad_rows.add, "Reading"):
            bad_rows.good += 1
            _add_row(found.questions, one)
            found.models[one.model] += 1
            found.rollouts += 1
            found.unrewarded += one.reward is None
            found.longest, found.uncounted = max(found.longest, one.num_tokens), found.uncounted + (not one.num_tokens)
            if one.reward is not None:
                low, high = min(low, one.reward), max(high, one.reward)
        found.bad_rows = bad_rows.settle()
        if not found.rollouts:
            raise LearnableError(f"{', '.join(self.names)}: no rollout is in there: check that the run has finished")
        found.rewards = (low, high) if low <= high else (0.0, 0.0)
        return found

    def read(self) -> Iterator[tuple[str, Imported]]:
        """Yield each rollout with a key of its own: what its row holds, and which of the equal rows it is."""
        counts: Counter[str] = Counter()
        for one in self._read(_pass_over, "Storing"):
            key = content_id("imported", self.format.name, json_ready(one.key), one.completion)
            counts[key] += 1
            yield (key if counts[key] == 1 else content_id(key, counts[key])), one

    def _read(self, on_bad: OnBad, stage: str) -> Iterator[Imported]:
        for file in self.files:
            progress().stage(f"{stage} {Path(file).name}")
            first: Row = {}
            for place, row in location_rows(file, "train", on_bad, what="rollouts"):
                first = first or row
                try:
                    wanted = Wanted(find_local(file, "rollouts"), self.reward, first)
                    yield from (one for one in self.format.read(place, row, wanted) if self._is_wanted(one))
                except BadRowError as error:
                    on_bad(error)
                except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
                    on_bad(BadRowError(place, f"not a row of {self.format.title}: {type(error).__name__}: {error}"))

    def _is_wanted(self, one: Imported) -> bool:
        return not self.model or one.model in (self.model, "")


def open_rollout_files(files: Sequence[str], reward: str = "", *, skip_bad_rows: bool = False) -> RolloutFiles:
    """Return the rollouts of files, which are all of one format. A file that is named twice is read once.

    Raises `LearnableError` for a file that holds none, and for files of several formats.
    """
    formats = {file: recognise_rollouts(read_first(file)) for file in dict.fromkeys(files)}
    unknown = next((file for file, found in formats.items() if found is None), None)
    if unknown is not None:
        if not (first := next(iter(read_first(unknown)), None)):
            raise LearnableError(f"rollouts {unknown!r} is empty: check that the run that writes it has finished")
        raise LearnableError(
            f"rollouts {unknown!r} has the columns {', '.join(map(str, first))}, and is neither a count table (k, "
            f"passes) nor one of: {describe_formats()}"
        )
    known = {found.name: found for found in formats.values() if found is not None}
    if len(known) > 1:
        each = ", ".join(f"{Path(file).name} is {found.title}" for file, found in formats.items() if found)
        raise LearnableError(f"files of one import are of one format, and {each}: import them one after the other")
    return RolloutFiles(tuple(formats), next(iter(known.values())), reward, skip_bad_rows=skip_bad_rows)


def read_first(file: str) -> list[Row]:
    """Return the first rows of a file. Raises `LearnableError` for what cannot be read."""
    return [row for _, row in islice(location_rows(file, "train", _pass_over, what="rollouts"), FIRST_ROWS)]


def name_question(prompt: PromptText, row: Row) -> str:
    """Return the id of a question and its right answer: rows that agree on both are one group."""
    return content_id(message_list(prompt), json_ready(row.get("answer")))


def file_label(file: str) -> str:
    """Return what a file is called without its suffix."""
    return plain_name(Path(file))


def _add_row(questions: dict[str, ImportedQuestion], one: Imported) -> None:
    """Count a rollout, and keep of its question's columns those that all of its rows agree on."""
    name = name_question(one.prompt, one.row)
    if (question := questions.get(name)) is None:
        question = questions[name] = ImportedQuestion(one.place, one.prompt, one.form, dict(one.row))
    elif question.row != one.row:
        question.row = {key: value for key, value in question.row.items() if key in one.row and one.row[key] == value}
    question.rollouts += 1


def _pass_over(error: LearnableError) -> None:
    """Leave a bad row: whoever surveys the files has told of it."""
