"""What a schedule has asked for and what of it is not there: groups go on as soon as their own rollouts are scored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from learnable.filters.arrays import Indices
from learnable.filters.stopping.schedule import SamplingRound, Schedule
from learnable.flows.sampling.missing import MissingRollouts, find_runs, redraw_seeds
from learnable.flows.sampling.reward_table import RewardTable


class Frontier:
    """Follows a schedule: what the ledger has of its requests is taken from there, what it lacks is to be generated."""

    def __init__(self, schedule: Schedule, table: RewardTable) -> None:
        self.schedule = schedule
        self.table = table
        self._seeds: dict[str, dict[int, int]] = {}  # of rollouts to be drawn again, by question and index
        # Rollouts on their way, by question, where several prompts share it and one may ask after another.
        self._on_the_way: dict[str, set[int]] = {}

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
        """Take what has been scored since, give up groups whose questions get no answer, and return what is lacking."""
        unanswered = self._find_silent(silent)
        self.schedule.give_up(unanswered)
        if len(unanswered) and len(unanswered) == int(self.schedule.awaited.sum()):
            self.table.check_answers()
        touched = np.concatenate([self.table.take_news(), unanswered])
        touched = np.unique(touched[self.schedule.awaited[touched]])
        complete = self.table.find_complete(touched, self.schedule.requested)
        return self.follow(self.schedule.take(np.union1d(complete, unanswered)))

    def _send(self, missing: Sequence[MissingRollouts]) -> list[MissingRollouts]:
        """Return what is missing and not on its way already."""
        sent = []
        for run in missing:
            question_id = run.prompt.question_id
            if len(self.table.rows_of[question_id]) == 1:
                sent.append(run)
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
