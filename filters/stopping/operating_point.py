"""Which stopping tables to follow, so that decisions are as precise and as complete as they should be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from learnable.data.band import Band
from learnable.filters.arrays import Actions, Indices, Values
from learnable.filters.posterior.belief import Belief
from learnable.filters.stopping.budget import BLOCKS
from learnable.filters.stopping.table import (
    Lattice,
    StoppingOutcome,
    StoppingTable,
    compute_fixed_outcome,
    compute_outcomes,
    solve_lattice,
)

REFERENCE_GROUP = 32  # what the rule is as good as, at a fraction of its rollouts
PRECISION_MARGIN, RECALL_MARGIN = 0.003, 0.003  # aimed above the target, since the prior is fitted and not known
MIN_PRECISION = 0.8  # where hardly any prompt is in the band, most of what a fixed group keeps is not
USUAL_LOSS = 400.0  # of either, where the target is out of reach: about what it takes in common pools


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
        by_table = np.stack([table.decide(n, s) for table in self.tables])
        actions: Actions = np.take_along_axis(by_table, self.find_tables(uniforms)[None], axis=0)[0]
        return actions

    def forecast_groups(
        self, uniforms: ArrayLike, n: ArrayLike, s: ArrayLike, min_kept_group: int = 0
    ) -> tuple[Values, Values]:
        """Return each group's chance of ending in keep and its expected further rollouts, as `StoppingTable` does."""
        by_table = np.stack([table.forecast_groups(n, s, min_kept_group) for table in self.tables])
        keeps, further = np.take_along_axis(by_table, self.find_tables(uniforms)[None, None], axis=0)[0]
        return keeps, further

    def forecast_blocks(self, uniforms: ArrayLike, n: ArrayLike, s: ArrayLike) -> Values:
        """Return each group's chances to go on, by ends of blocks, as `StoppingTable` does."""
        by_table = np.stack([table.forecast_blocks(n, s) for table in self.tables])
        chances: Values = np.take_along_axis(by_table, self.find_tables(uniforms)[None, None], axis=0)[0]
        return chances

    def find_thresholds(self, uniforms: ArrayLike) -> Values:
        """Return the chance to be in the band from which on each prompt is kept."""
        return np.array([table.threshold for table in self.tables])[self.find_tables(uniforms)]

    @cached_property
    def outcome(self) -> StoppingOutcome:
        """What the rule leads to on average over its belief."""
        rows = np.array([astuple(table.compute_outcome()) for table in self.tables])
        return StoppingOutcome(*(np.array(self.shares) @ rows).tolist())


def match_fixed(
    belief: Belief,
    band: Band,
    *,
    max_group: int,
    blocks: Sequence[int] = BLOCKS,
    ess_per_rollout: float = 1.0,
    precision: float | None = None,
    recall: float | None = None,
    reference_group: int = REFERENCE_GROUP,
) -> StoppingRule:
    """Return the cheapest rule that under `belief` matches the precision and the recall of a fixed group.

    A fixed group is judged by its mean alone, each rollout with the effective size `ess_per_rollout`, at most 10.
    `precision`, where given, is aimed at instead of the fixed group's, which counts as `MIN_PRECISION` at least. So is
    a smaller `recall`, which is enough for whoever wants a number of prompts and has a pool to choose from; 0 asks for
    the fewest rollouts for each kept prompt in the band. Where no rule within `max_group` is that good, each error is
    priced at `USUAL_LOSS`.

    Precision and recall are two linear constraints on a table's expected false keeps and false drops. Their Lagrange
    multipliers are the two losses; the shares of the tables found are a linear programme (Altman, 1999, "Constrained
    Markov Decision Processes"), which a ratio of expectations becomes too (Charnes and Cooper, 1962, "Programming with
    linear fractional functionals").
    """
    [rule] = match_fixed_together(
        [belief],
        [1.0],
        band,
        max_group=max_group,
        blocks=blocks,
        ess_per_rollout=ess_per_rollout,
        precision=precision,
        recall=recall,
        reference_group=reference_group,
    )
    return rule


def match_fixed_together(
    beliefs: Sequence[Belief],
    weights: Sequence[float],
    band: Band,
    *,
    max_group: int,
    blocks: Sequence[int] = BLOCKS,
    ess_per_rollout: float = 1.0,
    precision: float | None = None,
    recall: float | None = None,
    reference_group: int = REFERENCE_GROUP,
    unsampled: Sequence[bool] = (),
) -> list[StoppingRule]:
    """Return a rule for each of the strata of a family: together they match a fixed group, as `match_fixed` does.

    `weights` are the strata's shares of the prompts. An error costs the same in each of them, so that rollouts go where
    they tell most: a rule that each stratum would match for itself takes more of them. Strata that are `unsampled` cost
    nothing, and all of their prompts in the band are missed, which the others make up for.
    """
    # A table that tells more apart costs much time and changes hardly a decision.
    ess = min(ess_per_rollout, 10.0)
    fixed = mix_outcomes([compute_fixed_outcome(each, band, round(reference_group * ess)) for each in beliefs], weights)
    aim = min((max(fixed.precision, MIN_PRECISION) if precision is None else precision) + PRECISION_MARGIN, 1.0)
    most = min(fixed.recall + RECALL_MARGIN, 1.0)
    lattices = [Lattice(each, band, max_group, blocks, ess) for each in beliefs]

    def try_losses(losses: Values) -> list[StoppingOutcome]:
        by_stratum = [compute_outcomes(lattice, solve_lattice(lattice, losses)) for lattice in lattices]
        for number in np.flatnonzero(np.array(unsampled, bool)):
            by_stratum[number] = [StoppingOutcome(0.0, 0.0, 0.0, each.in_band) for each in by_stratum[number]]
        return [mix_outcomes(outcomes, weights) for outcomes in zip(*by_stratum, strict=True)]

    tables = _search_losses(try_losses, aim, most if recall is None else min(recall, most))
    solvers = [partial(StoppingTable.solve, each, band, max_group, blocks, ess_per_rollout=ess) for each in beliefs]
    return [_make_rule(tables, solve) for solve in solvers]


def _search_losses(
    try_losses: Callable[[Values], list[StoppingOutcome]], precision: float, recall: float
) -> list[tuple[float, float, float]]:
    """Return the tables that reach the aims at the fewest rollouts: losses of a false keep and drop, and the share."""
    first = np.geomspace(1, 20_000, 12)  # of one false keep or drop, in rollouts
    losses = _pair_up(first)
    outcomes = try_losses(losses)
    shares, missed = _find_shares(outcomes, precision, recall)
    # Factors about the losses that were best.
    for factors in (2.46 ** (np.arange(-2, 3) / 3), 2.46 ** (np.arange(-1, 2) / 7)):
        near = (losses[list(shares)][:, None] * _pair_up(factors)).reshape(-1, 2)
        losses = np.concatenate([losses, near])
        outcomes += try_losses(near)
        shares, missed = _find_shares(outcomes, precision, recall)
    if not shares or missed > 1e-7:  # a share of the prompts: less is rounding
        return [(USUAL_LOSS, USUAL_LOSS, 1.0)]
    return [(*losses[x], share) for x, share in shares.items()]


def _pair_up(values: Values) -> Values:
    """Return every pair of the values, in the shape (pairs, 2)."""
    return np.stack(np.meshgrid(values, values), axis=-1).reshape(-1, 2)


def mix_outcomes(outcomes: Sequence[StoppingOutcome], weights: Sequence[float]) -> StoppingOutcome:
    """Return the outcome over several strata, of these shares of the prompts."""
    rows = [(o.rollouts, o.kept, o.kept_in_band, o.in_band) for o in outcomes]
    return StoppingOutcome(*(sum(w * row[x] for w, row in zip(weights, rows, strict=True)) for x in range(4)))


def _make_rule(
    tables: Sequence[tuple[float, float, float]], solve: Callable[[float, float], StoppingTable]
) -> StoppingRule:
    """Return the rule of tables for these losses, of a false keep and a false drop, and shares of prompts."""
    return StoppingRule(tuple(solve(keep, drop) for keep, drop, _ in tables), tuple(share for *_, share in tables))


def _find_shares(
    outcomes: Sequence[StoppingOutcome], precision: float, recall: float
) -> tuple[dict[int, float], float]:
    """Return the tables to follow, as places in `outcomes`, with the share of prompts for each, and what the aims miss.

    That is a share of the prompts, 0 where the aims are reached.
    """
    rollouts, kept, right = np.array([(o.rollouts, o.kept, o.kept_in_band) for o in outcomes]).T
    missing = [precision * kept - right]
    if recall == 0:
        scale = right / max(float(right.max()), 1e-12)
    else:
        missing, scale = [*missing, recall * outcomes[0].in_band - right], np.ones(len(outcomes))
    aims = len(missing)
    solution = linprog(
        np.concatenate([rollouts, np.full(aims, 1e6)]),  # the price of a share of prompts by which an aim is missed
        A_ub=np.concatenate([missing, -np.eye(aims)], axis=1),
        b_ub=np.zeros(aims),
        A_eq=[np.concatenate([scale, np.zeros(aims)])],
        b_eq=[1.0],
    )
    if not solution.success or solution.x is None:
        return {}, 1.0
    shares = solution.x[:-aims] / solution.x[:-aims].sum()
    # Less is what the linear programme left over; a real share, however small, is needed.
    real = {int(place): float(shares[place]) for place in np.flatnonzero(shares >= 1e-6)}
    total = sum(real.values())
    return {place: share / total for place, share in real.items()}, float(solution.x[-aims:].sum())
