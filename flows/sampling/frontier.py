"""What a schedule has asked for and what of it is not there: groups go on as soon as their own rollouts are scored."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
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

PROMPTS_AT_ONCE = 4096  # whose missing rollouts are listed
FITS, TOO_LONG = 1, -1


class Frontier:
    """Follows a schedule: what the ledger has of its requests is taken from there, what it lacks is to be generated."""

    def __init__(
        self, schedule: Schedule, table: RewardTable, settings: CurateSettings, prepare: Callable[[], None]
    ) -> None:
        self.schedule = schedule
        self.table = table
        self._settings, self._prepare = settings, prepare  # before the engine starts
        self._is_started = False  # the engine
        # Whether the engine has room for a question, by its first prompt: `FITS`, `TOO_LONG`, or 0 where it is unknown.
        self._room = np.zeros(len(table.prompts), np.int8)
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
        return [run for part in self.list_missing(round_) for run in part]

    def list_missing(self, round_: SamplingRound) -> Iterator[list[MissingRollouts]]:
        """Yield what `find_missing` returns, of a part of the prompts at a time: of millions it takes gigabytes."""
        listed: dict[str, set[int]] = {}  # rollouts of questions that prompts of several parts may share
        for start in range(0, len(round_), PROMPTS_AT_ONCE):
            part = slice(start, start + PROMPTS_AT_ONCE)
            columns = (round_.prompts[part].tolist(), round_.first[part].tolist(), round_.end[part].tolist())
            yield self._list_part(list(zip(*columns, strict=True)), listed)

    def _list_part(self, ranges: Sequence[tuple[int, int, int]], listed: dict[str, set[int]]) -> list[MissingRollouts]:
        prompts, asking = self.table.prompts, dict[str, list[int]]()
        for place, (row, _, _) in enumerate(ranges):
            asking.setdefault(prompts.find_question(row), []).append(place)
        missing: list[MissingRollouts] = []
        for question_id, places in asking.items():
            indices: set[int] = set()
            for row, first, end in (ranges[place] for place in places):
                indices.update((np.flatnonzero(~self.table.have[row, first:end]) + first).tolist())
            if len(self.table.rows_of[question_id]) > 1:
                indices -= listed.setdefault(question_id, set())
                listed[question_id] |= indices
            if indices:
                prompt = prompts[ranges[places[0]][0]]
                missing += find_runs(prompt, sorted(indices), self._seeds.get(question_id, {}))
        return missing

    def count_missing(self, round_: SamplingRound) -> int:
        """Return how many rollouts of a round the ledger lacks, for each of the prompts that share a question."""
        columns, count = np.arange(self.table.have.shape[1])[None, :], 0
        for start in range(0, len(round_), PROMPTS_AT_ONCE):
            part = slice(start, start + PROMPTS_AT_ONCE)
            is_in_round = (columns >= round_.first[part, None]) & (columns < round_.end[part, None])
            count += int((is_in_round & ~self.table.have[round_.prompts[part]]).sum())
        return count

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
        news = self.table.take_news()
        self._ahead.see(news)
        touched = np.concatenate([news, unanswered])
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
        rows = [self.table.rows_of[m.prompt.question_id][0] for m in missing]
        if new := [m for m, row in zip(missing, rows, strict=True) if not self._room[row]]:
            self._look_for_long(new)
        has_room = (self._room[rows] == FITS).tolist()
        fit = [m for m, fits in zip(missing, has_room, strict=True) if fits]
        return fit, {m.prompt.question_id for m, fits in zip(missing, has_room, strict=True) if not fits}

    def _look_for_long(self, new: Sequence[MissingRollouts]) -> None:
        is_first = not self._is_started
        if is_first:
            self._prepare()
            progress().stage("Starting the engine")
        engine = engine_for(self._settings)
        if is_first:
            progress().stage("Rolling out")
        self._is_started = True
        _, long = drop_long_prompts(new, engine, is_first=is_first)
        self._room[[self.table.rows_of[m.prompt.question_id][0] for m in new]] = FITS
        if dropped := {prompt.question_id for prompt in long}:
            self._room[[self.table.rows_of[question_id][0] for question_id in dropped]] = TOO_LONG
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
