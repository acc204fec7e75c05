"""What is known of prompts after their rollouts: a posterior for the mean reward, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaln

from learnable.filters.decisions.band import Band
from learnable.filters.posterior.prior import Prior

Values = NDArray[np.float64]

BISECTIONS = 40  # of an interval's ends: 1e-12


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
        """Return the posteriors after `n` draws that sum to `s`, arrays of one shape; `n` may be effective sizes.

        Rewards in [0, 1] count as that share of a success: Beta(alpha + s, beta + n - s). A mass at 0 survives
        only where nothing was earned, one at 1 only where nothing was missed.
        """
        sums = np.asarray(s, dtype=np.float64)
        failures = np.maximum(np.asarray(n, dtype=np.float64) - sums, 0.0)
        alpha, beta = prior.alpha + sums, prior.beta + failures
        spread = prior.spread * np.exp(betaln(alpha, beta) - betaln(prior.alpha, prior.beta))
        zero, one = prior.zero * (sums <= 0), prior.one * (failures <= 0)
        # Thousands of flips make `spread` underflow to 0; without a mass beside it, it is all there is.
        total = np.where(zero + one > 0, zero + one + spread, 1.0)
        return cls(alpha, beta, zero / total, one / total)

    @property
    def spread(self) -> Values:
        """The weight of the Beta part."""
        return np.maximum(1.0 - self.zero - self.one, 0.0)

    @property
    def mean(self) -> Values:
        """The expected mean reward."""
        return self.one + self.spread * self.alpha / (self.alpha + self.beta)

    def below(self, x: float) -> Values:
        """Return the chance that the mean reward is at most `x`."""
        chance: Values = self.zero * (x >= 0) + self.one * (x >= 1) + self.spread * betainc(self.alpha, self.beta, x)
        return chance

    def in_band(self, band: Band) -> Values:
        """Return the chance that the mean reward lies in the band, its ends included."""
        middle = betainc(self.alpha, self.beta, band.high) - betainc(self.alpha, self.beta, band.low)
        chance: Values = self.spread * middle + self.zero * (band.low <= 0) + self.one * (band.high >= 1)
        return chance

    def interval(self, coverage: float = 0.9) -> tuple[Values, Values]:
        """Return the ends of the central interval that holds the mean reward with this chance."""
        tail = (1 - coverage) / 2
        return self._quantile(tail), self._quantile(1 - tail)

    def learnability(self) -> Values:
        """Return the expected p (1 - p): zero for what always fails or always passes."""
        total = self.alpha + self.beta
        return self.spread * self.alpha * self.beta / (total * (total + 1))

    def _quantile(self, q: float) -> Values:
        """Return the smallest x with `below(x) >= q`, by bisection: point masses make steps that no formula inverts."""
        low, high = np.zeros_like(self.alpha), np.ones_like(self.alpha)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            enough = self.zero + self.spread * betainc(self.alpha, self.beta, middle) >= q
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return np.where(self.zero >= q, 0.0, np.where(1 - self.one < q, 1.0, high))
