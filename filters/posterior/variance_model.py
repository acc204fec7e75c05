"""How much a family's rewards vary inside a group, and so how many pass-or-fail rollouts one graded reward is worth."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, chdtr, gammaincinv, xlogy

from learnable.data.records import JsonObject
from learnable.filters.arrays import Values

USUAL_PRIOR_DF = 8.0  # degrees of freedom of the family's variance beside a group's own, where nothing tells better
PRIOR_DFS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0)  # what they are chosen from
MEAN_DF = 2.0  # by which a scaled inverse chi-squared variable of df degrees has the mean scale * df / (df - 2)
MAX_ESS_PER_ROLLOUT = 100.0


@dataclass(frozen=True, slots=True)
class VarianceModel:
    """How much a family's rewards vary inside a group: at mean m by `m (1 - m) / ess_per_rollout`.

    `ess_per_rollout` is the effective sample size of one rollout: how many 0/1 rewards tell as much of the mean. It is
    1 where rewards are 0 and 1. Where some completions earn nothing and others nearly all, the share of a 0/1 reward's
    variance grows with the mean: it is `1 / ess_per_rollout + tilt (m - centre)`. `prior_df` says how alike prompts
    are: the degrees of freedom that the family's variance counts for beside a group's own.
    """

    ess_per_rollout: float = 1.0
    tilt: float = 0.0
    centre: float = 0.5
    prior_df: float = USUAL_PRIOR_DF

    @property
    def graded(self) -> bool:
        """Whether rewards tell more than pass and fail do."""
        return self.ess_per_rollout > 1

    def to_json(self) -> JsonObject:
        """Return the figures under the keys of a manifest: `flips_per_rollout`, and the others inside `spread`."""
        return {
            "flips_per_rollout": round(self.ess_per_rollout, 4),
            "spread": {"tilt": self.tilt, "centre": self.centre, "draws": self.prior_df},
        }

    def effective(self, n: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Values:
        """Return the effective sample sizes of groups, in 0/1 rewards: `n m (1 - m) / v`, never below n.

        `n` are rollouts, `mean` their mean rewards, `variance` the population variances, of which `shrunken` makes v.
        """
        sizes = np.asarray(n, dtype=np.float64)
        if not self.graded:
            return sizes
        bernoulli, _ = self._expected(sizes, mean)
        return sizes * np.clip(bernoulli / self.shrunken(sizes, mean, variance), 1.0, MAX_ESS_PER_ROLLOUT)

    def shrunken(self, n: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Values:
        """Return within-group variances, each drawn toward the one its family has at the group's mean.

        The mean of a scaled inverse chi-squared posterior, the family's variance counting `prior_df` degrees of
        freedom (Gelman et al., 2013, "Bayesian Data Analysis", section 2.6). `variance` is the population one. Since
        the family's is the mean of its prompts' variances, that posterior has `MEAN_DF` more than those and a group's.
        """
        _, expected = self._expected(n, mean)
        own = np.asarray(n, dtype=np.float64) * _filled(variance)
        return (self.prior_df * expected + own) / (self.prior_df + self.own_df(n, mean))

    def at_least(self, std: float, n: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Values:
        """Return the chance that each group's true standard deviation is at least `std`, by `shrunken`'s posterior."""
        freedom = self._posterior_df(n, mean)
        if std <= 0:
            return np.ones_like(freedom)
        chance: Values = np.asarray(chdtr(freedom + MEAN_DF, freedom * self.shrunken(n, mean, variance) / std**2))
        return chance

    def interval(
        self, n: ArrayLike, mean: ArrayLike, variance: ArrayLike, coverage: float = 0.9
    ) -> tuple[Values, Values]:
        """Return the ends of the central interval of each group's true standard deviation, at most .5.

        Quantiles of the scaled inverse chi-squared posterior of `shrunken`.
        """
        freedom, tail = self._posterior_df(n, mean), (1 - coverage) / 2
        total = freedom * self.shrunken(n, mean, variance)
        low, high = (np.sqrt(total / (2 * gammaincinv((freedom + MEAN_DF) / 2, q))) for q in (1 - tail, tail))
        return np.minimum(low, 0.5), np.minimum(high, 0.5)

    def own_df(self, n: ArrayLike, mean: ArrayLike) -> Values:
        """Return the degrees of freedom of the groups' own variances.

        Less than n - 1 for a mean near 0 or 1: rewards that all but agree there would do so whatever they vary by.
        """
        bernoulli, _ = self._expected(n, mean)
        means = _filled(mean)
        rollouts = np.asarray(n, dtype=np.float64)
        own: Values = np.maximum(rollouts - 1, 0.0) * np.minimum(means * (1 - means) / bernoulli, 1.0)
        return own

    def _expected(self, n: ArrayLike, mean: ArrayLike) -> tuple[Values, Values]:
        """Return a 0/1 reward's variance at each group's mean, and the family's.

        Means are drawn off 0 and 1 by half a 0/1 reward, so that a unanimous group has a variance too.
        """
        size = np.asarray(n, dtype=np.float64) * self.ess_per_rollout
        m = np.divide(size * _filled(mean) + 0.5, size + 1)
        bernoulli = m * (1 - m)
        share = np.clip(1 / self.ess_per_rollout + self.tilt * (m - self.centre), 1 / MAX_ESS_PER_ROLLOUT, 1.0)
        return bernoulli, bernoulli * share

    def _posterior_df(self, n: ArrayLike, mean: ArrayLike) -> Values:
        """Return what the posterior of the variance has beside `MEAN_DF`, less what the unknown mean takes off.

        The family's variance follows m (1 - m), whose relative variance is (1 - 2 m)^2 / (m (1 - m)) over the sample
        size.
        """
        bernoulli, expected = self._expected(n, mean)
        size = np.maximum(np.asarray(n, dtype=np.float64), 1.0) * bernoulli / expected
        wobble = (1 - 4 * bernoulli) / (2 * size * bernoulli)
        return 1 / (1 / (self.prior_df + self.own_df(n, mean)) + wobble)


BERNOULLI = VarianceModel()


def fit_variance_model(n: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> VarianceModel:
    """Fit the effective sample size of one rollout of a family: its pooled m (1 - m) over its pooled variance.

    Both are unbiased for groups of any size, and weighted by their degrees of freedom. A family whose rewards are only
    0 and 1, or that has too little to tell, gets `BERNOULLI`.

    Args:
        n: rollouts of each group, shape (groups,).
        mean: mean rewards.
        variance: population variances of the rewards within each group.
    """
    sizes, means, variances = (np.asarray(values, dtype=np.float64) for values in (n, mean, variance))
    usable = (sizes >= 2) & np.isfinite(means) & np.isfinite(variances)
    sizes, means, variances = sizes[usable], means[usable], variances[usable]
    bernoulli = means * (1 - means)
    # Variances of 0/1 rewards, up to rounding.
    if not len(sizes) or np.all(np.abs(variances - bernoulli) < 1e-9):
        return BERNOULLI
    unbiased = sizes * variances / (sizes - 1)
    within, possible = (sizes - 1) * unbiased, (sizes - 1) * (bernoulli + unbiased / sizes)
    ess = float(np.clip(possible.sum() / max(float(within.sum()), 1e-12), 1.0, MAX_ESS_PER_ROLLOUT))
    if ess <= 1:
        return BERNOULLI
    # The line through the centroid: there the mean of the shares is 1 / ess whatever the tilt.
    centre = float((possible * means).sum() / possible.sum())
    off = means - centre
    # 0.3 groups' worth of evidence against a tilt.
    tilt = float((within * off).sum() / ((possible * off**2).sum() + 0.3 * possible.mean()))
    model = VarianceModel(ess, tilt, centre)
    return replace(model, prior_df=_fit_prior_df(model, sizes, means, variances))


def _fit_prior_df(model: VarianceModel, n: Values, mean: Values, variance: Values) -> float:
    """Return how alike prompts are, of `PRIOR_DFS`: the maximum of the likelihood of the groups' variances.

    A group's variance over the scale of its family's has an F distribution (Smyth, 2004, "Linear models and empirical
    Bayes methods"). A mild pull toward `USUAL_PRIOR_DF` decides where a few groups do not. The family's variance counts
    for no more than all groups that it was fitted to.
    """
    own_df, (_, expected) = model.own_df(n, mean), model._expected(n, mean)
    telling = (own_df > 1) & (variance > 0)  # a prompt that always gets one reward tells nothing of the others
    # A smaller ratio of a group's variance to its family's counts as 1e-3.
    own_df, ratios = own_df[telling], np.maximum(n * variance / np.maximum(own_df, 1) / expected, 1e-3)[telling]
    dfs = [df for df in PRIOR_DFS if df <= max(own_df.sum(), USUAL_PRIOR_DF)]
    more = [1 + MEAN_DF / df for df in dfs]
    fits = [np.sum(_log_f(ratios * by, own_df, df * by) + np.log(by)) for df, by in zip(dfs, more, strict=True)]
    return dfs[int(np.argmax(np.array(fits) - np.log(np.array(dfs) / USUAL_PRIOR_DF) ** 2 / 2))]


def _log_f(ratio: Values, df: Values, other_df: float) -> Values:
    """Return the logarithm of the density of F(`df`, `other_df`); `scipy.stats` has it too but imports slowly."""
    powers = xlogy(df / 2, df) + xlogy(other_df / 2, other_df) + xlogy(df / 2 - 1, ratio)
    density: Values = powers - (df + other_df) / 2 * np.log(other_df + df * ratio) - betaln(df / 2, other_df / 2)
    return density


def _filled(values: ArrayLike) -> Values:
    return np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0)
