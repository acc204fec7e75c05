"""The fixed points of a pool's order at which beliefs, rules and strata change, and what each of them waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from learnable.filters.arrays import Flags, Indices
from learnable.filters.posterior.certificate import FamilyPrior
from learnable.filters.stopping.operating_point import StoppingRule

LAG = 2  # cohorts: a fit looks at groups that came so many before; while there are few, at first blocks alone
DEPTH = 16  # rollouts of a group that a fit looks at: enough to tell a few rates from many, and there after five blocks


@dataclass(frozen=True, slots=True)
class Fit:
    """What the groups of one cohort are judged by, from their second block to their last: by name of their cell."""

    cells: Sequence[str]
    rules: Mapping[str, StoppingRule]
    priors: Mapping[str, FamilyPrior]


class Cohorts:
    """Which cohort each prompt is of, what its fit looks at, and whether that is there.

    A cohort is a run of prompts in the order in which they are first asked, and has one fit. The fit of cohort s looks
    at the first `DEPTH` rollouts of the groups of all cohorts up to s - `LAG`; in the first cohorts, for which those
    are none but the pilot, at the first blocks of all groups so far. It waits for these and for nothing else: so it is
    the same in whatever order rollouts arrive, and groups of different cohorts are under way at once.

    `of` is the cohort of each prompt, -1 of those that were not asked; `cell` the place of its rule among its fit's
    cells, -1 before there is a fit.
    """

    def __init__(self, prompts: int) -> None:
        self.of: Indices = np.full(prompts, -1)
        self.cell: Indices = np.full(prompts, -1)
        self.fits: list[Fit] = []
        self._unopened: list[int] = []  # groups of each cohort whose first block is not there yet
        self._shallow: list[int] = []  # and those with fewer than `DEPTH` rollouts, that have not stopped either
        self._is_deep: Flags = np.zeros(prompts, bool)

    @property
    def is_due(self) -> bool:
        """Whether everything is there that the next fit waits for."""
        cohort = len(self.fits)
        if cohort == len(self._unopened):
            return False
        looked_at = self._count_looked_at(cohort)
        return not (any(self._shallow[:looked_at]) if looked_at else self._unopened[cohort])

    def begin(self, prompts: Indices) -> None:
        """Let these prompts be the next cohort."""
        self.of[prompts] = len(self._unopened)
        self._unopened.append(len(prompts))
        self._shallow.append(len(prompts))

    def find_end(self, cohort: int) -> int:
        """Return the row after the last prompt of a cohort, 0 where there is none."""
        return int(np.flatnonzero(self.of == cohort)[-1]) + 1 if cohort < len(self._unopened) else 0

    def take(self, answered: Indices, is_deep: Flags) -> Flags:
        """Count groups of which a block is there, or will never be, and say which of them have a fit to be judged by.

        `is_deep` says which of them have `DEPTH` rollouts.
        """
        is_fitted: Flags = self.of[answered] < len(self.fits)
        _count_down(self._unopened, self.of[answered[~is_fitted]])  # which have been given no other block
        self.deepen(answered[is_deep])
        return is_fitted

    def count_seen(self, opening: Indices, requested: Indices) -> Indices:
        """Return how many rollouts of each prompt the next fit looks at: of its `opening`, of all `requested`, or 0."""
        looked_at = self._count_looked_at(len(self.fits))
        if not looked_at:
            return np.where(self.of <= len(self.fits), opening, 0)
        return np.where((self.of >= 0) & (self.of < looked_at), np.minimum(requested, DEPTH), 0)

    def add_fit(self, fit: Fit, cell: Indices) -> Indices:
        """Add the next fit; `cell` is that of each prompt of the pool. Return the prompts of its cohort."""
        members = np.flatnonzero(self.of == len(self.fits))
        self.cell[members] = cell[members]
        self.fits.append(fit)
        return members

    def deepen(self, prompts: Indices) -> None:
        """Count groups that have `DEPTH` rollouts, or have stopped."""
        new = prompts[~self._is_deep[prompts]]
        self._is_deep[new] = True
        _count_down(self._shallow, self.of[new])

    def _count_looked_at(self, cohort: int) -> int:
        """Return how many cohorts the fit of a cohort looks at; none where that would be the pilot alone."""
        return max(cohort - LAG + 1, 0) if cohort > LAG else 0


def _count_down(counts: list[int], cohorts: Indices) -> None:
    for cohort, count in zip(*np.unique(cohorts, return_counts=True), strict=True):
        counts[cohort] -= int(count)
