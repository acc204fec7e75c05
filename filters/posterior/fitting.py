"""Fit what is believed of prompts before their first rollout to the groups that were sampled: empirical Bayes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from learnable.filters.arrays import Values
from learnable.filters.posterior.belief import RATE_EDGES, RATE_GRID, Belief, log_likelihood

MIN_GROUPS = 8  # fewer say nothing of a population
OWN_GROUPS = 48  # from which on a family's own smooth fit is tried beside the belief of its pool
MAX_GROUPS = 4_000  # groups that a fit looks at; more change nothing
# Masses, as shares of the rest, and shapes. A small pool that mostly fails has one optimum with a mass and one with a
# steep Beta.
BELIEF_STARTS = [
    (0.1, 0.1, 0.5, 0.5),
    (0.1, 0.7, 1, 1),
    (0.7, 0.1, 1, 2),
    (0.002, 0.002, 0.1, 0.6),
    (0.002, 0.002, 0.6, 0.1),
]
STRENGTHS = (128.0, 32.0, 8.0, 2.0)  # groups that the base may count for
BELIEF_FOLDS = 3
FALLBACK = Belief.of_moments(0.5, 0.5)
_LOGS = np.log(np.stack([RATE_GRID, 1 - RATE_GRID], axis=1)[1:-1])


@dataclass(frozen=True, slots=True)
class FittedBelief:
    """A belief, how many groups it was fitted to (0 where it is Beta(.5, .5)), and how far from it its families lie.

    `family_width` is the standard deviation of the tilts of small families, 0 where all of them are alike.
    """

    belief: Belief = FALLBACK
    fitted_to: int = 0
    family_width: float = 0.0


Counts = tuple[Values, Values]
"""Rewards of each group, which may be effective sizes, and their sums, both of the shape (groups,)."""


def fit_pool(groups: Counts, families: Sequence[Counts]) -> FittedBelief:
    """Fit the belief of a pool to all its groups, and how far its small families lie from it to the groups of those."""
    pool = fit_belief(*groups)
    groups_of = [_usable(*family) for family in families]
    small = [family for family in groups_of if BELIEF_FOLDS <= len(family[0]) < OWN_GROUPS]
    if not pool.fitted_to or len(small) < 2:
        return pool
    # 64 small families tell how far from their pool they lie.
    base, grids = pool.belief.weights, [_Grid(*family) for family in small[:: -(-len(small) // 64)]]
    widths = (0.5, 1.0, 2.0, 4.0)  # of the tilts of families
    gains = [[np.zeros(len(grid.folds)), *(grid.compare_tilts(base, width) for width in widths)] for grid in grids]
    return FittedBelief(pool.belief, pool.fitted_to, (0.0, *widths)[_choose(grids, [np.array(g) for g in gains])[0]])


def fit_belief(n: ArrayLike, s: ArrayLike, pool: FittedBelief | None = None) -> FittedBelief:
    """Fit the belief of a family to its groups: weights on the grid about a base, a Dirichlet process, found by EM.

    The base is the smooth fit, a Beta distribution with masses at 0 and 1, or the belief of the pool, whichever makes
    groups that the weights were not fitted to likelier (cross-validation). So is how many groups the base counts for:
    where the smooth fit is right, infinitely many. A family of fewer than `OWN_GROUPS` groups has its pool's belief,
    tilted toward its own groups as far as small families of the pool lie from it.

    Args:
        n: rewards of each group, shape (groups,); effective sizes where they are graded. Groups without any are left
            out.
        s: sum of those rewards, shape (groups,).
        pool: of the pool that the family is a part of, if it is one of several.

    Returns:
        The belief: Beta(.5, .5) where there is no pool and fewer than `MIN_GROUPS` groups.
    """
    sizes, sums = _usable(n, s)
    count = len(sizes)
    known = None if pool is None or not pool.fitted_to else pool
    if known is not None and count < OWN_GROUPS:
        if not count or not known.family_width:
            return FittedBelief(known.belief, count)
        grid = _Grid(sizes, sums)
        return FittedBelief(Belief(grid.tilt(known.belief.weights, known.family_width, grid.folds.sum(axis=1))), count)
    if count < MIN_GROUPS:
        return FittedBelief()
    grid = _Grid(sizes, sums)
    bases = [fit_smooth_once(sizes.tobytes(), sums.tobytes()), *([] if known is None else [known.belief.weights])]
    choices = [(*_choose([grid], [grid.compare(base, bases[0])]), base) for base in bases]
    place, _, base = max(choices, key=lambda each: each[1])
    return FittedBelief(Belief(grid.weigh(base, STRENGTHS[place - 1]) if place else base), count)


class _Grid:
    """The likelihoods of groups at each rate, and the weights on the grid that they lead to."""

    def __init__(self, n: Values, s: Values) -> None:
        # In order: every other row of a file may be of one kind.
        rows = np.column_stack([n, s])[np.lexsort((n, s))][:: -(-len(n) // MAX_GROUPS)]
        cells, of_group = np.unique(rows, axis=0, return_inverse=True)
        log = log_likelihood(cells[:, 0], cells[:, 1])
        self.likelihood = np.exp(log - log.max(axis=1, keepdims=True))
        self.folds = np.zeros((len(cells), BELIEF_FOLDS))
        # By chance: groups in the order of their values would be dealt out too evenly to stand in for new ones.
        np.add.at(
            self.folds, (of_group.reshape(-1), np.random.default_rng(0).integers(BELIEF_FOLDS, size=len(rows))), 1.0
        )
        self.counts = self.folds.sum(axis=1) * len(n) / len(rows)

    def weigh(self, base: Values, strength: float) -> Values:
        """Return the weights by all groups, shape (rates,)."""
        weights: Values = self._run(self.counts[:, None], base, np.array([strength]), 300)[0]
        return weights

    def fit_smooth(self) -> Values:
        """Return the weights of a Beta distribution with masses at 0 and 1 that make all groups likeliest.

        The Beta distribution (Ospina and Ferrari, 2010, "Inflated beta distributions") has the density of its middle
        everywhere in a cell, but for that of Beta(.5, .5). Mild penalties on shapes and masses keep a small pilot from
        ruling anything in or out.
        """
        # Of the logarithms of masses, as shares of the rest, and of shapes.
        bounds = [(-14.0, 14.0)] * 2 + [(-4.0, 7.0)] * 2
        # To the end, so that no digit that counts hangs on the processor.
        options: Any = {"maxiter": 500, "ftol": 0.0, "gtol": 1e-9}
        minima = [
            minimize(self.lose_smooth, np.log(x), jac=True, bounds=bounds, options=options) for x in BELIEF_STARTS
        ]
        smooth = _weigh_smooth(min(minima, key=lambda each: float(each.fun)).x)
        floor = 1e-6  # weight of Beta(.5, .5), so that evidence can always bring any rate back
        return (1 - floor) * smooth + floor * FALLBACK.weights

    def lose_smooth(self, packed: Values) -> tuple[float, Values]:
        """Return minus the log-likelihood of packed masses and shapes, with the penalties, and its gradient."""
        weights = _weigh_smooth(packed)
        log_evidence, expected = self._expect(self.counts, weights)
        inner, masses, shapes = weights[1:-1], weights[[0, -1]], np.exp(packed[2:])
        # A mild pull of alpha and beta, for the few groups of a pilot. It shrinks with the root of their number: 3,000
        # prompts of one rate tell that it is one.
        usual_shape, shape_width = 0.7, 1.5
        off, pull = np.log(shapes / usual_shape) / shape_width, min(1.0, (128 / self.counts.sum()) ** 0.5)
        # Against masses: in groups of 8 a steep Beta looks like one, and would be taken for it too often.
        mass_pull = 4.0
        loss = pull * (off**2).sum() / 2 + mass_pull * masses.sum() - log_evidence
        by_masses = self.counts.sum() * masses - expected[[0, -1]] + mass_pull * masses * inner.sum()
        by_shapes = _LOGS.T @ (expected[1:-1].sum() * inner / inner.sum() - expected[1:-1])
        return float(loss), np.append(by_masses, shapes * by_shapes + pull * off / shape_width)

    def compare(self, base: Values, usual: Values) -> Values:
        """Return how much likelier groups are by weights fitted to others than by `usual`, shape (strengths, cells).

        Log-likelihoods by strength: the base alone, then `STRENGTHS`; each is summed over the groups of a cell, whose
        counts are in `folds`.
        """
        others = self.folds.sum(axis=1, keepdims=True) - self.folds
        counts = np.repeat(others, len(STRENGTHS), axis=1)
        weights = self._run(counts, base, np.tile(STRENGTHS, BELIEF_FOLDS), 60)
        log = np.log(self.likelihood @ weights.T + 1e-300).reshape(len(counts), BELIEF_FOLDS, -1)
        usually = np.log(self.likelihood @ usual + 1e-300)
        alone = np.log(self.likelihood @ base + 1e-300) - usually
        apart = (log - usually[:, None, None]) * self.folds[:, :, None]
        return np.concatenate([(alone * self.folds.sum(axis=1))[None], apart.sum(axis=1).T])

    def tilt(self, base: Values, width: float, counts: Values) -> Values:
        """Return `base` tilted by `exp(t x)`, x the logarithms of p and 1 - p, as counts of cells make it likely.

        An exponential family, whose t have a normal prior of this width in standard deviations of x under the base
        (Efron, 2016, "Empirical Bayes deconvolution estimates"). Their maximum a posteriori.
        """
        axes = np.stack([np.log(np.maximum(at, RATE_EDGES[1])) for at in (RATE_GRID, 1 - RATE_GRID)], axis=1)
        axes = (axes - base @ axes) / np.sqrt(np.maximum(base @ (axes - base @ axes) ** 2, 1e-9))

        def weigh(t: Values) -> Values:
            log = axes @ t
            weights = base * np.exp(log - log.max())
            tilted: Values = weights / weights.sum()
            return tilted

        def lose(t: Values) -> tuple[float, Values]:
            weights = weigh(t)
            log_evidence, expected = self._expect(counts, weights)
            loss = float(t @ t) / (2 * width**2) - log_evidence
            return loss, t / width**2 - (expected - counts.sum() * weights) @ axes

        return weigh(minimize(lose, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(-30, 30)] * 2).x)

    def compare_tilts(self, base: Values, width: float) -> Values:
        """Return how much likelier groups are by a tilt that was fitted to others than by the base, by cell."""
        counts, usually = self.folds.sum(axis=1), self.likelihood @ base
        tilted = [self.likelihood @ self.tilt(base, width, counts - fold) for fold in self.folds.T]
        logs = np.log(np.array(tilted) + 1e-300) - np.log(usually + 1e-300)
        gain: Values = (logs.T * self.folds).sum(axis=1)
        return gain

    def _expect(self, counts: Values, weights: Values) -> tuple[float, Values]:
        """Return the log-likelihood of counts of cells, and how many groups of each rate are expected among them."""
        evidence = np.maximum(self.likelihood @ weights, 1e-300)
        return float(counts @ np.log(evidence)), counts / evidence @ self.likelihood * weights

    def _run(self, counts: Values, base: Values, strengths: Values, steps: int) -> Values:
        """Return weights after so many steps of EM, for each column of counts of cells: shape (columns, rates)."""
        weights = np.tile(base, (len(strengths), 1))
        total = (counts.sum(axis=0) + strengths)[:, None]
        for _ in range(steps):
            ratios = counts / np.maximum(self.likelihood @ weights.T, 1e-300)
            weights = (weights * (ratios.T @ self.likelihood) + strengths[:, None] * base) / total
        return weights


@lru_cache(maxsize=64)
def fit_smooth_once(sizes: bytes, sums: bytes) -> Values:
    """Return `_Grid.fit_smooth` of groups: where a family is all there is of its kind, its pool asks the same."""
    weights = _Grid(np.frombuffer(sizes), np.frombuffer(sums)).fit_smooth()
    weights.flags.writeable = False
    return weights


def _choose(grids: Sequence[_Grid], gains: Sequence[Values]) -> tuple[int, float]:
    """Return the first way that is not worse than the best by more than two standard errors, and its gain.

    `gains` are those of log-likelihood, shape (ways, cells) for each grid: the ways ascend in how freely they fit.
    """
    total = np.sum([gain.sum(axis=1) for gain in gains], axis=0)
    best, squares = int(np.argmax(total)), np.zeros(len(total))
    for gain, grid in zip(gains, grids, strict=True):
        squares += ((gain[best] - gain) ** 2 / np.maximum(grid.folds.sum(axis=1), 1)).sum(axis=1)
    place = int(np.argmax(total[best] - total <= 2 * np.sqrt(squares)))
    return place, float(total[place])


def _usable(n: ArrayLike, s: ArrayLike) -> Counts:
    sizes, sums = np.asarray(n, dtype=np.float64), np.asarray(s, dtype=np.float64)
    usable = (sizes > 0) & np.isfinite(sums)
    return sizes[usable], sums[usable]


def _weigh_smooth(packed: Values) -> Values:
    """Return the weights that the logarithms of masses, as shares of the rest, and of shapes stand for."""
    zero, one = np.exp(packed[:2])
    log = np.log(FALLBACK.weights[1:-1]) + _LOGS @ (np.exp(packed[2:]) - 0.5)
    cells = np.exp(log - log.max())
    weights: Values = np.concatenate([[zero], cells / cells.sum(), [one]]) / (1 + zero + one)
    return weights
