"""What is known of a prompt's mean reward before its first rollout: fitted to the family's first groups."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import betaln, digamma

from learnable.data.records import JsonObject
from learnable.filters.arrays import Values

MIN_GROUPS = 8  # fewer say nothing of a population
FLOOR = 0.005  # smallest weight of each part, so that evidence can always bring it back
MAX_GROUPS = 20_000  # groups that are fitted to; more change nothing
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


@dataclass(frozen=True)
class Prior:
    """A Beta distribution with point masses at 0 and 1: prompts that always fail, that always pass, and the rest.

    `zero` and `one` are the masses; the rest, 1 - zero - one, is Beta(alpha, beta). `fitted_to` is how many groups it
    was fitted to, 0 where it is the fallback. Raises `ValueError` for what is no distribution. Pools of which 70 % is
    always solved are common, and no plain Beta distribution fits them (Ospina and Ferrari, 2010, "Inflated beta
    distributions").
    """

    alpha: float
    beta: float
    zero: float = 0.0
    one: float = 0.0
    fitted_to: int = 0

    def __post_init__(self) -> None:
        if not (self.alpha > 0 and self.beta > 0 and self.zero >= 0 and self.one >= 0 and self.zero + self.one < 1):
            raise ValueError(f"{self} is no distribution: shapes over 0, masses of 0 or more that sum to less than 1")

    @cached_property
    def beta_weight(self) -> float:
        """The weight of the Beta part."""
        return 1.0 - self.zero - self.one

    def to_json(self) -> JsonObject:
        """Return the figures under the keys of a manifest."""
        return {key: round(value, 6) for key, value in asdict(self).items()}


FALLBACK = Prior(0.5, 0.5)


def fit_prior(n: ArrayLike, s: ArrayLike) -> Prior:
    """Fit a prior to groups by empirical Bayes: the maximum of the marginal likelihood.

    A group of `n` rewards that sum to `s` has the likelihood `zero [s = 0] + one [s = n] + (1 - zero - one) B(alpha +
    s, beta + n - s) / B(alpha, beta)`. Mild penalties on shapes and masses and a floor under the masses keep a small
    pilot from ruling anything in or out.

    Args:
        n: rewards of each group, shape (groups,); effective sizes where they are graded. Groups without any are left
            out.
        s: sum of those rewards, shape (groups,).

    Returns:
        The prior, or `FALLBACK`, Beta(.5, .5), where there are fewer than `MIN_GROUPS` groups or nothing fits.
    """
    sizes, sums = np.asarray(n, dtype=np.float64), np.asarray(s, dtype=np.float64)
    usable = (sizes > 0) & np.isfinite(sums)
    sizes, sums = sizes[usable], sums[usable]
    if len(sizes) < MIN_GROUPS:
        return FALLBACK
    # In order of their values, since every other row of a file may be of one kind.
    rows = np.column_stack([sizes, sums])[np.lexsort((sizes, sums))]
    cells, counts = np.unique(rows[:: -(-len(rows) // MAX_GROUPS)], axis=0, return_counts=True)
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
    return Prior(alpha, beta, zero, one, fitted_to=len(sizes))


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
