"""When a group has told enough: Bayes-optimal stopping, solved once as a table (Berger, 1985, chapter 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike

from learnable.data.band import Band
from learnable.filters.arrays import Actions, Indices, Values
from learnable.filters.posterior.belief import Belief, binomial, log_ways, share_in_band
from learnable.filters.stopping.budget import BLOCKS

CONTINUE, KEEP, DROP = range(3)


@dataclass(frozen=True, slots=True)
class StoppingOutcome:
    """What a table leads to on average over its prior: chances and rollouts per prompt."""

    rollouts: float
    kept: float
    kept_in_band: float
    in_band: float

    @property
    def precision(self) -> float:
        """Share of the kept prompts that are in the band, 1 where none is kept."""
        return self.kept_in_band / self.kept if self.kept > 0 else 1.0

    @property
    def recall(self) -> float:
        """Share of the prompts in the band that are kept, 1 where none is in it."""
        return self.kept_in_band / self.in_band if self.in_band > 0 else 1.0


class Lattice:
    """The states (n, s) of a group under a belief: the chance to be in the band there, and of each next state.

    A reward that varies less than a 0/1 reward tells more: `ess_per_rollout` is the effective sample size of one
    rollout (1 for pass and fail), and `s` counts in the same unit. There is a row where a block ends, and with
    `every_size`, for groups that lack a score, one for every n between. Row i stands for `rows[i]` rollouts with the
    effective size `ess[i]`, and has the states s = 0, ..., `ess[i]`. `following[i]` is the row where the next block
    ends, of which there are so many `blocks`. `chances` are those that so many rollouts bring a group to each state.
    """

    def __init__(
        self,
        belief: Belief,
        band: Band,
        max_group: int,
        blocks: Sequence[int] = BLOCKS,
        ess_per_rollout: float = 1.0,
        *,
        every_size: bool = False,
    ) -> None:
        ends = list_block_ends(blocks, max_group)
        self.blocks = len(ends)
        self.rows = np.arange(max_group + 1) if every_size else np.array([0, *ends])
        self.ess = np.array([round(n * ess_per_rollout) for n in self.rows])
        after = np.searchsorted(ends, self.rows, side="right")
        self.following = [int(np.searchsorted(self.rows, ends[x])) if x < len(ends) else None for x in after]
        weights, inside = belief.weights, belief.weights * share_in_band(band)
        self.chances = [np.maximum(binomial(int(ess)) @ weights, 1e-300) for ess in self.ess]
        both = [binomial(int(ess)) @ inside for ess in self.ess]
        self.in_band = [part / chance for part, chance in zip(both, self.chances, strict=True)]

    def moves(self, row: int, after: int) -> Values:
        """Return the chance of each state of a later row from each of this one, shape (states, states after).

        The chance of t passes given s before follows from those of s and t, since every order is as likely.
        """
        ways = _ways(int(self.ess[row]), int(self.ess[after]))
        moves: Values = ways * (self.chances[after] / self.chances[row][:, None])
        return moves

    def forecast(self, actions: Sequence[Actions], min_kept_group: int = 0) -> list[Values]:
        """Return what tables lead to from each state of each row: shape (3, tables, states), by backward recursion.

        The chance of ending in keep, that of ending there and being in the band, and the expected further rollouts. A
        kept group that is smaller than `min_kept_group` grows to that size. `actions` are those of many tables, an
        array of the shape (tables, states) for each row.
        """
        forecasts: list[Values] = [np.zeros(0)] * len(self.rows)
        for row in reversed(range(len(self.rows))):
            keep = (actions[row] == KEEP).astype(np.float64)
            lacking = max(min_kept_group - int(self.rows[row]), 0)
            forecasts[row] = np.stack([keep, keep * self.in_band[row], keep * lacking])
            if (after := self.following[row]) is not None:
                later = forecasts[after] @ self.moves(row, after).T
                later[2] += float(self.rows[after] - self.rows[row])
                forecasts[row] = np.where(actions[row] == CONTINUE, later, forecasts[row])
        return forecasts


@dataclass(frozen=True)
class StoppingTable:
    """What to do at each state: the policy with the least expected loss, rollouts priced.

    `threshold` is the chance to be in the band from which on a group that has to stop is kept.
    """

    lattice: Lattice
    threshold: float
    actions: list[Actions]

    @classmethod
    def solve(
        cls,
        belief: Belief,
        band: Band,
        max_group: int = 48,
        blocks: Sequence[int] = BLOCKS,
        false_keep_loss: float = 400.0,
        false_drop_loss: float = 400.0,
        *,
        ess_per_rollout: float = 1.0,
    ) -> StoppingTable:
        """Solve for losses in rollouts: of keeping a prompt outside the band, and of dropping one inside it.

        `blocks` are the sizes of the first blocks; the last repeats up to `max_group`.
        """
        lattice = Lattice(belief, band, max_group, blocks, ess_per_rollout, every_size=ess_per_rollout == 1)
        [actions] = zip(*solve_lattice(lattice, np.array([[false_keep_loss, false_drop_loss]])), strict=True)
        total = false_keep_loss + false_drop_loss
        return cls(lattice, false_keep_loss / total if total > 0 else 0.5, list(actions))

    def decide(self, n: ArrayLike, s: ArrayLike) -> Actions:
        """Return `CONTINUE`, `KEEP` or `DROP` for groups of `n` rollouts that sum to `s`, arrays of one shape."""
        actions: Actions = np.concatenate(self.actions)[self._states(n, s)]
        return actions

    def forecast_groups(self, n: ArrayLike, s: ArrayLike, min_kept_group: int = 0) -> tuple[Values, Values]:
        """Return for groups, `n` rollouts that sum to `s`, the chance of ending in keep, and the further rollouts."""
        forecasts = self.lattice.forecast([actions[None] for actions in self.actions], min_kept_group)
        keeps, _, further = np.concatenate(forecasts, axis=2)[:, 0, self._states(n, s)]
        return keeps, further

    def forecast_blocks(self, n: ArrayLike, s: ArrayLike) -> Values:
        """Return the chances that groups, of which `n` rollouts are known that sum to `s`, go on, by ends of blocks.

        The shape is (blocks, groups). The first is 0 or 1, by the table, as if they were judged as they are. Row i is
        the chance to go on at each of the next i ends: what they would do before does not count, since rollouts may be
        known out of their order.
        """
        chances: Values = self._chances_to_go_on[:, self._states(n, s)]
        return chances

    @cached_property
    def _chances_to_go_on(self) -> Values:
        """The same of every state, in the order of `_states`: the chance of a path through states that go on."""
        lattice, goes_on = self.lattice, [(actions == CONTINUE).astype(np.float64) for actions in self.actions]
        moves = [None if after is None else lattice.moves(row, after) for row, after in enumerate(lattice.following)]
        paths, chances = goes_on, [np.concatenate(goes_on)]
        for _ in range(1, lattice.blocks):
            steps = zip(goes_on, moves, lattice.following, strict=True)
            later = [np.zeros_like(on) if a is None or m is None else m @ paths[a] for on, m, a in steps]
            chances.append(np.concatenate(later))
            paths = [on * chance for on, chance in zip(goes_on, later, strict=True)]
        return np.stack(chances).astype(np.float32)

    def compute_outcome(self) -> StoppingOutcome:
        """Return precision, recall and price of this table on average over its belief, exactly."""
        [outcome] = compute_outcomes(self.lattice, [actions[None] for actions in self.actions])
        return outcome

    def _states(self, n: ArrayLike, s: ArrayLike) -> Indices:
        """Return where the states of many groups lie among those of all rows."""
        sizes, sums = np.asarray(n), np.asarray(s, dtype=np.float64)
        rows = np.searchsorted(self.lattice.rows, sizes, side="right") - 1
        means = np.divide(sums, sizes, out=np.zeros_like(sums), where=sizes > 0)
        starts = np.concatenate([[0], np.cumsum(self.lattice.ess + 1)[:-1]])
        states: Indices = starts[rows] + np.rint(means * self.lattice.ess[rows]).astype(np.int64)
        return states


def solve_lattice(lattice: Lattice, losses: Values) -> list[Actions]:
    """Solve a table for each pair of losses, of a false keep and a false drop, in rollouts: shape (tables, 2).

    By backward induction from the largest group. At each state stopping costs `min(false_keep_loss (1 - P),
    false_drop_loss P)`, P the chance to be in the band; going on costs the next block and the expected cost after it.
    Without any rollout every group goes on, since its first block is paid for in any case. Returns the actions in each
    row, shape (tables, states).
    """
    actions: list[Actions] = [np.zeros((0, 0), np.int8)] * len(lattice.rows)
    costs: list[Values] = [np.zeros((0, 0))] * len(lattice.rows)
    for row in reversed(range(len(lattice.rows))):
        keep, drop = losses[:, :1] * (1 - lattice.in_band[row]), losses[:, 1:] * lattice.in_band[row]
        action, cost = np.where(keep <= drop, KEEP, DROP).astype(np.int8), np.minimum(keep, drop)
        if (after := lattice.following[row]) is not None:
            block = float(lattice.rows[after] - lattice.rows[row])
            going_on = block + costs[after] @ lattice.moves(row, after).T
            goes_on = (going_on < cost) | (lattice.rows[row] == 0)
            action[goes_on], cost = CONTINUE, np.where(goes_on, going_on, cost)
        actions[row], costs[row] = action, cost
    return actions


def compute_outcomes(lattice: Lattice, actions: Sequence[Actions]) -> list[StoppingOutcome]:
    """Return what each of many tables leads to, on average over the belief."""
    kept, kept_in_band, rollouts = lattice.forecast(actions)[0][:, :, 0].tolist()
    inside = float(lattice.in_band[0][0])
    return [StoppingOutcome(r, k, b, inside) for r, k, b in zip(rollouts, kept, kept_in_band, strict=True)]


def compute_fixed_outcome(belief: Belief, band: Band, group_size: int) -> StoppingOutcome:
    """Return what keeping prompts whose mean of `group_size` 0/1 rewards lies in the band leads to, over a belief."""
    lattice = Lattice(belief, band, group_size, (group_size,))
    chance, means = lattice.chances[-1], np.arange(group_size + 1) / group_size
    keep = (means >= band.low - 1e-9) & (means <= band.high + 1e-9)
    inside = chance * lattice.in_band[-1]
    return StoppingOutcome(float(group_size), float(chance[keep].sum()), float(inside[keep].sum()), float(inside.sum()))


def list_block_ends(blocks: Sequence[int], max_group: int) -> list[int]:
    """Return the group sizes at which blocks end; the last block repeats, and the largest group ends the last one.

    >>> list_block_ends((4, 4, 8), 30)
    [4, 8, 16, 24, 30]
    """
    sizes = [*blocks, *[blocks[-1]] * (max_group // blocks[-1])]
    return sorted({min(int(end), max_group) for end in np.cumsum(sizes)})


@lru_cache(maxsize=64)
def _ways(n: int, later: int) -> Values:
    """Return the chance that of t passes among `later` rollouts s were among the first n, shape (n + 1, later + 1).

    C(n, s) C(later - n, t - s) / C(later, t), the hypergeometric distribution.
    """
    s, t = np.arange(n + 1, dtype=np.float64)[:, None], np.arange(later + 1, dtype=np.float64)
    more: Values = np.clip(t - s, 0, later - n)
    log = log_ways(n, s) + log_ways(later - n, more) - log_ways(later, t)
    return np.where(more == t - s, np.exp(log), 0.0)
