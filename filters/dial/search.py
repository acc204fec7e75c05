"""The search for the setting of the knobs at which a policy passes at the wanted rate: where next, and when to stop.

Settings to sample next are drawn as Thompson did (1933, "On the likelihood that one unknown probability exceeds
another"): each is the best one of a draw from the posterior of all. The search ends at a setting whose pass rate lies
within the tolerance by two accounts: the 90 % interval of its own rollouts alone, and that of the curve through all.
Of many settings just outside some look well by chance, which the curve does not believe; and a curve may be wrong
where it is steep, which a setting's own rollouts show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learnable.filters.arrays import Flags, Indices, Values
from learnable.filters.dial.aim import Aim
from learnable.filters.dial.pass_rates import draw_pass_rates
from learnable.filters.posterior.certificate import COVERAGE
from learnable.filters.posterior.fitting import FALLBACK
from learnable.filters.posterior.variance_model import fit_variance_model

PICKS = 4  # settings in a round, one for each of so many draws


@dataclass(frozen=True, slots=True)
class Look:
    """What is known of every setting at one moment: arrays have one entry a setting.

    `mean`, `low` and `high` are the pass rate's posterior mean and 90 % interval by the curve. `nearest` is the setting
    whose rate is nearest to the target, `found` the one where the search may end, None where there is none yet.
    `is_hopeless` says that hardly any setting can be within the tolerance, and that enough of them were sampled.
    `picks` are the settings to sample next.
    """

    mean: Values
    low: Values
    high: Values
    nearest: int
    found: int | None
    is_hopeless: bool
    picks: tuple[int, ...]


class DialSearch:
    """What was sampled at each setting of a grid, and what follows from it.

    `points` are the settings' places, shape (settings, knobs), each knob from 0 to 1. Prompts are what is counted:
    several rollouts of one prompt tell less of a setting than one rollout of each of several.
    """

    def __init__(self, points: Values, aim: Aim, seed: int = 0) -> None:
        self.points, self.aim = points, aim
        self.prompts: Indices = np.zeros(len(points), np.int64)
        self.is_dry: Flags = np.zeros(len(points), bool)
        self._sums = np.zeros(len(points))
        self._squares = np.zeros(len(points))
        self._within = np.zeros(len(points))
        self._rng = np.random.default_rng(seed)

    def add(self, setting: int, shares: Values, variances: Values) -> None:
        """Take in prompts of a setting: the share of each one's rollouts that passed, and their sample variance."""
        self.prompts[setting] += len(shares)
        self._sums[setting] += shares.sum()
        self._squares[setting] += (shares**2).sum()
        self._within[setting] += variances.sum()

    def close_setting(self, setting: int) -> None:
        """Note that a setting has no more prompts."""
        self.is_dry[setting] = True

    @property
    def shares(self) -> Values:
        """The share that passed at each setting, NaN where none was sampled."""
        return self._per_prompt(self._sums)

    @property
    def within_variances(self) -> Values:
        """The variance inside a prompt's group at each setting, of .25 at most: what is left to learn from."""
        return self._per_prompt(self._within)

    def opening(self) -> tuple[int, ...]:
        """Return the settings to begin with: the first, the middle and the last."""
        last = len(self.points) - 1
        return tuple(sorted({0, last // 2, last}))

    def own_intervals(self) -> tuple[Values, Values]:
        """Return the ends of the 90 % interval of each setting's pass rate by its own rollouts alone."""
        passed, n = self._effective_counts()
        return FALLBACK.update(n, passed).interval(COVERAGE)

    def look(self) -> Look:
        """Return what is known by now. Draws anew at each call: a search is a function of its seed and its rollouts."""
        passed, n = self._effective_counts()
        rates = draw_pass_rates(self.points, passed, n, 2000, self._rng)
        tail = (1 - COVERAGE) / 2
        low, high = np.quantile(rates, [tail, 1 - tail], axis=0)
        mean = rates.mean(axis=0)
        off = np.abs(mean - self.aim.target)
        sure = (self.prompts > 0) & self.aim.covers(low, high) & self.aim.covers(*self.own_intervals())
        misses = np.abs(rates - self.aim.target)
        # A search is given up where the chance that any setting is within the tolerance is below 0.01.
        is_hopeless = (misses.min(axis=1) <= self.aim.tolerance).mean() < 0.01
        known = (self.prompts > 0) | self.is_dry
        # Sixteen settings must have been sampled, in a smaller grid all of them: a curve may hide one.
        return Look(
            mean,
            low,
            high,
            nearest=int(off.argmin()),
            found=int(np.where(sure, off, np.inf).argmin()) if sure.any() else None,
            is_hopeless=bool(is_hopeless and known.sum() >= min(len(known), 16)),
            picks=self._pick(misses[:PICKS], high - low, known if is_hopeless else self.is_dry),
        )

    def _pick(self, misses: Values, widths: Values, is_out: Flags) -> tuple[int, ...]:
        """Return the best settings of some draws; where all that is left is to be sure, those that are least known.

        Args:
            misses: how far each setting is from the target, shape (draws, settings).
            widths: of the intervals of the settings.
            is_out: the settings not to pick.
        """
        if is_out.all():
            return ()
        if (is_out != self.is_dry).any():
            order = np.argsort(np.where(is_out, -1.0, widths))[::-1]
            return tuple(int(pick) for pick in order[: min(PICKS, int((~is_out).sum()))])
        return tuple(int(pick) for pick in np.where(is_out, np.inf, misses).argmin(axis=1))

    def _effective_counts(self) -> tuple[Values, Values]:
        """Return passes and rollouts of each setting, in prompts that pass or fail whole.

        The shares of prompts vary less than passes and fails do, by as much as pooled over all settings.
        """
        n = self.prompts.astype(np.float64)
        mean = np.nan_to_num(self.shares)
        variance = np.maximum(np.nan_to_num(self._per_prompt(self._squares)) - mean**2, 0.0)
        n = n * fit_variance_model(n, mean, variance).ess_per_rollout
        return mean * n, n

    def _per_prompt(self, sums: Values) -> Values:
        means: Values = np.divide(sums, self.prompts, out=np.full(len(sums), np.nan), where=self.prompts > 0)
        return means
