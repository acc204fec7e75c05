"""Which rollouts to ask for next: a pilot, then waves in which new groups and continuing ones share one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learnable.filters.decisions.band import Band
from learnable.filters.posterior.certificate import FamilyPrior, assess, fit_family_prior
from learnable.filters.stopping.budget import SamplingBudget
from learnable.filters.stopping.operating_point import StoppingRule, match_fixed
from learnable.filters.stopping.table import CONTINUE, list_block_ends

Values = NDArray[np.float64]
Indices = NDArray[np.int64]

ROUND_ROLLOUTS = 4096  # in one call of the engine: enough that it is seldom idle between two
MIN_YIELD = 1 / 128  # of new prompts: below it a goal is given up
ENOUGH_TO_GIVE_UP = 384  # groups that must tell of that: 3 in 384 is 1 in 128 (rule of three, 95 % confidence)
REFIT = 2  # beliefs are fitted anew when this many times more groups tell of a family


@dataclass(frozen=True, slots=True)
class Round:
    """Rollouts to ask for in one call: for prompt `prompts[i]` those from `first[i]` up to, without it, `end[i]`."""

    prompts: Indices
    first: Indices
    end: Indices

    def __len__(self) -> int:
        return len(self.prompts)


def lots(prompt_ids: Sequence[str]) -> Values:
    """Return a number in [0, 1) for each prompt, from the last digits of its id, which is a hash."""
    return np.array([int(prompt_id[-8:], 16) for prompt_id in prompt_ids]) / 2.0**32


class Schedule:
    """The way through a pool, a deterministic function of its prompts' order and of their rewards alone.

    So a run that finds its rollouts in the ledger takes the same way again. `rewards` holds one row a prompt and one
    column a rollout index, NaN where there is no honest reward (yet); whoever runs the schedule fills it in.
    """

    def __init__(
        self, families: Sequence[str], lots: Values, band: Band, budget: SamplingBudget, group_size: int = 16
    ) -> None:
        self.band, self.budget, self.group_size = band, effort, group_size
        self.names, family_of = np.unique(np.asarray(families, dtype=object).astype(str), return_inverse=True)
        self.family: Indices = family_of
        self.lots = lots
        size = len(lots)
        self.rewards = np.full((size, budget.count_max_rollouts(group_size)), np.nan)
        self.asked: Indices = np.zeros(size, np.int64)
        self.stopped = np.zeros(size, bool)
        self.family_priors: dict[str, FamilyPrior] = {}
        self.rules: dict[str, StoppingRule] = {}
        self._fitted: dict[str, int] = {}
        self._ends = np.array([*list_block_ends(budget.blocks, budget.max_group)])
        self._next_new = 0  # prompts from here on were not asked yet, the pilot aside

    def pilot(self) -> Round:
        """Return the first wave: the first prompts of every family, or all at once where groups are fixed."""
        if self.budget.sampling == "fixed":
            return self._ask(np.arange(len(self.lots)), np.full(len(self.lots), self.group_size))
        chosen = [
            np.flatnonzero(self.family == number)[: self.budget.pilot_prompts] for number in range(len(self.names))
        ]
        prompts = np.sort(np.concatenate(chosen)) if chosen else np.zeros(0, np.int64)
        return self._ask(prompts, np.full(len(prompts), min(self.budget.pilot_rollouts, self.budget.max_group)))

    def request_next_round(self) -> Round:
        """Judge what the last wave brought, and return the next one; empty when everything has stopped."""
        if self.budget.sampling == "fixed":
            self.stopped[:] = True
            for name, mine in self._by_family(np.arange(len(self.lots))):
                self.family_priors[name] = fit_family_prior(*self.evidence(mine))
            return self._ask(np.zeros(0, np.int64), np.zeros(0, np.int64))
        self._refit()
        self._judge()
        going_on = np.flatnonzero((self.asked > 0) & ~self.stopped)
        ends = self._ends[np.searchsorted(self._ends, self.asked[going_on], side="right")]
        room = max(ROUND_ROLLOUTS - int((ends - self.asked[going_on]).sum()), 0)
        fresh = self._fresh(min(room // int(self._ends[0]), self._needed(going_on)))
        return self._ask(np.concatenate([going_on, fresh]), np.concatenate([ends, np.full(len(fresh), self._ends[0])]))

    def give_up(self, prompts: Indices) -> None:
        """Stop groups that get no answer."""
        self.stopped[prompts] = True

    def evidence(self, prompts: Indices) -> tuple[Values, Values, Values]:
        """Return rollouts that count, mean reward and population variance of prompts, up to what was asked of each."""
        rows = self.rewards[prompts]
        rows[np.arange(rows.shape[1])[None, :] >= self.asked[prompts, None]] = np.nan
        counted = ~np.isnan(rows)
        n = counted.sum(axis=1).astype(np.float64)
        sums = np.where(counted, rows, 0.0).sum(axis=1)
        mean = np.divide(sums, n, out=np.zeros_like(sums), where=n > 0)
        squares = np.where(counted, (rows - mean[:, None]) ** 2, 0.0).sum(axis=1)
        return n, mean, np.divide(squares, n, out=np.zeros_like(sums), where=n > 0)

    def chances(self, prompts: Indices) -> Values:
        """Return the chance that each prompt belongs in the set: in the band, with enough spread."""
        chance = np.zeros(len(prompts))
        for name, mine in self._by_family(prompts):
            chance[mine] = assess(
                self.family_priors.get(name, FamilyPrior()), self.band, *self.evidence(prompts[mine])
            ).keep
        return chance

    def thresholds(self) -> Values:
        """Return the chance from which on each prompt is kept."""
        everything = np.arange(len(self.lots))
        thresholds = np.full(len(everything), 0.5)
        for name, mine in self._by_family(everything):
            if name in self.rules:
                thresholds[mine] = self.rules[name].thresholds(self.lots[mine])
        return thresholds

    def certified(self) -> Indices:
        """Return the stopped prompts that are kept, surest first: as many as are right often enough on average."""
        done = np.flatnonzero(self.stopped & (self.asked > 0))
        chances = self.chances(done)
        keep = chances >= self.thresholds()[done]
        order = np.argsort(-chances[keep], kind="stable")
        if self.budget.precision is None:
            return done[keep][order]
        average = np.cumsum(chances[keep][order]) / np.arange(1, keep.sum() + 1)
        return done[keep][order][: int(np.searchsorted(-average, -self.budget.precision, side="right"))]

    @property
    def goal_reached(self) -> bool:
        """Whether as many prompts are certified as were wanted."""
        return self.budget.want is not None and len(self.certified()) >= self.budget.want

    @property
    def gave_up(self) -> bool:
        """Whether the goal is out of reach: so few new prompts are kept that looking on would be a waste."""
        told = int((self.asked > 0).sum())
        return self.budget.want is not None and told >= ENOUGH_TO_GIVE_UP and self.yield_rate < MIN_YIELD

    @property
    def expected_rollouts(self) -> int:
        """About how many rollouts this run will have looked at in the end."""
        each = np.array(
            [self.rules[name].compute_outcome().rollouts if name in self.rules else 0.0 for name in self.names]
        )
        missing = self._needed(np.flatnonzero((self.asked > 0) & ~self.stopped))
        ahead = (~self.stopped & (self.asked > 0)) | ((self.asked == 0) & (np.cumsum(self.asked == 0) <= missing))
        return int(self.asked.sum() + each[self.family[ahead]].sum())

    @property
    def yield_rate(self) -> float:
        """The expected share of new prompts that are kept, by the families' rules and their shares of the pool."""
        kept = [self.rules[name].compute_outcome().kept if name in self.rules else 0.0 for name in self.names]
        return float(np.bincount(self.family, minlength=len(kept)) @ np.array(kept) / max(len(self.family), 1))

    def _needed(self, going_on: Indices) -> int:
        """Return how many new prompts the goal needs still: all there are, without a goal."""
        if self.budget.want is None:
            return len(self.lots)
        expected = len(self.certified()) + float(self.chances(going_on).sum())
        missing = self.budget.want - expected
        if missing <= 0:
            return 0 if len(going_on) or self.goal_reached else 1
        if self.yield_rate < MIN_YIELD:
            return max(ENOUGH_TO_GIVE_UP - int((self.asked > 0).sum()), 0)
        return int(np.ceil(missing / max(self.yield_rate, 1e-3)))

    def _ask(self, prompts: Indices, ends: Indices) -> Round:
        wave = Round(prompts, self.asked[prompts].copy(), ends)
        self.asked[prompts] = ends
        return wave

    def _fresh(self, count: int) -> Indices:
        unasked = np.flatnonzero((self.asked[self._next_new :] == 0) & ~self.stopped[self._next_new :])
        chosen = unasked[:count] + self._next_new
        if len(chosen):
            self._next_new = int(chosen[-1]) + 1
        return chosen

    def _refit(self) -> None:
        told = np.flatnonzero(self.asked > 0)
        for name, mine in self._by_family(told):
            if len(mine) >= REFIT * self._fitted.get(name, 0):
                self._fitted[name] = len(mine)
                belief = fit_family_prior(*self.evidence(told[mine]))
                self.family_priors[name] = belief
                self.rules[name] = match_fixed(
                    belief.prior,
                    self.band if family_prior.graded else self.band.with_min_std,
                    max_group=self.budget.max_group,
                    blocks=self.budget.blocks,
                    ess_per_rollout=belief.spread.flips,
                    precision=self.budget.precision,
                )

    def _judge(self) -> None:
        open_groups = np.flatnonzero((self.asked > 0) & ~self.stopped)
        for name, mine in self._by_family(open_groups):
            prompts = open_groups[mine]
            n, mean, _ = self.evidence(prompts)
            actions = self.rules[name].decide(self.lots[prompts], n, n * mean)
            self.stopped[prompts] = (actions != CONTINUE) | (self.asked[prompts] >= self.budget.max_group)

    def _by_family(self, prompts: Indices) -> list[tuple[str, Indices]]:
        """Return each family's name and which of `prompts` are its own."""
        families = self.family[prompts]
        return [(str(self.names[number]), np.flatnonzero(families == number)) for number in np.unique(families)]
