"""Fit which values a family's rewards take, and how often: one path through them, or one for each kind of prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy

import numpy as np
from scipy.special import betainc, digamma, expit, gammaln, log_expit, logsumexp, polygamma

from learnable.filters.arrays import Flags, Values
from learnable.filters.posterior.value_model import (
    COARSE_CELLS,
    COARSE_CENTRES,
    CONCENTRATIONS,
    LOGIT_CENTRES,
    LOGIT_EDGES,
    Rewards,
    ValueModel,
    count_values,
    find_chances,
)

MAX_REPEATED_VALUES = 64
SHARE_FLOOR = 0.002  # of the prompts that always draw one value, all values together

OFF_STEP = 1e-7  # from a multiple of a step: values have nine digits


def fit_value_model(rewards: Rewards, prompts: int, ess_per_rollout: float) -> ValueModel | None:
    """Fit a family's values to its rewards: the maximum of the marginal likelihood, by expectation and maximisation.

    In each step the weights are those that are expected, where the path's parameter is the log-odds of a Beta
    distributed variable, and the path takes a Newton step. It starts as that of `ess_per_rollout` independent cases.
    Where prompts leave that path, their kinds are looked for. Kinds, and prompts that always draw one value, are
    taken to be there where they raise the likelihood by more than they would by chance.

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
    is_drawn = counts.any(axis=0)
    values, repeats, counts = values[is_drawn], repeats[is_drawn], counts[counts.any(axis=1)][:, is_drawn]
    alone = len(values) == 1
    if alone:  # another one may come still
        values, repeats = np.array([values[0], float(values[0] < 0.5)]), np.array([True, False])
        order = np.argsort(values)
        values, repeats, counts = values[order], repeats[order], np.pad(counts, ((0, 0), (0, 1)))[:, order]
    # In the order of their means, since every other row of a file may be of one kind.
    order = np.lexsort((*counts.T, counts @ values / counts.sum(axis=1)))
    # More prompts change little.
    counts = counts[order[:: -(-len(order) // 2_000)]]
    fit = _Fit(counts, values, repeats, ess_per_rollout, exact)
    iterations = 40
    if not exact:
        fit.run(iterations)
        return fit.model
    fit = _choose([fit] if alone else [fit.with_constant(np.zeros_like(repeats)), fit], iterations)
    return _part_kinds(fit).model if fit.model.leaves_path else fit.model


class _Fit:
    """The steps of a fit, on counts of shape (prompts, V).

    `start`: where each kind's path starts, shape (kinds, V, 2). `shapes` and `shares` of each kind. `constant`: the
    values that some prompts may always draw. `alone`: whether there is one path, about which the others are.
    """

    def __init__(self, counts: Values, values: Values, repeats: Flags, ess_per_rollout: float, exact: bool) -> None:
        self.counts, self.values, self.repeats, self.exact = counts, values, repeats, exact
        size = float(np.clip(ess_per_rollout, 1.0, len(values) - 1))  # cases: no more than steps
        x = size * (values - values[0]) / (values[-1] - values[0])
        base = gammaln(size + 1) - gammaln(x + 1) - gammaln(size - x + 1)
        self.start = np.stack([base - base.mean(), x - x.mean()], axis=1)[None]
        self.shapes, self.shares, self.constant, self.alone = np.ones((1, 2)), np.ones(1), repeats, True
        self.discount = [(weight + 1) / (weight + counts.sum(axis=1)) for weight in CONCENTRATIONS]
        self.coarse = find_chances(self.start[0, :, 0], self.start[0, :, 1], COARSE_CENTRES)
        self.likelihood = -np.inf
        self.model: ValueModel = self.with_constant(repeats).model

    def run(self, iterations: int) -> None:
        """Take so many steps."""
        for number in range(iterations):
            self._step(drop_rare=number >= iterations // 4)

    def with_kinds(self, paths: Values, shares: Values) -> _Fit:
        """Return a fit that starts from these paths, one for each kind, and about these shares of the prompts."""
        other = copy(self)
        other.alone, other.start, other.shares = False, paths, shares / shares.sum()
        other.shapes = np.ones((len(paths), 2))
        return other.with_constant(self.repeats)

    def with_constant(self, constant: Flags) -> _Fit:
        """Return a fit that starts as this one, where no prompts always draw one value but of these."""
        other = copy(self)
        other.constant = constant
        # The fit starts with one prompt in twenty that always draws one value, and as many off the path.
        off_path = np.full(len(CONCENTRATIONS), 1 / len(CONCENTRATIONS))
        other.model = other._model(
            self.start,
            np.where(constant, 0.05 / len(constant), 0.0),
            0.05 * off_path,
        )
        return other

    @property
    def worth(self) -> float:
        """The log-likelihood, less what its figures would raise it by (Schwarz, 1978, "Estimating the dimension")."""
        always = int((self.constant_weights > 2 * SHARE_FLOOR / len(self.values)).sum())
        # A kind of K cases takes four figures: which one, its share, and the shapes of its rates.
        figures = always + (0 if self.alone else 4 * len(self.shares))
        return self.likelihood - figures * float(np.log(len(self.counts))) / 2

    @property
    def constant_weights(self) -> Values:
        """The shares of prompts that always draw each value."""
        weights: Values = self.model.split(self.model.weights[None])[1][0]
        return weights

    def _step(self, drop_rare: bool) -> None:
        states, self.likelihood = self.model.weigh_states(self.counts)
        cells, constant, apart = (part.sum(axis=0) for part in self.model.split(states))
        cells = cells.reshape(self.model.kinds, -1)
        before = self.constant_weights
        constant = _stride(before, constant / len(states), SHARE_FLOOR / len(before))
        off_path = apart.sum(axis=1) / len(states)
        # Fewer prompts off the path are none.
        if drop_rare and off_path.sum() < 0.02:
            off_path = np.zeros(len(off_path))
        self.shares = cells.sum(axis=1) / max(cells.sum(), 1e-9)
        others = apart.sum(axis=0) * self.alone
        self.shapes = np.array(
            [_fit_beta(one, np.append(weights, others)) for one, weights in zip(self.shapes, cells, strict=True)]
        )
        path = self._move_paths(states)
        if self.alone:
            self.coarse = find_chances(path[0, :, 0], path[0, :, 1], COARSE_CENTRES)
        self.model = self._model(path, np.where(self.constant, constant, 0.0), off_path)

    def _model(self, path: Values, constant: Values, off_path: Values) -> ValueModel:
        """Return the model with these paths, where expit(t) of each has a Beta distribution of the kind's shapes.

        So the prompts that always failed, but may pass some day, are told from those that always draw one value.
        """
        on_path = max(1 - constant.sum() - off_path.sum(), SHARE_FLOOR)
        cells = np.diff(betainc(self.shapes[:, :1], self.shapes[:, 1:], expit(LOGIT_EDGES)), axis=1)
        cells /= cells.sum(axis=1, keepdims=True)
        coarse = np.add.reduceat(self.shares @ cells, np.arange(0, cells.shape[1], COARSE_CELLS))[: len(COARSE_CENTRES)]
        apart = off_path[:, None] * (coarse / coarse.sum())
        weights = np.concatenate([on_path * (self.shares[:, None] * cells).reshape(-1), constant, apart.reshape(-1)])
        base, scores = path[:, :, 0], path[:, :, 1]
        figures = (self.coarse, weights / weights.sum(), self.exact, float(self.counts.sum()))
        return ValueModel(self.values, self.repeats, base, scores, *figures)

    def _move_paths(self, states: Values) -> Values:
        """Return base and scores of each kind after a Newton step, shape (kinds, V, 2)."""
        cells, _, apart = self.model.split(states)
        at, drawn = LOGIT_CENTRES, (cells.T @ self.counts).reshape(self.model.kinds, len(LOGIT_CENTRES), -1)
        if self.alone:
            for number, discount in enumerate(self.discount):  # rewards off the path tell less of it
                at = np.concatenate([at, COARSE_CENTRES])
                more = (apart[:, number] * discount[:, None]).T @ self.counts
                drawn = np.concatenate([drawn, more[None]], axis=1)
        paths = np.stack([self.model.base, self.model.scores], axis=2)
        kinds = zip(paths, self.start, drawn, strict=True)
        return np.stack([_move_path(path, start, at, counts) for path, start, counts in kinds])


def _part_kinds(fit: _Fit) -> _Fit:
    """Part the prompts into kinds by how many cases judge them, each kind with a path of its own, where that pays.

    Of all the numbers of cases and credits that the values allow, those are taken that many prompts show.
    """
    paths = np.array(list(_list_cases(fit.values)))
    shares = _find_shares(fit, paths)
    # At most eight kinds, each of 0.02 of the prompts or more.
    common = np.argsort(-shares, kind="stable")[: min(8, int((shares >= 0.02).sum()))]
    if not len(common):
        return fit
    parted = fit.with_kinds(paths[common], shares[common])
    return _choose([parted.with_constant(np.zeros_like(fit.repeats)), parted], 15, fit)


def _choose(fits: Sequence[_Fit], steps: int, *before: _Fit) -> _Fit:
    """Take so many steps of each fit, and return the one, or of those `before`, that is worth most."""
    for fit in fits:
        fit.run(steps)
    return max([*before, *fits], key=lambda fit: fit.worth)


def _list_cases(values: Values) -> Iterator[Values]:
    """Yield the path of each number of cases whose rewards are all among the values, shape (V, 2).

    The smallest value is that of no case passed, the largest of all; between them each case adds the same step.
    """
    yield _path_of_cases(values, values[[0, -1]])
    inner = values[1:-1]
    for step in inner - values[0]:
        for cases in range(2, MAX_REPEATED_VALUES):
            lattice = values[0] + step * np.arange(cases)
            if np.abs(inner - lattice[-1]).min() > OFF_STEP:
                break
            yield _path_of_cases(values, np.append(lattice, values[-1]))


def _path_of_cases(values: Values, lattice: Values) -> Values:
    """Return base and scores where only the values of a lattice come, as often as k of K independent cases pass."""
    passed = np.arange(len(lattice), dtype=np.float64)
    cases = passed[-1]
    ways = gammaln(cases + 1) - gammaln(passed + 1) - gammaln(cases - passed + 1)
    base, scores = np.interp(values, lattice, ways), np.interp(values, lattice, passed)
    # By how much less likely, in logarithms, a value is that so many cases cannot give.
    base -= np.where(np.abs(values[:, None] - lattice).min(axis=1) > OFF_STEP, 14.0, 0.0)
    return np.stack([base, scores], axis=1)


def _find_shares(fit: _Fit, paths: Values) -> Values:
    """Return the share of prompts of each kind, beside those that always draw one value or leave the path."""
    weights = np.diff(expit(LOGIT_EDGES))
    weights = np.add.reduceat(weights, np.arange(0, len(weights), COARSE_CELLS))[: len(COARSE_CENTRES)]
    log_weights = np.log(weights / weights.sum())
    cells = (np.log(find_chances(path[:, 0], path[:, 1], COARSE_CENTRES)) for path in paths)
    columns = [logsumexp(fit.counts @ chances.T + log_weights, axis=1) for chances in cells]
    _, constant, apart = fit.model.split(np.exp(fit.model.log_likelihood(fit.counts)))
    with np.errstate(divide="ignore"):
        others = [np.log(part) for part in (*constant.T, *(apart @ weights).T)]
    log = np.stack([*columns, *others], axis=1)
    likelihood = np.exp(log - log.max(axis=1, keepdims=True))
    shares = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(200):
        shares = shares * (likelihood / (likelihood @ shares)[:, None]).mean(axis=0)
    return shares[: len(paths)]


def _move_path(path: Values, start: Values, at: Values, drawn: Values) -> Values:
    """Return a path after a Newton step, shape (V, 2): `drawn` are counts of each value, shape (points, V)."""
    chances, total = find_chances(path[:, 0], path[:, 1], at), drawn.sum(axis=1)
    terms = np.stack([np.ones_like(at), at], axis=1)
    products = terms[:, :, None] * terms[:, None, :]
    ridge = 1.0  # rewards' worth of evidence for where the fit starts
    gradient = (drawn - total[:, None] * chances).T @ terms - ridge * (path - start)
    size = len(path)
    curvature = np.zeros((size, 2, size, 2))
    for a, b in ((0, 0), (0, 1), (1, 1)):
        weighted = (total * products[:, a, b])[:, None] * chances
        part = np.diag(weighted.sum(axis=0)) - weighted.T @ chances
        curvature[:, a, :, b] = curvature[:, b, :, a] = part
    flat = curvature.reshape(2 * size, 2 * size) + ridge * np.eye(2 * size)
    step = np.linalg.solve(flat, gradient.reshape(-1)).reshape(size, 2)
    moved: Values = path + np.clip(step, -1, 1)
    return moved


def _find_values(rewards: Values) -> tuple[Values, Flags, bool]:
    """Return values and bins in order, which of them repeat, and whether nearly all rewards are among those."""
    values, counts = np.unique(np.round(rewards, 9), return_counts=True)
    # Of rewards, that make a value one that repeats.
    common = counts >= max(3, 0.002 * len(rewards))
    common[np.argsort(-counts, kind="stable")[MAX_REPEATED_VALUES:]] = False
    # Enough for the posterior of a mean.
    if counts[common].sum() >= 0.95 * len(rewards):
        return values[common], np.ones(int(common.sum()), bool), True
    edges = np.linspace(values[0], values[-1], 24 + 1)
    both = np.concatenate([values[common], (edges[1:] + edges[:-1]) / 2])
    order = np.argsort(both, kind="stable")
    return both[order], order < common.sum(), False


def _stride(before: Values, after: Values, least: float) -> Values:
    """Return shares after a longer step the same way: by plain ones, shares that hardly tell apart come to rest late.

    Salakhutdinov and Roweis, 2003, "Adaptive overrelaxed bound optimization methods".
    """
    grown = np.clip(after / np.maximum(before, least), 0.5, 1.5) ** 3.0
    shares: Values = np.clip(np.maximum(before, least) * grown, least, 0.9)
    return shares


def _fit_beta(shapes: Values, weights: Values) -> Values:
    """Return shapes that raise the likelihood of Beta distributed expit(t), by the weights of cells and coarse cells.

    Newton steps in the logarithms of the shapes, from the likelihood's equations (Johnson, Kotz and Balakrishnan, 1995,
    "Continuous Univariate Distributions", section 25.4), and a prior of two prompts of an even Beta.
    """
    at = np.append(LOGIT_CENTRES, COARSE_CENTRES)
    prior = 2.0  # prompts' worth of evidence for an even distribution of the path's parameter
    total = weights.sum() + prior
    logs = [(weights @ log_expit(sign * at) - prior) / total for sign in (1, -1)]
    for _ in range(4):
        trigamma = polygamma(1, shapes.sum())
        gradient = shapes * (np.array(logs) - digamma(shapes) + digamma(shapes.sum()))
        curvature = np.diag(shapes**2 * polygamma(1, shapes)) - trigamma * np.outer(shapes, shapes)
        shapes = np.clip(shapes * np.exp(np.clip(np.linalg.solve(curvature, gradient), -1, 1)), *(0.05, 100.0))
    return shapes
