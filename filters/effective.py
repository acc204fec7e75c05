"""How many coin flips a graded reward is worth: it varies less than a coin with the same mean, so it tells more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2

Values = NDArray[np.float64]

PRIOR_DRAWS = 8.0  # degrees of freedom that the family's variance counts for beside a group's own
MOST_FLIPS = 100.0  # that one rollout may be worth
COIN_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Spread:
    """How much a family's rewards vary inside a group: `m (1 - m) / flips` at mean m, and a coin's where `flips` is 1."""

    flips: float = 1.0

    @property
    def graded(self) -> bool:
        """Whether rewards tell more than pass and fail do."""
        return self.flips > 1

    def effective(self, n: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Values:
        """Return the effective sample sizes of groups: `n m (1 - m) / v`, never below n (see `shrunken`)."""
        sizes = np.asarray(n, dtype=np.float64)
        if not self.graded:
            return sizes
        m = _inner(sizes, np.asarray(mean, dtype=np.float64))
        flips = m * (1 - m) / self.shrunken(sizes, mean, variance)
        return sizes * np.clip(flips, 1.0, MOST_FLIPS)

    def shrunken(self, n: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Values:
        """Return within-group variances, each drawn toward the one its family has at the group's mean.

        The mean of a scaled inverse chi-squared posterior, the family's variance counting `PRIOR_DRAWS` degrees of
        freedom (Gelman et al., 2013, "Bayesian Data Analysis", section 2.6). `variance` is the population one.
        """
        freedom, sizes, m = self._parts(n, mean)
        return (PRIOR_DRAWS * m * (1 - m) / self.flips + sizes * _filled(variance)) / freedom

    def at_least(self, std: float, n: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Values:
        """Return the chance that each group's true standard deviation is at least `std`, from the same posterior."""
        freedom, _, _ = self._parts(n, mean)
        if std <= 0:
            return np.ones_like(freedom)
        chance: Values = chi2.cdf(freedom * self.shrunken(n, mean, variance) / std**2, freedom)
        return chance

    def interval(
        self, n: ArrayLike, mean: ArrayLike, variance: ArrayLike, coverage: float = 0.9
    ) -> tuple[Values, Values]:
        """Return the ends of the central interval of each group's true standard deviation."""
        freedom, _, _ = self._parts(n, mean)
        total, tail = freedom * self.shrunken(n, mean, variance), (1 - coverage) / 2
        return np.sqrt(total / chi2.ppf(1 - tail, freedom)), np.sqrt(total / chi2.ppf(tail, freedom))

    def _parts(self, n: ArrayLike, mean: ArrayLike) -> tuple[Values, Values, Values]:
        sizes = np.asarray(n, dtype=np.float64)
        return PRIOR_DRAWS + np.maximum(sizes - 1, 0), sizes, _inner(sizes, np.asarray(mean, dtype=np.float64))


COIN = Spread()


def fit_spread(n: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Spread:
    """Fit how many coin flips one rollout of a family is worth: its pooled m (1 - m) over its pooled variance.

    Both are unbiased for groups of any size, and weighted by their degrees of freedom. A family whose rewards are only
    0 and 1, or that has too little to tell, is a coin.

    Args:
        n: rollouts of each group, shape (groups,).
        mean: mean rewards.
        variance: population variances of the rewards within each group.
    """
    sizes, means, spreads = (np.asarray(values, dtype=np.float64) for values in (n, mean, variance))
    usable = (sizes >= 2) & np.isfinite(means) & np.isfinite(spreads)
    sizes, means, spreads = sizes[usable], means[usable], spreads[usable]
    bernoulli = means * (1 - means)
    if not len(sizes) or np.all(np.abs(spreads - bernoulli) < COIN_TOLERANCE):
        return COIN
    unbiased = sizes * spreads / (sizes - 1)
    weights = sizes - 1
    total = float((weights * unbiased).sum())
    if total <= 0:
        return Spread(MOST_FLIPS)
    return Spread(float(np.clip((weights * (bernoulli + unbiased / sizes)).sum() / total, 1.0, MOST_FLIPS)))


def _inner(sizes: Values, means: Values) -> Values:
    """Draw means off 0 and 1 by half a reward, so that a unanimous group has a variance too."""
    return np.divide(sizes * _filled(means) + 0.5, sizes + 1)


def _filled(values: ArrayLike) -> Values:
    return np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0)
