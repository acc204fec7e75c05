"""Stopping tables against a plain recursion over single rewards, and against groups that are really drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learnable.data.band import Band
from learnable.filters.posterior.belief import RATE_GRID, Belief, share_in_band
from learnable.filters.stopping.table import (
    CONTINUE,
    DROP,
    KEEP,
    Lattice,
    StoppingTable,
    compute_fixed_outcome,
    list_block_ends,
)
from tests.filters.populations_for_tests import Prior, bernoulli, draw_means

SHAPES = st.floats(0.1, 4.0)
MASSES = st.sampled_from([0.0, 0.05, 0.45])
PRIORS = st.builds(Prior, SHAPES, SHAPES, MASSES, MASSES)
BANDS = st.sampled_from([Band(), Band(0.0, 0.4), Band(0.5, 1.0), Band(0.3, 0.45), Band(0.05, 0.95)])
BLOCKS = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
LOSSES = st.floats(1.0, 500.0)
SOLVED = [(Prior(0.2, 1), 400.0, 400.0), (Prior(1, 1, 0.1, 0.6), 300.0, 150.0)]


@dataclass(frozen=True)
class ByHand:
    """Every action's cost at every state, reward by reward, in plain floats."""

    prior: Prior
    band: Band
    max_group: int
    blocks: tuple[int, ...]
    false_keep: float
    false_drop: float

    @cache  # noqa: B019
    def moment(self, n: int, s: int, inside: bool = False) -> float:
        """The chance of one order of s passes among n, or that and to be in the band: rate by rate."""
        weights, share = self.prior.belief.weights.tolist(), share_in_band(self.band).tolist()
        parts = zip(RATE_GRID.tolist(), weights, share if inside else [1.0] * len(share), strict=True)
        return sum(w * part * p**s * (1 - p) ** (n - s) for p, w, part in parts)

    def inside(self, n: int, s: int) -> float:
        return self.moment(n, s, True) / self.moment(n, s)

    def passes_next(self, n: int, s: int) -> float:
        return self.moment(n + 1, s + 1) / self.moment(n, s)

    def block(self, n: int) -> int:
        """How many rollouts come after n; 0 at the largest group."""
        end, blocks = 0, list(self.blocks)
        while end <= n and end < self.max_group:
            end = min(end + (blocks.pop(0) if len(blocks) > 1 else blocks[0]), self.max_group)
        return max(end - n, 0)

    @cache  # noqa: B019
    def costs(self, n: int, s: int) -> dict[str, float]:
        inside, block = self.inside(n, s), self.block(n)
        costs = {"keep": self.false_keep * (1 - inside), "drop": self.false_drop * inside}
        going_on = {"continue": block + self.after(n, s, block)} if block else {}
        return going_on if not n else costs | going_on  # the first block is paid for in any case

    @cache  # noqa: B019
    def after(self, n: int, s: int, left: int) -> float:
        if not left:
            return min(self.costs(n, s).values())
        p = self.passes_next(n, s)
        return p * self.after(n + 1, s + 1, left - 1) + (1 - p) * self.after(n + 1, s, left - 1)


PROBLEMS = st.builds(ByHand, PRIORS, BANDS, st.integers(1, 8), BLOCKS, LOSSES, LOSSES)


def solved(hand: ByHand) -> StoppingTable:
    return StoppingTable.solve(
        hand.prior.belief, hand.band, hand.max_group, hand.blocks, hand.false_keep, hand.false_drop
    )


def action_of(table: StoppingTable, n: int, s: float) -> str:
    """What to do with one group of `n` rollouts whose rewards sum to `s`, in a word."""
    [action] = table.decide([n], [s]).tolist()
    return {CONTINUE: "continue", KEEP: "keep", DROP: "drop"}[action]


@given(PROBLEMS)
def test_every_action_is_the_cheapest(hand: ByHand) -> None:
    """At every group size, also between the ends of blocks, where errors leave a group short."""
    table = solved(hand)
    assert table.lattice.rows[-1] == hand.max_group
    for n in range(hand.max_group + 1):
        for s in range(n + 1):
            costs = hand.costs(n, s)
            assert costs[action_of(table, n, s)] <= min(costs.values()) + 1e-9 * (1 + hand.false_keep + hand.false_drop)


@given(PROBLEMS)
def test_outcome_adds_up_to_the_least_cost(hand: ByHand) -> None:
    found = solved(hand).compute_outcome()
    wrong = hand.false_keep * (found.kept - found.kept_in_band) + hand.false_drop * (found.in_band - found.kept_in_band)
    assert found.rollouts + wrong == pytest.approx(min(hand.costs(0, 0).values()), rel=1e-8, abs=1e-8)
    assert found.in_band == pytest.approx(hand.inside(0, 0), abs=1e-9)


@given(PROBLEMS)
def test_outcome_equals_every_sequence_of_rewards(hand: ByHand) -> None:
    table = solved(hand)

    def follow(n: int, s: int, left: int) -> tuple[float, float, float]:
        """Rollouts, kept, and kept in the band, from here on."""
        if not left:
            action = action_of(table, n, s)
            if action == "continue":
                return follow(n, s, hand.block(n))
            return (n, 1.0, hand.inside(n, s)) if action == "keep" else (n, 0.0, 0.0)
        p = hand.passes_next(n, s)
        up, down = follow(n + 1, s + 1, left - 1), follow(n + 1, s, left - 1)
        return tuple(p * u + (1 - p) * d for u, d in zip(up, down, strict=True))  # type: ignore[return-value]

    found = table.compute_outcome()
    assert (found.rollouts, found.kept, found.kept_in_band) == pytest.approx(follow(0, 0, 0), abs=1e-8)
    kept, further = table.forecast_groups(np.array([0]), np.array([0.0]))
    assert (further[0], kept[0]) == pytest.approx((found.rollouts, found.kept), abs=1e-8)


@pytest.mark.parametrize(("prior", "false_keep", "false_drop"), SOLVED)
def test_outcome_equals_prompts_that_are_really_sampled(prior: Prior, false_keep: float, false_drop: float) -> None:
    band, rng, prompts = Band(), np.random.default_rng(41), 100_000
    table = StoppingTable.solve(prior.belief, band, 32, false_keep_loss=false_keep, false_drop_loss=false_drop)
    p = draw_means(rng, prior, prompts)
    passes = np.cumsum(bernoulli(rng, p, 32), axis=1)
    n, action = np.zeros(prompts, np.int64), table.decide(np.zeros(prompts, np.int64), np.zeros(prompts))
    for end in list_block_ends((4, 2, 2, 4), 32):
        going = action == CONTINUE
        n[going] = end
        action[going] = table.decide(n[going], passes[going, end - 1])
    assert not (action == CONTINUE).any()
    inside, kept, found = (p >= band.low) & (p <= band.high), action == KEEP, table.compute_outcome()
    noise = 5 * 0.5 / sqrt(prompts)
    assert found.rollouts == pytest.approx(n.mean(), abs=5 * n.std() / sqrt(prompts))
    assert found.kept == pytest.approx(kept.mean(), abs=noise)
    assert found.kept_in_band == pytest.approx((kept & inside).mean(), abs=noise)
    assert found.in_band == pytest.approx(inside.mean(), abs=noise)
    assert found.precision == pytest.approx(inside[kept].mean(), abs=0.02)
    assert found.recall == pytest.approx(kept[inside].mean(), abs=0.02)


@pytest.mark.parametrize(
    ("prior", "size", "precision", "recall"),
    [
        (Prior(0.2, 1), 8, 0.78, 0.77),
        (Prior(0.2, 1), 16, 0.87, 0.78),
        (Prior(0.2, 1), 32, 0.893, 0.872),
        (Prior(0.3, 0.3), 8, 0.78, 0.78),
        (Prior(0.3, 0.3), 16, 0.88, 0.79),
        (Prior(0.3, 0.3), 32, 0.895, 0.873),
        (Prior(1, 1, 0, 0.7), 32, 0.924, 0.886),
    ],
    ids=str,
)
def test_fixed_groups_reach_the_known_yardsticks(prior: Prior, size: int, precision: float, recall: float) -> None:
    found = compute_fixed_outcome(prior.belief, Band(), size)
    digits = 0.001 if size == 32 else 0.008
    assert found.rollouts == size
    assert found.precision == pytest.approx(precision, abs=digits)
    assert found.recall == pytest.approx(recall, abs=digits)


@given(PRIORS, BANDS, st.integers(1, 12))
@settings(max_examples=30)
def test_fixed_groups_equal_a_plain_sum(prior: Prior, band: Band, size: int) -> None:
    hand, reach = ByHand(prior, band, size, (size,), 0, 0), {0: 1.0}
    for n in range(size):
        after = dict.fromkeys(range(n + 2), 0.0)
        for s, chance in reach.items():
            after[s + 1] += chance * hand.passes_next(n, s)
            after[s] += chance * (1 - hand.passes_next(n, s))
        reach = after
    kept = [s for s in reach if band.low - 1e-9 <= s / size <= band.high + 1e-9]
    found = compute_fixed_outcome(prior.belief, band, size)
    assert found.kept == pytest.approx(sum(reach[s] for s in kept), abs=1e-9)
    assert found.kept_in_band == pytest.approx(sum(reach[s] * hand.inside(size, s) for s in kept), abs=1e-9)
    assert found.in_band == pytest.approx(hand.inside(0, 0), abs=1e-9)


@given(PRIORS, BANDS, LOSSES, LOSSES)
@settings(max_examples=20)
def test_a_dearer_error_is_made_less_often(prior: Prior, band: Band, loss: float, other: float) -> None:
    """A law of least cost: what costs more cannot happen more."""
    lattice_losses = [(loss, other), (2 * loss, other), (loss, 2 * other)]
    base, keeping, dropping = (
        StoppingTable.solve(prior.belief, band, 12, false_keep_loss=k, false_drop_loss=d).compute_outcome()
        for k, d in lattice_losses
    )
    assert keeping.kept - keeping.kept_in_band <= base.kept - base.kept_in_band + 1e-9
    assert dropping.in_band - dropping.kept_in_band <= base.in_band - base.kept_in_band + 1e-9


@given(PRIORS, BANDS, BLOCKS, LOSSES)
@settings(max_examples=20)
def test_leave_to_go_on_never_costs(prior: Prior, band: Band, blocks: tuple[int, ...], loss: float) -> None:
    """Every policy of the smaller table is one of the larger, as long as their blocks end alike."""
    ends = list_block_ends(blocks, 14)
    small, large = (StoppingTable.solve(prior.belief, band, end, blocks, loss, loss) for end in (ends[0], ends[-1]))
    costs = [
        o.rollouts + loss * (o.kept + o.in_band - 2 * o.kept_in_band)
        for o in (small.compute_outcome(), large.compute_outcome())
    ]
    assert costs[1] <= costs[0] + 1e-9


@pytest.mark.parametrize("ess_per_rollout", [1.0, 8.65])
def test_the_largest_group_always_stops(ess_per_rollout: float) -> None:
    table = StoppingTable.solve(
        Prior(0.3, 0.3).belief, Band(), 16, false_keep_loss=1e6, false_drop_loss=1e6, ess_per_rollout=ess_per_rollout
    )
    sums = np.linspace(0, 1, 101)
    for n in (16, 17, 40):
        assert not (table.decide(np.full(101, n), n * sums) == CONTINUE).any()
    assert (table.decide(np.full(101, 12), 12 * sums) == CONTINUE).any()


def test_a_graded_group_that_is_one_short_is_judged_as_the_last_full_one() -> None:
    table = StoppingTable.solve(Prior(1, 1).belief, Band(), 16, ess_per_rollout=3.0)
    means = np.linspace(0, 1, 25)
    for short, full in ((5, 4), (7, 6), (11, 8), (15, 12)):
        assert (
            table.decide(np.full(25, short), short * means).tolist()
            == table.decide(np.full(25, full), full * means).tolist()
        )
    assert action_of(table, 3, 1.5) == action_of(table, 0, 0.0) == "continue"


def test_a_rollout_worth_two_halves_the_group() -> None:
    prior, band = Prior(0.4, 0.9, 0.1, 0.1), Band()
    graded = StoppingTable.solve(prior.belief, band, 8, (2, 1, 1), 90, 60, ess_per_rollout=2.0)
    plain = StoppingTable.solve(prior.belief, band, 16, (4, 2, 2), 180, 120)
    found, twice = graded.compute_outcome(), plain.compute_outcome()
    assert (2 * found.rollouts, found.kept, found.kept_in_band) == pytest.approx(
        (twice.rollouts, twice.kept, twice.kept_in_band)
    )
    assert graded.threshold == plain.threshold == 0.6


def test_chances_of_hundreds_of_rollouts_are_numbers_and_sum_to_one() -> None:
    lattice = Lattice(Prior(0.5, 0.5, 0.1, 0.1).belief, Band(), 32, (4, 12, 16), ess_per_rollout=60.0)
    for row, after in enumerate(lattice.following[:-1]):
        assert after is not None
        moves = lattice.moves(row, after)
        assert moves.sum(axis=1) == pytest.approx(1.0, abs=1e-8)
        assert np.all((lattice.in_band[row] >= 0) & (lattice.in_band[row] <= 1 + 1e-12))
    assert np.isfinite(lattice.in_band[-1]).all()


@given(BLOCKS, st.integers(1, 60))
def test_blocks_end_at_the_largest_group(blocks: tuple[int, ...], max_group: int) -> None:
    ends = list_block_ends(blocks, max_group)
    assert ends[-1] == max_group
    sizes = [b - a for a, b in zip([0, *ends], ends, strict=False)]
    assert sizes[:-1] == [blocks[min(i, len(blocks) - 1)] for i in range(len(sizes) - 1)]
    assert 1 <= sizes[-1] <= blocks[min(len(sizes), len(blocks)) - 1]


def test_the_chances_of_blocks_to_come_add_up_to_the_expected_rollouts() -> None:
    table = StoppingTable.solve(Belief.of_moments(0.3, 0.3), Band(), 12)
    chances = table.forecast_blocks([0], [0])[:, 0]
    assert chances[0] == 1
    assert chances @ np.array([4, 2, 2, 4]) == pytest.approx(table.compute_outcome().rollouts)
