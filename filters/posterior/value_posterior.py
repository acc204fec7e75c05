"""What a prompt's counts of values say of its mean, its standard deviation, and of the groups it will give."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betainc, gammaln

from learnable.data.band import Band
from learnable.filters.arrays import Indices, Values
from learnable.filters.posterior.belief import MIN_VARIANCE, RATE_EDGES, RATE_GRID, Belief, fit_beta
from learnable.filters.posterior.value_model import (
    CONCENTRATIONS,
    LOGIT_CENTRES,
    LOGIT_EDGES,
    SAME_VALUE,
    Rewards,
    ValueModel,
    count_values,
)

NEGLIGIBLE_CHANCE = 1e-4  # a smaller chance changes no figure


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
        counts = count_values(model.values, model.repeats, rewards, prompts)
        return cls(model, counts, model.weigh_states(counts)[0])

    def in_band(self, band: Band, min_std: float = 0.0) -> Values:
        """Return the chance that the mean is in the band, its ends included, and the standard deviation `min_std`."""
        low, high = band.low - SAME_VALUE, band.high + SAME_VALUE
        cells, constant, _ = self.model.split(self.states)
        points = 16  # points of a cell at which it is in the band or not
        fine = np.linspace(LOGIT_EDGES[:-1], LOGIT_EDGES[1:], points, endpoint=False, axis=1)
        fine = fine + np.diff(LOGIT_EDGES)[:, None] / (2 * points)
        mean, std = _moments_at(self.model, fine.reshape(-1))
        reach = self._reach * std
        enough = np.clip((std + reach - min_std + SAME_VALUE) / np.maximum(2 * reach, SAME_VALUE), 0, 1)
        inside = ((mean >= low) & (mean <= high)) * enough
        values = (self.model.values >= low) & (self.model.values <= high) & (min_std <= 0)
        chance: Values = cells @ inside.reshape(-1, points).mean(axis=1) + constant @ values
        both = np.diff(self._apart_means(np.array([low, high])), axis=1)[:, 0]
        chance[self._rows] += self._apart[0][self._rows] * both * (1 - self._apart_stds(np.array([min_std]))[:, 0])
        return np.clip(chance, 0.0, 1.0)

    @cached_property
    def belief(self) -> Belief:
        """What is believed of the means."""
        mean, _ = _moments_at(self.model, LOGIT_EDGES)
        values = self.model.values
        width = np.interp(values, RATE_GRID[1:-1], np.diff(RATE_EDGES)) / 2
        low = np.where(values <= 0, -1.0, np.where(values >= 1, 1.0, values - width))
        always = np.stack([low, low + np.where((values <= 0) | (values >= 1), 1.0, 2 * width)])
        return self._on_grid(mean, 0.0, always, self._apart_means(RATE_EDGES))

    def std_interval(self, coverage: float = 0.9) -> tuple[Values, Values]:
        """Return the ends of the central interval that holds the standard deviation, at most .5, with this chance."""
        _, std = _moments_at(self.model, LOGIT_EDGES)
        always = np.tile([[-1.0], [0.0]], len(self.model.values))
        low, high = self._on_grid(2 * std, self._reach, always, self._apart_stds(RATE_EDGES / 2)).interval(coverage)
        resolution = 0.0005  # of a standard deviation: nearer ones are not told apart
        return np.maximum(low / 2 - resolution, 0.0), np.minimum(high / 2 + resolution, 0.5)

    def zero_std_share(self, group_size: int) -> Values:
        """Return the chance that a group of so many rewards agrees.

        On the path it is the sum of the G-th powers of the values' chances; off it their expectation under a Dirichlet
        posterior.
        """
        repeats = self.model.repeats
        cells, constant, apart = self.model.split(self.states)
        share = cells @ (self.model.chances_at(LOGIT_CENTRES)[:, repeats] ** group_size).sum(axis=1) + constant.sum(
            axis=1
        )
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

    @cached_property
    def _reach(self) -> float:
        """How far off the paths' standard deviations may be, as a share, where any such error is as likely.

        Where a path gives V values, V - 2 of its figures say how much rewards vary at each mean. A standard deviation
        by n normal variables has the relative variance 1 / 2n.
        """
        chances = self.model.chances_at(LOGIT_CENTRES).reshape(self.model.kinds, len(LOGIT_CENTRES), -1)
        figures = np.maximum((chances.max(axis=1) > NEGLIGIBLE_CHANCE).sum(axis=1) - 2, 0).sum()
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
        return np.flatnonzero(self._apart[0] > NEGLIGIBLE_CHANCE)

    def _apart_means(self, points: Values) -> Values:
        """Return the chance that the mean of prompts off the path is at most each point, shape (`_rows`, points)."""
        low, width = self.model.values[0], self.model.values[-1] - self.model.values[0]
        return self._apart_below(1, low, width, points)

    def _apart_stds(self, points: Values) -> Values:
        """Return the same for the standard deviation: its square, as a share of the largest one, has a Beta too."""
        largest = (self.model.values[-1] - self.model.values[0]) ** 2 / 4
        return self._apart_below(2, 0.0, largest, np.maximum(points, 0) ** 2)

    def _apart_below(self, figure: int, low: float, width: float, points: Values) -> Values:
        """Return distribution functions of Beta variables by the mean of a figure of `_apart` and of its square."""
        mean, square = self._apart[[figure, figure + 2]][:, self._rows]
        share = np.clip((mean - low) / width, MIN_VARIANCE, 1 - MIN_VARIANCE)
        alpha, beta = fit_beta(share, (square - mean**2) / width**2)
        return np.asarray(betainc(alpha[:, None], beta[:, None], np.clip((points - low) / width, 0, 1)), np.float64)

    def _on_grid(self, edges: Values, reach: float, always: Values, apart: Values) -> Belief:
        """Return what is believed of a figure from 0 to 1 that lies between `edges` of a path's cells.

        `reach` is how far beyond them, as a share. `always` are the ends, shape (2, V), between which it is said to be
        for prompts that always draw one value; `apart` the chance of the others to be below each of `RATE_EDGES`.
        """
        paths = edges.reshape(self.model.kinds, -1)
        ends = np.sort([paths[:, :-1].reshape(-1), paths[:, 1:].reshape(-1)], axis=0) * [[1 - reach], [1 + reach]]
        low, high = np.concatenate([ends, always], axis=1)[:, :, None]
        below = self.states[:, : len(low)] @ np.clip((RATE_EDGES - low) / np.maximum(high - low, SAME_VALUE), 0, 1)
        below[self._rows] += self._apart[0][self._rows, None] * apart
        return Belief(np.diff(below, axis=1, prepend=0.0, append=1.0))


def _moments_at(model: ValueModel, at: Values) -> tuple[Values, Values]:
    """Return mean and standard deviation on the path."""
    chances, values = model.chances_at(at), model.values
    mean = chances @ values
    return mean, np.sqrt(np.maximum(chances @ values**2 - mean**2, 0.0))
