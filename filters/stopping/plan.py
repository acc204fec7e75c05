"""What a goal will cost: a forecast of prompts, rollouts and tokens from the groups that were sampled so far."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import NamedTuple

import numpy as np

from learnable.filters.arrays import Flags, Indices, Values
from learnable.filters.posterior.certificate import COVERAGE, assess
from learnable.filters.stopping.operating_point import StoppingRule
from learnable.filters.stopping.schedule import MIN_YIELD, Schedule
from learnable.filters.stopping.table import CONTINUE, list_block_ends

SIMULATIONS = 2000
DEARER = 1.5  # the last prompts in the band that a pool has; of Beta(.3, .3), 1,100 to 1,350 prompts and a goal of 300


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure that is not known yet: median and ends of the central 90 % interval, None where it has no bound."""

    expected: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, simulated: Values) -> Estimate:
        """Return the estimate of a figure from simulations of it; an infinite one is a search without end."""
        tail = (1 - COVERAGE) / 2
        figures = np.quantile(simulated, [0.5, tail, 1 - tail], method="inverted_cdf").tolist()
        return cls(*(figure if np.isfinite(figure) else None for figure in figures))

    @classmethod
    def exactly(cls, figure: float) -> Estimate:
        """Return the estimate of a figure that is known."""
        return cls(figure, figure, figure)

    def times(self, factor: float) -> Estimate:
        """Return the estimate of `factor` times the figure."""
        return Estimate(*(None if x is None else x * factor for x in (self.expected, self.low, self.high)))


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """What a run comes to in the end, what it has spent already among it.

    `prompts` are those looked at; `kept` is None where it was not forecast. `tokens` and `tokens_ahead`, those still to
    be generated, are None where no completion has been seen. `chance` is that of keeping as many prompts as are
    wanted, 1 where no number is. `spent_rollouts` are there already.
    """

    want: int | None
    chance: float
    prompts: Estimate
    kept: Estimate | None
    rollouts: Estimate
    tokens: Estimate | None
    tokens_ahead: Estimate | None
    spent_rollouts: int

    def __str__(self) -> str:
        """Return the plan as one line.

        >>> exactly = Estimate.exactly
        >>> print(plan_fixed(40, 16, stored=0, tokens=None))
        about 40 prompts (40 to 40), 640 rollouts (640 to 640)
        """
        figures = {"prompts": self.prompts, "rollouts": self.rollouts, "tokens": self.tokens}
        return "about " + ", ".join(_in_words(x, name) for name, x in figures.items() if x is not None)


@dataclass(frozen=True, slots=True)
class _Outlook:
    """The forecast of the prompts that were looked at, one row each.

    `keep` and `further`: the chance of ending in keep, and the rollouts still to come. `new_keep` and `new_rollouts`:
    the same for a new prompt like it, from its first rollout on. `tokens`: of one rollout.
    """

    keep: Values
    further: Values
    new_keep: Values
    new_rollouts: Values
    tokens: Values


class _Ahead(NamedTuple):
    """Draws of what is still to come, shape (simulations,) each: new prompts, kept ones, whether they are enough."""

    prompts: Values
    kept: Indices
    reached: Flags
    rollouts: Values
    tokens: Values


def plan_ahead(schedule: Schedule, tokens: Values, *, endless: bool = False, seed: int = 0) -> SamplingPlan:
    """Forecast the rest of a schedule that has judged its pilot: up to its goal, or through its pool without one.

    A Bayesian bootstrap (Rubin, 1981, "The Bayesian bootstrap"): every simulation weighs the prompts of each family
    that were looked at anew, and so has a yield and a price of new prompts; how many it takes has a negative binomial
    distribution. Half a kept and half a rejected prompt are added (Jeffreys' prior), so that no family is hopeless for
    certain. In a source without end, a yield at which a run gives up makes the search endless.

    Args:
        schedule: after `request_next_round` has judged what there is, while nothing is requested that is not there.
        tokens: of one rollout, on average, of each prompt of the pool; NaN where there is no rollout.
        endless: whether the source has more prompts than the pool, in the same mix of families.
        seed: of the simulations.
    """
    rng = np.random.default_rng(seed)
    looked = np.flatnonzero(schedule.requested > 0)
    new = (schedule.requested == 0) & ~schedule.find_waiting()
    left = np.inf if endless else float(new.sum())
    outlook = _forecast(schedule, looked, tokens)
    new_prompts = _draw_new(schedule, looked, outlook, new, rng)
    ahead = _draw_ahead(schedule, looked, outlook, new_prompts, schedule.budget.want, left, rng)
    if not endless and schedule.budget.want is not None:
        ahead = _go_back(schedule, looked, tokens, new, ahead, rng)
    return _sum_up(schedule, looked, ahead, outlook.tokens)


def _draw_new(schedule: Schedule, looked: Indices, outlook: _Outlook, new: Flags, rng: np.random.Generator) -> Values:
    """Draw what `_draw_family` does for the mix of families that the new prompts are of, or the pool without any."""
    left = np.bincount(schedule.cell[new], minlength=len(schedule.cells))
    mix = left if left.any() else np.bincount(schedule.cell, minlength=len(schedule.cells))
    simulated = np.zeros((4, SIMULATIONS))
    for number in np.flatnonzero(mix):
        members = schedule.cell[looked] == number
        simulated += mix[number] / mix.sum() * _draw_family(outlook, members, rng)
    return simulated


def _go_back(
    schedule: Schedule, looked: Indices, tokens: Values, new: Flags, ahead: _Ahead, rng: np.random.Generator
) -> _Ahead:
    """Return what lies ahead where groups go on again if the pool falls short of the goal at first.

    What that takes lies between this and the whole pool at the highest recall, by the kept prompts that lack.
    """
    short = ~ahead.reached & (ahead.kept >= MIN_YIELD * len(schedule.requested))  # else the goal is given up
    if not short.any() or (schedule.recall or 0.0) > 0:
        return ahead
    want = schedule.budget.want or 0
    outlook = _forecast(schedule, looked, tokens, recall=1.0)
    new_prompts = _draw_new(schedule, looked, outlook, new, rng)
    most = _draw_ahead(schedule, looked, outlook, new_prompts, None, float(new.sum()), rng)
    reached = most.kept >= want
    share = np.clip((want - ahead.kept) / np.maximum(most.kept - ahead.kept, 1), 0, 1) ** DEARER
    rollouts = ahead.rollouts + share * np.maximum(most.rollouts - ahead.rollouts, 0)
    of_tokens = ahead.tokens + share * np.maximum(most.tokens - ahead.tokens, 0)
    kept = np.where(reached, want, np.clip(most.kept, ahead.kept, want - 1))
    then = _Ahead(ahead.prompts, kept, reached, rollouts, of_tokens)
    return _Ahead(*(np.where(short, *pair) for pair in zip(then, ahead, strict=True)))


def plan_fixed(prompts: int, group_size: int, stored: int, tokens: float | None) -> SamplingPlan:
    """Plan groups of one size: known but for `tokens`, those of one rollout; `stored` rollouts are there already."""
    exactly, rollouts = Estimate.exactly, prompts * group_size
    all_tokens = None if tokens is None else exactly(rollouts * tokens)
    ahead = None if tokens is None else exactly((rollouts - stored) * tokens)
    return SamplingPlan(None, 1.0, exactly(prompts), None, exactly(rollouts), all_tokens, ahead, stored)


def _forecast(schedule: Schedule, looked: Indices, tokens: Values, recall: float | None = None) -> _Outlook:
    """Return the outlook by the rules as they are, or, if it is given, at another recall."""
    columns = np.zeros((4, len(looked)))
    for number, name in enumerate(schedule.cells):
        members = np.flatnonzero(schedule.cell[looked] == number)
        if len(members):
            columns[:, members] = _forecast_cell(schedule, name, looked[members], recall)
    known = tokens[looked]
    usual = float(np.nanmean(known)) if np.isfinite(known).any() else 0.0
    return _Outlook(*np.vstack([columns, np.nan_to_num(known, nan=usual)]))


def _forecast_cell(schedule: Schedule, cell: str, rows: Indices, recall: float | None) -> Values:
    """Return the outlook of the prompts of a family or a stratum but for their tokens, shape (4, prompts)."""
    family_prior, uniforms = schedule.family_priors[cell], schedule.uniforms[rows]
    rule = schedule.rules[cell] if recall is None else schedule.match(family_prior, recall)
    min_kept_group = schedule.group_size if schedule.budget.top_up else 0
    n, mean, variance = schedule.measure(rows)
    keep, further = rule.forecast_groups(uniforms, n, n * mean, min_kept_group)
    new_keep, new_rollouts = _replay(schedule, rule, rows, min_kept_group)
    if family_prior.graded:  # which the tables know nothing of
        rewards = schedule.list_rewards(rows)
        p_min_std = assess(family_prior, schedule.band, n, mean, variance, rewards).p_min_std
        keep, new_keep = keep * p_min_std, new_keep * p_min_std
    stopped = schedule.stopped[rows] & (recall is None)
    keep = np.where(stopped, np.isin(rows, schedule.find_certified()), keep)
    further = np.where(stopped, keep * np.maximum(min_kept_group - schedule.requested[rows], 0), further)
    return np.array([np.clip(keep, 0, 1), further, np.clip(new_keep, 0, 1), new_rollouts])


def _replay(schedule: Schedule, rule: StoppingRule, rows: Indices, min_kept_group: int) -> tuple[Values, Values]:
    """Return the chance to keep a new prompt that answers as each of these did, and the rollouts that it takes.

    The pilot gives a prompt more rollouts than a new one may need. So the rule is followed through them block by
    block, to where it stops or they end, and from there by expectation.
    """
    rewards, uniforms, size = schedule.rewards[rows], schedule.uniforms[rows], schedule.requested[rows]
    nothing = np.zeros(len(rows))
    keep, rollouts = rule.forecast_groups(uniforms, nothing, nothing, min_kept_group)
    goes_on = np.ones(len(rows), bool)
    for end in list_block_ends(schedule.budget.blocks, schedule.budget.max_group):
        members = np.flatnonzero(goes_on & (size >= end))
        observed = rewards[members, :end]
        n, s = (~np.isnan(observed)).sum(axis=1), np.nansum(observed, axis=1)
        keep[members], further = rule.forecast_groups(uniforms[members], n, s, min_kept_group)
        rollouts[members] = end + further
        goes_on[members] = rule.decide(uniforms[members], n, s) == CONTINUE
    return keep, rollouts


def _draw_family(outlook: _Outlook, members: Values, rng: np.random.Generator) -> Values:
    """Draw yield, rollouts a prompt, their mean square, and tokens a prompt of a family, shape (4, simulations)."""
    keep, rollouts = outlook.new_keep[members], outlook.new_rollouts[members]
    prices = np.column_stack([rollouts, rollouts**2, rollouts * outlook.tokens[members]])
    simulated = np.empty((SIMULATIONS, 4))
    for row in simulated:
        kept, rejected = rng.gamma(keep), rng.gamma(1 - keep)
        more = rng.gamma(0.5, size=2)
        row[0] = (kept.sum() + more[0]) / (kept.sum() + rejected.sum() + more.sum())
        row[1:] = (kept + rejected) @ prices / (kept + rejected).sum()
    return simulated.T


def _draw_ahead(
    schedule: Schedule,
    looked: Indices,
    outlook: _Outlook,
    new: Values,
    want: int | None,
    left: float,
    rng: np.random.Generator,
) -> _Ahead:
    """Draw how many of the `left` prompts like `new` ones are looked at, and what they come to with those that were."""
    rate, each_new, squares, new_tokens = new
    kept = (rng.random((SIMULATIONS, len(looked))) < outlook.keep).sum(axis=1)
    begun = _draw_begun(schedule, outlook, kept, want, rng)
    # How many prompts a smaller yield takes is more than can be counted.
    prompts, kept, reached = _draw_search(want, kept, np.maximum(rate, 1e-6), left, rng)
    variance = np.maximum(squares - each_new**2, 0) * np.where(np.isfinite(prompts), prompts, 0)
    ahead = np.maximum(prompts * each_new + np.sqrt(variance) * rng.standard_normal(SIMULATIONS), 0)
    each = np.average(outlook.tokens, weights=outlook.further + 1e-9)
    return _Ahead(prompts, kept, reached, begun + ahead, begun * each + ahead * new_tokens / each_new)


def _sum_up(schedule: Schedule, looked: Indices, ahead: _Ahead, each_tokens: Values) -> SamplingPlan:
    requested, has_tokens = schedule.requested[looked], bool(each_tokens.any())
    return SamplingPlan(
        want=schedule.budget.want,
        chance=float(ahead.reached.mean()),
        prompts=Estimate.of(len(looked) + ahead.prompts),
        kept=Estimate.of(np.maximum(ahead.kept, float(len(schedule.find_certified())))),
        rollouts=Estimate.of(requested.sum() + ahead.rollouts),
        tokens=Estimate.of(requested @ each_tokens + ahead.tokens) if has_tokens else None,
        tokens_ahead=Estimate.of(ahead.tokens) if has_tokens else None,
        spent_rollouts=int(requested.sum()),
    )


def _draw_begun(
    schedule: Schedule, outlook: _Outlook, kept: Indices, want: int | None, rng: np.random.Generator
) -> Values:
    """Draw the rollouts that the prompts which were looked at still take, of which `kept` are kept if all go on.

    A goal that needs fewer ends the run before all of them are done. What one takes has a standard deviation of about
    its mean.
    """
    now = len(schedule.find_certified())
    share = np.ones(SIMULATIONS) if want is None else np.clip((want - now) / np.maximum(kept - now, 1), 0, 1)
    total, squares = outlook.further.sum() * share, (outlook.further**2).sum() * share
    begun: Values = np.maximum(total + np.sqrt(squares) * rng.standard_normal(SIMULATIONS), 0)
    return begun


def _draw_search(
    want: int | None, kept: Indices, rate: Values, left: float, rng: np.random.Generator
) -> tuple[Values, Indices, Flags]:
    """Draw how many new prompts are looked at, how many are kept in the end, and whether those are enough.

    `kept` are those of the prompts that were looked at before, in each simulation.
    """
    if want is None:
        return np.full(SIMULATIONS, left), kept + rng.binomial(int(left), rate), np.ones(SIMULATIONS, bool)
    missing = np.maximum(want - kept, 0)
    needed = missing + rng.negative_binomial(np.maximum(missing, 1), rate) * (missing > 0)
    hopeless = (missing > 0) & (rate < MIN_YIELD) & (left == np.inf)
    reached = (needed <= left) & ~hopeless
    all_of_them = rng.binomial(0 if left == np.inf else int(left), rate)
    short = np.minimum(kept + all_of_them, want - 1)
    return np.where(hopeless, np.inf, np.minimum(needed, left)), np.where(reached, want, short), reached


def _in_words(estimate: Estimate, name: str) -> str:
    expected, low, high = (None if x is None else shorten_figure(x) for x in astuple(estimate))
    if expected is None:
        return f"{name} without end" if low is None else f"{low} {name} or more"
    return f"{expected} {name} ({low} to {high or 'no end'})"


def shorten_figure(figure: float) -> str:
    """Return a figure in two digits, as in 1,900.

    >>> shorten_figure(1874.2), shorten_figure(7), shorten_figure(0)
    ('1,900', '7', '0')
    """
    digits = max(len(str(round(figure))) - 2, 0)
    return f"{round(figure, -digits):,.0f}"
