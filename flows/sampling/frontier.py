"""What a schedule has asked for and what of it is not there: groups go on as soon as their own rollouts are scored."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from learnable.data.progress import progress
from learnable.filters.arrays import Indices
from learnable.filters.stopping.schedule import SamplingRound, Schedule
from learnable.filters.stopping.speculation import NEVER, Speculation
from learnable.flows.engines import engine_for
from learnable.flows.sampling.missing import MissingRollouts, drop_long_prompts, find_runs, redraw_seeds
from learnable.flows.sampling.reward_table import RewardTable
from learnable.flows.settings import CurateSettings


class Frontier:
    """Follows a schedule: what the ledger has of its requests is taken from there, what it lacks is to be generated."""

    def __init__(
        self, schedule: Schedule, table: RewardTable, settings: CurateSettings, prepare: Callable[[], None]
    ) -> None:
        self.schedule = schedule
        self.table = table
        self._settings, self._prepare = settings, prepare  # before the engine starts
        self._fit: set[str] = set()  # questions that the engine has room for
        self._long: set[str] = set()  # and those that are too long for it
        self._seeds: dict[str, dict[int, int]] = {}  # of rollouts to be drawn again, by question and index
        # Rollouts on their way, by question, where several prompts share it and one may ask after another.
        self._on_the_way: dict[str, set[int]] = {}
        self._ahead = Speculation(schedule)
        self._candidates: deque[tuple[int, int, int]] = deque()  # blocks that may be made ahead: prompt, first, end
        self._is_exhausted = False  # whether there were none when they were last looked for

    def redraw(self, redrawn: pl.DataFrame) -> None:
        """Let these rollouts of the ledger be drawn again, by their own seeds."""
        for question_id, seeds in redraw_seeds(redrawn).items():
            self._seeds.setdefault(question_id, {}).update(seeds)

    def find_missing(self, round_: SamplingRound) -> list[MissingRollouts]:
        """Return the rollouts of a round that the ledger lacks, once for the prompts that share a question."""
        ranges = list(zip(round_.prompts.tolist(), round_.first.tolist(), round_.end.tolist(), strict=True))
        prompts, asking = self.table.prompts, dict[str, list[int]]()
        for place, (row, _, _) in enumerate(ranges):
            asking.setdefault(prompts[row].question_id, []).append(place)
        missing: list[MissingRollouts] = []
        for question_id, places in asking.items():
            indices: set[int] = set()  # of one question at a time: a large pool has millions of them
            for row, first, end in (ranges[place] for place in places):
                indices.update((np.flatnonzero(~self.table.have[row, first:end]) + first).tolist())
            prompt = prompts[ranges[places[0]][0]]
            missing += find_runs(prompt, sorted(indices), self._seeds.get(question_id, {}))
        return missing

    def follow(self, round_: SamplingRound, *, until_missing: bool = False) -> list[MissingRollouts]:
        """Go on from a round as far as the ledger reaches, and return what it lacks on the way there.

        With `until_missing` no further than to the first that it lacks.
        """
        missing: list[MissingRollouts] = []
        while len(round_) and not (until_missing and missing):
            missing += self._send(self.find_missing(round_))
            round_ = self.schedule.take(self.table.find_complete(round_.prompts, self.schedule.requested))
        return missing

    def go_on(self, silent: Iterable[str] = ()) -> list[MissingRollouts]:
        """Take what has been scored since, give up groups whose questions get no answer, and return what to request."""
        unanswered, self._is_exhausted = self._find_silent(silent), False
        self.schedule.give_up(unanswered)
        if len(unanswered) and len(unanswered) == int(self.schedule.awaited.sum()):
            self.table.check_answers()
        touched = np.concatenate([self.table.take_news(), unanswered])
        touched = np.unique(touched[self.schedule.awaited[touched]])
        complete = self.table.find_complete(touched, self.schedule.requested)
        return self.ask(self.follow(self.schedule.take(np.union1d(complete, unanswered))))

    def open(self, prompts: int) -> list[MissingRollouts]:
        """Ask as many new prompts, as far as it is known already that they are asked, and return what to request."""
        return self.ask(self.follow(self.schedule.open(prompts)))

    def ask(self, missing: Sequence[MissingRollouts]) -> list[MissingRollouts]:
        """Return what of it to request, and what follows where groups are given up, being too long for the engine."""
        fit, long = self.find_fitting(missing)
        return [*fit, *self.go_on(long)] if long else fit

    def speculate(self, slots: int) -> list[MissingRollouts]:
        """Return a block that may be needed, for an engine with so many idle slots; nothing where none is likely."""
        while True:
            if not self._candidates and not self._is_exhausted:
                picked = self._ahead.pick(max(slots // 4, 16))
                rows = zip(picked.prompts.tolist(), picked.first.tolist(), picked.end.tolist(), strict=True)
                self._candidates.extend(rows)
                self._is_exhausted = not picked
            if not self._candidates:
                return []
            prompt, first, end = self._candidates.popleft()
            if not self._ahead.can_take(prompt, first):
                continue
            block = SamplingRound(np.array([prompt]), np.array([first]), np.array([end]))
            fit, long = self.find_fitting(self.find_missing(block))
            sent = self._send(fit)
            self._ahead.ends[prompt] = NEVER if long else end
            if sent:
                return [replace(run, ahead=True) for run in sent]

    def is_ahead(self, run: MissingRollouts) -> bool:
        """Whether no prompt has come to need these rollouts so far."""
        return all(self.schedule.requested[row] <= run.first for row in self.table.rows_of[run.prompt.question_id])

    def refuse_ahead(self, run: MissingRollouts) -> None:
        """Make nothing ahead of a question any more, where the engine refused what is asked for again when needed."""
        question_id = run.prompt.question_id
        self._ahead.ends[self.table.rows_of[question_id]] = NEVER
        self._on_the_way.get(question_id, set()).difference_update(range(run.first, run.first + run.count))

    def find_fitting(self, missing: Sequence[MissingRollouts]) -> tuple[list[MissingRollouts], set[str]]:
        """Return what the engine can be asked for, and the questions that are too long for it; start it first."""
        known = self._fit, self._long
        if new := [m for m in missing if not any(m.prompt.question_id in questions for questions in known)]:
            self._look_for_long(new)
        fit = [m for m in missing if m.prompt.question_id not in self._long]
        return fit, {m.prompt.question_id for m in missing} & self._long

    def _look_for_long(self, new: Sequence[MissingRollouts]) -> None:
        if not self._fit:
            self._prepare()
            progress().stage("Starting the engine")
        engine = engine_for(self._settings)
        if not self._fit:
            progress().stage("Rolling out")
        fit, long = drop_long_prompts(new, engine, is_first=not self._fit)
        self._fit.update(m.prompt.question_id for m in fit)
        if dropped := {prompt.question_id for prompt in long}:
            self._long |= dropped
            unasked = sum(m.count for m in new if m.prompt.question_id in dropped)
            self.table.note_silence(f"longer than the policy's context of {engine.max_context} tokens", unasked)

    def _send(self, missing: Sequence[MissingRollouts]) -> list[MissingRollouts]:
        """Return what is missing and not on its way already."""
        sent: list[MissingRollouts] = []
        for run in missing:
            question_id = run.prompt.question_id
            if len(rows := self.table.rows_of[question_id]) == 1:
                made = int(self._ahead.ends[rows[0]])
                rest = range(max(run.first, made), run.first + run.count)
                sent += find_runs(run.prompt, rest, self._seeds.get(question_id, {})) if made else [run]
                continue
            on_the_way = self._on_the_way.setdefault(question_id, set())
            indices = [index for index in range(run.first, run.first + run.count) if index not in on_the_way]
            on_the_way.update(indices)
            sent += find_runs(run.prompt, indices, self._seeds.get(question_id, {}))
        return sent

    def _find_silent(self, silent: Iterable[str]) -> Indices:
        """Return the prompts that await answers to these questions, which will not come."""
        rows: list[int] = []
        for question_id in silent:
            self._on_the_way.pop(question_id, None)
            rows += [row for row in self.table.rows_of[question_id] if self.schedule.awaited[row]]
        return np.array(rows, dtype=np.int64)
