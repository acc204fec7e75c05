"""Which rollouts to request next: a pilot, then cohorts of new groups, each of which goes on as its own rewards say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learnable.data.band import Band
from learnable.filters.arrays import Flags, Indices, Values
from learnable.filters.posterior.certificate import FamilyPrior
from learnable.filters.prediction.strata import Predictor
from learnable.filters.stopping.budget import SamplingBudget
from learnable.filters.stopping.cohorts import DEPTH, Cohorts, Fit
from learnable.filters.stopping.operating_point import StoppingRule, mix_outcomes
from learnable.filters.stopping.pool_beliefs import PoolBeliefs, group_rows
from learnable.filters.stopping.stratified import merge_orders
from learnable.filters.stopping.table import CONTINUE, KEEP, list_block_ends

ROUND_ROLLOUTS = 4096  # of a round towards a goal, and of the first blocks of the first cohort after the pilot
MIN_YIELD = 1 / 128  # of new prompts: below it a goal is given up
ENOUGH_GROUPS_TO_STOP = 384  # groups that must tell of that: 3 in 384 is 1 in 128 (rule of three, 95 % confidence)
SPARE = 1.02  # of the recall that a goal needs in a pool that is all there is
_NOTHING = (np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class SamplingRound:
    """Rollouts to request in one call: for prompt `prompts[i]` those from `first[i]` up to, without it, `end[i]`."""

    prompts: Indices
    first: Indices
    end: Indices

    def __len__(self) -> int:
        return len(self.prompts)

    @classmethod
    def join(cls, parts: Sequence[SamplingRound]) -> SamplingRound:
        """Return the requests of several as one."""
        columns = zip(*((part.prompts, part.first, part.end) for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))


def hash_to_uniforms(prompt_ids: Sequence[str]) -> Values:
    """Return a number in [0, 1) for each prompt, from the last digits of its id, which is a hash."""
    return np.array([int(prompt_id[-8:], 16) for prompt_id in prompt_ids]) / 2.0**32


class Schedule(PoolBeliefs):
    """The way through a pool, a deterministic function of its prompts' order and of their rewards alone.

    So a run that finds its rollouts in the ledger takes the same way again. Whoever runs the schedule fills in the
    rewards that it requests.

    `opening` counts the rollouts of each prompt's first request, before any of its rewards were known. How many it gets
    after them depends on their rewards; these do not, so they are a fair sample of what the prompt does. `awaited` says
    which prompts have a request that was not answered yet. `endless` says whether the source has more prompts than the
    pool: where it has not, a goal that the pool did not reach goes back to groups that were passed over.
    """

    def __init__(
        self,
        families: Sequence[str],
        uniforms: Values,
        band: Band,
        budget: SamplingBudget,
        group_size: int = 16,
        predictor: Predictor | None = None,
        *,
        endless: bool = False,
    ) -> None:
        super().__init__(families, uniforms, band, budget, group_size, predictor)
        size, self._is_endless = len(uniforms), endless
        self._is_silent = np.zeros(size, bool)  # prompts that get no answer
        self.opening: Indices = np.zeros(size, np.int64)
        self.awaited, self._missing = np.zeros(size, bool), 0  # the one counted
        self.cohorts = Cohorts(size)
        self.block_ends = np.array([*list_block_ends(budget.blocks, budget.max_group)])
        self._is_parted = False  # whether every prompt has its cohort from the start
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
        if self.budget.want is None:
            self.cohorts.begin(prompts)
            if self._predictor is None:
                self._part()
        return self._request(prompts, np.full(len(prompts), min(self.budget.pilot_rollouts, self.budget.max_group)))

    def request_next_round(self) -> SamplingRound:
        """Take everything that was requested as answered, and request what comes next; nothing when all has stopped."""
        return self.take(np.flatnonzero(self.awaited))

    @property
    def goes_round_by_round(self) -> bool:
        """Whether all that was requested has to be answered before anything else is requested."""
        return self.budget.sampling == "fixed" or self.budget.want is not None

    def take(self, answered: Indices) -> SamplingRound:
        """Judge groups whose rollouts have all been answered, and return what is to be requested now.

        In whatever order groups are answered, the same is requested in the end: each goes on by the rule of its cohort
        (see `Cohorts`), as soon as that is known. A run with a goal goes round by round: how much it still needs hangs
        on all that was requested before.
        """
        answered = answered[self.awaited[answered]]
        self.awaited[answered], self._missing = False, self._missing - len(answered)
        if self.goes_round_by_round:
            return self._request(*_NOTHING) if self._missing else self._request_round()
        is_fitted = self.cohorts.take(answered, self.requested[answered] >= DEPTH)
        parts = [self._go_on(answered[is_fitted])]
        while self.cohorts.is_due:
            parts += self._pass_fixed_point()
        if not self._missing and not any(len(part) for part in parts):
            parts.append(self._request_last())
        return SamplingRound.join(parts)

    def open(self, prompts: int) -> SamplingRound:
        """Request the first blocks of as many new prompts, for an engine that has nothing else to do.

        None where what is asked hangs on fits to come: where strata may choose, or a goal is to be reached.
        """
        return self._open(self._next_new + prompts if self._is_parted else 0)

    @property
    def is_done(self) -> bool:
        """Whether nothing is awaited, and nothing will be requested."""
        return self.is_over and not self._missing

    def _open(self, end: int) -> SamplingRound:
        """Request the first blocks of the prompts up to, without it, this row."""
        rows = np.arange(self._next_new, min(end, len(self.uniforms)))
        self._next_new = max(self._next_new, end)
        return self._request_first(rows[self.requested[rows] == 0])

    def _part(self) -> None:
        """Part the pool into cohorts: no prediction chooses among its prompts."""
        self._is_parted, others = True, np.flatnonzero(~self.in_pilot)
        begun, size = len(self.uniforms) - len(others), len(self.uniforms)
        while begun < size:
            first = begun - size + len(others)
            self.cohorts.begin(others[first : first + self._size_cohort(begun)])
            begun += self._size_cohort(begun)

    def _size_cohort(self, begun: int) -> int:
        """Return how many prompts the next cohort has: as many as all before it."""
        return max(ROUND_ROLLOUTS // int(self.block_ends[0]), begun)

    def find_next(self) -> Indices:
        """Return the prompts that will be asked as things stand, where fits to come choose among them."""
        return self._order_new() if self.budget.want is None and not self._is_parted else np.zeros(0, np.int64)

    def _request_round(self) -> SamplingRound:
        """Judge what the last round brought, and request the next one; it is empty when everything has stopped."""
        if self.budget.sampling == "fixed":
            self.stopped[:] = True
            self.refit(1, solve=False)
            return self._request(*_NOTHING)
        # Beliefs are fitted anew when twice as many rollouts tell of a family.
        self.refit(2)
        self._judge(np.flatnonzero((self.requested > 0) & ~self.stopped), self.fit, self.cell)
        going_on = np.flatnonzero((self.requested > 0) & ~self.stopped)
        if self.goal_reached or not len(going_on):  # so that what is certified rests on every rollout
            self.refit(1, solve=False)
        ends = self._find_ends(going_on)
        room = max(ROUND_ROLLOUTS - int((ends - self.requested[going_on]).sum()), 0)
        fresh = self._fresh(min(room // int(self.block_ends[0]), self._needed(going_on)))
        if not len(going_on) and not len(fresh):
            going_on = self._reopen()
            ends = self._find_ends(going_on)
        return self._request(
            np.concatenate([going_on, fresh]), np.concatenate([ends, np.full(len(fresh), self.block_ends[0])])
        )

    def _reopen(self) -> Indices:
        """Return groups that go on again: every prompt was looked at, and the goal takes more of those in the band."""
        groups = np.flatnonzero(~self._is_silent & (self.requested < self.budget.max_group))
        if self._is_endless or self.gave_up or not ((self.requested > 0) | self.stopped).all():
            return _NOTHING[0]
        while not self.goal_reached and (needed := self._find_needed_recall()) > (self.recall or 0.0):
            self.aim(needed)
            self.stopped[groups] = False
            self._judge(groups, self.fit, self.cell)
            if not self.stopped[groups].all():
                break
        reopened: Indices = groups[~self.stopped[groups]]
        return reopened

    def _find_needed_recall(self) -> float:
        """Return the recall at which the pool has what the goal needs, by how many are kept at the present one."""
        cells, prompts = np.unique(self.cell, return_counts=True)
        now = mix_outcomes([self.rules[self.cells[number]].outcome for number in cells], prompts.tolist()).recall
        return min(SPARE * now * (self.budget.want or 0) / max(len(self.find_certified()), 1), 1.0)

    def _go_on(self, prompts: Indices) -> SamplingRound:
        """Judge groups that have a fit, each by its own, and request the next blocks of those that go on."""
        open_groups = prompts[~self.stopped[prompts]]
        for cohort, members in group_rows(self.cohorts.of[open_groups]):
            self._judge(open_groups[members], self.cohorts.fits[cohort], self.cohorts.cell)
        self.cohorts.deepen(prompts[self.stopped[prompts]])
        going_on = open_groups[~self.stopped[open_groups]]
        return self._request(going_on, self._find_ends(going_on))

    def _pass_fixed_point(self) -> list[SamplingRound]:
        """Fit beliefs, rules and strata, request the next cohort, and judge the groups that waited for the fit."""
        self.refit(0, self.cohorts.count_seen(self.opening, self.requested))
        members = self.cohorts.add_fit(self.fit, self.cell)
        waiting = members[(self.requested[members] > 0) & ~self.awaited[members]]
        if self._is_parted:
            return [self._go_on(waiting), self._open(self.cohorts.find_end(len(self.cohorts.fits)))]
        begun = int((self.cohorts.of >= 0).sum())
        return [self._go_on(waiting), self._begin(self._fresh(self._size_cohort(begun)))]

    def _request_last(self) -> SamplingRound:
        """Let what is believed rest on every rollout, and request prompts that waited for audits to end, if any."""
        self.refit(1, solve=False)
        self.is_over = True
        fresh = self._fresh(len(self.uniforms))
        if not len(fresh):
            self.rejected = self.find_waiting() & ~self.stopped
        return self._begin(fresh)

    def _begin(self, prompts: Indices) -> SamplingRound:
        if len(prompts):
            self.cohorts.begin(prompts)
        return self._request_first(prompts)

    def settle(self) -> None:
        """Stop every group where it is, none of whose rollouts was asked for by what others gave, and fit beliefs."""
        self.opening[:], self.stopped[:] = self.requested, True
        self.refit(1, solve=False)

    def give_up(self, prompts: Indices) -> None:
        """Stop groups that get no answer."""
        self.stopped[prompts], self._is_silent[prompts] = True, True

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

    def _request_first(self, prompts: Indices) -> SamplingRound:
        return self._request(prompts, np.full(len(prompts), self.block_ends[0]))

    def _request(self, prompts: Indices, ends: Indices) -> SamplingRound:
        request = SamplingRound(prompts, self.requested[prompts].copy(), ends)
        self.opening[prompts] = np.where(self.opening[prompts] > 0, self.opening[prompts], ends)
        self.requested[prompts] = ends
        self.awaited[prompts], self._missing = True, self._missing + len(prompts)
        return request

    def _find_ends(self, prompts: Indices) -> Indices:
        """Return where the next blocks of these prompts end."""
        return self.block_ends[np.searchsorted(self.block_ends, self.requested[prompts], side="right")]

    @property
    def fit(self) -> Fit:
        """What is believed now, to be followed as it is now."""
        return Fit(self.cells, self.rules.copy(), self.family_priors.copy())

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

    def _judge(self, prompts: Indices, fit: Fit, cell: Indices) -> None:
        """Stop those of these groups that have told enough by a fit; `cell` is that of each prompt of the pool."""
        for number, members in group_rows(cell[prompts]):
            rows, rule = prompts[members], fit.rules[fit.cells[number]]
            n, mean, _ = self.measure(rows)
            actions = rule.decide(self.uniforms[rows], n, n * mean)
            going_on, keep = actions == CONTINUE, actions == KEEP
            going_on[keep] = self._lack_variance_alone(rows[keep], rule, fit.priors[fit.cells[number]])
            self.stopped[rows] = ~going_on | (self.requested[rows] >= self.budget.max_group)

    def _lack_variance_alone(self, prompts: Indices, rule: StoppingRule, family_prior: FamilyPrior) -> Flags:
        """Whether these prompts of a family, whose means say keep, wait to be told that their rewards vary enough.

        A group whose rewards are all equal so far cannot be kept as it is, and one more rollout may be enough. Others
        may vary enough, and are not sure enough of it yet.
        """
        in_band, varying = self.assess_cell(prompts, family_prior)
        thresholds = rule.find_thresholds(self.uniforms[prompts])
        # With a smaller chance of varying enough a group does not wait to be told.
        sure, likely = in_band * varying >= thresholds, (in_band >= thresholds) & (varying >= 0.1)
        return np.where(self.are_unanimous(prompts), sure, likely & ~sure)
