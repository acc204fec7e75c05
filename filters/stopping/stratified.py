"""Strata by predicted rate in a schedule: their beliefs and rules, and which of them only an audit is sampled of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

import numpy as np

from learnable.data.band import Band
from learnable.data.curated.manifest import PredictionRecord, StratumRecord
from learnable.filters.arrays import Flags, Indices, Values
from learnable.filters.posterior.certificate import FamilyPrior
from learnable.filters.posterior.fitting import Counts, FittedBelief
from learnable.filters.prediction.strata import Prediction, Predictor, fit_strata, mix
from learnable.filters.stopping.budget import SamplingBudget
from learnable.filters.stopping.operating_point import StoppingRule, match_fixed_together


class StratifiedSchedule(Protocol):
    """What strata need of the `Schedule` that they are a part of."""

    band: Band
    budget: SamplingBudget
    cells: list[str]
    cell: Indices
    requested: Indices
    stopped: Flags
    in_pilot: Flags
    family_priors: dict[str, FamilyPrior]
    rules: dict[str, StoppingRule]
    rejected: Flags
    strata: dict[str, PredictedStrata]
    is_over: bool
    recall: float | None

    def assess_chances(self, prompts: Indices) -> Values:
        """Return the chance that each prompt belongs in the set."""

    def measure(self, prompts: Indices) -> tuple[Values, Values, Values]:
        """Return rollouts that count, mean reward and population variance of prompts."""


@dataclass
class PredictedStrata:
    """The strata of one family.

    `rows` are its prompts in the pool, `cells` the places of its strata among the schedule's. `usual_rollouts` are
    those that a prompt would take without a prediction, by the rule of the whole family.
    """

    prediction: Prediction
    rows: Indices
    cells: Indices = field(default_factory=lambda: np.zeros(0, np.int64))
    beliefs: Sequence[FittedBelief] = ()
    usual_rollouts: float = 0.0
    graded: bool = False

    @classmethod
    def find(
        cls, predictor: Predictor, family_prior: FamilyPrior, rows: Indices, prompts: Indices, measured: Values
    ) -> Self | None:
        """Return the strata of a family, None where the prediction is not worth using.

        Args:
            predictor: of pass rates.
            family_prior: what is known of the family without a prediction.
            rows: its prompts.
            prompts: those of them that were sampled.
            measured: rollouts, mean reward and population variance of these, shape (3, prompts).
        """
        groups = count_groups(family_prior, measured)
        prediction = predictor.predict(rows, np.searchsorted(rows, prompts), groups, family_prior.fitted)
        return None if prediction is None else cls(prediction, rows, graded=family_prior.graded)

    def name_cells(self, family: str, cells: list[str]) -> Indices:
        """Return the places of the strata in `cells`, whose names are added where they are not there."""
        names = [f"{family}\0{number}" for number in range(len(self.prediction.ends) + 1)]
        cells.extend(name for name in names if name not in cells)
        self.cells = np.array([cells.index(name) for name in names])
        return self.cells

    def fit(self, schedule: StratifiedSchedule, family: str, prompts: Indices, measured: Values, *, anew: bool) -> None:
        """Fit the beliefs of the strata, and, if they are new, solve their rules together."""
        prior, places = schedule.family_priors[family], np.searchsorted(self.rows, prompts)
        strata, count = self.prediction.strata, len(self.cells)
        groups = count_groups(prior, measured)
        self.beliefs = fit_strata(strata[places], count, groups, prior.fitted)
        for cell, fitted in zip(self.cells, self.beliefs, strict=True):
            schedule.family_priors[schedule.cells[cell]] = replace(prior, fitted=fitted)
        shares = np.bincount(strata, minlength=count) / len(strata)
        # Of the pool's prompts, where those that were sampled are not: an audit is small.
        mixture = mix([fitted.belief for fitted in self.beliefs], shares)
        schedule.family_priors[family] = replace(prior, fitted=replace(prior.fitted, belief=mixture))
        if anew:
            self._solve(schedule, family, shares)

    def _solve(self, schedule: StratifiedSchedule, family: str, shares: Values) -> None:
        prior, budget = schedule.family_priors[family], schedule.budget
        unlikely = self.find_unlikely(schedule.band) & (budget.want is None)

        def match(beliefs: Sequence[FittedBelief], weights: Values, unsampled: Sequence[bool]) -> list[StoppingRule]:
            return match_fixed_together(
                [fitted.belief for fitted in beliefs],
                weights.tolist(),
                schedule.band if prior.graded else schedule.band.with_min_std,
                max_group=budget.max_group,
                blocks=budget.blocks,
                ess_per_rollout=prior.variance_model.ess_per_rollout,
                precision=budget.precision,
                recall=schedule.recall,
                unsampled=unsampled,
            )

        [usual] = match([prior.fitted], np.ones(1), [False])
        self.usual_rollouts = usual.outcome.rollouts
        for cell, rule in zip(self.cells, match(self.beliefs, shares, unlikely.tolist()), strict=True):
            schedule.rules[schedule.cells[cell]] = rule

    def find_unlikely(self, band: Band) -> Flags:
        """Say which strata are all but certainly outside the band; none of graded rewards, whose values matter too."""
        chances = np.array([float(fitted.belief.in_band(band.with_min_std)) for fitted in self.beliefs])
        # Up to this chance to be in the band an audit alone is sampled of a stratum.
        return (chances <= 0.02) & (not self.graded)

    def find_waiting(self, schedule: StratifiedSchedule) -> Indices:
        """Return the unsampled prompts of unlikely strata but for the rest of their audits.

        In the end, when every group has stopped, none of a stratum whose audit is over and found more prompts in the
        band than an unlikely one has.
        """
        waiting = [np.zeros(0, np.int64)]
        for number in np.flatnonzero(self.find_unlikely(schedule.band)):
            members = self.rows[self.prediction.strata == number]
            new, audited = members[schedule.requested[members] == 0], self.find_audited(schedule, members)
            left = max(count_audit(len(members)) - len(audited), 0)
            # With a larger share of the audited prompts in the band a stratum is sampled as usual.
            if (
                schedule.is_over
                and not left
                and schedule.stopped[audited].all()
                and self.count_found(schedule, audited) > 0.03
            ):
                continue
            waiting.append(new[left:])
        return np.concatenate(waiting)

    def find_audited(self, schedule: StratifiedSchedule, members: Indices) -> Indices:
        """Return the prompts of a stratum that were sampled since the pilot, of which the first prediction is made."""
        return members[(schedule.requested[members] > 0) & ~schedule.in_pilot[members]]

    def count_found(self, schedule: StratifiedSchedule, audited: Indices) -> float:
        """Return the share of audited prompts in the band, half a prompt added, by their certificates."""
        return float((schedule.assess_chances(audited).sum() + 0.5) / (len(audited) + 1))

    def describe(self, schedule: StratifiedSchedule) -> PredictionRecord:
        """Return what a manifest says of the prediction, at the end of a run."""
        prediction, requested, rejected = self.prediction, schedule.requested[self.rows], schedule.rejected[self.rows]
        ends, strata = [0.0, *prediction.ends.tolist(), 1.0], prediction.strata
        audited = self.find_audited(schedule, self.rows[np.isin(strata, strata[rejected])])
        n, mean, _ = schedule.measure(audited)
        is_judged, predicted = n > 0, prediction.rates[np.searchsorted(self.rows, audited)]
        of_audit = (predicted, mean, schedule.assess_chances(audited))
        audit = [round(float(figures[is_judged].mean()), 4) if is_judged.any() else None for figures in of_audit]
        rows = (
            StratumRecord(
                low=ends[number],
                high=ends[number + 1],
                prompts=int((strata == number).sum()),
                sampled=int((requested[strata == number] > 0).sum()),
                rejected=int(rejected[strata == number].sum()),
                in_band=round(float(fitted.belief.in_band(schedule.band)), 6),
            )
            for number, fitted in enumerate(self.beliefs)
        )
        return PredictionRecord(
            sources=prediction.sources,
            known_rates=prediction.known_rates,
            groups=prediction.groups,
            deviance_explained=round(prediction.deviance_explained, 4),
            gain=round(prediction.gain, 2),
            standard_error=round(prediction.standard_error, 2),
            rejected=int(rejected.sum()),
            audited=len(audited),
            audit_predicted=audit[0],
            audit_found=audit[1],
            audit_in_band=audit[2],
            rollouts=int(requested.sum()),
            usual_rollouts=round(self.usual_rollouts * len(self.rows)),
            strata=tuple(rows),
        )


def describe_prompts(schedule: StratifiedSchedule) -> tuple[list[str], list[float | None]]:
    """Return the stratum of each prompt of a pool, or its family, as priors are named, and its predicted rate."""
    strata = [schedule.cells[cell] for cell in schedule.cell]
    rates: list[float | None] = [None] * len(schedule.requested)
    for family in schedule.strata.values():
        for row, rate in zip(family.rows, family.prediction.rates.tolist(), strict=True):
            rates[row] = rate
    return strata, rates


def count_audit(prompts: int) -> int:
    """Return how many prompts of a stratum of so many are audited."""
    return max(20, round(0.05 * prompts))


def count_groups(family_prior: FamilyPrior, measured: Values) -> Counts:
    """Return effective sizes and sums of groups: `measured` are rollouts, means and variances, shape (3, groups)."""
    n, mean, variance = measured
    sizes = family_prior.variance_model.effective(n, mean, variance)
    return sizes, sizes * mean


def merge_orders(prompts: Indices, families: Indices, worth: Values) -> Indices:
    """Return prompts with the most worth first and a tenth at random, families in proportion to their prompts.

    Args:
        prompts: in a random order.
        families: of each.
        worth: of each.
    """
    turns = np.zeros(len(prompts))
    for family in np.unique(families):
        members = np.flatnonzero(families == family)
        places = np.arange(len(members))
        # One in ten of the prompts that are looked at next is drawn at random, where promising ones come first.
        at_random = places % 10 == 0
        best = np.argsort(-worth[members][~at_random], kind="stable")
        chosen, others = members[at_random], members[~at_random][best]
        for rows in (chosen, others):
            turns[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    return prompts[np.argsort(turns, kind="stable")]
