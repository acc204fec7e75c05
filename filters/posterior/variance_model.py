"""How many coin flips a graded reward is worth: it varies less than a coin with the same mean, so it tells more."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2, f

Values = NDArray[np.float64]

USUAL_PRIOR_DF = 8.0  # degrees of freedom of the family's variance beside a group's own, where nothing tells better
PRIOR_DFS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0)  # what they are chosen from
MAX_ESS_PER_ROLLOUT = 100.0  # that one rollout may be worth
RIDGE = 0.3  # groups' worth of evidence against a tilt
COIN_TOLERANCE = 1e-9
LEAST_RATIO = 1e-3  # of a group's variance to its family's, as seen by the fit of `draws`


@dataclass(frozen=True, slots=True)
class VarianceModel:
    """How much a family's rewards vary inside a group: `m (1 - m) / flips` at mean m, and a coin's where `flips` is 1.

    Where some completions earn nothing and others nearly all, the share of a coin's variance grows with the mean: it is
    `1 / flips + tilt (m - centre)`. `draws` says how alike prompts are: the degrees of freedom that the family's
    variance counts for beside a group's own.
    """

    flips: float = 1.0
    tilt: float = 0.0
    centre: float = 0.5
    draws: float = USUAL_PRIOR_DF

    @property
    def graded(self) -> bool:
        """Whether rewards tell more than pass and fail do."""
        return self.flips > 1

    def effective(self, n: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Values:
        """Return the effective sample sizes of groups: `n m (1 - m) / v`, never below n (see `shrunken`)."""
        sizes = np.asarray(n, dtype=np.float64)
        if not self.graded:
            return sizes
        coin, _ = self._expected(sizes, mean)
        return sizes * np.clip(coin / self.shrunken(sizes, mean, variance), 1.0, MAX_ESS_PER_ROLLOUT)

    def shrunken(self, n: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Values:
        """Return within-group variances, each drawn toward the one its family has at the group's mean.

        The scale of a scaled inverse chi-squared posterior, the family's variance counting `draws` degrees of freedom
        (Gelman et al., 2013, "Bayesian Data Analysis", section 2.6). `variance` is the population one.
        """
        _, expected = self._expected(n, mean)
        own = np.asarray(n, dtype=np.float64) * _filled(variance)
        return (self.draws * expected + own) / (self.draws + self._own_draws(n, mean))

    def at_least(self, std: float, n: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Values:
        """Return the chance that each group's true standard deviation is at least `std`, from the same posterior."""
        freedom = self._freedom(n, mean)
        if std <= 0:
            return np.ones_like(freedom)
        chance: Values = np.asarray(chi2.cdf(freedom * self.shrunken(n, mean, variance) / std**2, freedom))
        return chance

    def interval(
        self, n: ArrayLike, mean: ArrayLike, variance: ArrayLike, coverage: float = 0.9
    ) -> tuple[Values, Values]:
        """Return the ends of the central interval of each group's true standard deviation, at most .5."""
        freedom, tail = self._freedom(n, mean), (1 - coverage) / 2
        total = freedom * self.shrunken(n, mean, variance)
        low, high = (np.sqrt(total / chi2.ppf(q, freedom)) for q in (1 - tail, tail))
        return np.minimum(low, 0.5), np.minimum(high, 0.5)

    def _expected(self, n: ArrayLike, mean: ArrayLike) -> tuple[Values, Values]:
        """Return a coin's variance at each group's mean, and the family's.

        Means are drawn off 0 and 1 by half a coin flip, so that a unanimous group has a variance too.
        """
        worth = np.asarray(n, dtype=np.float64) * self.flips
        m = np.divide(worth * _filled(mean) + 0.5, worth + 1)
        coin = m * (1 - m)
        return coin, coin * np.clip(1 / self.flips + self.tilt * (m - self.centre), 1 / MAX_ESS_PER_ROLLOUT, 1.0)

    def _own_draws(self, n: ArrayLike, mean: ArrayLike) -> Values:
        """Return the degrees of freedom of the groups' own variances.

        Less than n - 1 for a mean near 0 or 1: rewards that all but agree there would do so whatever they vary by.
        """
        coin, _ = self._expected(n, mean)
        means = _filled(mean)
        own: Values = np.maximum(np.asarray(n, dtype=np.float64) - 1, 0.0) * np.minimum(means * (1 - means) / coin, 1.0)
        return own

    def _freedom(self, n: ArrayLike, mean: ArrayLike) -> Values:
        """Return the degrees of freedom of the posterior of the variance, less what the unknown mean takes off.

        The family's variance follows m (1 - m), whose relative variance is (1 - 2 m)^2 / (m (1 - m)) over the flips.
        """
        coin, expected = self._expected(n, mean)
        flips = np.maximum(np.asarray(n, dtype=np.float64), 1.0) * coin / expected
        wobble = (1 - 4 * coin) / (2 * flips * coin)
        return 1 / (1 / (self.draws + self._own_draws(n, mean)) + wobble)


BERNOULLI = VarianceModel()


def fit_variance_model(n: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> VarianceModel:
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
        return BERNOULLI
    unbiased = sizes * spreads / (sizes - 1)
    found, coins = (sizes - 1) * unbiased, (sizes - 1) * (bernoulli + unbiased / sizes)
    if found.sum() <= 0:
        return VarianceModel(MAX_ESS_PER_ROLLOUT)
    flips = float(np.clip(coins.sum() / found.sum(), 1.0, MAX_ESS_PER_ROLLOUT))
    if flips <= 1:
        return BERNOULLI
    # The line through the centroid: there the mean of the shares is 1 / flips whatever the tilt.
    centre = float((coins * means).sum() / coins.sum())
    off = means - centre
    tilt = float((found * off).sum() / ((coins * off**2).sum() + RIDGE * coins.mean()))
    spread = VarianceModel(flips, tilt, centre)
    return replace(spread, draws=_fit_draws(spread, sizes, means, spreads))


def _fit_draws(spread: VarianceModel, n: Values, mean: Values, variance: Values) -> float:
    """Return how alike prompts are, of `PRIOR_DFS`: the maximum of the likelihood of the groups' variances.

    A group's variance over its family's has an F distribution (Smyth, 2004, "Linear models and empirical Bayes
    methods"). A mild pull toward `USUAL_PRIOR_DF` decides where a few groups do not.
    """
    own = spread._own_draws(n, mean)
    telling = own > 1
    own = own[telling]
    _, expected = spread._expected(n, mean)
    ratios = np.maximum((n * variance)[telling] / own / expected[telling], LEAST_RATIO)
    fits = [np.sum(f.logpdf(ratios, own, draws)) - np.log(draws / USUAL_PRIOR_DF) ** 2 / 2 for draws in PRIOR_DFS]
    return PRIOR_DFS[int(np.argmax(fits))]


def _filled(values: ArrayLike) -> Values:
    return np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0)
