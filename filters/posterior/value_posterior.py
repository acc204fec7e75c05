"""What a prompt's counts of values say of its mean, its standard deviation, and of the groups it will give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betainc, gammaln

from learnable.filters.arrays import Indices, Values
from learnable.filters.band import Band
from learnable.filters.posterior.belief import MAX_SIZE, MIN_VARIANCE, Moments, fit_beta
from learnable.filters.posterior.value_model import CENTRES, CONCENTRATIONS, EDGES, Rewards, ValueModel

COVERAGE = 0.9
RESOLUTION = 0.0005  # of a mean or a standard deviation
SAME = 1e-9  # nearer to an end of the band than this is in it
FINE = 16  # points of a cell at which it is in the band or not
UNSEEN = 1e-4  # a smaller chance changes no figure

Ends = tuple[Values, Values]
Below = Callable[[Values], Values]


@dataclass(frozen=True)
class ValuePosterior:
    """The posteriors of many prompts of one family: `counts` of values, and `states`, the chance of each.

    In a cell the path's parameter is evenly distributed between the edges, and so, about, are mean and standard
    deviation, the latter `_reach` beyond them. Mean and variance of a prompt off the path have the Beta distributions
    of their posterior's moments, between the smallest and the largest that the values allow.
    """

    model: ValueModel
    counts: Values
    states: Values

    @classmethod
    def of(cls, model: ValueModel, rewards: Rewards, prompts: int) -> ValuePosterior:
        """Return the posteriors of so many prompts by their rewards."""
        counts = model.count(rewards, prompts)
        return cls(model, counts, model.find_states(counts))

    def in_band(self, band: Band, min_std: float = 0.0) -> Values:
        """Return the chance that the mean is in the band, its ends included, and the standard deviation `min_std`."""
        low, high = band.low - SAME, band.high + SAME
        cells, constant, _ = self.model.split(self.states)
        fine = np.linspace(EDGES[:-1], EDGES[1:], FINE, endpoint=False, axis=1) + np.diff(EDGES)[:, None] / (2 * FINE)
        mean, std = _moments_at(self.model, fine.reshape(-1))
        reach = self._reach * std
        enough = np.clip((std + reach - min_std + SAME) / np.maximum(2 * reach, SAME), 0, 1)
        inside = ((mean >= low) & (mean <= high)) * enough
        values = (self.model.values >= low) & (self.model.values <= high) & (min_std <= 0)
        chance: Values = cells @ inside.reshape(-1, FINE).mean(axis=1) + constant @ values
        both = np.diff(self._apart_means(np.array([low, high])), axis=1)[:, 0]
        chance[self._rows] += self._apart[0][self._rows] * both * (1 - self._apart_stds(np.array([min_std]))[:, 0])
        return np.clip(chance, 0.0, 1.0)

    def interval(self, coverage: float = COVERAGE) -> Ends:
        """Return the ends of the interval that holds the mean reward with this chance.

        It is central, but where the smallest or the largest value is in it anyway: there the other side alone is left
        out. Its ends are `RESOLUTION` further out, since the model tells no nearer means apart.
        """
        mean, _ = _moments_at(self.model, EDGES)
        return self._quantiles(mean, self.model.values, self._apart_means, coverage, 0.0)

    def std_interval(self, coverage: float = COVERAGE) -> Ends:
        """Return the ends of the central interval that holds the standard deviation with this chance."""
        _, std = _moments_at(self.model, EDGES)
        return self._quantiles(std, np.zeros(len(self.model.values)), self._apart_stds, coverage, self._reach)

    def zero_std_share(self, group_size: int) -> Values:
        """Return the chance that a group of so many rewards agrees.

        On the path it is the sum of the G-th powers of the values' chances; off it their expectation under a Dirichlet
        posterior.
        """
        repeats = self.model.repeats
        cells, constant, apart = self.model.split(self.states)
        share = cells @ (self.model.chances_at(CENTRES)[:, repeats] ** group_size).sum(axis=1) + constant.sum(axis=1)
        rows = self._rows
        for number, size in enumerate(CONCENTRATIONS):
            total = self.counts[rows].sum(axis=1)[:, None] + size
            agree = np.zeros_like(apart[rows, number])
            for value in np.flatnonzero(repeats):
                shape = self.counts[rows, value][:, None] + size * self.model.coarse[:, value]
                agree += np.exp(gammaln(shape + group_size) - gammaln(shape))
            agree *= np.exp(gammaln(total) - gammaln(total + group_size))
            share[rows] += (apart[rows, number] * agree).sum(axis=1)
        capped: Values = np.minimum(share, 1.0)
        return capped

    def to_moments(self) -> Moments:
        """Return the posterior of the mean as masses at 0 and 1 and a Beta distribution with the others' moments."""
        cells, constant, _ = self.model.split(self.states)
        values = self.model.values
        zero, one = (constant[:, values == end].sum(axis=1) for end in (0.0, 1.0))
        at, _ = _moments_at(self.model, CENTRES)
        weight, mean, _, square, _ = self._apart
        mean = cells @ at + constant @ values + weight * mean
        square = cells @ at**2 + constant @ values**2 + weight * square
        rest = np.maximum(1 - zero - one, MIN_VARIANCE)
        mean = np.clip((mean - one) / rest, MIN_VARIANCE, 1 - MIN_VARIANCE)
        return Moments(*fit_beta(mean, (square - one) / rest - mean**2), zero, one)

    @cached_property
    def _reach(self) -> float:
        """How far off the paths' standard deviations may be, as a share, where any such error is as likely.

        Where a path gives V values, V - 2 of its figures say how much rewards vary at each mean. A standard deviation
        by n normal variables has the relative variance 1 / 2n.
        """
        chances = self.model.chances_at(CENTRES).reshape(self.model.kinds, len(CENTRES), -1)
        figures = np.maximum((chances.max(axis=1) > UNSEEN).sum(axis=1) - 2, 0).sum()
        return min(float(np.sqrt(3 * figures / (2 * self.model.fitted_to))), 1.0)

    @cached_property
    def _apart(self) -> Values:
        """Of a prompt off the path: the chance that it is, its mean and variance, and the mean squares of both.

        About the variance of a variable whose chances have a Dirichlet distribution: the delta method.
        """
        _, _, apart = self.model.split(self.states)
        powers = self.model.values[:, None] ** np.arange(1, 5)
        n, drawn, typical = self.counts.sum(axis=1)[:, None], self.counts @ powers, self.model.coarse @ powers
        sums = np.zeros((5, len(self.counts)))
        for number, size in enumerate(CONCENTRATIONS):
            mean, second, third, fourth = ((drawn[:, [k]] + size * typical[:, k]) / (n + size) for k in range(4))
            variance = np.maximum(second - mean**2, 0.0)
            fourth = fourth - 4 * mean * third + 6 * mean**2 * second - 3 * mean**4  # about the mean
            of_mean = variance / (n + size + 1)
            own = variance - of_mean
            of_own = np.maximum(fourth - variance**2, 0.0) / (n + size + 1) + 2 * of_mean**2
            parts = (np.ones_like(mean), mean, own, mean**2 + of_mean, own**2 + of_own)
            sums += [(apart[:, number] * part).sum(axis=1) for part in parts]
        sums[1:] /= np.maximum(sums[0], 1e-300)
        return sums

    @cached_property
    def _rows(self) -> Indices:
        """The prompts that may be off the path."""
        return np.flatnonzero(self._apart[0] > UNSEEN)

    def _apart_means(self, points: Values) -> Values:
        """Return the chance that the mean of prompts off the path is at most each point, shape (`_rows`, points)."""
        low, width = self.model.values[0], self.model.values[-1] - self.model.values[0]
        mean, square = self._apart[[1, 3]][:, self._rows]
        return _beta_below((mean - low) / width, (square - mean**2) / width**2, (points - low) / width)

    def _apart_stds(self, points: Values) -> Values:
        """Return the same for the standard deviation: its square, as a share of the largest one, has a Beta too."""
        largest = (self.model.values[-1] - self.model.values[0]) ** 2 / 4
        mean, square = self._apart[[2, 4]][:, self._rows]
        return _beta_below(mean / largest, (square - mean**2) / largest**2, np.maximum(points, 0) ** 2 / largest)

    def _quantiles(self, edges: Values, constants: Values, apart: Below, coverage: float, reach: float) -> Ends:
        """Return the ends of central intervals of a figure: `edges` of the cells, `constants` by value, and `apart`."""
        paths = edges.reshape(self.model.kinds, -1)
        ends_of_cells = np.stack([paths[:, :-1].reshape(-1), paths[:, 1:].reshape(-1)])
        low, high = (1 - reach) * ends_of_cells.min(axis=0)[:, None], (1 + reach) * ends_of_cells.max(axis=0)[:, None]
        some = paths[:, :: self.model.kinds].reshape(-1)  # of several paths fewer each: together they lie close enough
        top = max(float(high.max()), float(np.ptp(self.model.values)) / 2)  # prompts off the path vary more than it
        beyond = np.append(np.linspace(edges.max(), high.max(), 5), np.linspace(high.max(), top, 25))
        points = np.unique(np.concatenate([some, paths[:, -1], beyond, constants, constants - SAME]))
        cells = np.clip((points - low) / np.maximum(high - low, SAME / 2), 0, 1)
        below = np.concatenate([cells, (constants[:, None] <= points).astype(np.float64)])
        chances = self.states[:, : len(below)] @ below
        chances[self._rows] += self._apart[0][self._rows, None] * apart(points)
        first, last = _find_ends(points, chances, coverage)
        return np.maximum(first - RESOLUTION, 0.0), np.minimum(last + RESOLUTION, 1.0)


def _moments_at(model: ValueModel, at: Values) -> tuple[Values, Values]:
    """Return mean and standard deviation on the path."""
    chances, values = model.chances_at(at), model.values
    mean = chances @ values
    return mean, np.sqrt(np.maximum(chances @ values**2 - mean**2, 0.0))


def _beta_below(mean: Values, variance: Values, points: Values) -> Values:
    """Return distribution functions of Beta variables of these moments at each point, shape (rows, points)."""
    mean = np.clip(mean, MIN_VARIANCE, 1 - MIN_VARIANCE)[:, None]
    size = np.clip(mean * (1 - mean) / np.maximum(variance, MIN_VARIANCE)[:, None] - 1, 1e-3, MAX_SIZE)
    below: Values = betainc(mean * size, (1 - mean) * size, np.clip(points, 0, 1))
    return below


def _find_ends(points: Values, chances: Values, coverage: float) -> Ends:
    """Return the ends of intervals, from distribution functions at points that ascend."""
    tail = (1 - coverage) / 2
    near = np.searchsorted(points, [points[0] + RESOLUTION, points[-1] - RESOLUTION])
    holds_low, holds_high = chances[:, near[0]] >= tail, 1 - chances[:, near[1] - 1] >= tail
    low = np.where(holds_high, _invert(points, chances, 2 * tail), _invert(points, chances, tail))
    high = np.where(holds_low, _invert(points, chances, 1 - 2 * tail), _invert(points, chances, 1 - tail))
    return np.where(holds_low, points[0], low), np.where(holds_high, points[-1], high)


def _invert(points: Values, chances: Values, q: float) -> Values:
    """Return where each row of a distribution function reaches `q`, on straight lines between the points."""
    after = np.argmax(chances >= q - SAME, axis=1)
    before, rows = np.maximum(after - 1, 0), np.arange(len(chances))
    at_before, at_after = chances[rows, before], chances[rows, after]
    share = np.clip((q - at_before) / np.maximum(at_after - at_before, SAME), 0, 1)
    found: Values = points[before] + (points[after] - points[before]) * share
    return found
