"""Rules that match a fixed group of 32: their targets, their price, and the table that each prompt follows."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from learnable.data.band import Band
from learnable.filters.posterior.fitting import fit_belief
from learnable.filters.stopping.operating_point import (
    MIN_PRECISION,
    PRECISION_MARGIN,
    RECALL_MARGIN,
    USUAL_LOSS,
    StoppingRule,
    match_fixed,
)
from learnable.filters.stopping.table import (
    CONTINUE,
    KEEP,
    Lattice,
    StoppingTable,
    compute_fixed_outcome,
    list_block_ends,
)
from tests.filters.populations_for_tests import Prior, bernoulli, draw_means

POOLS = [(Prior(0.3, 0.3), 15.5), (Prior(0.2, 1), 14.0), (Prior(1, 1, 0, 0.7), 12.0)]
OTHERS = [
    Prior(0.5, 0.5),
    Prior(2, 2, 0.3),
    Prior(1, 3, 0.1, 0.05),
    Prior(0.05, 0.4, 0.2, 0.2),
    Prior(0.02, 0.05),
    Prior(0.9, 0.2, 0.005, 0.4),
    Prior(0.392, 0.1883, 0.5),  # needs a table for less than a prompt in a hundred
]
EXACT = 1e-6


def mixed() -> StoppingRule:
    """Of several tables."""
    return match_fixed(Prior(0.3, 0.3).belief, Band(), max_group=48)


@pytest.mark.parametrize(("prior", "max_rollouts"), POOLS, ids=str)
def test_as_good_as_a_fixed_32_for_less_than_half(prior: Prior, max_rollouts: float) -> None:
    rule, fixed = match_fixed(prior.belief, Band(), max_group=48), compute_fixed_outcome(prior.belief, Band(), 32)
    found = rule.outcome
    assert found.precision >= fixed.precision + PRECISION_MARGIN - EXACT
    assert found.recall >= fixed.recall + RECALL_MARGIN - EXACT
    assert found.rollouts <= max_rollouts


@pytest.mark.parametrize("prior", OTHERS, ids=str)
def test_targets_are_met_wherever_they_can_be(prior: Prior) -> None:
    rule, fixed = match_fixed(prior.belief, Band(), max_group=64), compute_fixed_outcome(prior.belief, Band(), 32)
    assert sum(rule.shares) == pytest.approx(1.0)
    assert len(rule.tables) == len(rule.shares) <= 3
    assert rule.outcome.precision >= max(fixed.precision, MIN_PRECISION) + PRECISION_MARGIN - EXACT
    assert rule.outcome.recall >= fixed.recall + RECALL_MARGIN - EXACT


@pytest.mark.slow
@pytest.mark.parametrize("prior", [Prior(1, 1, 0, 0.7), Prior(0.5, 1, 0.5)], ids=str)
def test_a_fitted_prior_costs_neither_precision_nor_recall(prior: Prior) -> None:
    """What rules for priors that are fitted to 1,000 groups of 8 lead to under the true one, exactly.

    Over a fixed 32 by more than the standard error of ten runs of 20,000 prompts, .0015. (With margins of .001 and
    .006 precision was over it by .0008 and .0002, and recall by .007.)
    """
    fixed, found = compute_fixed_outcome(prior.belief, Band(), 32), []
    lattice = Lattice(prior.belief, Band(), 48, every_size=True)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        passes = rng.binomial(8, draw_means(rng, prior, 1000))
        rule = match_fixed(fit_belief(np.full(1000, 8.0), passes).belief, Band(), max_group=48)
        tables = tuple(StoppingTable(lattice, table.threshold, table.actions) for table in rule.tables)
        outcome = StoppingRule(tables, rule.shares).outcome
        found.append((outcome.precision, outcome.recall))
    precision, recall = np.mean(found, axis=0)
    assert precision > fixed.precision + 0.0015
    assert recall > fixed.recall + 0.0015


@pytest.mark.parametrize("precision", [0.7, 0.94])
def test_the_requested_precision_is_reached(precision: float) -> None:
    prior, usual = Prior(0.3, 0.3), mixed().outcome
    found = match_fixed(prior.belief, Band(), max_group=64, precision=precision).outcome
    assert found.precision >= precision + PRECISION_MARGIN - EXACT
    assert found.recall >= compute_fixed_outcome(prior.belief, Band(), 32).recall + RECALL_MARGIN - EXACT
    assert (found.rollouts > usual.rollouts) == (precision > usual.precision)


def test_no_reward_is_too_telling_to_be_solved() -> None:
    rule = match_fixed(Prior(2, 2).belief, Band(), max_group=16, ess_per_rollout=1000.0)
    assert rule.outcome.rollouts <= 8
    assert rule.outcome.precision > 0.96


def test_a_smaller_reference_is_cheaper() -> None:
    small = match_fixed(Prior(0.2, 1).belief, Band(), max_group=48, reference_group=16).outcome
    assert small.rollouts < match_fixed(Prior(0.2, 1).belief, Band(), max_group=48).outcome.rollouts


def test_graded_rewards_need_fewer_rollouts() -> None:
    prior = Prior(2, 2)
    rule, fixed = (
        match_fixed(prior.belief, Band(), max_group=48, ess_per_rollout=3.0),
        compute_fixed_outcome(prior.belief, Band(), 96),
    )
    assert rule.outcome.precision >= fixed.precision + PRECISION_MARGIN - EXACT
    assert rule.outcome.recall >= fixed.recall + RECALL_MARGIN - EXACT
    assert rule.outcome.rollouts < match_fixed(prior.belief, Band(), max_group=48).outcome.rollouts


@pytest.mark.parametrize("limits", [{"max_group": 4}, {"max_group": 48, "precision": 1.0}])
def test_out_of_reach_each_error_has_the_usual_price(limits: dict[str, float]) -> None:
    rule = match_fixed(Prior(0.3, 0.3).belief, Band(), **limits)  # type: ignore[arg-type]
    assert rule.shares == (1.0,)
    usual = StoppingTable.solve(
        Prior(0.3, 0.3).belief, Band(), int(limits["max_group"]), false_keep_loss=USUAL_LOSS, false_drop_loss=USUAL_LOSS
    )
    assert rule.outcome == usual.compute_outcome()


def test_tables_are_followed_in_their_shares() -> None:
    rule = mixed()
    assert len(rule.tables) > 1
    uniforms = np.arange(100_000) / 100_000
    followed = np.bincount(rule.find_tables(uniforms), minlength=len(rule.tables)) / len(uniforms)
    assert followed == pytest.approx(rule.shares, abs=1e-4)
    assert rule.find_tables([0.0, np.nextafter(1, 0)]).tolist() == [0, len(rule.tables) - 1]


def test_each_prompt_follows_the_table_of_its_lot() -> None:
    rule, rng = mixed(), np.random.default_rng(43)
    uniforms, n = rng.random(500), rng.integers(0, 49, 500)
    s = rng.binomial(n, rng.random(500))
    followed = [
        next(i for i in range(len(rule.shares)) if uniform < sum(rule.shares[: i + 1]) + 1e-15) for uniform in uniforms
    ]
    alone = [int(rule.tables[i].decide([k], [float(c)])[0]) for i, k, c in zip(followed, n, s, strict=True)]
    assert rule.decide(uniforms, n, s).tolist() == alone
    assert rule.find_thresholds(uniforms).tolist() == [rule.tables[i].threshold for i in followed]
    ahead = [rule.tables[i].forecast_groups([k], [float(c)], 8) for i, k, c in zip(followed, n, s, strict=True)]
    keeps, further = rule.forecast_groups(uniforms, n, s, 8)
    assert keeps.tolist() == [float(keep[0]) for keep, _ in ahead]
    assert further.tolist() == [float(more[0]) for _, more in ahead]


def test_the_outcome_equals_prompts_that_are_really_sampled() -> None:
    prior, band, rng, prompts = Prior(0.3, 0.3), Band(), np.random.default_rng(47), 60_000
    rule, p, uniforms = mixed(), draw_means(rng, prior, prompts), rng.random(prompts)
    passes, n = np.cumsum(bernoulli(rng, p, 48), axis=1), np.zeros(prompts, np.int64)
    action = rule.decide(uniforms, n, np.zeros(prompts))
    for end in list_block_ends((4, 2, 2, 4), 48):
        going = action == CONTINUE
        n[going] = end
        action[going] = rule.decide(uniforms[going], n[going], passes[going, end - 1])
    inside, kept, found = (p >= band.low) & (p <= band.high), action == KEEP, rule.outcome
    assert found.rollouts == pytest.approx(n.mean(), abs=5 * n.std() / sqrt(prompts))
    assert found.precision == pytest.approx(inside[kept].mean(), abs=0.015)
    assert found.recall == pytest.approx(kept[inside].mean(), abs=0.015)
