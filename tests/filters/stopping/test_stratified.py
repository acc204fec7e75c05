"""Strata in a schedule: cheaper decisions, audits before anything is rejected unsampled, and the way back."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from learnable.data.band import Band
from learnable.filters.arrays import Indices
from learnable.filters.posterior.belief import Belief
from learnable.filters.posterior.fitting import Counts, FittedBelief
from learnable.filters.prediction.strata import Prediction, cut
from learnable.filters.stopping.budget import SamplingBudget
from learnable.filters.stopping.operating_point import match_fixed, match_fixed_together
from learnable.filters.stopping.plan import plan_ahead
from learnable.filters.stopping.schedule import Schedule
from learnable.filters.stopping.stratified import count_audit, merge_orders

Rates = NDArray[np.float64]


class Told:
    """Predicts what it is told, for every prompt; nothing where it has no skill."""

    def __init__(self, rates: Rates, *, skill: bool = True) -> None:
        self.rates, self.skill = rates, skill

    def predict(self, rows: Indices, told: Indices, groups: Counts, family: FittedBelief) -> Prediction | None:
        if not self.skill:
            return None
        return Prediction(self.rates[rows], cut(self.rates[rows][told]), 0.5, 100.0, 5.0, len(told), ("a test",), ())


def run(rates: Rates, predictor: Told | None, budget: SamplingBudget | None = None, seed: int = 0) -> Schedule:
    rng = np.random.default_rng(seed)
    schedule = Schedule(
        ["f"] * len(rates), rng.random(len(rates)), Band(), budget or SamplingBudget(), predictor=predictor
    )
    answers = (rng.random(schedule.rewards.shape) < rates[:, None]).astype(float)
    round_ = schedule.request_pilot()
    while len(round_) and not schedule.goal_reached:
        for prompt, first, end in zip(round_.prompts, round_.first, round_.end, strict=True):
            schedule.rewards[prompt, first:end] = answers[prompt, first:end]
        round_ = schedule.request_next_round()
    return schedule


def draw(prompts: int, seed: int = 0) -> tuple[Rates, Rates]:
    """Return true rates, and what is predicted of them."""
    rng = np.random.default_rng(seed)
    ease = 3 * rng.standard_normal(prompts)
    return expit(ease + 0.5 * rng.standard_normal(prompts)), expit(ease)


def inside(rates: Rates) -> NDArray[np.bool_]:
    return (rates >= 0.2) & (rates <= 0.8)


def test_a_prediction_without_skill_changes_nothing() -> None:
    rates, predicted = draw(400)
    plain, other = run(rates, None), run(rates, Told(predicted, skill=False))
    assert np.array_equal(plain.requested, other.requested)
    assert np.array_equal(plain.find_certified(), other.find_certified())
    assert not other.rejected.any()


def test_a_goal_that_strata_passed_over_is_reached_all_the_same() -> None:
    rates, predicted = draw(400)
    want = int(0.8 * inside(rates).sum())
    schedule = run(rates, Told(predicted), SamplingBudget(want=want))
    assert schedule.goal_reached
    assert schedule.recall
    assert inside(rates[schedule.find_certified()]).mean() > 0.8


def test_decisions_cost_less_and_are_as_right() -> None:
    rates, predicted = draw(2000)
    plain, schedule = run(rates, None), run(rates, Told(predicted))
    assert schedule.requested.sum() < 0.7 * plain.requested.sum()
    for measured in (plain, schedule):
        kept = measured.find_certified()
        assert inside(rates[kept]).mean() > 0.86
        assert inside(rates[kept]).sum() / inside(rates).sum() > 0.84
    rejected = np.flatnonzero(schedule.rejected)
    assert len(rejected) > 100
    assert (schedule.requested[rejected] == 0).all()
    assert inside(rates[rejected]).mean() < 0.03
    assert schedule.stopped[schedule.requested > 0].all()
    assert (schedule.rejected | (schedule.requested > 0)).all()
    strata = schedule.strata["f"]  # and each that is rejected has an audit
    for number in np.unique(strata.prediction.strata[schedule.rejected]):
        mine = strata.rows[strata.prediction.strata == number]
        assert len(strata.find_audited(schedule, mine)) >= count_audit(len(mine))


def test_an_audit_is_a_twentieth_and_twenty_at_least() -> None:
    assert [count_audit(prompts) for prompts in (10, 400, 5000)] == [20, 20, 250]


def test_an_audit_that_disagrees_brings_a_stratum_back() -> None:
    """Of the prompts that are predicted to fail those of the pilot do, and half of the others are in the band."""
    rates, predicted = draw(1500, seed=2)
    pilot = np.arange(len(rates)) < SamplingBudget().pilot_prompts
    rates = np.where(~pilot & (predicted < 0.2) & (np.arange(len(rates)) % 2 == 0), 0.5, rates)
    schedule = run(rates, Told(predicted))
    assert not schedule.rejected[predicted < 0.2].any()
    kept = schedule.find_certified()
    assert inside(rates[kept]).sum() / inside(rates).sum() > 0.8


def test_a_poor_prediction_leaves_certificates_right() -> None:
    """The pilot's rates are predicted well, and those of the others by chance."""
    rates, predicted = draw(2000, seed=3)
    rest = np.arange(SamplingBudget().pilot_prompts, len(rates))
    predicted[rest] = np.random.default_rng(0).permutation(predicted[rest])
    plain, schedule = run(rates, None), run(rates, Told(predicted))
    chances = schedule.assess_chances(np.arange(len(rates)))
    assert chances.mean() == pytest.approx(inside(rates).mean(), abs=0.03)
    for low in (0.0, 0.25, 0.5, 0.75):
        mine = (chances >= low) & (chances < low + 0.25)
        assert chances[mine].mean() == pytest.approx(inside(rates[mine]).mean(), abs=0.08)
    assert schedule.requested.sum() < 1.1 * plain.requested.sum()
    assert not schedule.rejected.any()


def test_the_same_rewards_lead_the_same_way() -> None:
    rates, predicted = draw(300)
    once, again = run(rates, Told(predicted)), run(rates, Told(predicted))
    assert np.array_equal(once.requested, again.requested)
    assert np.array_equal(once.rejected, again.rejected)


def test_a_goal_comes_to_promising_strata_first() -> None:
    rates, predicted = draw(4000)
    budget = SamplingBudget(want=150)
    plain, schedule = run(rates, None, budget), run(rates, Told(predicted), budget)
    assert len(schedule.find_certified()) >= 150
    assert schedule.requested.sum() < 0.7 * plain.requested.sum()
    looked = (schedule.requested > 0) & ~schedule.in_pilot
    assert inside(rates[looked]).mean() > 1.5 * inside(rates).mean()
    assert inside(rates[schedule.find_certified()]).mean() > 0.8
    assert not schedule.rejected.any()
    assert plan_ahead(schedule, np.full(len(rates), 10.0)).rollouts.expected is not None


def test_a_goal_out_of_reach_looks_at_every_stratum() -> None:
    rates, predicted = draw(300)
    schedule = run(rates, Told(predicted), SamplingBudget(want=290))
    assert (schedule.requested > 0).all()
    assert schedule.stopped.all()


def test_a_forecast_knows_what_is_not_sampled() -> None:
    rates, predicted = draw(2000)
    schedule = run(rates, Told(predicted))
    plan = plan_ahead(schedule, np.full(len(rates), 10.0))
    assert plan.prompts.expected == (schedule.requested > 0).sum() == (~schedule.rejected).sum() < 2000
    assert plan.rollouts.expected == schedule.requested.sum()


def test_one_in_ten_of_the_next_is_drawn_at_random_and_families_keep_their_shares() -> None:
    families = np.repeat([0, 1], [600, 200])
    shuffled = np.random.default_rng(0).permutation(800)
    prompts, worth = np.arange(800), np.random.default_rng(1).random(800)
    first = merge_orders(prompts, families[shuffled], worth)[:400]
    assert np.bincount(families[shuffled][first]).tolist() == pytest.approx([300, 100], abs=3)
    best = np.isin(first, np.argsort(-worth)[:400])
    assert 0.9 < best.mean() < 0.98
    assert sorted(merge_orders(prompts, families[shuffled], worth)) == prompts.tolist()


def test_strata_match_a_fixed_group_together_for_fewer_rollouts() -> None:
    hard, middling = Belief.of_moments(0.3, 6.0), Belief.of_moments(3.0, 3.0)
    whole = Belief((hard.weights + middling.weights) / 2)
    alone = match_fixed(whole, Band(), max_group=48).outcome
    together = [rule.outcome for rule in match_fixed_together([hard, middling], [0.5, 0.5], Band(), max_group=48)]
    right, kept = (sum(getattr(o, name) for o in together) / 2 for name in ("kept_in_band", "kept"))
    assert right / kept >= alone.precision - 1e-6
    assert right / (sum(o.in_band for o in together) / 2) >= alone.recall - 1e-6
    assert sum(o.rollouts for o in together) / 2 < alone.rollouts
    assert match_fixed_together([whole], [1.0], Band(), max_group=48)[0].outcome == alone
