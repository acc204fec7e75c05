"""Which values a family's rewards take, and how often at each mean: for rewards that repeat, as partial credit does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betainc, digamma, expit, gammaln, log_expit, logsumexp, polygamma

from learnable.filters.arrays import Flags, Indices, Values

# Cells of a path's parameter, which is about the log-odds of a pass: fine in the middle, coarse where all is said.
EDGES = np.concatenate([np.arange(-14, -6, 0.2), np.arange(-60, 60) / 10, np.arange(6, 14.1, 0.2)])
CENTRES = (EDGES[1:] + EDGES[:-1]) / 2
CONCENTRATIONS = (32.0, 8.0, 2.0)  # rewards that the path counts for, where prompts leave it
COARSE = 6  # cells that are one to those prompts
COARSE_CENTRES = CENTRES[COARSE // 2 :: COARSE]

MAX_VALUES, BINS = 64, 24
MAX_PROMPTS = 2_000  # that a model is fitted to; more change little
COMMON = 0.95  # of rewards, among the values that repeat: enough for the posterior of a mean
MIN_COUNT, MIN_SHARE = 3, 0.002  # of rewards, that make a value one that repeats
ITERATIONS = 40
STRIDE = 3.0
RIDGE = 1.0  # rewards' worth of evidence for where the fit starts
BETA_PRIOR = 2.0  # prompts' worth of evidence for an even distribution of the path's parameter
BETA_STEPS, BETA_SHAPES = 4, (0.05, 100.0)
SHARE_FLOOR = 0.002  # of the prompts that always draw one value, all values together
CONSTANT, OFF_PATH = 0.05, 0.05  # shares of those prompts, and of those off the path, where the fit starts
RARE = 0.02  # fewer prompts off the path are none
MAX_SCORE = 50.0
SAME = 1e-9  # rewards that are nearer than this are one value

Rewards = tuple[Indices, Values]
"""Rewards of many prompts: which prompt each is of, and the rewards, both of the shape (rewards,)."""


@dataclass(frozen=True)
class ValueModel:
    """How the prompts of a family draw values, each prompt with its own chances.

    Most are on a path through the distributions over `values`: at t it gives value v the chance `exp(b_v + s_v t)`,
    normalised, an exponential family whose scores s are fitted (Anderson, 1984, "Regression and ordered categorical
    variables"). Passes and fails are such a path, and so are K independent cases with any credit, floors, and rounded
    grades. Others always draw the same value. Others again leave the path: their chances have a Dirichlet distribution
    about it (one of `CONCENTRATIONS`), as where the number of cases differs by prompt.

    `values`: ascending, shape (V,). `repeats`: false for the bins of rewards that hardly repeat. `base` and `scores`:
    b and s. `weights`: of states, that is cells, constant prompts by value, and coarse cells by concentration; they
    sum to 1. `exact`: whether nearly all rewards are among the values that repeat, so that means follow from values.
    """

    values: Values
    repeats: Flags
    base: Values
    scores: Values
    weights: Values
    exact: bool

    def count(self, rewards: Rewards, prompts: int) -> Values:
        """Return how often each prompt drew each value, shape (prompts, V)."""
        return count_values(self.values, self.repeats, rewards, prompts)

    def find_states(self, counts: Values) -> Values:
        """Return the posterior chance of each state, shape (prompts, states), by the prompts' counts of values."""
        with np.errstate(divide="ignore"):
            log = self._log_likelihood(counts) + np.log(self.weights)
        chances = np.exp(log - log.max(axis=1, keepdims=True))
        found: Values = chances / chances.sum(axis=1, keepdims=True)
        return found

    def chances_at(self, at: Values) -> Values:
        """Return the path's chance of each value where its parameter is `at`, shape (points, V)."""
        return np.exp(_log_chances(self.base, self.scores, at))

    @cached_property
    def coarse(self) -> Values:
        """The chance of each value in each coarse cell, shape (coarse cells, V)."""
        return self.chances_at(COARSE_CENTRES)

    def split(self, states: Values) -> tuple[Values, Values, Values]:
        """Return the columns of cells, of constant prompts, and of each concentration: (prompts, ..., coarse cells)."""
        cells, size = len(CENTRES), len(self.values)
        apart = states[:, cells + size :].reshape(len(states), len(CONCENTRATIONS), -1)
        return states[:, :cells], states[:, cells : cells + size], apart

    def _log_likelihood(self, counts: Values) -> Values:
        total = counts.sum(axis=1, keepdims=True)
        cells = counts @ _log_chances(self.base, self.scores, CENTRES).T
        constant = np.where(counts == total, 0.0, -np.inf)
        if self.leaves_path:
            apart = [_log_dirichlet(size * self.coarse, counts) for size in CONCENTRATIONS]
        else:
            apart = [np.zeros((len(counts), len(self.coarse)))] * len(CONCENTRATIONS)
        return np.concatenate([cells, constant, *apart], axis=1)

    @cached_property
    def leaves_path(self) -> bool:
        """Whether some prompts are off the path."""
        return bool(self.weights[len(CENTRES) + len(self.values) :].any())


def fit_value_model(rewards: Rewards, prompts: int, ess_per_rollout: float) -> ValueModel | None:
    """Fit a family's values to its rewards: the maximum of the marginal likelihood, by expectation and maximisation.

    In each step the weights are those that are expected, where the path's parameter is the log-odds of a Beta
    distributed variable, and the path takes a Newton step. It starts as that of `ess_per_rollout` independent cases.

    Args:
        rewards: those that count.
        prompts: how many prompts there are.
        ess_per_rollout: as in `VarianceModel`.

    Returns:
        The model; None where there are no rewards.
    """
    if not len(rewards[1]):
        return None
    values, repeats, exact = _find_values(rewards[1])
    counts = count_values(values, repeats, rewards, prompts)
    used = counts.any(axis=0)
    values, repeats, counts = values[used], repeats[used], counts[counts.any(axis=1)][:, used]
    if len(values) == 1:  # another one may come still
        values, repeats = np.array([values[0], float(values[0] < 0.5)]), np.array([True, False])
        order = np.argsort(values)
        values, repeats, counts = values[order], repeats[order], np.pad(counts, ((0, 0), (0, 1)))[:, order]
    # In the order of their means, since every other row of a file may be of one kind.
    order = np.lexsort((*counts.T, counts @ values / counts.sum(axis=1)))
    return _Fit(counts[order[:: -(-len(order) // MAX_PROMPTS)]], values, repeats, ess_per_rollout, exact).run()


def count_values(values: Values, repeats: Flags, rewards: Rewards, prompts: int) -> Values:
    """Return how often each prompt drew each value, shape (prompts, V).

    A reward that is no value that repeats goes to the nearest bin, or where there are none to the nearest value.
    """
    rows, drawn = rewards
    counts = np.zeros((prompts, len(values)))
    if not len(drawn):
        return counts
    alike, bins = np.flatnonzero(repeats), np.flatnonzero(~repeats)
    column = _nearest(values, alike if len(alike) else bins, drawn)
    if len(bins):
        off = np.abs(values[column] - drawn) > SAME
        column = np.where(off, _nearest(values, bins, drawn), column)
    np.add.at(counts, (rows, column), 1.0)
    return counts


class _Fit:
    """The steps of a fit, on counts of shape (prompts, V)."""

    def __init__(self, counts: Values, values: Values, repeats: Flags, ess_per_rollout: float, exact: bool) -> None:
        self.counts, self.values, self.repeats, self.exact = counts, values, repeats, exact
        self.size = size = float(np.clip(ess_per_rollout, 1.0, MAX_SCORE))
        x = size * (values - values[0]) / (values[-1] - values[0])
        base = gammaln(size + 1) - gammaln(x + 1) - gammaln(size - x + 1)
        self.start = np.stack([base - base.mean(), x - x.mean()], axis=1)
        self.discount = [(weight + 1) / (weight + counts.sum(axis=1)) for weight in CONCENTRATIONS]

    def run(self) -> ValueModel:
        shapes, constant = np.ones(2), np.where(self.repeats, CONSTANT / len(self.values), 0.0)
        model = self._model(self.start, self._weights(shapes, constant, np.full(len(CONCENTRATIONS), OFF_PATH / 3)))
        for number in range(ITERATIONS):
            states = model.find_states(self.counts)
            cells, constant, apart = (part.sum(axis=0) for part in model.split(states))
            before = model.weights[len(CENTRES) : len(CENTRES) + len(self.values)]
            constant = np.where(self.repeats, _stride(before, constant / len(states), SHARE_FLOOR / len(before)), 0.0)
            off_path = apart.sum(axis=1) / len(states)
            if number >= ITERATIONS // 4 and off_path.sum() < RARE:
                off_path = np.zeros(len(off_path))
            shapes = _fit_beta(shapes, np.append(cells, apart.sum(axis=0)))
            model = self._model(self._move_path(model, states), self._weights(shapes, constant, off_path))
        return model

    def _weights(self, shapes: Values, constant: Values, off_path: Values) -> Values:
        """Return the weights of states where expit(t) has a Beta distribution of these shapes.

        So the prompts that always failed, but may pass some day, are told from those that always draw one value.
        """
        cells = np.diff(betainc(shapes[0], shapes[1], expit(EDGES)))
        coarse = np.add.reduceat(cells, np.arange(0, len(cells), COARSE))[: len(COARSE_CENTRES)]
        cells, coarse = cells / cells.sum(), coarse / coarse.sum()
        on_path = max(1 - constant.sum() - off_path.sum(), SHARE_FLOOR)
        return np.concatenate([on_path * cells, constant, (off_path[:, None] * coarse).reshape(-1)])

    def _model(self, path: Values, weights: Values) -> ValueModel:
        return ValueModel(self.values, self.repeats, path[:, 0], path[:, 1], weights / weights.sum(), self.exact)

    def _move_path(self, model: ValueModel, states: Values) -> Values:
        """Return base and scores after a Newton step, shape (V, 2)."""
        cells, _, apart = model.split(states)
        at, drawn = CENTRES, cells.T @ self.counts
        for number, discount in enumerate(self.discount):  # rewards off the path tell less of it
            at = np.concatenate([at, COARSE_CENTRES])
            drawn = np.concatenate([drawn, (apart[:, number] * discount[:, None]).T @ self.counts])
        path = np.stack([model.base, model.scores], axis=1)
        chances, total = model.chances_at(at), drawn.sum(axis=1)
        terms = np.stack([np.ones_like(at), at], axis=1)
        products = terms[:, :, None] * terms[:, None, :]
        gradient = (drawn - total[:, None] * chances).T @ terms - RIDGE * (path - self.start)
        size = len(self.values)
        curvature = -np.einsum("lv,lw,lab->vawb", total[:, None] * chances, chances, products, optimize=True)
        diagonal = np.einsum("l,lv,lab->vab", total, chances, products, optimize=True)
        curvature[np.arange(size), :, np.arange(size), :] += diagonal
        flat = curvature.reshape(2 * size, 2 * size) + RIDGE * np.eye(2 * size)
        step = np.linalg.solve(flat, gradient.reshape(-1)).reshape(size, 2)
        moved: Values = path + np.clip(step, -1, 1)
        return moved


def _find_values(rewards: Values) -> tuple[Values, Flags, bool]:
    """Return values and bins in order, which of them repeat, and whether nearly all rewards are among those."""
    values, counts = np.unique(np.round(rewards, 9), return_counts=True)
    common = counts >= max(MIN_COUNT, MIN_SHARE * len(rewards))
    common[np.argsort(-counts, kind="stable")[MAX_VALUES:]] = False
    if counts[common].sum() >= COMMON * len(rewards):
        return values[common], np.ones(int(common.sum()), bool), True
    edges = np.linspace(values[0], values[-1], BINS + 1)
    both = np.concatenate([values[common], (edges[1:] + edges[:-1]) / 2])
    order = np.argsort(both, kind="stable")
    return both[order], order < common.sum(), False


def _nearest(values: Values, among: Indices, rewards: Values) -> Indices:
    """Return the index of the value, of those `among`, that is nearest to each reward."""
    known = values[among]
    after = np.minimum(np.searchsorted(known, rewards), len(known) - 1)
    before = np.maximum(after - 1, 0)
    nearest: Indices = among[np.where(np.abs(known[before] - rewards) <= np.abs(known[after] - rewards), before, after)]
    return nearest


def _log_chances(base: Values, scores: Values, at: Values) -> Values:
    raw = base + scores * at[:, None]
    chances: Values = raw - logsumexp(raw, axis=1, keepdims=True)
    return chances


def _log_dirichlet(shapes: Values, counts: Values) -> Values:
    """Return the Dirichlet-multinomial log-likelihood of sequences with these counts, shape (prompts, cells)."""
    drawn = counts.astype(np.int64)
    steps = np.arange(int(drawn.sum(axis=1).max(initial=0)) + 1.0)
    found = np.zeros((len(counts), len(shapes)))
    for value, shape in enumerate(np.maximum(shapes, 1e-12).T):
        rising = gammaln(shape[None, :] + steps[:, None]) - gammaln(shape)
        found += rising[drawn[:, value]]
    whole = shapes.sum(axis=1)
    rising = gammaln(whole[None, :] + steps[:, None]) - gammaln(whole)
    difference: Values = found - rising[drawn.sum(axis=1)]
    return difference


def _stride(before: Values, after: Values, least: float) -> Values:
    """Return shares after a longer step the same way: by plain ones, shares that hardly tell apart come to rest late.

    Salakhutdinov and Roweis, 2003, "Adaptive overrelaxed bound optimization methods".
    """
    grown = np.clip(after / np.maximum(before, least), 0.5, 1.5) ** STRIDE
    shares: Values = np.clip(np.maximum(before, least) * grown, least, 0.9)
    return shares


def _fit_beta(shapes: Values, weights: Values) -> Values:
    """Return shapes that raise the likelihood of Beta distributed expit(t), by the weights of cells and coarse cells.

    Newton steps in the logarithms of the shapes, from the likelihood's equations (Johnson, Kotz and Balakrishnan, 1995,
    "Continuous Univariate Distributions", section 25.4), and a prior of `BETA_PRIOR` prompts of an even Beta.
    """
    at = np.append(CENTRES, COARSE_CENTRES)
    total = weights.sum() + BETA_PRIOR
    logs = [(weights @ log_expit(sign * at) - BETA_PRIOR) / total for sign in (1, -1)]
    for _ in range(BETA_STEPS):
        whole = polygamma(1, shapes.sum())
        gradient = shapes * (np.array(logs) - digamma(shapes) + digamma(shapes.sum()))
        curvature = np.diag(shapes**2 * polygamma(1, shapes)) - whole * np.outer(shapes, shapes)
        shapes = np.clip(shapes * np.exp(np.clip(np.linalg.solve(curvature, gradient), -1, 1)), *BETA_SHAPES)
    return shapes
