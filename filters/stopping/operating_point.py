"""Which stopping tables to follow, so that decisions are as precise and as complete as they should be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from learnable.filters.arrays import Actions, Indices, Values
from learnable.filters.band import Band
from learnable.filters.posterior.prior import Prior
from learnable.filters.stopping.budget import BLOCKS
from learnable.filters.stopping.table import (
    Lattice,
    Outcome,
    StoppingTable,
    compute_fixed_outcome,
    solve_lattice,
)

REFERENCE_GROUP = 32  # what the rule is as good as, at a fraction of its rollouts
PRECISION_MARGIN, RECALL_MARGIN = 0.003, 0.003  # aimed above the target, since the prior is fitted and not known
MIN_PRECISION = 0.8  # where hardly any prompt is in the band, most of what a fixed group keeps is not
LOSSES = (1.0, 20_000.0)  # of one false keep or drop, in rollouts
USUAL_LOSS = 400.0  # of either, where the target is out of reach: about what it takes in common pools
HALVINGS = 10
MIN_SHARE = 1e-6  # less is what the linear programme left over; a real share, however small, is needed
MAX_TABLE_ESS = 25.0  # of a rollout, that a table tells apart: more costs much time and changes hardly a decision


@dataclass(frozen=True)
class StoppingRule:
    """A few stopping tables, and the share of prompts that follows each.

    One table alone can miss a target by far: where a state that many groups reach changes from stop to continue,
    recall and price jump. Between two tables a share of the prompts follows each, as a number in [0, 1) says that
    each prompt has (`uniforms`, evenly distributed).
    """

    tables: tuple[StoppingTable, ...]
    shares: tuple[float, ...]

    def find_tables(self, uniforms: ArrayLike) -> Indices:
        """Return the number of the table that each prompt follows."""
        return np.minimum(np.searchsorted(np.cumsum(self.shares), uniforms, side="right"), len(self.tables) - 1)

    def decide(self, uniforms: ArrayLike, n: ArrayLike, s: ArrayLike) -> Actions:
        """Return what to do with groups of `n` rollouts that sum to `s`, as `StoppingTable.decide` does."""
        followed, sizes, sums = self.find_tables(uniforms), np.asarray(n), np.asarray(s)
        actions = np.zeros(len(sizes), np.int8)
        for number, table in enumerate(self.tables):
            mine = followed == number
            actions[mine] = table.decide(sizes[mine], sums[mine])
        return actions

    def forecast_groups(
        self, uniforms: ArrayLike, n: ArrayLike, s: ArrayLike, min_kept_group: int = 0
    ) -> tuple[Values, Values]:
        """Return each group's chance of ending in keep and its expected further rollouts, as `StoppingTable` does."""
        followed, sizes, sums = self.find_tables(uniforms), np.asarray(n), np.asarray(s)
        keeps, further = np.zeros(len(sizes)), np.zeros(len(sizes))
        for number, table in enumerate(self.tables):
            mine = followed == number
            keeps[mine], further[mine] = table.forecast_groups(sizes[mine], sums[mine], min_kept_group)
        return keeps, further

    def find_thresholds(self, uniforms: ArrayLike) -> Values:
        """Return the chance to be in the band from which on each prompt is kept."""
        return np.array([table.threshold for table in self.tables])[self.find_tables(uniforms)]

    def compute_outcome(self) -> Outcome:
        """Return what the rule leads to on average over its prior."""
        rows = [
            (o.rollouts, o.kept, o.kept_in_band, o.in_band) for o in (table.compute_outcome() for table in self.tables)
        ]
        return Outcome(*(float(value) for value in np.array(self.shares) @ np.array(rows)))


def match_fixed(
    prior: Prior,
    band: Band,
    *,
    max_group: int,
    blocks: Sequence[int] = BLOCKS,
    ess_per_rollout: float = 1.0,
    precision: float | None = None,
    reference_group: int = REFERENCE_GROUP,
) -> StoppingRule:
    """Return the cheapest rule that under `prior` matches the precision and the recall of a fixed group.

    A fixed group is judged by its mean alone, each rollout with the effective size `ess_per_rollout`, at most
    `MAX_TABLE_ESS`. `precision`, where given, is aimed at instead of the fixed group's, which counts as `MIN_PRECISION`
    at least. Where no rule within `max_group` is that good, each error is priced at `USUAL_LOSS`.

    Precision and recall are two linear constraints on a table's expected false keeps and false drops. Their Lagrange
    multipliers are the two losses; the shares of the tables found are a linear programme (Altman, 1999, "Constrained
    Markov Decision Processes").
    """
    ess = min(ess_per_rollout, MAX_TABLE_ESS)
    fixed = compute_fixed_outcome(prior, band, round(reference_group * ess))
    search = _Search(
        Lattice(prior, band, max_group, blocks, ess),
        min((max(fixed.precision, MIN_PRECISION) if precision is None else precision) + PRECISION_MARGIN, 1.0),
        min(fixed.recall + RECALL_MARGIN, 1.0),
    )
    chosen = search.cheapest()
    tables = [
        StoppingTable.solve(prior, band, max_group, blocks, 1.0, *losses, ess_per_rollout=ess) for losses, _ in chosen
    ]
    return StoppingRule(tuple(tables), tuple(share for _, share in chosen))


class _Search:
    """Tries pairs of losses and remembers what they lead to."""

    def __init__(self, lattice: Lattice, precision: float, recall: float) -> None:
        self.lattice = lattice
        self.precision, self.recall = precision, recall
        self.tried: dict[tuple[float, float], Outcome] = {}

    def cheapest(self) -> list[tuple[tuple[float, float], float]]:
        """Return the losses of the tables to follow, each with its share."""
        _halve(lambda drop: self._precise(drop).recall >= self.recall)
        outcomes = list(self.tried.values())
        found = linprog(
            [o.rollouts for o in outcomes],
            A_ub=[
                [self.precision * o.kept - o.kept_in_band for o in outcomes],
                [self.recall * o.in_band - o.kept_in_band for o in outcomes],
            ],
            b_ub=[0.0, 0.0],
            A_eq=[[1.0] * len(outcomes)],
            b_eq=[1.0],
        )
        if not found.success or found.x is None:
            return [((USUAL_LOSS, USUAL_LOSS), 1.0)]
        kept = [(losses, share) for losses, share in zip(self.tried, found.x, strict=True) if share >= MIN_SHARE]
        whole = sum(share for _, share in kept)
        return [(losses, float(share / whole)) for losses, share in kept]

    def _precise(self, false_drop_loss: float) -> Outcome:
        """Return the outcome of the smallest loss per false keep that is precise enough, beside one per false drop."""
        keep = _halve(lambda loss: self._try(loss, false_drop_loss).precision >= self.precision)
        return self._try(keep, false_drop_loss)

    def _try(self, false_keep_loss: float, false_drop_loss: float) -> Outcome:
        losses = (false_keep_loss, false_drop_loss)
        if losses not in self.tried:
            self.tried[losses] = solve_lattice(self.lattice, 1.0, *losses).compute_outcome()
        return self.tried[losses]


def _halve(enough: Callable[[float], bool]) -> float:
    """Return about the smallest loss that is enough, by halving the interval of its logarithm."""
    low, high = LOSSES
    for _ in range(HALVINGS):
        middle = sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
        if log(high / low) < 0.02:
            break
    return high
