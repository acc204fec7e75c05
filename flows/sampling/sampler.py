"""Sampling that stops: each group goes on only while another rollout can change its decision."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import polars as pl

from learnable.data.curated.manifest import PredictionRecord
from learnable.data.errors import InterruptedRunError, shorten_reason
from learnable.data.ledger.counts import find_counts
from learnable.data.progress import progress
from learnable.data.records import Prompt
from learnable.data.sources.selection import PromptSet
from learnable.filters.arrays import Indices
from learnable.filters.decisions.evidence import Evidence, gather_evidence
from learnable.filters.posterior.belief import Belief
from learnable.filters.posterior.certificate import FamilyPrior
from learnable.filters.prediction.features import PromptFeatures
from learnable.filters.prediction.other_rates import OtherRates
from learnable.filters.prediction.strata import MIN_GROUPS_TO_PREDICT, TextPredictor
from learnable.filters.stopping.plan import SamplingPlan, plan_ahead, plan_fixed
from learnable.filters.stopping.schedule import ROUND_ROLLOUTS, SamplingRound, Schedule, hash_to_uniforms
from learnable.filters.stopping.stratified import describe_prompts
from learnable.flows.run import Run
from learnable.flows.sampling.collector import Collector
from learnable.flows.sampling.engine_loop import EngineLoop
from learnable.flows.sampling.error_watch import ErrorWatch
from learnable.flows.sampling.frontier import Frontier
from learnable.flows.sampling.judges import open_judges
from learnable.flows.sampling.missing import MissingRollouts
from learnable.flows.sampling.reward_table import RewardTable
from learnable.flows.sampling.scan import RolloutScan
from learnable.flows.settings import CurateSettings
from learnable.flows.tracking import is_tracked, track

PROMPTS_AT_ONCE = 8192  # looked up in the ledger


@dataclass(frozen=True, slots=True)
class Collected:
    """What sampling a pool brought, added up by prompt, and where each group stands.

    `groups` has a row a prompt: `requested` (rollouts), `opening` (how many of them came before anything was decided),
    `stopped`, and the `threshold` of its decision. `evidence` is what the requested rollouts say of each prompt, and
    `scan` reads them again. Where pass rates were predicted, it has the `stratum` and the `predicted_rate` of each
    prompt too, and whether it was `rejected` by that, unsampled; `predictions` describe them by family, and `beliefs`
    are those of the strata, or families, of prompts that are listed without rollouts. `certified` is how many prompts
    are kept, `gave_up` whether a goal was given up for a poor yield, `generated` how many rollouts are new.
    `reasoning_tokens` are those of the thoughts before answers, `unneeded` the rollouts of the ledger that were made
    ahead and enter no decision.
    """

    groups: pl.DataFrame
    evidence: Evidence
    scan: RolloutScan
    family_priors: Mapping[str, FamilyPrior]
    certified: int
    gave_up: bool
    generated: int
    reasoning_tokens: int = 0
    predictions: Mapping[str, PredictionRecord] = field(default_factory=dict)
    beliefs: Mapping[str, Belief] = field(default_factory=dict)
    unneeded: int = 0

    def followed_by(self, later: Collected) -> Collected:
        """Return what a later pass over more prompts collected, with what both of them generated."""
        return replace(later, generated=self.generated + later.generated)

    def without_groups(self) -> Collected:
        """Return this without its rows by prompt: whoever has decided on them has them, and they take much memory."""
        evidence = replace(self.evidence, groups=self.evidence.groups.clear())
        return replace(self, groups=self.groups.clear(), evidence=evidence)


@contextmanager
def open_sampling(run: Run, prompts: PromptSet, *, endless: bool = False) -> Iterator[AdaptiveSampling]:
    """Open a run's sampling, with what the ledger has for it. Scores that the ledger lacks are made at once.

    `endless` says whether the source has more prompts than these. Raises `LearnableError` for a verifier that fails.
    """
    settings, pool = run.settings, prompts.prompts
    families, uniforms = pool.families, hash_to_uniforms(pool.prompt_ids)
    predictor = _find_predictor(run, pool)
    band, budget, group_size = settings.band, settings.budget, settings.group_size
    schedule = Schedule(families, uniforms, band, budget, group_size, predictor, endless=endless)
    table, watch = RewardTable(schedule, pool, settings), ErrorWatch()
    with (
        open_judges(run, prompts.verifiers, watch.see) as judges,
        Collector(run.draw, table, run.store, judges, watch, run.named) as collector,
    ):
        sampling = AdaptiveSampling(schedule, table, collector, settings, endless=endless)
        for first in range(0, len(pool), PROMPTS_AT_ONCE):
            part = pool[first : first + PROMPTS_AT_ONCE]
            stored, redrawn = run.store.ledger.find_rollouts(run.draw, part)
            stored = stored.filter(pl.col("rollout_index") < schedule.rewards.shape[1])
            collector.score_stored(stored)
            sampling.reuse(stored, redrawn, run.store.ledger.find_marks(run.draw, part))
        yield sampling


def _find_predictor(run: Run, pool: Sequence[Prompt]) -> TextPredictor | None:
    """Return what predicts pass rates from prompts and what other policies made of them; None where nothing is."""
    settings = run.settings
    if settings.predict == "off" or settings.budget.sampling == "fixed" or len(pool) < MIN_GROUPS_TO_PREDICT:
        return None
    counts = find_counts(run.store.ledger, run.draw, pool)
    others = OtherRates.of(counts, [prompt.prompt_id for prompt in pool])
    return TextPredictor(PromptFeatures(pool, settings.predict_from, others))


def is_anything_missing(run: Run, prompts: PromptSet, *, endless: bool = False) -> bool:
    """Whether the engine is needed. Scores that the ledger lacks are made on the way."""
    with open_sampling(run, prompts, endless=endless) as sampling:
        return sampling.run(until_missing=True)


class AdaptiveSampling:
    """Runs a schedule over a pool: what the ledger has is taken from there, what it lacks from the engine."""

    def __init__(
        self,
        schedule: Schedule,
        table: RewardTable,
        collector: Collector,
        settings: CurateSettings,
        *,
        endless: bool = False,
    ) -> None:
        self.schedule = schedule
        self.table = table
        self.prompts = table.prompts
        self.collector = collector
        self.settings = settings
        self.stored = 0  # rollouts that were in the ledger before
        self._endless = endless
        self._found = np.zeros(len(self.prompts), bool)  # prompts to keep, as was told
        self._shown = np.zeros(len(self.prompts), bool)  # groups that were told of
        self._told = 0  # new rollouts then
        self._frontier = Frontier(schedule, table, settings, partial(collector.pool.warm_up, collector.versions))
        self._loop = EngineLoop(collector, settings)

    def reuse(self, stored: pl.DataFrame, redrawn: pl.DataFrame, marks: pl.DataFrame) -> None:
        """Count rollouts of the ledger as there; `redrawn` are those that are to be drawn again, by their own seeds."""
        self.stored += stored.height
        self.table.mark(stored, marks)
        self._frontier.redraw(redrawn)

    def run(self, *, until_missing: bool = False) -> bool:
        """Follow the schedule to its end, or to the first rollout that the ledger lacks; say whether it stopped there.

        A run with a goal says what lies ahead before it pays for more than the pilot. Raises `LearnableError` when the
        engine or a verifier is given up.
        """
        self.collector.settle()
        if self.schedule.goes_round_by_round:
            return self._run_rounds(until_missing=until_missing)
        self.table.take_news()  # of what was there before
        missing = self._frontier.follow(self.schedule.request_pilot(), until_missing=until_missing)
        if until_missing:
            return bool(missing)
        self._tell(show=False)
        if missing:
            requests = self._frontier.ask(missing)
            self._loop.generate([requests], sum(run.count for run in requests), self)
            self.table.check_answers()
            self._tell()
        return False

    def _run_rounds(self, *, until_missing: bool) -> bool:
        round_, announced = self.schedule.request_pilot(), self.settings.budget.want is None
        while len(round_) and not self.schedule.goal_reached:
            missing = self._frontier.count_missing(round_)
            if missing and until_missing:
                return True
            if missing and not announced and self.schedule.rules:
                progress().note(str(self._plan_before(round_)))
                announced = True
            self.generate(round_)
            self.collector.components.tell()
            round_ = self.schedule.request_next_round()
            self._tell(show=missing > 0)
        return False

    def go_on(self, silent: Collection[str]) -> list[MissingRollouts]:
        """Return what is to be requested by what was scored since. See `Source.go_on`."""
        requested = self._frontier.go_on(silent)
        if self.schedule.cohorts.fits:
            self.collector.components.tell()
        if self.generated - self._told >= ROUND_ROLLOUTS:
            self._tell()
        return requested

    def open(self) -> list[MissingRollouts]:
        """Return what is to be requested of new prompts. See `Source.open`."""
        return self._frontier.open(ROUND_ROLLOUTS)

    def speculate(self, slots: int) -> list[MissingRollouts]:
        """Return what may be needed. See `Source.speculate`."""
        return self._frontier.speculate(slots)

    def is_ahead(self, run: MissingRollouts) -> bool:
        """Whether it is not known that rollouts are needed. See `Source.is_ahead`."""
        return self._frontier.is_ahead(run)

    def refuse_ahead(self, run: MissingRollouts) -> None:
        """Take note that rollouts were refused which nobody needs yet. See `Source.refuse_ahead`."""
        self._frontier.refuse_ahead(run)

    @property
    def is_over(self) -> bool:
        """Whether nothing is needed any more. See `Source.is_over`."""
        return self.schedule.is_done

    def _tell(self, *, show: bool = True) -> None:
        """Say what was found since, unless it is not to be shown, and how many rollouts there may be in the end."""
        stopped = np.flatnonzero(self.schedule.stopped & ~self._shown)
        self._shown, self._told = self.schedule.stopped.copy(), self.generated
        if show:
            self._show_found(stopped)
            self._track_round()
        self._loop.expect(self.schedule.expected_rollouts)

    def _track_round(self) -> None:
        """Tell the tracker where a run stands, by how many of its rollouts are there."""
        if not is_tracked():
            return
        (tokens, rollouts), found = self.table.tokens.sum(axis=1), len(self.schedule.find_certified())
        stopped, started = int(self.schedule.stopped.sum()), int((self.schedule.requested > 0).sum())
        figures = {"rollouts": rollouts, "new_rollouts": self.generated, "tokens": tokens, "found": found}
        figures |= {"stopped": stopped, "asked": started, "found_per_1000_rollouts": 1000 * found / max(rollouts, 1)}
        track(figures, step=int(rollouts))

    def _show_found(self, stopped: Indices) -> None:
        """Say how many prompts are found so far, and show the surest of those whose groups have just stopped."""
        kept, _ = self.schedule.find_kept(stopped)
        if not len(kept):
            return
        self._found &= self.schedule.stopped  # but for groups that go on again
        self._found[kept] = True
        counted, means, _ = self.schedule.measure(kept[:1])
        text = shorten_reason(" ".join(self.prompts[kept[0]].text.split()), 60)
        reward = f"mean reward {means[0]:.2f} of {counted[0]:.0f} completions"
        progress().note(f"{self._found.sum():,} found so far, such as {text!r}: {reward}")

    @property
    def generated(self) -> int:
        """How many rollouts the engine made."""
        return self._loop.done

    def plan(self) -> SamplingPlan:
        """Sample the pilot, follow the schedule on as far as the ledger reaches, and forecast the rest.

        Groups of one size need no pilot: nothing is sampled then.
        """
        self.collector.settle()
        round_ = self.schedule.request_pilot()
        if self.settings.budget.sampling == "fixed":
            size, (tokens, count) = self.settings.group_size, self.table.tokens.sum(axis=1)
            each = tokens / count if count else None
            return plan_fixed(len(self.prompts), size, int(self.table.have[:, :size].sum()), each)
        self.generate(round_)
        self.collector.components.tell()
        while (
            len(round_ := self.schedule.request_next_round())
            and not self.schedule.goal_reached
            and not self._frontier.count_missing(round_)
        ):
            pass
        return self._plan_before(round_)

    def generate(self, round_: SamplingRound) -> None:
        """Let the engine generate what the ledger lacks of a round, and take in its scores.

        Raises `LearnableError` as `run` does, `NothingAnsweredError` where no prompt of the pool has any answer.
        """
        if not (missing := self._frontier.count_missing(round_)):
            return
        long: set[str] = set()
        refused = self._loop.generate(self._list_fitting(round_, long), missing)
        self.collector.settle()
        silent = [row for question_id in sorted(long | refused) for row in self.table.rows_of[question_id]]
        self.schedule.give_up(np.array(silent, dtype=np.int64))
        self.table.check_answers()

    def _list_fitting(self, round_: SamplingRound, long: set[str]) -> Iterator[list[MissingRollouts]]:
        """Yield what is to be requested for a round, and note the questions that are too long for the engine."""
        for missing in self._frontier.list_missing(round_):
            fit, too_long = self._frontier.find_fitting(missing)
            self._loop.total -= sum(run.count for run in missing) - sum(run.count for run in fit)
            long |= too_long
            yield fit

    def count_stored(self) -> None:
        """Let every group count what else the ledger has of it without a gap, as far as any run has asked for it."""
        requested = self.schedule.requested
        there = np.minimum(self.table.find_gapless(), self.table.find_needed(requested))
        requested[:] = np.where(requested > 0, np.maximum(requested, there), 0)

    def take_stored(self) -> None:
        """Let every group be what the ledger has of it without a gap, and ask for no more."""
        self.collector.settle()
        self.schedule.requested[:] = 1
        self.count_stored()
        self.schedule.settle()

    def grow(self, rows: Indices, ends: Indices) -> None:
        """Give stopped groups more rollouts: up to, without it, index `ends`."""
        ends = np.minimum(ends, self.schedule.rewards.shape[1])
        more = ends > self.schedule.requested[rows]
        round_ = SamplingRound(rows[more], self.schedule.requested[rows[more]].copy(), ends[more])
        self.generate(round_)
        self.schedule.requested[round_.prompts] = round_.end

    def collected(self) -> Collected:
        """Make the last scores durable, and return what the requested rollouts say of each prompt.

        They are read back from the ledger: what is decided rests on what is in it. Raises `LearnableError` for a score
        that could not be written, or a rollout that cannot be read.
        """
        schedule, settings = self.schedule, self.settings
        groups = self._describe_groups()
        certified, gave_up = len(schedule.find_certified()), schedule.gave_up
        self.collector.finish()
        self.collector.ledger.append_marks(self.collector.draw, self.table.list_needed(schedule.requested), needed=True)
        scan = self.scan()
        band, priors = settings.band, schedule.family_priors
        of_families = {name: priors[name] for name in map(str, schedule.names) if name in priors}
        by_stratum = groups.select("prompt_id", "stratum").drop_nulls() if schedule.strata else None
        listed = schedule.rejected | ((schedule.requested == 0) & ~schedule.stopped & settings.keep_unasked)
        cells = [schedule.cells[number] for number in np.unique(schedule.cell[listed])]
        evidence = gather_evidence(scan.parts(), priors, band, settings.group_size, settings.truncated, by_stratum)
        generated, thought = self.collector.writer.saved, self.collector.reasoning_tokens
        return Collected(
            groups,
            evidence,
            scan,
            of_families,
            certified,
            gave_up,
            generated,
            thought,
            {name: stratum.describe(schedule) for name, stratum in sorted(schedule.strata.items())},
            {cell: priors[cell].belief for cell in cells if cell in priors},
            self.table.count_unneeded(schedule.requested),
        )

    def scan(self) -> RolloutScan:
        """Return what reads the requested rollouts again, once the last scores are durable."""
        schedule, table, of = self.schedule, self.table, self.collector
        rows = schedule.requested, table.count_stored(schedule.requested), schedule.opening, table.refused
        return RolloutScan(of.ledger, of.draw, of.versions, self.prompts, *rows)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Raise `InterruptedRunError` for Ctrl-C: finished groups are kept, those in flight are dropped whole."""
        try:
            yield
        except KeyboardInterrupt as interrupt:
            self.collector.writer.flush()
            raise InterruptedRunError(
                f"stopped: {self.collector.writer.saved:,} new rollouts are safe in {self.settings.store}, groups in "
                "flight were dropped; the same command goes on from there"
            ) from interrupt

    def _describe_groups(self) -> pl.DataFrame:
        """Return where each group stands, a row a prompt: see `Collected`."""
        schedule = self.schedule
        groups = pl.DataFrame(
            {
                "prompt_id": self.prompts.prompt_ids,
                "requested": schedule.requested,
                "stopped": schedule.stopped,
                "opening": schedule.opening,
                "threshold": schedule.find_thresholds(),
            }
        )
        if schedule.strata or self.settings.keep_unasked:
            strata, rates = describe_prompts(schedule)
            predicted, rejected = pl.Series(rates, dtype=pl.Float64), pl.Series(schedule.rejected)
            groups = groups.with_columns(stratum=pl.Series(strata), predicted_rate=predicted, rejected=rejected)
        return groups

    def _plan_before(self, round_: SamplingRound) -> SamplingPlan:
        """Forecast what lies ahead, before the rollouts of this round are there."""
        schedule = self.schedule
        sums, counts = self.table.tokens
        tokens = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
        schedule.requested[round_.prompts] = round_.first
        plan = plan_ahead(schedule, tokens, endless=self._endless, seed=self.settings.seed)
        schedule.requested[round_.prompts] = round_.end
        return plan
