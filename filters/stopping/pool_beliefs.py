"""What is believed of a pool by the rewards so far: beliefs and stopping rules of families, chances of prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from learnable.data.band import Band
from learnable.filters.arrays import Flags, Indices, Values
from learnable.filters.posterior.belief import Belief
from learnable.filters.posterior.certificate import (
    CERTIFIED_AT_ONCE,
    FamilyPrior,
    Pools,
    assess,
    fit_family_prior,
    fit_pools,
)
from learnable.filters.posterior.value_model import SAME_VALUE, Rewards
from learnable.filters.prediction.strata import Predictor
from learnable.filters.stopping.budget import SamplingBudget
from learnable.filters.stopping.operating_point import StoppingRule, match_fixed
from learnable.filters.stopping.reward_cells import RewardCells
from learnable.filters.stopping.stratified import PredictedStrata


class PoolBeliefs:
    """The rewards of a pool, as far as they were requested, and what they say.

    `rewards` holds one row a prompt and one column a rollout index, NaN where there is no honest reward (yet). It is
    the one thing that grows with the rollouts a prompt may get, by a byte each; what follows from it is computed
    for `CERTIFIED_AT_ONCE` prompts at a time. `requested` is how many rollouts of each prompt were asked for.

    With a `predictor`, families whose pass rates it predicts are split into strata, which have beliefs and rules of
    their own. `cell` is the place of each prompt's belief and rule in `cells`, whose names are the keys of
    `family_priors` and `rules`: its family, or its stratum. `rejected` are, in the end, prompts that are rejected by
    the prediction, unsampled. `is_over` says that every prompt has stopped but those that wait for audits of strata.
    `recall` is what rules aim at: the share of the prompts in the band that are kept, None for that of a fixed group.
    """

    def __init__(
        self,
        families: Sequence[str],
        uniforms: Values,
        band: Band,
        budget: SamplingBudget,
        group_size: int = 16,
        predictor: Predictor | None = None,
    ) -> None:
        self.band, self.budget, self.group_size = band, budget, group_size
        self.names, family_of = np.unique(np.asarray(families, dtype=object).astype(str), return_inverse=True)
        self.family: Indices = family_of
        self.uniforms = uniforms
        size = len(uniforms)
        self.rewards = RewardCells((size, budget.count_max_rollouts(group_size)))
        self.requested: Indices = np.zeros(size, np.int64)
        self.stopped = np.zeros(size, bool)
        self.in_pilot = np.zeros(size, bool)
        self.rejected = np.zeros(size, bool)
        self.is_over = False
        self.recall = None if budget.want is None else 0.0  # a goal: the fewest rollouts for each that is kept
        self.cells, self.cell = [str(name) for name in self.names], self.family.copy()
        self.strata: dict[str, PredictedStrata] = {}
        self.family_priors: dict[str, FamilyPrior] = {}
        self.rules: dict[str, StoppingRule] = {}
        self._predictor = None if budget.sampling == "fixed" else predictor
        self._pools: Pools = {}
        self._fitted = np.zeros(len(self.names) + 1)  # rollouts that each family's belief was fitted to, and the pool's
        self._solved: tuple[Belief, StoppingRule] | None = None  # the last rule, and what was believed

    def measure(self, prompts: Indices) -> tuple[Values, Values, Values]:
        """Return rollouts that count, mean reward and population variance of prompts, within what was requested."""
        n, mean, variance = measure_rows(self.rewards, prompts, self.requested[prompts])
        return n, mean, variance

    def list_rewards(self, prompts: Indices) -> Rewards:
        """Return the rewards that `measure` measures, one by one, and which of `prompts` each is of."""
        return list_rows(self.rewards, prompts, self.requested[prompts])

    def assess_chances(self, prompts: Indices) -> Values:
        """Return the chance that each prompt belongs in the set: in the band, with `min_std` or more."""
        in_band, varying = self._assess(prompts)
        return in_band * varying

    def find_thresholds(self) -> Values:
        """Return the chance from which on each prompt is kept."""
        everything = np.arange(len(self.uniforms))
        thresholds = np.full(len(everything), 0.5)
        for name, members in self._by_cell(everything):
            if name in self.rules:
                thresholds[members] = self.rules[name].find_thresholds(self.uniforms[members])
        return thresholds

    def find_certified(self) -> Indices:
        """Return the stopped prompts that are kept, surest first: as many as are right often enough on average."""
        kept, chances = self.find_kept(np.flatnonzero(self.stopped & (self.requested > 0)))
        if self.budget.precision is None:
            return kept
        average = np.cumsum(chances) / np.arange(1, len(kept) + 1)
        return kept[: int(np.searchsorted(-average, -self.budget.precision, side="right"))]

    def find_kept(self, among: Indices) -> tuple[Indices, Values]:
        """Return those of these prompts that are kept by what is known, surest first, and the chance of each."""
        chances = self.assess_chances(among)
        keep = (chances >= self.find_thresholds()[among]) & ~self.are_unanimous(among)
        order = np.argsort(-chances[keep], kind="stable")
        return among[keep][order], chances[keep][order]

    def refit(self, times: float, seen: Indices | None = None, *, solve: bool = True) -> None:
        """Fit the families of which so many times more rollouts tell than they were fitted to, and solve their rules.

        First the pool is, in the same way, what families of few groups lean on. Where they are not to be solved, as at
        the end, rules stay as they are. `seen` is how many rollouts of each prompt are looked at: without it all that
        were requested.
        """
        seen = self.requested if seen is None else seen
        sampled = np.flatnonzero(seen > 0)
        measured = measure_rows(self.rewards, sampled, seen[sampled])
        rollouts = np.bincount(self.family[sampled], weights=measured[0], minlength=len(self.names))
        rollouts = np.append(rollouts, rollouts.sum())
        due = (rollouts >= times * self._fitted) & (rollouts != self._fitted)
        families = self._by_family(sampled)
        if len(self.names) > 1 and due[-1]:
            self._fitted[-1] = rollouts[-1]
            self._pools = fit_pools([measured[:, members] for _, members in families])
        for name, members in families:
            prompts = sampled[members]
            number = int(self.family[prompts[0]])
            if due[number] or name not in self.family_priors:
                self._fitted[number] = rollouts[number]
                n, mean, variance = measured[:, members]
                rewards = partial(list_rows, self.rewards, prompts, seen[prompts])
                self.family_priors[name] = fit_family_prior(n, mean, variance, rewards, self._pools)
                if solve:
                    self.rules[name] = self._solve(self.family_priors[name])
                if self._predictor is not None:
                    self._predict(name, prompts, measured[:, members], anew=solve)

    def aim(self, recall: float) -> None:
        """Solve rules anew, which keep this share of the prompts in the band, or at most what a fixed group would."""
        self.recall, self._solved, self._fitted[:] = recall, None, 0
        self.refit(1)

    def _predict(self, name: str, prompts: Indices, measured: Values, *, anew: bool) -> None:
        """Split a family into strata by its sampled prompts, and fit their beliefs; or, unless `anew`, fit alone."""
        if anew and self._predictor is not None:
            rows = np.flatnonzero(self.family == self.family[prompts[0]])
            self.cell[rows] = self.family[rows]
            self.strata.pop(name, None)
            strata = PredictedStrata.find(self._predictor, self.family_priors[name], rows, prompts, measured)
            if strata is None:
                return
            self.strata[name] = strata
            self.cell[rows] = strata.name_cells(name, self.cells)[strata.prediction.strata]
        if name in self.strata:
            self.strata[name].fit(self, name, prompts, measured, anew=anew)

    def guess_rule(self) -> StoppingRule:
        """Return the rule by all that is there, as if all prompts were one family.

        No decision rests on it, only forecasts before the first fit.
        """
        prompts = np.flatnonzero(self.requested > 0)
        measured = measure_rows(self.rewards, prompts, np.full(len(prompts), self.budget.max_group))
        is_there = measured[0] > 0
        family_prior = fit_family_prior(*measured[:, is_there]) if is_there.any() else FamilyPrior()
        return self.match(family_prior, self.recall)

    def _solve(self, family_prior: FamilyPrior) -> StoppingRule:
        """Return the rule for a family; families that believe the same follow the same."""
        if self._solved is None or self._solved[0] is not family_prior.belief or family_prior.graded:
            self._solved = family_prior.belief, self.match(family_prior, self.recall)
        return self._solved[1]

    def match(self, family_prior: FamilyPrior, recall: float | None) -> StoppingRule:
        """Return the rule for groups of which this is known, of a recall as `recall` says."""
        return match_fixed(
            family_prior.belief,
            self.band if family_prior.graded else self.band.with_min_std,
            max_group=self.budget.max_group,
            blocks=self.budget.blocks,
            ess_per_rollout=family_prior.variance_model.ess_per_rollout,
            precision=self.budget.precision,
            recall=recall,
        )

    def _assess(self, prompts: Indices) -> tuple[Values, Values]:
        """Return the chance that each prompt is in the band, and that then its standard deviation is `min_std`."""
        in_band, varying = np.zeros(len(prompts)), np.zeros(len(prompts))
        for name, members in self._by_cell(prompts):
            family_prior = self.family_priors.get(name, FamilyPrior())
            in_band[members], varying[members] = self.assess_cell(prompts[members], family_prior)
        return in_band, varying

    def assess_cell(self, prompts: Indices, family_prior: FamilyPrior) -> tuple[Values, Values]:
        """Return what `_assess` does, of prompts of one family or stratum of which this is known."""
        in_band, varying = np.zeros(len(prompts)), np.zeros(len(prompts))
        for part in np.array_split(np.arange(len(prompts)), len(prompts) // CERTIFIED_AT_ONCE + 1):
            rows = prompts[part]
            rewards = self.list_rewards(rows) if family_prior.value_model is not None else None
            assessment = assess(family_prior, self.band, *self.measure(rows), rewards)
            in_band[part], varying[part] = assessment.p_in_band, assessment.p_min_std
        return in_band, varying

    def are_unanimous(self, prompts: Indices) -> Flags:
        """Whether the rewards of each prompt are all equal; not of one without any."""
        n, _, variance = self.measure(prompts)
        return (n > 0) & (variance < SAME_VALUE**2)

    def _by_family(self, prompts: Indices) -> list[tuple[str, Indices]]:
        """Return each family's name and which of `prompts` are its own."""
        return [(str(self.names[number]), members) for number, members in group_rows(self.family[prompts])]

    def _by_cell(self, prompts: Indices) -> list[tuple[str, Indices]]:
        """Return the name of each family or stratum, and which of `prompts` are its own."""
        return [(self.cells[number], members) for number, members in group_rows(self.cell[prompts])]


def group_rows(numbers: Indices) -> list[tuple[int, Indices]]:
    """Return each number there is, and where it is."""
    order = np.argsort(numbers, kind="stable")
    present, starts = np.unique(numbers[order], return_index=True)
    parts = np.split(order, starts[1:]) if len(present) else []
    return [(int(number), members) for number, members in zip(present, parts, strict=True)]


def measure_rows(rewards: Values | RewardCells, prompts: Indices, ends: Indices) -> Values:
    """Return rollouts that count, mean reward and population variance of prompts, shape (3, prompts).

    Args:
        rewards: a row a prompt of the pool and a column a rollout, NaN where there is none.
        prompts: rows of it.
        ends: how many rollouts of each of `prompts` are looked at.
    """
    measured = np.zeros((3, len(prompts)))
    for part in _slices(len(prompts)):
        rows = _find_rewards(rewards, prompts[part], ends[part])
        is_counted = ~np.isnan(rows)
        n = is_counted.sum(axis=1).astype(np.float64)
        sums = np.where(is_counted, rows, 0.0).sum(axis=1)
        mean = np.divide(sums, n, out=np.zeros_like(sums), where=n > 0)
        squares = np.where(is_counted, (rows - mean[:, None]) ** 2, 0.0).sum(axis=1)
        measured[:, part] = n, mean, np.divide(squares, n, out=np.zeros_like(sums), where=n > 0)
    return measured


def list_rows(rewards: Values | RewardCells, prompts: Indices, ends: Indices) -> Rewards:
    """Return the rewards that `measure_rows` measures, one by one, and which of `prompts` each is of."""
    parts = [(np.zeros(0, np.int64), np.zeros(0))]
    for part in _slices(len(prompts)):
        rows = _find_rewards(rewards, prompts[part], ends[part])
        is_counted = ~np.isnan(rows)
        parts.append((np.nonzero(is_counted)[0] + part.start, rows[is_counted]))
    whose, values = zip(*parts, strict=True)
    return np.concatenate(whose), np.concatenate(values)


def _find_rewards(rewards: Values | RewardCells, prompts: Indices, ends: Indices) -> Values:
    """Return the rewards of prompts up to their ends, NaN elsewhere."""
    rows: Values = rewards[prompts]
    rows[np.arange(rows.shape[1])[None, :] >= ends[:, None]] = np.nan
    return rows


def _slices(size: int) -> Iterator[slice]:
    """Yield slices of `CERTIFIED_AT_ONCE`: what is computed for them is row by row, and the same in any of them."""
    return (slice(first, first + CERTIFIED_AT_ONCE) for first in range(0, size, CERTIFIED_AT_ONCE))
