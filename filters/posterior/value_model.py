"""Which values a family's rewards take, and how often at each mean: for rewards that repeat, as partial credit does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln, logsumexp

from learnable.filters.arrays import Flags, Indices, Values

SAME_VALUE = 1e-9  # rewards, or a reward and an end of the band, that are nearer than this are one

# Cells of a path's parameter, which is about the log-odds of a pass: fine in the middle, coarse where all is said.
LOGIT_EDGES = np.concatenate([np.arange(-14, -6, 0.2), np.arange(-60, 60) / 10, np.arange(6, 14.1, 0.2)])
LOGIT_CENTRES = (LOGIT_EDGES[1:] + LOGIT_EDGES[:-1]) / 2
CONCENTRATIONS = (32.0, 8.0, 2.0)  # rewards that the path counts for, where prompts leave it
COARSE_CELLS = 6  # cells that are one to those prompts
COARSE_CENTRES = LOGIT_CENTRES[COARSE_CELLS // 2 :: COARSE_CELLS]


Rewards = tuple[Indices, Values]
"""Rewards of many prompts: which prompt each is of, and the rewards, both of the shape (rewards,)."""


@dataclass(frozen=True)
class ValueModel:
    """How the prompts of a family draw values, each prompt with its own chances.

    Most are on a path through the distributions over `values`: at t it gives value v the chance `exp(b_v + s_v t)`,
    normalised, an exponential family whose scores s are fitted (Anderson, 1984, "Regression and ordered categorical
    variables"). Passes and fails are such a path, and so are K independent cases with any credit, floors, and rounded
    grades. Where a family has several kinds of prompts, as with different numbers of cases, each kind has a path of its
    own. Others always draw the same value. Others again leave the paths: their chances have a Dirichlet distribution
    (one of `CONCENTRATIONS`) about the path that one kind alone would have.

    `values`: ascending, shape (V,). `repeats`: false for the bins of rewards that hardly repeat. `base` and `scores`:
    b and s, shape (kinds, V). `coarse`: the chance of each value in each coarse cell, shape (coarse cells, V).
    `weights`: of states, that is cells by kind, constant prompts by value, and coarse cells by concentration; they sum
    to 1. `exact`: whether nearly all rewards are among the values that repeat, so that means follow from values.
    `fitted_to`: rewards.
    """

    values: Values
    repeats: Flags
    base: Values
    scores: Values
    coarse: Values
    weights: Values
    exact: bool
    fitted_to: float = np.inf

    @property
    def kinds(self) -> int:
        """How many paths there are."""
        return len(self.base)

    def weigh_states(self, counts: Values) -> tuple[Values, float]:
        """Return the posterior chance of each state, shape (prompts, states), and the log-likelihood of all counts."""
        with np.errstate(divide="ignore"):
            log = self.log_likelihood(counts) + np.log(self.weights)
        top = log.max(axis=1, keepdims=True)
        chances = np.exp(log - top)
        total = chances.sum(axis=1, keepdims=True)
        return chances / total, float((top + np.log(total)).sum())

    def chances_at(self, at: Values) -> Values:
        """Return each path's chance of each value where its parameter is `at`, shape (kinds x points, V)."""
        return np.concatenate([find_chances(*path, at) for path in zip(self.base, self.scores, strict=True)])

    def split(self, states: Values) -> tuple[Values, Values, Values]:
        """Return the columns of cells, of constant prompts, and of each concentration: (prompts, ..., coarse cells)."""
        cells, size = self.kinds * len(LOGIT_CENTRES), len(self.values)
        apart = states[:, cells + size :].reshape(len(states), len(CONCENTRATIONS), len(self.coarse))
        return states[:, :cells], states[:, cells : cells + size], apart

    def log_likelihood(self, counts: Values) -> Values:
        """Return the log-likelihood of each prompt's counts in each state, shape (prompts, states)."""
        total = counts.sum(axis=1, keepdims=True)
        cells = counts @ self._log_cells.T
        constant = np.where(counts == total, 0.0, -np.inf)
        if self.leaves_path:
            apart = [_log_dirichlet(size * self.coarse, counts) for size in CONCENTRATIONS]
        else:
            apart = [np.zeros((len(counts), len(self.coarse)))] * len(CONCENTRATIONS)
        return np.concatenate([cells, constant, *apart], axis=1)

    @cached_property
    def leaves_path(self) -> bool:
        """Whether some prompts are off the paths."""
        return bool(self.weights[self.kinds * len(LOGIT_CENTRES) + len(self.values) :].any())

    @cached_property
    def _log_cells(self) -> Values:
        paths = zip(self.base, self.scores, strict=True)
        return np.concatenate([_log_chances(base, scores, LOGIT_CENTRES) for base, scores in paths])


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
        off = np.abs(values[column] - drawn) > SAME_VALUE
        column = np.where(off, _nearest(values, bins, drawn), column)
    np.add.at(counts, (rows, column), 1.0)
    return counts


def _nearest(values: Values, among: Indices, rewards: Values) -> Indices:
    """Return the index of the value, of those `among`, that is nearest to each reward."""
    known = values[among]
    after = np.minimum(np.searchsorted(known, rewards), len(known) - 1)
    before = np.maximum(after - 1, 0)
    nearest: Indices = among[np.where(np.abs(known[before] - rewards) <= np.abs(known[after] - rewards), before, after)]
    return nearest


def find_chances(base: Values, scores: Values, at: Values) -> Values:
    """Return a path's chance of each value where its parameter is `at`, shape (points, V)."""
    return np.exp(_log_chances(base, scores, at))


def _log_chances(base: Values, scores: Values, at: Values) -> Values:
    raw = base + scores * at[:, None]
    chances: Values = raw - logsumexp(raw, axis=1, keepdims=True)
    return chances


def _log_dirichlet(shapes: Values, counts: Values) -> Values:
    """Return the Dirichlet-multinomial log-likelihood of sequences with these counts, shape (prompts, cells)."""
    drawn = counts.astype(np.int64)
    steps = np.arange(int(drawn.sum(axis=1).max(initial=0)) + 1.0)
    logs = np.zeros((len(counts), len(shapes)))
    # Of each value no further than any prompt drew it: these logarithms take most of a fit.
    most = drawn.max(axis=0, initial=0)
    for value in np.flatnonzero(most):
        shape = np.maximum(shapes[:, value], 1e-12)
        rising = gammaln(shape[None, :] + steps[: most[value] + 1, None]) - gammaln(shape)
        logs += rising[drawn[:, value]]
    totals = shapes.sum(axis=1)
    rising = gammaln(totals[None, :] + steps[:, None]) - gammaln(totals)
    difference: Values = logs - rising[drawn.sum(axis=1)]
    return difference
