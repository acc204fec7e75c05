"""Fit what is believed of prompts before their first rollout to the groups that were sampled: empirical Bayes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import betaln, digamma

from learnable.filters.arrays import Values
from learnable.filters.posterior.belief import EDGES, RATES, Belief, log_likelihood

MIN_GROUPS = 8  # fewer say nothing of a population
OWN_GROUPS = 48  # from which on a family's own smooth fit is tried beside the belief of its pool
FLOOR = 1e-6  # smallest weight of each part, so that evidence can always bring it back
MAX_GROUPS = 20_000  # groups that the smooth fit looks at; more change nothing
MAX_GRID_GROUPS = 4_000  # the same of the weights on the grid
SHAPES = (0.02, 200.0)  # alpha and beta stay in here
LOG_SHAPE, LOG_SHAPE_WIDTH = math.log(0.7), 1.5  # a mild pull, for the few groups of a pilot
MASS_PULL = 4.0  # against masses: in groups of 8 a steep Beta looks like one, and would be taken for it too often
BOUNDS = [(-30.0, 30.0)] * 2 + [(math.log(SHAPES[0]), math.log(SHAPES[1]))] * 2  # of packed parameters
TOLERANCE = 1e-9  # of the gradient: so that no digit that counts hangs on the processor
# Of masses and shapes. A small pool that mostly fails has one optimum with a mass and one with a steep Beta.
STARTS = (
    (0.1, 0.1, 0.5, 0.5),
    (0.05, 0.4, 1.0, 1.0),
    (0.4, 0.05, 1.0, 2.0),
    (0.002, 0.002, 0.1, 0.6),
    (0.002, 0.002, 0.6, 0.1),
)
STRENGTHS = (128.0, 32.0, 8.0, 2.0)  # groups that the base may count for
FOLDS = 3
FOLD_STEPS, STEPS = 60, 300
WIDTHS = (0.5, 1.0, 2.0, 4.0)  # of the tilts of families
POOLED_FAMILIES = 64  # small ones whose groups tell how far from their pool they lie
FALLBACK = Belief.of_moments(0.5, 0.5)


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
    counted = [_usable(*family) for family in families]
    small = [family for family in counted if FOLDS <= len(family[0]) < OWN_GROUPS]
    if not pool.fitted_to or len(small) < 2:
        return pool
    base, grids = pool.belief.weights, [_Grid(*family) for family in small[:: -(-len(small) // POOLED_FAMILIES)]]
    gains = [[np.zeros(len(grid.folds)), *(grid.compare_tilts(base, width) for width in WIDTHS)] for grid in grids]
    return FittedBelief(pool.belief, pool.fitted_to, (0.0, *WIDTHS)[_choose(grids, [np.array(g) for g in gains])[0]])


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
    bases = [fit_smooth(sizes, sums).weights, *([] if known is None else [known.belief.weights])]
    found = [(*_choose([grid], [grid.compare(base, bases[0])]), base) for base in bases]
    place, _, base = max(found, key=lambda each: each[1])
    return FittedBelief(Belief(grid.weigh(base, STRENGTHS[place - 1]) if place else base), count)


def fit_smooth(n: Values, s: Values) -> Belief:
    """Fit a Beta distribution with masses at 0 and 1 to groups: the maximum of the marginal likelihood.

    A group of `n` rewards that sum to `s` has the likelihood `zero [s = 0] + one [s = n] + (1 - zero - one) B(alpha +
    s, beta + n - s) / B(alpha, beta)` (Ospina and Ferrari, 2010, "Inflated beta distributions"). Mild penalties on
    shapes and masses keep a small pilot from ruling anything in or out.
    """
    cells, counts = np.unique(_thin(n, s, MAX_GROUPS), axis=0, return_counts=True)
    loss = _Loss(cells[:, 0], cells[:, 1], counts.astype(np.float64))
    to_the_end: Any = {"maxiter": 500, "ftol": 0.0, "gtol": TOLERANCE}
    found = [
        minimize(loss, _pack(*start), jac=True, method="L-BFGS-B", bounds=BOUNDS, options=to_the_end)
        for start in STARTS
    ]
    best = min((result for result in found if np.isfinite(result.fun)), key=lambda result: result.fun, default=None)
    if best is None:
        return FALLBACK
    zero, one, alpha, beta = _unpack(best.x)
    return Belief.of_moments(alpha, beta, zero, one)


class _Grid:
    """The likelihoods of groups at each rate, and the weights on the grid that they lead to."""

    def __init__(self, n: Values, s: Values) -> None:
        rows = _thin(n, s, MAX_GRID_GROUPS)
        cells, of_group = np.unique(rows, axis=0, return_inverse=True)
        log = log_likelihood(cells[:, 0], cells[:, 1])
        self.likelihood = np.exp(log - log.max(axis=1, keepdims=True))
        self.scale = len(n) / len(rows)
        self.folds = np.zeros((len(cells), FOLDS))
        # By chance: groups in the order of their values would be dealt out too evenly to stand in for new ones.
        np.add.at(self.folds, (of_group.reshape(-1), np.random.default_rng(0).integers(FOLDS, size=len(rows))), 1.0)

    def weigh(self, base: Values, strength: float) -> Values:
        """Return the weights by all groups, shape (rates,)."""
        counts = self.folds.sum(axis=1)[:, None] * self.scale
        weights: Values = self._run(counts, base, np.array([strength]), STEPS)[0]
        return weights

    def compare(self, base: Values, usual: Values) -> Values:
        """Return how much likelier groups are by weights fitted to others than by `usual`, shape (strengths, cells).

        Log-likelihoods by strength: the base alone, then `STRENGTHS`; each is summed over the groups of a cell, whose
        counts are in `folds`.
        """
        others = self.folds.sum(axis=1, keepdims=True) - self.folds
        counts = np.repeat(others, len(STRENGTHS), axis=1)
        weights = self._run(counts, base, np.tile(STRENGTHS, FOLDS), FOLD_STEPS)
        log = np.log(self.likelihood @ weights.T + 1e-300).reshape(len(counts), FOLDS, -1)
        usually = np.log(self.likelihood @ usual + 1e-300)
        alone = np.log(self.likelihood @ base + 1e-300) - usually
        apart = (log - usually[:, None, None]) * self.folds[:, :, None]
        return np.concatenate([(alone * self.folds.sum(axis=1))[None], apart.sum(axis=1).T])

    def tilt(self, base: Values, width: float, counts: Values) -> Values:
        """Return `base` tilted by `exp(t x)`, x the logarithms of p and 1 - p, as counts of cells make it likely.

        An exponential family, whose t have a normal prior of this width in standard deviations of x under the base
        (Efron, 2016, "Empirical Bayes deconvolution estimates"). Their maximum a posteriori.
        """
        axes = np.stack([np.log(np.maximum(at, EDGES[1])) for at in (RATES, 1 - RATES)], axis=1)
        axes = (axes - base @ axes) / np.sqrt(np.maximum(base @ (axes - base @ axes) ** 2, 1e-9))

        def weigh(t: Values) -> Values:
            log = axes @ t
            weights = base * np.exp(log - log.max())
            tilted: Values = weights / weights.sum()
            return tilted

        def lose(t: Values) -> tuple[float, Values]:
            weights = weigh(t)
            of_cells = self.likelihood * weights
            evidence = np.maximum(of_cells.sum(axis=1), 1e-300)
            seen = counts / evidence @ of_cells
            pull = float(t @ t) / (2 * width**2) - float(counts @ np.log(evidence))
            return pull, t / width**2 - (seen - counts.sum() * weights) @ axes

        return weigh(minimize(lose, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(-30, 30)] * 2).x)

    def compare_tilts(self, base: Values, width: float) -> Values:
        """Return how much likelier groups are by a tilt that was fitted to others than by the base, by cell."""
        whole, usually = self.folds.sum(axis=1), self.likelihood @ base
        tilted = [self.likelihood @ self.tilt(base, width, whole - fold) for fold in self.folds.T]
        logs = np.log(np.array(tilted) + 1e-300) - np.log(usually + 1e-300)
        gain: Values = (logs.T * self.folds).sum(axis=1)
        return gain

    def _run(self, counts: Values, base: Values, strengths: Values, steps: int) -> Values:
        """Return weights after so many steps of EM, for each column of counts of cells: shape (columns, rates)."""
        weights = np.tile(base, (len(strengths), 1))
        total = (counts.sum(axis=0) + strengths)[:, None]
        for _ in range(steps):
            ratios = counts / np.maximum(self.likelihood @ weights.T, 1e-300)
            weights = (weights * (ratios.T @ self.likelihood) + strengths[:, None] * base) / total
        return weights


def _choose(grids: Sequence[_Grid], gains: Sequence[Values]) -> tuple[int, float]:
    """Return the first way that is not worse than the best by more than two standard errors, and its gain.

    `gains` are those of log-likelihood, shape (ways, cells) for each grid: the ways ascend in how freely they fit.
    """
    total = np.sum([gain.sum(axis=1) for gain in gains], axis=0)
    best, squares = int(np.argmax(total)), np.zeros(len(total))
    for gain, grid in zip(gains, grids, strict=True):
        squares += ((gain[best] - gain) ** 2 / np.maximum(grid.folds.sum(axis=1), 1)).sum(axis=1)
    chosen = int(np.argmax(total[best] - total <= 2 * np.sqrt(squares)))
    return chosen, float(total[chosen])


def _usable(n: ArrayLike, s: ArrayLike) -> Counts:
    sizes, sums = np.asarray(n, dtype=np.float64), np.asarray(s, dtype=np.float64)
    usable = (sizes > 0) & np.isfinite(sums)
    return sizes[usable], sums[usable]


def _thin(n: Values, s: Values, most: int) -> Values:
    """Return at most so many groups, rows of size and sum, in order: every other row of a file may be of one kind."""
    rows: Values = np.column_stack([n, s])[np.lexsort((n, s))]
    return rows[:: -(-len(rows) // most)]


class _Loss:
    """Minus the log of the marginal likelihood, and the penalty, of packed parameters."""

    def __init__(self, n: Values, s: Values, counts: Values) -> None:
        self.s, self.failures, self.counts = s, n - s, counts
        self.never, self.always = s <= 0, self.failures <= 0

    def __call__(self, packed: Values) -> tuple[float, Values]:
        """Return the loss and its gradient, shape (4,)."""
        zero, one, alpha, beta = _unpack(packed)
        rest, whole = 1 - zero - one, alpha + beta
        masses = zero * self.never + one * self.always
        log_masses = np.log(masses, out=np.full_like(masses, -np.inf), where=masses > 0)
        # In logs: the evidence of a group with an effective size of thousands is below the smallest float.
        log_beta = math.log(rest) + betaln(alpha + self.s, beta + self.failures) - betaln(alpha, beta)
        log_evidence = np.logaddexp(log_masses, log_beta)
        shapes = np.log([alpha, beta])
        pull = ((shapes - LOG_SHAPE) ** 2).sum() / (2 * LOG_SHAPE_WIDTH**2)
        loss = -(self.counts * log_evidence).sum() + pull + MASS_PULL * (zero + one)

        of_beta = self.counts * np.exp(log_beta - log_evidence)  # how many groups are expected to be of the Beta part
        of_masses = [(self.counts[here] / np.exp(log_evidence[here])).sum() for here in (self.never, self.always)]
        by_masses = MASS_PULL + of_beta.sum() / rest - np.array(of_masses)
        weights = np.array([zero, one]) - FLOOR
        by_weights = weights * (by_masses - (weights @ by_masses) / (1 - 3 * FLOOR))
        common = digamma(whole) - digamma(whole + self.s + self.failures)
        by_alpha = (of_beta * (digamma(alpha + self.s) - digamma(alpha) + common)).sum()
        by_beta = (of_beta * (digamma(beta + self.failures) - digamma(beta) + common)).sum()
        by_shapes = (shapes - LOG_SHAPE) / LOG_SHAPE_WIDTH**2 - [alpha * by_alpha, beta * by_beta]
        return float(loss), np.concatenate([by_weights, by_shapes])


def _pack(zero: float, one: float, alpha: float, beta: float) -> Values:
    rest = 1 - zero - one
    return np.array([math.log(zero / rest), math.log(one / rest), math.log(alpha), math.log(beta)])


def _unpack(packed: Values) -> tuple[float, float, float, float]:
    weights = np.exp(np.array([packed[0], packed[1], 0.0]))
    zero, one, _ = FLOOR + (1 - 3 * FLOOR) * weights / weights.sum()
    alpha, beta = np.exp(packed[2:])
    return float(zero), float(one), float(alpha), float(beta)
