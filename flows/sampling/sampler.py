"""Sampling that stops: each group goes on only while another rollout can change its decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import polars as pl
from numpy.typing import NDArray

from learnable.data.errors import InterruptedRunError
from learnable.data.progress import progress
from learnable.data.records import Prompt
from learnable.filters.stopping.plan import Plan, plan_ahead, plan_fixed
from learnable.filters.stopping.schedule import Round, Schedule
from learnable.flows.curation.goal import is_endless
from learnable.flows.engines import engine_for
from learnable.flows.sampling.collected import Collected
from learnable.flows.sampling.collector import Collection
from learnable.flows.sampling.engine_loop import RollOut
from learnable.flows.sampling.missing import Owed, find_runs, redraw_seeds
from learnable.flows.sampling.prompt_length import drop_long_prompts
from learnable.flows.settings import CurateSettings

HONEST = ("scored", "truncated")


class AdaptiveSampling:
    """Runs a schedule over a pool: what the ledger holds is taken from there, what it lacks from the engine."""

    def __init__(
        self,
        schedule: Schedule,
        prompts: Sequence[Prompt],
        collection: Collection,
        settings: CurateSettings,
        held: pl.DataFrame,
        redrawn: pl.DataFrame,
    ) -> None:
        self.schedule = schedule
        self.prompts = prompts
        self.collection = collection
        self.settings = settings
        self._row = {prompt.prompt_id: row for row, prompt in enumerate(prompts)}
        self._rows_of: dict[str, list[int]] = {}  # by question
        for row, prompt in enumerate(prompts):
            self._rows_of.setdefault(prompt.question_id, []).append(row)
        self._have = np.zeros(schedule.rewards.shape, bool)
        self.held = held.height
        self._mark(held)
        self._tokens = np.zeros((2, len(prompts)))  # sum and count over the rollouts of each prompt
        self._seeds = redraw_seeds(redrawn)
        self._rollout = RollOut(collection, settings)
        self._fit: set[str] = set()  # questions

    def run(self, *, until_owed: bool = False) -> bool:
        """Follow the schedule to its end, or to the first rollout that the ledger lacks; return whether one was lacking.

        A run with a goal says what lies ahead before it pays for more than the pilot.
        """
        self._note(self.collection.settle())
        round_, announced = self.schedule.request_pilot(), self.settings.budget.want is None
        while len(round_) and not self.schedule.goal_reached:
            owed = self.owed(round_)
            if owed and until_owed:
                return True
            if owed and not announced and self.schedule.rules:
                progress().note(str(self._plan_before(round_)))
                announced = True
            self.generate(owed)
            round_ = self.schedule.request_next_round()
            self._rollout.expect(self.schedule.expected_rollouts)
        return False

    @property
    def generated(self) -> int:
        """How many rollouts the engine made."""
        return self._rollout.done

    def plan(self) -> Plan:
        """Make the pilot, follow the schedule on as far as the ledger reaches, and foresee the rest.

        Groups of one size need no pilot: nothing is made then.
        """
        self._note(self.collection.settle())
        round_ = self.schedule.request_pilot()
        if self.settings.budget.sampling == "fixed":
            size, (tokens, held) = self.settings.group_size, self._tokens.sum(axis=1)
            return plan_fixed(len(self.prompts), size, int(self._have[:, :size].sum()), tokens / held if held else None)
        self.generate(self.owed(round_))
        while (
            len(round_ := self.schedule.request_next_round())
            and not self.schedule.goal_reached
            and not self.owed(round_)
        ):
            pass
        return self._plan_before(round_)

    def owed(self, round_: Round) -> list[Owed]:
        """Return the rollouts of a round that the ledger lacks, once for the prompts that share a question."""
        missing: dict[str, tuple[Prompt, set[int]]] = {}
        for row, first, end in zip(round_.prompts.tolist(), round_.first.tolist(), round_.end.tolist(), strict=True):
            prompt = self.prompts[row]
            _, indices = missing.setdefault(prompt.question_id, (prompt, set()))
            indices.update((np.flatnonzero(~self._have[row, first:end]) + first).tolist())
        owed: list[Owed] = []
        for question_id, (prompt, indices) in missing.items():
            owed += find_runs(prompt, sorted(indices), self._seeds.get(question_id, {}))
        return owed

    def generate(self, owed: Sequence[Owed]) -> None:
        """Let the engine make what is owed, and take in its scores."""
        if not owed:
            return
        if not self._rollout.done:
            progress().stage("Starting the engine")
        engine = engine_for(self.settings)
        if not self._rollout.done:
            progress().stage("Rolling out")
        new = [o for o in owed if o.prompt.question_id not in self._fit]
        fit, long = drop_long_prompts(new, engine)
        self._fit.update(o.prompt.question_id for o in fit)
        dropped = {prompt.question_id for prompt in long}
        refused = self._rollout.ask([o for o in owed if o.prompt.question_id not in dropped])
        self._note(self.collection.settle())
        silent = [row for question_id in sorted(dropped | refused) for row in self._rows_of[question_id]]
        self.schedule.give_up(np.array(silent, dtype=np.int64))

    def take_up_held(self) -> None:
        """Let every group count what else the ledger holds of it without a gap."""
        gapless = np.cumprod(self._have, axis=1, dtype=bool).sum(axis=1)
        asked = self.schedule.requested
        asked[:] = np.where(asked > 0, np.maximum(asked, gapless), 0)

    def grow(self, rows: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """Give stopped groups more rollouts: up to, without it, index `ends`."""
        ends = np.minimum(ends, self.schedule.rewards.shape[1])
        more = ends > self.schedule.requested[rows]
        round_ = Round(rows[more], self.schedule.requested[rows[more]].copy(), ends[more])
        self.generate(self.owed(round_))
        self.schedule.requested[round_.prompts] = round_.end

    def select(self, scores: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of the rollouts that were asked for, in the order of `scores`."""
        asked = pl.DataFrame(
            {"prompt_id": [prompt.prompt_id for prompt in self.prompts], "_asked": self.schedule.requested}
        )
        joined = scores.join(asked, on="prompt_id", how="left", maintain_order="left")
        return joined.filter(pl.col("rollout_index") < pl.col("_asked")).drop("_asked")

    def collected(self) -> Collected:
        """Return what was asked for, scored, and none of the rollouts that the ledger holds besides.

        Later runs give some prompts more. Were they counted, a run that goes on would learn other priors and drifts than
        it did at first, and take another way.
        """
        schedule = self.schedule
        groups = pl.DataFrame(
            {
                "prompt_id": [prompt.prompt_id for prompt in self.prompts],
                "asked": schedule.requested,
                "stopped": schedule.stopped,
                "threshold": schedule.find_thresholds(),
            }
        )
        scores = self.select(self.collection.finish())
        certified = len(schedule.find_certified())
        return Collected(
            scores, groups, schedule.family_priors, certified, schedule.gave_up, self.collection.writer.saved
        )

    @contextmanager
    def told_when_stopped(self) -> Iterator[None]:
        """Make of a Ctrl-C an `InterruptedRunError`: finished groups are kept, those in flight are dropped whole."""
        try:
            yield
        except KeyboardInterrupt as interrupt:
            self.collection.writer.flush()
            raise InterruptedRunError(
                f"stopped: {self.collection.writer.saved:,} new rollouts are safe in {self.settings.store}, groups in flight were "
                "dropped; the same command goes on from there"
            ) from interrupt

    def _plan_before(self, round_: Round) -> Plan:
        """Foresee what lies ahead as long as a round that is asked for is not there yet."""
        schedule, settings = self.schedule, self.settings
        sums, counts = self._tokens
        tokens = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
        schedule.requested[round_.prompts] = round_.first
        plan = plan_ahead(schedule, tokens, endless=is_endless(settings, len(self.prompts)), seed=settings.seed)
        schedule.requested[round_.prompts] = round_.end
        return plan

    def _note(self, scores: pl.DataFrame) -> None:
        """Take in rewards: NaN stays where a rollout does not count."""
        made = scores.filter(pl.col("rollout_id") != "")
        self._mark(made)
        prompts, _ = self._cells(made)
        self._tokens += [np.bincount(prompts, w, len(self.prompts)) for w in (made["num_tokens"].to_numpy(), None)]
        counted = ("scored",) if self.settings.truncated == "exclude" else HONEST
        honest = made.filter(pl.col("verdict").is_in(counted))
        value = pl.col("passed") if self.settings.band.signal == "pass" else pl.col("reward")
        rows, columns = self._cells(honest)
        inside = columns < self.schedule.rewards.shape[1]
        rewards = honest.select(value.cast(pl.Float32)).to_series().to_numpy()
        self.schedule.rewards[rows[inside], columns[inside]] = rewards[inside]

    def _mark(self, rollouts: pl.DataFrame) -> None:
        rows, columns = self._cells(rollouts)
        inside = columns < self._have.shape[1]
        self._have[rows[inside], columns[inside]] = True

    def _cells(self, rollouts: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows = rollouts["prompt_id"].replace_strict(self._row, return_dtype=pl.Int64).to_numpy()
        return rows, rollouts["rollout_index"].cast(pl.Int64).to_numpy()
