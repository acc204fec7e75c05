"""What a prompt's counts of values say of its mean, its standard deviation, and of the groups it will give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betainc, chdtrc, gammaln

from learnable.filters.arrays import Indices, Values
from learnable.filters.band import Band
from learnable.filters.posterior.belief import MAX_SIZE, MIN_VARIANCE, Moments, fit_beta
from learnable.filters.posterior.value_model import CENTRES, CONCENTRATIONS, EDGES, Rewards, ValueModel

COVERAGE = 0.9
RESOLUTION = 0.0005  # of a mean or a standard deviation
SAME = 1e-9  # nearer to an end of the band than this is in it
UNSEEN = 1e-4  # a smaller chance of being off the path changes no figure
FINE = 16  # points of a cell at which it is in the band or not
POINTS_AT_ONCE = 4_000_000  # chances in memory


@dataclass(frozen=True)
class ValuePosterior:
    """The posteriors of many prompts of one family: `counts` of values, and `states`, the chance of each.

    In a cell the path's parameter is evenly distributed between the edges, and so, about, are mean and standard
    deviation. The mean of a prompt off the path has the Beta distribution of its posterior's mean and variance, between
    the smallest and the largest value.
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
        inside = (mean >= low) & (mean <= high) & (std >= min_std - SAME)
        values = (self.model.values >= low) & (self.model.values <= high) & (min_std <= 0)
        chance: Values = cells @ inside.reshape(-1, FINE).mean(axis=1) + constant @ values
        rows, weight = self._apart_rows
        both = np.diff(self._apart_means(rows, np.array([low, high])), axis=1)[:, 0]
        chance[rows] += weight * both * (1 - self._apart_stds(rows, np.array([min_std]))[:, 0])
        return np.clip(chance, 0.0, 1.0)

    def interval(self, coverage: float = COVERAGE) -> tuple[Values, Values]:
        """Return the ends of the interval that holds the mean reward with this chance.

        It is central, but where the smallest or the largest value is in it anyway: there the other side alone is left
        out. Its ends are `RESOLUTION` further out, since the model tells no nearer means apart.
        """
        mean, _ = _moments_at(self.model, EDGES)
        return self._quantiles(mean, self.model.values, self._apart_means, coverage)

    def std_interval(self, coverage: float = COVERAGE) -> tuple[Values, Values]:
        """Return the ends of the central interval that holds the standard deviation with this chance."""
        _, std = _moments_at(self.model, EDGES)
        return self._quantiles(std, np.zeros(len(self.model.values)), self._apart_stds, coverage)

    def zero_std_share(self, group_size: int) -> Values:
        """Return the chance that a group of so many rewards agrees.

        On the path it is the sum of the G-th powers of the values' chances; off it their expectation under a Dirichlet
        posterior.
        """
        repeats = self.model.repeats
        cells, constant, apart = self.model.split(self.states)
        share = cells @ (self.model.chances_at(CENTRES)[:, repeats] ** group_size).sum(axis=1) + constant.sum(axis=1)
        rows, _ = self._apart_rows
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
        weight, mean, square, _ = self._apart
        mean = cells @ at + constant @ values + weight * mean
        square = cells @ at**2 + constant @ values**2 + weight * square
        rest = np.maximum(1 - zero - one, MIN_VARIANCE)
        mean = np.clip((mean - one) / rest, MIN_VARIANCE, 1 - MIN_VARIANCE)
        return Moments(*fit_beta(mean, (square - one) / rest - mean**2), zero, one)

    @cached_property
    def _apart(self) -> tuple[Values, Values, Values, Values]:
        """Of a prompt off the path: the chance that it is, its mean and mean square of the mean, and its variance."""
        _, _, apart = self.model.split(self.states)
        values, n = self.model.values, self.counts.sum(axis=1)[:, None]
        first, second = (self.counts @ values)[:, None], (self.counts @ values**2)[:, None]
        sums = np.zeros((4, len(self.counts)))
        for number, size in enumerate(CONCENTRATIONS):
            weight = apart[:, number]
            mean = (first + size * (self.model.coarse @ values)) / (n + size)
            variance = np.maximum((second + size * (self.model.coarse @ values**2)) / (n + size) - mean**2, 0.0)
            square = mean**2 + variance / (n + size + 1)
            own = variance * (n + size) / (n + size + 1)
            sums += [(weight * part).sum(axis=1) for part in (np.ones_like(mean), mean, square, own)]
        weight = sums[0]
        mean, square, own = sums[1:] / np.maximum(weight, 1e-300)
        return weight, mean, square, own

    @cached_property
    def _apart_rows(self) -> tuple[Indices, Values]:
        """The prompts that may be off the path, and the chances that they are."""
        weight = self._apart[0]
        rows = np.flatnonzero(weight > UNSEEN)
        return rows, weight[rows]

    def _apart_means(self, rows: Indices, points: Values) -> Values:
        """Return the chance that the mean of prompts off the path is at most each point, shape (rows, points)."""
        _, mean, square, _ = (part[rows][:, None] for part in self._apart)
        low, width = self.model.values[0], self.model.values[-1] - self.model.values[0]
        share = np.clip((mean - low) / width, MIN_VARIANCE, 1 - MIN_VARIANCE)
        variance = np.maximum(square - mean**2, MIN_VARIANCE) / width**2
        size = np.clip(share * (1 - share) / variance - 1, 1e-3, MAX_SIZE)
        below: Values = betainc(share * size, (1 - share) * size, np.clip((points - low) / width, 0, 1))
        return below

    def _apart_stds(self, rows: Indices, points: Values) -> Values:
        """Return the same for the standard deviation: its square is a scaled inverse chi-squared variable."""
        variance = np.maximum(self._apart[3][rows][:, None], MIN_VARIANCE)
        freedom = np.maximum(self.counts[rows].sum(axis=1)[:, None], 1.0)
        squares = np.maximum(points**2, 1e-300)
        below: Values = np.where(points > 0, chdtrc(freedom, freedom * variance / squares), 0.0)
        return below

    def _quantiles(
        self, edges: Values, constants: Values, apart: Callable[[Indices, Values], Values], coverage: float
    ) -> tuple[Values, Values]:
        """Return the ends of central intervals of a figure: `edges` of the cells, `constants` by value, and `apart`."""
        paths = edges.reshape(self.model.kinds, -1)
        ends_of_cells = np.stack([paths[:, :-1].reshape(-1), paths[:, 1:].reshape(-1)])
        low, high = ends_of_cells.min(axis=0)[:, None], ends_of_cells.max(axis=0)[:, None]
        some = paths[:, :: self.model.kinds].reshape(-1)  # of several paths fewer each: together they lie close enough
        points = np.unique(np.concatenate([some, paths[:, -1], constants, constants - SAME]))
        cells = np.clip((points - low) / np.maximum(high - low, SAME / 2), 0, 1)
        below = np.concatenate([cells, (constants[:, None] <= points).astype(np.float64)])
        ends = np.empty((2, len(self.states)))
        rows, weight = self._apart_rows
        step = max(POINTS_AT_ONCE // len(points), 1)
        for first in range(0, len(self.states), step):
            part = slice(first, first + step)
            chances = self.states[part, : len(below)] @ below
            mine = (rows >= first) & (rows < first + step)
            chances[rows[mine] - first] += weight[mine][:, None] * apart(rows[mine], points)
            ends[:, part] = _find_ends(points, chances, coverage)
        return np.maximum(ends[0] - RESOLUTION, 0.0), np.minimum(ends[1] + RESOLUTION, 1.0)


def _moments_at(model: ValueModel, at: Values) -> tuple[Values, Values]:
    """Return mean and standard deviation on the path."""
    chances, values = model.chances_at(at), model.values
    mean = chances @ values
    return mean, np.sqrt(np.maximum(chances @ values**2 - mean**2, 0.0))


def _find_ends(points: Values, chances: Values, coverage: float) -> tuple[Values, Values]:
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
