"""The fixed points of a pool's order at which beliefs, rules and strata change, and what each of them waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from learnable.filters.arrays import Flags, Indices
from learnable.filters.posterior.certificate import FamilyPrior
from learnable.filters.stopping.operating_point import StoppingRule

LAG = 3  # cohorts: a fit looks at groups that came so many before, whole; while there are few, at first blocks alone


@dataclass(frozen=True, slots=True)
class Fit:
    """What the groups of one cohort are judged by, from their second block to their last: by name of their cell."""

    cells: Sequence[str]
    rules: Mapping[str, StoppingRule]
    priors: Mapping[str, FamilyPrior]


class Cohorts:
    """Which cohort each prompt is of, what its fit looks at, and whether that is there.

    A cohort is a run of prompts in the order in which they are first asked, and has one fit. The fit of cohort s looks
    at whole groups, those of all cohorts up to s - `LAG`; in the first cohorts, for which those are none but the pilot,
    at the first blocks of all groups so far. It waits for these, for its own first blocks, and for nothing else: so it
    is the same in whatever order rollouts arrive, and groups of different cohorts are under way at once.

    `of` is the cohort of each prompt, -1 of those that were not asked; `cell` the place of its rule among its fit's
    cells, -1 before there is a fit.
    """

    def __init__(self, prompts: int) -> None:
        self.of: Indices = np.full(prompts, -1)
        self.cell: Indices = np.full(prompts, -1)
        self.fits: list[Fit] = []
        self._under_way: list[int] = []  # groups of each cohort that have not stopped
        self._openings = 0  # first blocks of the last cohort that are not there yet

    @property
    def is_due(self) -> bool:
        """Whether everything is there that the fit of the last cohort waits for."""
        last = len(self._under_way) - 1
        return last == len(self.fits) and not self._openings and not any(self._under_way[: self._whole(last)])

    def begin(self, prompts: Indices) -> None:
        """Let these prompts be the next cohort."""
        self.of[prompts] = len(self._under_way)
        self._under_way.append(len(prompts))
        self._openings = len(prompts)

    def take_openings(self, answered: Indices) -> Flags:
        """Count the first blocks among what was answered, and say which of it has a fit to be judged by."""
        is_fitted: Flags = self.of[answered] < len(self.fits)
        self._openings -= int((~is_fitted).sum())
        return is_fitted

    def count_seen(self, opening: Indices, requested: Indices) -> Indices:
        """Return how many rollouts of each prompt the next fit looks at: its `opening`, all `requested`, or none."""
        whole = self._whole(len(self.fits))
        seen: Indices = np.where((self.of >= 0) & (self.of < whole), requested, 0) if whole else opening.copy()
        return seen

    def add_fit(self, fit: Fit, cell: Indices) -> Indices:
        """Add the fit of the last cohort; `cell` is that of each prompt of the pool. Return the cohort's prompts."""
        members = np.flatnonzero(self.of == len(self.fits))
        self.cell[members] = cell[members]
        self.fits.append(fit)
        return members

    def stop(self, prompts: Indices) -> None:
        """Count groups that have just stopped."""
        for cohort, count in zip(*np.unique(self.of[prompts], return_counts=True), strict=True):
            self._under_way[cohort] -= int(count)

    def _whole(self, cohort: int) -> int:
        """Return how many cohorts the fit of a cohort looks at whole; none where that would be the pilot alone."""
        return max(cohort - LAG + 1, 0) if cohort > LAG else 0
