"""When a group has told enough: Bayes-optimal stopping, solved once as a table (Berger, 1985, chapter 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike
from scipy.special import betaln, gammaln

from learnable.filters.arrays import Actions, Indices, Values
from learnable.filters.band import Band
from learnable.filters.posterior.posterior import Posterior
from learnable.filters.posterior.prior import Prior
from learnable.filters.stopping.budget import BLOCKS

CONTINUE, KEEP, DROP = range(3)


@dataclass(frozen=True, slots=True)
class Outcome:
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
    """The states (n, s) of a group under a prior: the chance to be in the band there, and of each next state.

    A reward that varies less than a 0/1 reward tells more: `ess_per_rollout` is the effective sample size of one
    rollout (1 for pass and fail), and `s` counts in the same unit. There is a row where a block ends, and with
    `every_size`, for groups that lack a score, one for every n between. Row i stands for `rows[i]` rollouts with the
    effective size `ess[i]`, and has the states s = 0, ..., `ess[i]`.
    """

    def __init__(
        self,
        prior: Prior,
        band: Band,
        max_group: int,
        blocks: Sequence[int] = BLOCKS,
        ess_per_rollout: float = 1.0,
        *,
        every_size: bool = False,
    ) -> None:
        self.prior, self.band = prior, band
        self.ends = list_block_ends(blocks, max_group)
        rows = range(max_group + 1) if every_size else (0, *self.ends)
        self.rows = np.array(rows)
        self.ess = np.array([round(n * ess_per_rollout) for n in rows])
        self.in_band = [self._in_band(ess) for ess in self.ess]
        self.following = [self._next_row(n) for n in rows]
        self.moves = [self._moves(row, after) for row, after in enumerate(self.following)]

    def _in_band(self, ess: int) -> Values:
        s = np.arange(ess + 1.0)
        return Posterior.update(self.prior, np.full_like(s, ess), s).in_band(self.band)

    def _next_row(self, n: int) -> int | None:
        """Return the row where the block after `n` rollouts ends."""
        return next((int(np.searchsorted(self.rows, end)) for end in self.ends if end > n), None)

    def _moves(self, row: int, after: int | None) -> Values | None:
        """Return the chance of j more successes in the block after each state of a row, shape (states, block + 1).

        The beta-binomial distribution, and for what always fails or always passes a certainty.
        """
        if after is None:
            return None
        n, k = int(self.ess[row]), int(self.ess[after] - self.ess[row])
        s, j = np.arange(n + 1.0)[:, None], np.arange(k + 1.0)[None, :]
        posterior = Posterior.update(self.prior, np.full((n + 1, 1), float(n)), s)
        ways = gammaln(k + 1) - gammaln(j + 1) - gammaln(k - j + 1)
        a, b = posterior.alpha, posterior.beta
        moves: Values = posterior.beta_weight * np.exp(ways + betaln(a + j, b + k - j) - betaln(a, b))
        moves[:, :1] += posterior.zero
        moves[:, -1:] += posterior.one
        return moves


@dataclass(frozen=True)
class StoppingTable:
    """What to do at each state: the policy with the least expected loss, rollouts priced.

    Losses are in units of the price: `false_keep_loss` for keeping a prompt outside the band, `false_drop_loss` for
    dropping one inside it.
    """

    lattice: Lattice
    threshold: float
    actions: list[Actions]

    @classmethod
    def solve(
        cls,
        prior: Prior,
        band: Band,
        max_group: int = 48,
        blocks: Sequence[int] = BLOCKS,
        rollout_price: float = 1.0,
        false_keep_loss: float = 400.0,
        false_drop_loss: float = 400.0,
        *,
        ess_per_rollout: float = 1.0,
    ) -> StoppingTable:
        """Solve by backward induction from the largest group.

        At each state stopping costs `min(false_keep_loss (1 - P), false_drop_loss P)`, P the posterior chance to be
        in the band; going on costs the next block and the expected cost after it. `blocks` are the sizes of the
        first blocks; the last repeats up to `max_group`.
        """
        lattice = Lattice(prior, band, max_group, blocks, ess_per_rollout, every_size=ess_per_rollout == 1)
        return solve_lattice(lattice, rollout_price, false_keep_loss, false_drop_loss)

    def decide(self, n: ArrayLike, s: ArrayLike) -> Actions:
        """Return `CONTINUE`, `KEEP` or `DROP` for groups of `n` rollouts that sum to `s`, arrays of one shape."""
        actions: Actions = np.concatenate(self.actions)[self._states(n, s)]
        return actions

    def forecast_states(self, min_kept_group: int = 0) -> tuple[list[Values], list[Values]]:
        """Return for each row the chance of ending in keep from each state, and the expected further rollouts.

        By backward recursion over the actions. A kept group that is smaller than `min_kept_group` grows
        to that size. Each list has an array for each row of the lattice, each array an entry for each state.
        """
        lattice = self.lattice
        keeps: list[Values] = [np.zeros(0)] * len(lattice.rows)
        further: list[Values] = [np.zeros(0)] * len(lattice.rows)
        for row in reversed(range(len(lattice.rows))):
            ends_well = self.actions[row] == KEEP
            keeps[row] = ends_well.astype(np.float64)
            further[row] = keeps[row] * max(min_kept_group - int(lattice.rows[row]), 0)
            if (after := lattice.following[row]) is not None:
                moves, goes_on = _present(lattice.moves[row]), self.actions[row] == CONTINUE
                block = float(lattice.rows[after] - lattice.rows[row])
                keeps[row] = np.where(goes_on, _expected(moves, keeps[after]), keeps[row])
                further[row] = np.where(goes_on, block + _expected(moves, further[after]), further[row])
        return keeps, further

    def forecast_groups(self, n: ArrayLike, s: ArrayLike, min_kept_group: int = 0) -> tuple[Values, Values]:
        """Return what `forecast_states` says of many groups: `n` rollouts that sum to `s`, arrays of one shape."""
        keeps, further = self.forecast_states(min_kept_group)
        states = self._states(n, s)
        return np.concatenate(keeps)[states], np.concatenate(further)[states]

    def _states(self, n: ArrayLike, s: ArrayLike) -> Indices:
        """Return where the states of many groups lie among those of all rows."""
        sizes, sums = np.asarray(n), np.asarray(s, dtype=np.float64)
        rows = np.searchsorted(self.lattice.rows, sizes, side="right") - 1
        means = np.divide(sums, sizes, out=np.zeros_like(sums), where=sizes > 0)
        starts = np.concatenate([[0], np.cumsum(self.lattice.ess + 1)[:-1]])
        states: Indices = starts[rows] + np.rint(means * self.lattice.ess[rows]).astype(np.int64)
        return states

    def compute_outcome(self) -> Outcome:
        """Return precision, recall and price of this table on average over its prior, exactly."""
        lattice = self.lattice
        reach = [np.zeros(ess + 1) for ess in lattice.ess]
        reach[0][0] = 1.0
        kept = kept_in_band = rollouts = 0.0
        for row, chance in enumerate(reach):
            keeping = np.where(self.actions[row] == KEEP, chance, 0.0)
            moving = np.where(self.actions[row] == CONTINUE, chance, 0.0)
            kept += float(keeping.sum())
            kept_in_band += float(keeping @ lattice.in_band[row])
            rollouts += float(lattice.rows[row] * (chance.sum() - moving.sum()))
            if (after := lattice.following[row]) is not None and moving.any():
                _add_moves(moving[:, None] * _present(lattice.moves[row]), reach[after])
        return Outcome(rollouts, kept, kept_in_band, in_band=float(lattice.in_band[0][0]))


def solve_lattice(
    lattice: Lattice, rollout_price: float, false_keep_loss: float, false_drop_loss: float
) -> StoppingTable:
    """Solve the table of a lattice that is there already: several prices cost little more than one."""
    actions: list[Actions] = [np.zeros(0, np.int8)] * len(lattice.rows)
    costs: list[Values] = [np.zeros(0)] * len(lattice.rows)
    for row in reversed(range(len(lattice.rows))):
        inside = lattice.in_band[row]
        keep, drop = false_keep_loss * (1 - inside), false_drop_loss * inside
        cost = np.minimum(keep, drop)
        action = np.where(keep <= drop, KEEP, DROP).astype(np.int8)
        if (after := lattice.following[row]) is not None:
            moves = _present(lattice.moves[row])
            block = float(lattice.rows[after] - lattice.rows[row])
            going_on = rollout_price * block + _expected(moves, costs[after])
            action[going_on < cost] = CONTINUE
            cost = np.minimum(cost, going_on)
        actions[row], costs[row] = action, cost
    total = false_keep_loss + false_drop_loss
    return StoppingTable(lattice, false_keep_loss / total if total > 0 else 0.5, actions)


def compute_fixed_outcome(prior: Prior, band: Band, group_size: int) -> Outcome:
    """Return what keeping prompts whose mean of `group_size` 0/1 rewards lies in the band leads to, over the prior."""
    lattice = Lattice(prior, band, group_size, (group_size,))
    chance = _present(lattice.moves[0])[0]
    means = np.arange(group_size + 1) / group_size
    keep = (means >= band.low - 1e-9) & (means <= band.high + 1e-9)
    inside = chance * lattice.in_band[-1]
    return Outcome(float(group_size), float(chance[keep].sum()), float(inside[keep].sum()), float(inside.sum()))


def list_block_ends(blocks: Sequence[int], max_group: int) -> list[int]:
    """Return the group sizes at which blocks end; the last block repeats, and the largest group ends the last one.

    >>> list_block_ends((4, 4, 8), 30)
    [4, 8, 16, 24, 30]
    """
    return list(_ends(blocks, max_group))


def _ends(blocks: Sequence[int], max_group: int) -> Iterator[int]:
    end, number = 0, 0
    while end < max_group:
        end = min(end + blocks[min(number, len(blocks) - 1)], max_group)
        number += 1
        yield end


def _add_moves(chances: Values, into: Values) -> None:
    """Add the chance of each state and number of successes to the state that they lead to."""
    states = len(chances)
    for j in range(chances.shape[1]):
        into[j : j + states] += chances[:, j]


def _expected(moves: Values, values: Values) -> Values:
    """Return the expectation, from each state, of what the states that its moves lead to are worth."""
    expected: Values = (moves * sliding_window_view(values, moves.shape[1])).sum(axis=1)
    return expected


def _present(moves: Values | None) -> Values:
    if moves is None:
        raise ValueError("the last row leads nowhere")
    return moves
