"""What is known of prompts after their rollouts: a posterior for the mean reward, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincinv, betaln

from learnable.filters.arrays import Indices, Values
from learnable.filters.band import Band
from learnable.filters.posterior.prior import Prior


@dataclass(frozen=True, slots=True)
class Posterior:
    """Posteriors of many prompts: `zero` and `one` are the masses at 0 and 1, the rest is Beta(alpha, beta).

    All four have the same shape.
    """

    alpha: Values
    beta: Values
    zero: Values
    one: Values

    @classmethod
    def update(cls, prior: Prior, n: ArrayLike, s: ArrayLike) -> Posterior:
        """Return the posteriors after `n` rewards that sum to `s`, arrays of one shape; `n` may be effective sizes.

        Rewards in [0, 1] count as that share of a success: Beta(alpha + s, beta + n - s), the conjugate update (Gelman
        et al., 2013, "Bayesian Data Analysis", section 2.4). A mass at 0 survives only where nothing was earned, one
        at 1 only where nothing was missed; their weights follow from the marginal likelihood of each part.
        """
        return _update(prior, n, s)

    def updated(self, n: ArrayLike, s: ArrayLike) -> Posterior:
        """Return the posteriors after `n` more rewards that sum to `s`, as `update` does, each from its own."""
        return _update(self, n, s)

    def at(self, rows: Indices) -> Posterior:
        """Return the posteriors of these prompts."""
        return Posterior(self.alpha[rows], self.beta[rows], self.zero[rows], self.one[rows])

    @property
    def beta_weight(self) -> Values:
        """The weight of the Beta part."""
        return np.maximum(1.0 - self.zero - self.one, 0.0)

    def in_band(self, band: Band) -> Values:
        """Return the chance that the mean reward lies in the band, its ends included."""
        middle = betainc(self.alpha, self.beta, band.high) - betainc(self.alpha, self.beta, band.low)
        chance: Values = self.beta_weight * middle + self.zero * (band.low <= 0) + self.one * (band.high >= 1)
        return chance

    def interval(self, coverage: float = 0.9) -> tuple[Values, Values]:
        """Return the ends of the central interval that holds the mean reward with this chance."""
        tail = (1 - coverage) / 2
        return self._quantile(tail), self._quantile(1 - tail)

    def _quantile(self, q: float) -> Values:
        """Return the smallest x that the mean reward does not exceed with a chance of at least `q`.

        Between the masses that is the quantile of the Beta part at (q - zero) / weight.
        """
        weight = self.beta_weight
        share = np.clip(np.divide(q - self.zero, weight, out=np.ones_like(weight), where=weight > 0), 0.0, 1.0)
        middle = betaincinv(self.alpha, self.beta, share)
        return np.where(self.zero >= q, 0.0, np.where(1 - self.one < q, 1.0, middle))


def _update(known: Prior | Posterior, n: ArrayLike, s: ArrayLike) -> Posterior:
    sums = np.asarray(s, dtype=np.float64)
    failures = np.maximum(np.asarray(n, dtype=np.float64) - sums, 0.0)
    alpha, beta = known.alpha + sums, known.beta + failures
    rest = known.beta_weight * np.exp(betaln(alpha, beta) - betaln(known.alpha, known.beta))
    zero, one = known.zero * (sums <= 0), known.one * (failures <= 0)
    # Thousands of rewards make `rest` underflow to 0; without a mass beside it, it is all there is.
    total = np.where(zero + one > 0, zero + one + rest, 1.0)
    return Posterior(alpha, beta, zero / total, one / total)
