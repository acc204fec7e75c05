"""Which rollouts to request next: a pilot, then rounds in which new groups and continuing ones share one call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
from learnable.filters.stopping.stratified import PredictedStrata, merge_orders
from learnable.filters.stopping.table import CONTINUE, KEEP, list_block_ends

ROUND_ROLLOUTS = 4096  # in one call of the engine: enough that it is seldom idle between two
MIN_YIELD = 1 / 128  # of new prompts: below it a goal is given up
ENOUGH_GROUPS_TO_STOP = 384  # groups that must tell of that: 3 in 384 is 1 in 128 (rule of three, 95 % confidence)


@dataclass(frozen=True, slots=True)
class SamplingRound:
    """Rollouts to request in one call: for prompt `prompts[i]` those from `first[i]` up to, without it, `end[i]`."""

    prompts: Indices
    first: Indices
    end: Indices

    def __len__(self) -> int:
        return len(self.prompts)


def hash_to_uniforms(prompt_ids: Sequence[str]) -> Values:
    """Return a number in [0, 1) for each prompt, from the last digits of its id, which is a hash."""
    return np.array([int(prompt_id[-8:], 16) for prompt_id in prompt_ids]) / 2.0**32


class Schedule:
    """The way through a pool, a deterministic function of its prompts' order and of their rewards alone.

    So a run that finds its rollouts in the ledger takes the same way again. `rewards` holds one row a prompt and one
    column a rollout index, NaN where there is no honest reward (yet); whoever runs the schedule fills it in. It is the
    one thing that grows with the rollouts a prompt may get, by eight bytes each; what follows from it is computed for
    `CERTIFIED_AT_ONCE` at a time.

    `opening` counts the rollouts of each prompt's first request, before any of its rewards were known. How many it gets
    after them depends on their rewards; these do not, so they are a fair sample of what the prompt does.

    With a `predictor`, families whose pass rates it predicts are split into strata, which have beliefs and rules of
    their own. `cell` is the place of each prompt's belief and rule in `cells`, whose names are the keys of
    `family_priors` and `rules`: its family, or its stratum. `rejected` are, in the end, prompts that are rejected by
    the prediction, unsampled.
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
        self.rewards = np.full((size, budget.count_max_rollouts(group_size)), np.nan)
        self.requested: Indices = np.zeros(size, np.int64)
        self.opening: Indices = np.zeros(size, np.int64)
        self.stopped = np.zeros(size, bool)
        self.in_pilot = np.zeros(size, bool)
        self.cells, self.cell = [str(name) for name in self.names], self.family.copy()
        self.strata: dict[str, PredictedStrata] = {}
        self.rejected = np.zeros(size, bool)
        self._predictor = None if budget.sampling == "fixed" else predictor
        self.family_priors: dict[str, FamilyPrior] = {}
        self.rules: dict[str, StoppingRule] = {}
        self._pools: Pools = {}
        self._fitted = np.zeros(len(self.names) + 1)  # rollouts that each family's belief was fitted to, and the pool's
        self._ends = np.array([*list_block_ends(budget.blocks, budget.max_group)])
        self._solved: tuple[Belief, StoppingRule] | None = None  # the last rule, and what was believed
        self._next_new = 0  # of prompts from here on nothing was requested yet, the pilot aside

    def request_pilot(self) -> SamplingRound:
        """Request the first round: the first prompts of every family, or all at once where groups are fixed."""
        if self.budget.sampling == "fixed":
            return self._request(np.arange(len(self.uniforms)), np.full(len(self.uniforms), self.group_size))
        each, families = self.budget.pilot_prompts, len(self.names)
        if self.budget.pilot_in_all:
            each = min(each, -(-self.budget.pilot_in_all // max(families, 1)))
        pilot = [np.flatnonzero(self.family == number)[:each] for number in range(families)]
        prompts = np.sort(np.concatenate(pilot)) if pilot else np.zeros(0, np.int64)
        self.in_pilot[prompts] = True
        return self._request(prompts, np.full(len(prompts), min(self.budget.pilot_rollouts, self.budget.max_group)))

    def request_next_round(self) -> SamplingRound:
        """Judge what the last round brought, and request the next one; it is empty when everything has stopped."""
        if self.budget.sampling == "fixed":
            self.stopped[:] = True
            self._refit(1)
            return self._request(np.zeros(0, np.int64), np.zeros(0, np.int64))
        # Beliefs are fitted anew when twice as many rollouts tell of a family.
        self._refit(2)
        self._judge()
        going_on = np.flatnonzero((self.requested > 0) & ~self.stopped)
        if self.goal_reached or not len(going_on):  # so that what is certified rests on every rollout
            self._refit(1)
        ends = self._ends[np.searchsorted(self._ends, self.requested[going_on], side="right")]
        room = max(ROUND_ROLLOUTS - int((ends - self.requested[going_on]).sum()), 0)
        fresh = self._fresh(min(room // int(self._ends[0]), self._needed(going_on)))
        if not len(going_on) and not len(fresh):
            self.rejected = self.find_waiting() & ~self.stopped
        return self._request(
            np.concatenate([going_on, fresh]), np.concatenate([ends, np.full(len(fresh), self._ends[0])])
        )

    def settle(self) -> None:
        """Stop every group where it is, none of whose rollouts was asked for by what others gave, and fit beliefs."""
        self.opening[:], self.stopped[:] = self.requested, True
        self._refit(1)

    def give_up(self, prompts: Indices) -> None:
        """Stop groups that get no answer."""
        self.stopped[prompts] = True

    def measure(self, prompts: Indices) -> tuple[Values, Values, Values]:
        """Return rollouts that count, mean reward and population variance of prompts, within what was requested."""
        measured = np.zeros((3, len(prompts)))
        for part in _slices(len(prompts)):
            rows = self._find_rewards(prompts[part])
            is_counted = ~np.isnan(rows)
            n = is_counted.sum(axis=1).astype(np.float64)
            sums = np.where(is_counted, rows, 0.0).sum(axis=1)
            mean = np.divide(sums, n, out=np.zeros_like(sums), where=n > 0)
            squares = np.where(is_counted, (rows - mean[:, None]) ** 2, 0.0).sum(axis=1)
            measured[:, part] = n, mean, np.divide(squares, n, out=np.zeros_like(sums), where=n > 0)
        n, mean, variance = measured
        return n, mean, variance

    def list_rewards(self, prompts: Indices) -> Rewards:
        """Return the rewards that `measure` measures, one by one, and which of `prompts` each is of."""
        parts = [(np.zeros(0, np.int64), np.zeros(0))]
        for part in _slices(len(prompts)):
            rows = self._find_rewards(prompts[part])
            is_counted = ~np.isnan(rows)
            parts.append((np.nonzero(is_counted)[0] + part.start, rows[is_counted]))
        whose, rewards = zip(*parts, strict=True)
        return np.concatenate(whose), np.concatenate(rewards)

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
        keep = (chances >= self.find_thresholds()[among]) & ~self._are_unanimous(among)
        order = np.argsort(-chances[keep], kind="stable")
        return among[keep][order], chances[keep][order]

    @property
    def goal_reached(self) -> bool:
        """Whether as many prompts are certified as were wanted."""
        return self.budget.want is not None and len(self.find_certified()) >= self.budget.want

    @property
    def gave_up(self) -> bool:
        """Whether the goal is out of reach: so few new prompts are kept that looking on would be a waste."""
        sampled = int((self.requested > 0).sum())
        return self.budget.want is not None and sampled >= ENOUGH_GROUPS_TO_STOP and self.yield_rate < MIN_YIELD

    @property
    def expected_rollouts(self) -> int:
        """About how many rollouts this run will have looked at in the end."""
        each = np.array([self.rules[name].outcome.rollouts if name in self.rules else 0.0 for name in self.cells])
        missing = self._needed(np.flatnonzero((self.requested > 0) & ~self.stopped))
        new = (self.requested == 0) & ~self.find_waiting()
        ahead = (~self.stopped & (self.requested > 0)) | (new & (np.cumsum(new) <= missing))
        return int(self.requested.sum() + each[self.cell[ahead]].sum())

    @property
    def yield_rate(self) -> float:
        """The expected share of new prompts that are kept, by the families' rules and their shares of the pool.

        With strata, of those that are looked at next.
        """
        if self.strata and len(order := self._order_new()):
            return float(self._kept_by_cell[self.cell[order[:ENOUGH_GROUPS_TO_STOP]]].mean())
        kept = self._kept_by_cell
        return float(np.bincount(self.cell, minlength=len(kept)) @ kept / max(len(self.cell), 1))

    def find_waiting(self) -> Flags:
        """Say which prompts are not sampled as things stand: those of strata of which an audit alone is looked at.

        A run that wants a number of prompts has none of them: it comes to such strata last.
        """
        waiting = np.zeros(len(self.uniforms), bool)
        if self.budget.want is None:
            for strata in self.strata.values():
                waiting[strata.find_waiting(self)] = True
        return waiting

    def _find_rewards(self, prompts: Indices) -> Values:
        """Return the rewards of prompts within what was requested, NaN elsewhere."""
        rows: Values = self.rewards[prompts]
        rows[np.arange(rows.shape[1])[None, :] >= self.requested[prompts, None]] = np.nan
        return rows

    def _needed(self, going_on: Indices) -> int:
        """Return how many new prompts the goal needs still: all there are, without a goal."""
        if self.budget.want is None:
            return len(self.uniforms)
        expected = len(self.find_certified()) + float(self.assess_chances(going_on).sum())
        missing = self.budget.want - expected
        if missing <= 0:
            return 0 if len(going_on) or self.goal_reached else 1
        if self.yield_rate < MIN_YIELD:
            return max(ENOUGH_GROUPS_TO_STOP - int((self.requested > 0).sum()), 0)
        if self.strata:
            expected_kept = np.cumsum(self._kept_by_cell[self.cell[self._order_new()]])
            return int(np.searchsorted(expected_kept, missing)) + 1
        return int(np.ceil(missing / max(self.yield_rate, 1e-3)))

    def _request(self, prompts: Indices, ends: Indices) -> SamplingRound:
        request = SamplingRound(prompts, self.requested[prompts].copy(), ends)
        self.opening[prompts] = np.where(self.opening[prompts] > 0, self.opening[prompts], ends)
        self.requested[prompts] = ends
        return request

    @property
    def _kept_by_cell(self) -> Values:
        return np.array([self.rules[name].outcome.kept if name in self.rules else 0.0 for name in self.cells])

    def _order_new(self) -> Indices:
        """Return the prompts that may be looked at next, in their order: with a goal, promising strata come first."""
        new = np.flatnonzero((self.requested == 0) & ~self.stopped & ~self.find_waiting())
        if self.budget.want is None:
            return new
        outcomes = [self.rules[name].outcome if name in self.rules else None for name in self.cells]
        worth = np.array([0.0 if o is None else o.kept_in_band / max(o.rollouts, 1e-9) for o in outcomes])
        return merge_orders(new, self.family[new], worth[self.cell[new]])

    def _fresh(self, count: int) -> Indices:
        if self.strata:
            return np.sort(self._order_new()[:count])
        untouched = np.flatnonzero((self.requested[self._next_new :] == 0) & ~self.stopped[self._next_new :])
        prompts = untouched[:count] + self._next_new
        if len(prompts):
            self._next_new = int(prompts[-1]) + 1
        return prompts

    def _refit(self, times: float) -> None:
        """Fit the families of which so many times more rollouts tell than they were fitted to, and solve their rules.

        First the pool is, in the same way, what families of few groups lean on. At the end, where `times` is 1, rules
        stay as they are.
        """
        sampled = np.flatnonzero(self.requested > 0)
        measured = np.array(self.measure(sampled))
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
                rewards = partial(self.list_rewards, prompts)
                self.family_priors[name] = fit_family_prior(n, mean, variance, rewards, self._pools)
                if times > 1:
                    self.rules[name] = self._solve(self.family_priors[name])
                if self._predictor is not None:
                    self._predict(name, prompts, measured[:, members], anew=times > 1)

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

    def _solve(self, family_prior: FamilyPrior) -> StoppingRule:
        """Return the rule for a family; families that believe the same follow the same."""
        if self._solved is None or self._solved[0] is not family_prior.belief or family_prior.graded:
            rule = match_fixed(
                family_prior.belief,
                self.band if family_prior.graded else self.band.with_min_std,
                max_group=self.budget.max_group,
                blocks=self.budget.blocks,
                ess_per_rollout=family_prior.variance_model.ess_per_rollout,
                precision=self.budget.precision,
                any_recall=self.budget.want is not None,
            )
            self._solved = family_prior.belief, rule
        return self._solved[1]

    def _judge(self) -> None:
        open_groups = np.flatnonzero((self.requested > 0) & ~self.stopped)
        for name, members in self._by_cell(open_groups):
            prompts = open_groups[members]
            n, mean, _ = self.measure(prompts)
            actions = self.rules[name].decide(self.uniforms[prompts], n, n * mean)
            going_on = actions == CONTINUE
            going_on[actions == KEEP] = self._lack_variance_alone(prompts[actions == KEEP], name)
            self.stopped[prompts] = ~going_on | (self.requested[prompts] >= self.budget.max_group)

    def _lack_variance_alone(self, prompts: Indices, name: str) -> Flags:
        """Whether these prompts of a family, whose means say keep, wait to be told that their rewards vary enough.

        A group whose rewards are all equal so far cannot be kept as it is, and one more rollout may be enough. Others
        may vary enough, and are not sure enough of it yet.
        """
        in_band, varying = self._assess(prompts)
        thresholds = self.rules[name].find_thresholds(self.uniforms[prompts])
        # With a smaller chance of varying enough a group does not wait to be told.
        sure, likely = in_band * varying >= thresholds, (in_band >= thresholds) & (varying >= 0.1)
        return np.where(self._are_unanimous(prompts), sure, likely & ~sure)

    def _assess(self, prompts: Indices) -> tuple[Values, Values]:
        """Return the chance that each prompt is in the band, and that then its standard deviation is `min_std`."""
        in_band, varying = np.zeros(len(prompts)), np.zeros(len(prompts))
        for name, members in self._by_cell(prompts):
            family_prior = self.family_priors.get(name, FamilyPrior())
            for part in np.array_split(members, len(members) // CERTIFIED_AT_ONCE + 1):
                rows = prompts[part]
                rewards = self.list_rewards(rows) if family_prior.value_model is not None else None
                assessment = assess(family_prior, self.band, *self.measure(rows), rewards)
                in_band[part], varying[part] = assessment.p_in_band, assessment.p_min_std
        return in_band, varying

    def _are_unanimous(self, prompts: Indices) -> Flags:
        """Whether the rewards of each prompt are all equal; not of one without any."""
        n, _, variance = self.measure(prompts)
        return (n > 0) & (variance < SAME_VALUE**2)

    def _by_family(self, prompts: Indices) -> list[tuple[str, Indices]]:
        """Return each family's name and which of `prompts` are its own."""
        return [(str(self.names[number]), members) for number, members in _group(self.family[prompts])]

    def _by_cell(self, prompts: Indices) -> list[tuple[str, Indices]]:
        """Return the name of each family or stratum, and which of `prompts` are its own."""
        return [(self.cells[number], members) for number, members in _group(self.cell[prompts])]


def _group(numbers: Indices) -> list[tuple[int, Indices]]:
    """Return each number there is, and where it is."""
    order = np.argsort(numbers, kind="stable")
    present, starts = np.unique(numbers[order], return_index=True)
    parts = np.split(order, starts[1:]) if len(present) else []
    return [(int(number), members) for number, members in zip(present, parts, strict=True)]


def _slices(size: int) -> Iterator[slice]:
    """Yield slices of `CERTIFIED_AT_ONCE`: what is computed for them is row by row, and the same in any of them."""
    return (slice(first, first + CERTIFIED_AT_ONCE) for first in range(0, size, CERTIFIED_AT_ONCE))
