"""What is believed of prompts' mean rewards, before and after their rollouts: weights on a grid of rates.

A Beta distribution is confidently wrong where rates lie on a few points, as of templated questions and of guesses among
choices. Weights on a grid hold any population (Kiefer and Wolfowitz, 1956; Koenker and Mizera, 2014, "Convex
optimization, shape constraints, compound decisions, and empirical Bayes rules"). All that follows is a sum over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, gammaln

from learnable.data.band import Band
from learnable.filters.arrays import Indices, Values


def _find_edges() -> Values:
    """Return the edges of cells as narrow as a rollout tells apart anywhere, usual ends of bands among them."""
    steps = np.sin(np.linspace(0, np.pi / 2, 121)) ** 2  # of the arcsine of a rate's root
    ends = np.arange(1, 20) / 20
    edges: Values = np.sort(np.concatenate([steps[np.abs(steps[:, None] - ends).min(axis=1) > 1e-3], ends]))
    return edges


RATE_EDGES = _find_edges()
_CENTRES = np.sin((np.arcsin(np.sqrt(RATE_EDGES[1:])) + np.arcsin(np.sqrt(RATE_EDGES[:-1]))) / 2) ** 2
RATE_GRID: Values = np.concatenate([[0.0], _CENTRES, [1.0]])
"""The grid, shape (rates,): 0, the middles of the cells between `RATE_EDGES`, and 1."""

MIN_VARIANCE = 1e-9


class Moments(NamedTuple):
    """A belief in four figures, each of one shape: masses at 0 and 1, and a Beta distribution for the rest."""

    alpha: Values
    beta: Values
    zero: Values
    one: Values


@dataclass(frozen=True, slots=True)
class Belief:
    """The chance of each rate of `RATE_GRID`, for one population or for many prompts: `weights`, shape (..., rates).

    Inside a cell rates are taken to be evenly distributed.
    """

    weights: Values

    @classmethod
    def of_moments(cls, alpha: ArrayLike, beta: ArrayLike, zero: ArrayLike = 0.0, one: ArrayLike = 0.0) -> Belief:
        """Return the belief that is Beta(alpha, beta) with masses at 0 and 1, arrays of one shape."""
        a, b, at_zero, at_one = (np.asarray(x, dtype=np.float64)[..., None] for x in (alpha, beta, zero, one))
        cells = np.maximum(1 - at_zero - at_one, 0.0) * np.diff(betainc(a, b, RATE_EDGES), axis=-1)
        weights = np.concatenate(
            [np.broadcast_to(at_zero, (*cells.shape[:-1], 1)), cells, np.broadcast_to(at_one, (*cells.shape[:-1], 1))],
            axis=-1,
        )
        return cls(weights / weights.sum(axis=-1, keepdims=True))

    def update(self, n: ArrayLike, s: ArrayLike) -> Belief:
        """Return the beliefs after `n` rewards that sum to `s`, arrays of one shape; `n` may be effective sizes.

        By Bayes' rule with the likelihood `p^s (1 - p)^(n - s)`. A belief of one population gives that of each prompt.
        """
        with np.errstate(divide="ignore"):
            log = np.log(self.weights) + log_likelihood(n, s)
        top = log.max(axis=-1, keepdims=True)
        weights = np.exp(log - np.where(np.isfinite(top), top, 0.0))
        return Belief(weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-300))

    def at(self, rows: Indices) -> Belief:
        """Return the beliefs of these prompts."""
        return Belief(self.weights[rows])

    def in_band(self, band: Band) -> Values:
        """Return the chance that the rate lies in the band, its ends included."""
        chance: Values = self.weights @ share_in_band(band)
        return chance

    def interval(self, coverage: float = 0.9) -> tuple[Values, Values]:
        """Return the ends of the central interval that holds the rate with this chance, outermost cells whole."""
        tail = (1 - coverage) / 2
        below = np.cumsum(self.weights, axis=-1)[..., :-1]  # of 0, and up to the upper edge of each cell
        low, high = _quantile(below, tail), _quantile(below, 1 - tail)
        return np.where(low < RATE_EDGES[1], 0.0, low), np.where(high > RATE_EDGES[-2], 1.0, high)

    def zero_std_share(self, group_size: int) -> Values:
        """Return the chance that a group of so many 0/1 rewards agrees, `p^G + (1 - p)^G` on average."""
        share: Values = self.weights @ (RATE_GRID**group_size + (1 - RATE_GRID) ** group_size)
        return share

    def mean_abs_advantage(self, group_size: int) -> Values:
        """Return the expected mean absolute advantage of a group of 0/1 rewards.

        The advantage is GRPO's, (reward - mean) / std (Shao et al., 2024, "DeepSeekMath"). With k passes of G and q = k
        / G it is 2 sqrt(q (1 - q)) sqrt((G - 1) / G) under the sample standard deviation, as TRL computes it.
        """
        k = np.arange(group_size + 1.0)
        advantage = 2 * np.sqrt(k * (group_size - k)) / group_size * np.sqrt((group_size - 1) / group_size)
        expected: Values = self.weights @ (advantage @ binomial(group_size))
        return expected

    def to_moments(self) -> Moments:
        """Return the masses at 0 and 1, and the Beta distribution that has the mean and variance of the rest."""
        zero, one, inner = self.weights[..., 0], self.weights[..., -1], self.weights[..., 1:-1]
        rest = np.maximum(inner.sum(axis=-1), MIN_VARIANCE)
        mean = np.clip(inner @ _CENTRES / rest, MIN_VARIANCE, 1 - MIN_VARIANCE)
        square = inner @ (_CENTRES**2 + np.diff(RATE_EDGES) ** 2 / 12) / rest
        return Moments(*fit_beta(mean, square - mean**2), zero, one)


def fit_beta(mean: Values, variance: Values) -> tuple[Values, Values]:
    """Return the shapes of the Beta distribution with this mean and variance, by the method of moments."""
    # 1e6: alpha + beta of a rate that is known.
    size = np.clip(mean * (1 - mean) / np.maximum(variance, MIN_VARIANCE) - 1, 1e-3, 1e6)
    return mean * size, (1 - mean) * size


def log_likelihood(n: ArrayLike, s: ArrayLike) -> Values:
    """Return the logarithm of `p^s (1 - p)^(n - s)` at each rate, shape (..., rates)."""
    sums = np.asarray(s, dtype=np.float64)[..., None]
    failures = np.maximum(np.asarray(n, dtype=np.float64)[..., None] - sums, 0.0)
    inner = sums * np.log(_CENTRES) + failures * np.log1p(-_CENTRES)
    at_zero, at_one = np.where(sums <= 0, 0.0, -np.inf), np.where(failures <= 0, 0.0, -np.inf)
    return np.concatenate([at_zero, inner, at_one], axis=-1)


def log_ways(n: int, s: ArrayLike) -> Values:
    """Return the logarithm of how many ways there are to have s passes among `n`."""
    passes = np.asarray(s, dtype=np.float64)
    ways: Values = gammaln(n + 1) - gammaln(passes + 1) - gammaln(n - passes + 1)
    return ways


@lru_cache(maxsize=64)
def binomial(n: int) -> Values:
    """Return the chance of s passes among `n` at each rate, shape (n + 1, rates)."""
    s: Values = np.arange(n + 1, dtype=np.float64)
    chances: Values = np.exp(log_likelihood(np.full(n + 1, n), s) + log_ways(n, s)[:, None])
    return chances


def share_in_band(band: Band) -> Values:
    """Return the share of each cell of the grid that is in the band, shape (rates,)."""
    inside = np.clip(np.minimum(RATE_EDGES[1:], band.high) - np.maximum(RATE_EDGES[:-1], band.low), 0.0, None)
    return np.concatenate([[float(band.low <= 0)], inside / np.diff(RATE_EDGES), [float(band.high >= 1)]])


def _quantile(below: Values, q: float) -> Values:
    """Return the smallest rate that is not exceeded with a chance of `q`: `below` is that of each of `RATE_EDGES`."""
    after = np.clip((below < q).sum(axis=-1), 0, len(RATE_EDGES) - 1)
    before = np.maximum(after - 1, 0)
    at_before, at_after = (np.take_along_axis(below, at[..., None], -1)[..., 0] for at in (before, after))
    share = np.clip((q - at_before) / np.maximum(at_after - at_before, 1e-300), 0.0, 1.0)
    middle = RATE_EDGES[before] + (RATE_EDGES[after] - RATE_EDGES[before]) * share
    return np.where(below[..., -1] < q, 1.0, np.where(below[..., 0] >= q, 0.0, middle))
