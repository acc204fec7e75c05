"""How far a policy has moved: from a few prompts sampled again, what now holds of every other one."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit, logit, ndtr

from learnable.data.curated.refreshed import Drift
from learnable.filters.arrays import Indices, Values
from learnable.filters.posterior.belief import RATE_EDGES, RATE_GRID, Belief, log_likelihood

MIN_NOISE = 0.05

# As fitted: shift, log slope, log noise, and the log-odds that a prompt leaves 0, and 1.
USUAL_DRIFT = np.array([0.0, 0.0, math.log(0.5), math.log(0.05 / 0.95), math.log(0.05 / 0.95)])
USUAL_WIDTHS = np.array([2.0, 0.3, 1.5, 1.2, 1.2])
FAMILY_WIDTHS = np.array([0.6, 0.15, 0.35, 0.7, 0.7])  # how far a family may be from the others


def move_belief(drift: Drift, before: Belief) -> Belief:
    """Return what is believed under the new policy of prompts that were not sampled again."""
    weights = before.weights
    inner = weights[:, 1:-1] @ _kernel(drift) + _arrivals(drift, before)
    zero, one = (1 - drift.left_zero) * weights[:, :1], (1 - drift.left_one) * weights[:, -1:]
    moved = np.concatenate([zero, inner, one], axis=1)
    return Belief(moved / moved.sum(axis=1, keepdims=True))


def _kernel(drift: Drift) -> Values:
    """Return the chance of each new cell given the old one, shape (old, new)."""
    walls, centres = logit(RATE_EDGES[1:-1]), logit(RATE_GRID[1:-1])
    below = ndtr((walls[None, :] - drift.shift - drift.slope * centres[:, None]) / drift.noise)
    kernel: Values = np.diff(below, axis=1, prepend=0.0, append=1.0)
    return kernel


def _arrivals(drift: Drift, before: Belief) -> Values:
    """Return where those are that left 0 and 1: mostly near it still."""
    zero, one = before.weights[:, :1], before.weights[:, -1:]
    left: Values = drift.left_zero * zero * NEAR_ZERO + drift.left_one * one * NEAR_ONE
    return left


def fit_drift(before: Belief, n: ArrayLike, s: ArrayLike, others: Drift | None = None) -> Drift:
    """Fit a drift to prompts that were sampled again: the maximum of the marginal likelihood, mildly penalised.

    The old rate has the old posterior, the new one follows from it by the drift, and the new rewards are binomial at
    that rate; both rates are integrated out. Which prompts were sampled may depend on their old posteriors in any way.

    Args:
        before: their old posteriors, shape (prompts,).
        n: rewards of the new policy, shape (prompts,); effective sizes where they are graded.
        s: what those rewards sum to.
        others: what the drift of more prompts is, those of other families, toward which few prompts are drawn.
    """
    rows, sizes, sums = _find_telling(n, s)
    # More prompts than 4,000 change nothing.
    rows = rows[:: max(1, -(-len(rows) // 4_000))]
    start, widths = (USUAL_DRIFT, USUAL_WIDTHS) if others is None else (_pack(others), FAMILY_WIDTHS)
    if not len(rows):
        return _unpack(start, 0)
    loss = _Loss(before.at(rows), sizes[rows], sums[rows], start, widths)
    optimum = minimize(loss, start, method="L-BFGS-B", options={"maxiter": 100, "ftol": 1e-6})
    return _unpack(optimum.x if np.isfinite(optimum.fun) else start, len(rows))


def measure_information(drift: Drift, before: Belief, n: ArrayLike, s: ArrayLike) -> Values:
    """Return how much prompts that were sampled again tell of a drift, shape (5, 5): the observed information.

    Of its figures as they are fitted (`USUAL_DRIFT`), as the sum of the outer products of the prompts' scores (Berndt
    et al., 1974, "Estimation and inference in nonlinear structural models"). The arguments are those of `fit_drift`.
    """
    rows, sizes, sums = _find_telling(n, s)
    if not len(rows):
        return np.zeros((len(USUAL_DRIFT), len(USUAL_DRIFT)))
    loss, packed = _Loss(before.at(rows), sizes[rows], sums[rows], USUAL_DRIFT, USUAL_WIDTHS), _pack(drift)
    difference = 0.1  # of a fitted figure, over which derivatives are taken
    steps = np.eye(len(USUAL_DRIFT)) * difference
    scores = [(loss.log_evidence(packed + step) - loss.log_evidence(packed - step)) / 2 / difference for step in steps]
    information: Values = np.array(scores) @ np.array(scores).T
    return information


def shift_figure(drift: Drift, number: int, by: float) -> Drift:
    """Return the drift with one of its figures, as they are fitted (`USUAL_DRIFT`), moved by so much."""
    packed = _pack(drift)
    packed[number] += by
    return _unpack(packed, drift.fitted_to)


def _find_telling(n: ArrayLike, s: ArrayLike) -> tuple[Indices, Values, Values]:
    sizes, sums = np.asarray(n, dtype=np.float64), np.asarray(s, dtype=np.float64)
    return np.flatnonzero((sizes > 0) & np.isfinite(sums)), sizes, sums


class _Loss:
    """Minus the log of the marginal likelihood of packed parameters, and the penalty."""

    def __init__(self, before: Belief, n: Values, s: Values, centre: Values, widths: Values) -> None:
        self.before, self.centre, self.widths = before, centre, widths
        log = log_likelihood(n, s)
        self.likelihood = np.exp(log - log.max(axis=1, keepdims=True))

    def __call__(self, packed: Values) -> float:
        return float(-self.log_evidence(packed).sum() + (((packed - self.centre) / self.widths) ** 2).sum() / 2)

    def log_evidence(self, packed: Values) -> Values:
        """Return the log of each prompt's marginal likelihood, up to a constant."""
        moved = move_belief(_unpack(packed, 0), self.before)
        logs: Values = np.log(np.maximum((moved.weights * self.likelihood).sum(axis=1), 1e-300))
        return logs


def _pack(drift: Drift) -> Values:
    noise = math.log(max(drift.noise - MIN_NOISE, 1e-3))
    left = [math.log(share / (1 - share)) for share in np.clip([drift.left_zero, drift.left_one], 1e-3, 1 - 1e-3)]
    return np.array([drift.shift, math.log(drift.slope), noise, *left])


def _unpack(packed: Values, fitted_to: int) -> Drift:
    shift, slope, noise, zero, one = (float(value) for value in np.clip(packed, -8, 8))
    return Drift(
        shift,
        math.exp(slope),
        MIN_NOISE + math.exp(min(noise, 2.0)),
        float(expit(zero)),
        float(expit(one)),
        fitted_to,
    )


NEAR_ZERO, NEAR_ONE = Belief.of_moments([0.5, 1.5], [1.5, 0.5]).weights[:, 1:-1]  # where prompts are that left 0, or 1
