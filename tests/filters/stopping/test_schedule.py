"""The way through a pool: a pilot, rounds that mix new groups and continuing ones, an end; the same way each time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from learnable.data.band import Band
from learnable.filters.posterior.belief import Belief
from learnable.filters.posterior.certificate import FamilyPrior
from learnable.filters.stopping import cohorts as cohorts_module
from learnable.filters.stopping import pool_beliefs as beliefs_module
from learnable.filters.stopping import schedule as module
from learnable.filters.stopping.budget import SamplingBudget
from learnable.filters.stopping.cohorts import Fit
from learnable.filters.stopping.operating_point import StoppingRule
from learnable.filters.stopping.schedule import SamplingRound, Schedule, hash_to_uniforms
from learnable.filters.stopping.table import KEEP, StoppingTable

Rates = NDArray[np.float64]
SMALL = SamplingBudget(max_group=24, pilot_prompts=32)


class Pool:
    """Prompts with known pass rates, whose answers are drawn ahead of time."""

    def __init__(
        self,
        rates: Rates,
        budget: SamplingBudget = SMALL,
        seed: int = 0,
        families: list[str] | None = None,
        *,
        endless: bool = False,
    ) -> None:
        rng = np.random.default_rng(seed)
        self.rates = rates
        names = families or ["f"] * len(rates)
        self.schedule = Schedule(names, rng.random(len(rates)), Band(), budget, endless=endless)
        self.answers = (rng.random(self.schedule.rewards.shape) < rates[:, None]).astype(float)
        self.rounds: list[SamplingRound] = []

    def run(self) -> Schedule:
        round_ = self.schedule.request_pilot()
        while len(round_) and not self.schedule.goal_reached:
            self.rounds.append(round_)
            self.answer(round_)
            round_ = self.schedule.request_next_round()
        return self.schedule

    def answer(self, round_: SamplingRound) -> None:
        for prompt, first, end in zip(round_.prompts, round_.first, round_.end, strict=True):
            self.schedule.rewards[prompt, first:end] = self.answers[prompt, first:end]

    @property
    def kept(self) -> set[int]:
        return set(self.schedule.find_certified().tolist())


def beta_rates(count: int, seed: int = 0) -> Rates:
    return np.random.default_rng(seed).beta(0.3, 0.3, count)


def test_every_prompt_is_sampled_until_it_stops_and_no_further() -> None:
    pool = Pool(beta_rates(400))
    schedule = pool.run()
    assert schedule.stopped.all()
    assert (schedule.requested >= 4).all()
    assert (schedule.requested <= 24).all()
    assert (~np.isnan(schedule.rewards)).sum() == schedule.requested.sum()
    clear = (pool.rates < 0.01) | (pool.rates > 0.99)
    assert schedule.requested[clear].mean() < schedule.requested[(pool.rates > 0.15) & (pool.rates < 0.25)].mean()


def test_the_pilot_takes_the_first_prompts_of_each_family() -> None:
    families = ["a", "b"] * 40
    pool = Pool(beta_rates(80), families=families)
    round_ = pool.schedule.request_pilot()
    assert [families[prompt] for prompt in round_.prompts].count("a") == 32
    assert set(round_.prompts.tolist()) == set(range(64))
    assert (round_.end == 8).all()


def test_new_groups_and_continuing_ones_share_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROUND_ROLLOUTS", 200)
    pool = Pool(beta_rates(300))
    pool.run()
    mixed = [round_ for round_ in pool.rounds[1:] if (round_.first == 0).any() and (round_.first > 0).any()]
    assert len(mixed) > 2
    cohorts = np.bincount(pool.schedule.cohorts.of)
    assert cohorts.tolist() == [32, 50, 82, 136]  # each as large as all before it, once they are of 50 or more


@pytest.mark.parametrize(("graded", "want"), [(False, 70), (True, 84)])
def test_a_goal_goes_back_to_groups_that_were_passed_over_where_the_pool_is_all_there_is(
    graded: bool, want: int
) -> None:
    """Some 92 of 300 are in the band, of which the cheapest rule finds fewer than are wanted."""
    by_endless = {}
    for endless in (True, False):
        pool = Pool(beta_rates(300), SamplingBudget(want=want), endless=endless)
        if graded:
            means = pool.rates[:, None].clip(0.01, 0.99)
            pool.answers = np.random.default_rng(1).beta(2 * means, 2 - 2 * means, pool.answers.shape)
        pool.run()
        by_endless[endless] = pool
    passed_over, all_there_is = by_endless[True], by_endless[False]
    assert len(passed_over.kept) < want <= len(all_there_is.kept)
    assert (all_there_is.schedule.requested > 0).all()
    assert passed_over.schedule.requested.sum() < all_there_is.schedule.requested.sum()
    in_band = [0.2 <= all_there_is.rates[prompt] <= 0.8 for prompt in all_there_is.kept]
    assert np.mean(in_band) > 0.8
    silent = Pool(beta_rates(300), SamplingBudget(want=70))
    silent.schedule.give_up(np.arange(200))
    assert silent.run().requested[:200].max() <= 8  # those without an answer are not asked again


def test_a_goal_that_no_pool_can_reach_ends() -> None:
    pool = Pool(beta_rates(300), SamplingBudget(want=299))
    without = Pool(beta_rates(300), SamplingBudget())
    schedule = pool.run()
    assert schedule.stopped.all()
    assert schedule.recall == 1
    assert len(pool.kept) > 0.9 * len(without.run().find_certified())


class InDisorder(Pool):
    """Answers what was requested in an order of its own, some groups at a time."""

    def __init__(self, *arguments: Any, order: int, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.rng = np.random.default_rng(order)

    def run(self) -> Schedule:
        round_, waiting = self.schedule.request_pilot(), [SamplingRound(*(np.zeros(0, np.int64) for _ in range(3)))]
        while len(round_) or any(len(part) for part in waiting):
            pending = SamplingRound.join([*waiting, round_])
            first = min(self.rng.choice([1, 3, 40, 4000]), len(pending))
            order = self.rng.permutation(len(pending))
            now, later = (
                SamplingRound(pending.prompts[part], pending.first[part], pending.end[part])
                for part in (order[:first], order[first:])
            )
            self.answer(now)
            round_, waiting = self.schedule.take(now.prompts), [later]
        return self.schedule


def solve_one_table(belief: Belief, band: Band, **budget: Any) -> StoppingRule:
    """Follow one table of the belief: a rule that hangs on it as the matched one does."""
    ess = min(budget["ess_per_rollout"], 10.0)
    table = StoppingTable.solve(belief, band, budget["max_group"], budget["blocks"], ess_per_rollout=ess)
    return StoppingRule((table,), (1.0,))


@given(
    order=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["passes", "graded", "families", "missing scores"]),
    size=st.sampled_from([20, 150, 420]),
)
@settings(max_examples=20, deadline=None)
def test_the_order_of_arrival_decides_nothing(order: int, kind: str, size: int) -> None:
    """Every prompt gets the same rollouts, by the same beliefs, in whatever order groups are answered."""
    families = [f"family {number % 3}" for number in range(size)] if kind == "families" else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROUND_ROLLOUTS", 120)  # several cohorts
        patch.setattr(cohorts_module, "LAG", 1)
        patch.setattr(beliefs_module, "match_fixed", solve_one_table)  # in milliseconds
        plain = Pool(beta_rates(size), families=families)
        shuffled = InDisorder(beta_rates(size), families=families, order=order)
        if kind == "graded":
            plain.answers = np.random.default_rng(1).normal(plain.rates[:, None], 0.1, plain.answers.shape).clip(0, 1)
        if kind == "missing scores":
            plain.answers[:, 1::3] = np.nan
        shuffled.answers = plain.answers
        once, again = plain.run(), shuffled.run()
    assert once.requested.tolist() == again.requested.tolist()
    assert once.opening.tolist() == again.opening.tolist()
    assert once.cohorts.of.tolist() == again.cohorts.of.tolist()
    assert once.stopped.all()
    assert again.stopped.all()
    for name, prior in once.family_priors.items():
        assert prior.belief.weights.tolist() == again.family_priors[name].belief.weights.tolist()
    assert once.find_certified().tolist() == again.find_certified().tolist()


def test_the_same_rewards_lead_the_same_way() -> None:
    once, again = Pool(beta_rates(300)), Pool(beta_rates(300))
    once.run()
    again.run()
    assert len(once.rounds) == len(again.rounds)
    for round_, other in zip(once.rounds, again.rounds, strict=True):
        assert (round_.prompts == other.prompts).all()
        assert (round_.end == other.end).all()
    assert once.kept == again.kept


def test_rewards_that_lie_ahead_change_nothing() -> None:
    plain, filled = Pool(beta_rates(200)), Pool(beta_rates(200))
    filled.schedule.rewards[:] = filled.answers  # as a ledger that has more than is requested
    plain.run()
    filled.run()
    assert (plain.schedule.requested == filled.schedule.requested).all()
    assert plain.kept == filled.kept


def test_a_goal_ends_the_search_and_costs_what_it_needs() -> None:
    budget = SamplingBudget(max_group=24, pilot_prompts=32, want=20)
    pool = Pool(beta_rates(2000), budget)
    schedule = pool.run()
    assert schedule.goal_reached
    assert len(schedule.find_certified()) >= 20
    assert (schedule.requested > 0).sum() < 300
    assert schedule.requested.sum() < Pool(beta_rates(2000)).run().requested.sum() / 4


@pytest.mark.slow
def test_a_precision_is_kept_on_average() -> None:
    budget = SamplingBudget(max_group=24, precision=0.95, want=60)
    schedule = Pool(beta_rates(4000), budget).run()
    certified = schedule.find_certified()
    assert len(certified) >= 60
    assert schedule.assess_chances(certified).mean() >= 0.95


def test_a_hopeless_goal_is_given_up_early() -> None:
    schedule = Pool(np.zeros(5000), SamplingBudget(want=20)).run()
    assert schedule.gave_up
    assert (schedule.requested > 0).sum() == module.ENOUGH_GROUPS_TO_STOP


def test_a_fixed_budget_is_one_round() -> None:
    pool = Pool(beta_rates(40), SamplingBudget("fixed"))
    schedule = pool.run()
    assert len(pool.rounds) == 1
    assert (schedule.requested == 16).all()
    assert schedule.family_priors["f"].fitted.fitted_to == 40


def test_groups_without_an_answer_are_given_up() -> None:
    pool = Pool(beta_rates(100))
    pool.answer(pool.schedule.request_pilot())
    pool.schedule.rewards[3] = np.nan
    pool.schedule.give_up(np.array([3]))
    round_ = pool.schedule.request_next_round()
    assert 3 not in round_.prompts
    n, mean, variance = pool.schedule.measure(np.array([3]))
    assert (n[0], mean[0], variance[0]) == (0, 0, 0)


def test_missing_scores_do_not_count_and_do_not_hold_a_group_up() -> None:
    pool = Pool(beta_rates(64))
    pool.answers[:, 1::2] = np.nan  # every other verdict is an error
    schedule = pool.run()
    assert schedule.stopped.all()
    n, _, _ = schedule.measure(np.arange(64))
    assert (n == schedule.requested // 2).all()


def test_the_opening_is_what_was_requested_before_any_reward() -> None:
    pool = Pool(beta_rates(100))
    assert (pool.schedule.opening == 0).all()
    schedule = pool.run()
    assert schedule.opening.tolist() == [8] * 32 + [4] * 68
    assert (schedule.requested > schedule.opening).any()
    assert Pool(beta_rates(20), SamplingBudget("fixed")).run().opening.tolist() == [16] * 20


def test_a_graded_group_goes_on_where_equal_rewards_are_all_that_it_lacks() -> None:
    # The pilot says that rewards of this family vary, so four equal ones look like luck: for some it is, for some not.
    pool = Pool(np.full(160, 0.5), SamplingBudget())
    rng = np.random.default_rng(1)
    pool.answers = rng.normal(0.5, 0.15, pool.answers.shape).clip(0, 1)
    pool.answers[100:110, :4] = 0.5
    pool.answers[110:120] = 0.5
    schedule = pool.run()
    assert set(range(100, 110)) <= pool.kept
    assert pool.kept.isdisjoint(range(110, 120))
    assert len(pool.kept) > 140
    assert schedule.requested[100:120].min() > 4
    assert schedule.requested[110:120].max() < SamplingBudget().max_group


def test_small_families_fall_back_and_still_end() -> None:
    schedule = Pool(np.array([0.5]), families=["lonely"]).run()
    assert schedule.stopped.all()
    assert schedule.family_priors["lonely"].fitted.fitted_to == 0


def test_uniforms_follow_from_ids_alone() -> None:
    assert hash_to_uniforms(["0" * 20, "f" * 20]).tolist() == [0.0, (2**32 - 1) / 2**32]


def test_a_group_whose_rewards_are_all_equal_is_not_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = Schedule(["f"] * 4, np.zeros(4), Band(), SMALL)
    schedule.rewards[:, :4] = [
        [0.5, 0.5, 0.5, 0.5],
        [0.5, 0.5, 0.6, 0.5],
        [np.nan, 1.0, 1.0, 1.0],
        [0.0, 1.0, 0.0, 1.0],
    ]
    schedule.rewards[0, 4] = 0.9  # lies ahead of what was requested
    schedule.requested[:], schedule.stopped[:] = 4, True
    monkeypatch.setattr(schedule, "assess_chances", lambda prompts: np.ones(len(prompts)))
    assert schedule.find_certified().tolist() == [1, 3]


def test_a_prior_is_fitted_anew_as_more_groups_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROUND_ROLLOUTS", 200)
    easy_first = np.concatenate([np.full(32, 0.9), beta_rates(268)])
    pool = Pool(easy_first)
    pool.answer(pool.schedule.request_pilot())
    pool.schedule.request_next_round()
    early = pool.schedule.family_priors["f"]
    assert early.fitted.fitted_to == 32
    late = Pool(easy_first).run().family_priors["f"]
    assert late.fitted.fitted_to >= 150
    assert (early.belief.weights != late.belief.weights).any()


def test_a_group_of_equal_rewards_goes_on_to_the_largest_group_and_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = Schedule(["f"] * 2, np.zeros(2), Band(), SMALL)
    schedule.requested[:] = [SMALL.max_group - 8, SMALL.max_group]
    schedule.rewards[:, : SMALL.max_group] = 0.5
    rule = SimpleNamespace(decide=lambda uniforms, n, sums: np.full(len(n), KEEP), find_thresholds=np.zeros_like)
    fit = Fit(["f"], {"f": rule}, {"f": FamilyPrior()})  # type: ignore[dict-item]
    monkeypatch.setattr(schedule, "assess_cell", lambda prompts, _: (np.ones(len(prompts)), np.ones(len(prompts))))
    schedule._judge(np.arange(2), fit, np.zeros(2, np.int64))
    assert schedule.stopped.tolist() == [False, True]
