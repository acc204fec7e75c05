"""Plans against what then happens: stopping tables against single rewards, and whole plans against simulated pools."""

from __future__ import annotations

import numpy as np
import pytest

from learnable.data.band import Band
from learnable.filters.arrays import Values
from learnable.filters.stopping.budget import SamplingBudget
from learnable.filters.stopping.operating_point import StoppingRule
from learnable.filters.stopping.plan import Estimate, SamplingPlan, plan_ahead, plan_fixed
from learnable.filters.stopping.schedule import SamplingRound, Schedule
from learnable.filters.stopping.table import StoppingTable, list_block_ends
from tests.filters.populations_for_tests import Prior, draw_means

PRIOR = Prior(0.4, 0.6, zero=0.2, one=0.1)
TABLE = StoppingTable.solve(PRIOR.belief, Band(), max_group=24)
TOKENS = 100.0


class Pool:
    """A pool whose rollouts are drawn beforehand, and the schedule that samples it."""

    def __init__(
        self, rewards: Values, budget: SamplingBudget, families: list[str] | None = None, seed: int = 0
    ) -> None:
        self.rewards, size = rewards, len(rewards)
        uniforms = np.random.default_rng([seed, 1]).random(size)
        self.schedule = Schedule(families or ["one"] * size, uniforms, Band(), budget)
        self.round_ = self.schedule.request_pilot()
        self.sample(self.round_)
        self.round_ = self.schedule.request_next_round()

    @classmethod
    def of_bernoulli(
        cls, rates: Values, budget: SamplingBudget, families: list[str] | None = None, seed: int = 0
    ) -> Pool:
        uniforms = np.random.default_rng([seed, 2]).random((len(rates), budget.count_max_rollouts(16)))
        return cls((uniforms < rates[:, None]).astype(np.float64), budget, families, seed)

    def sample(self, round_: SamplingRound) -> None:
        for prompt, first, end in zip(round_.prompts, round_.first, round_.end, strict=True):
            self.schedule.rewards[prompt, first:end] = self.rewards[prompt, first:end]

    def plan(self, *, endless: bool = False, seed: int = 0) -> SamplingPlan:
        schedule, round_ = self.schedule, self.round_
        schedule.requested[round_.prompts] = round_.first
        tokens = np.where(schedule.requested > 0, TOKENS, np.nan)
        plan = plan_ahead(schedule, tokens, endless=endless, seed=seed)
        schedule.requested[round_.prompts] = round_.end
        return plan

    def finish(self) -> tuple[int, int, int]:
        """Run to the end; return prompts looked at, rollouts, and prompts kept."""
        while len(self.round_) and not self.schedule.goal_reached:
            self.sample(self.round_)
            self.round_ = self.schedule.request_next_round()
        self.schedule.requested[self.round_.prompts] = self.round_.first
        requested = self.schedule.requested
        self.round_ = SamplingRound(*(np.zeros(0, np.int64) for _ in range(3)))
        return int((requested > 0).sum()), int(requested.sum()), len(self.schedule.find_certified())


def holds(estimate: Estimate | None, figure: float) -> bool:
    assert estimate is not None
    return (estimate.low or 0) <= figure <= (np.inf if estimate.high is None else estimate.high)


@pytest.mark.parametrize(("n", "s"), [(0, 0), (4, 2), (8, 1), (8, 8), (12, 9)])
def test_forecasts_are_what_single_rewards_come_to(n: int, s: int) -> None:
    rng = np.random.default_rng(n + s)
    games = 40_000
    rates = draw_means(rng, PRIOR, games * 20)
    rates = rates[rng.binomial(n, rates) == s][:games]  # those that would have led here
    size, sums, spent = np.full(len(rates), n), np.full(len(rates), float(s)), np.zeros(len(rates))
    for end in list_block_ends((4, 2, 2, 4), 24):
        goes_on = (TABLE.decide(size, sums) == 0) & (size < end)
        block = np.where(goes_on, end - size, 0)
        sums, size, spent = sums + rng.binomial(block, rates), size + block, spent + block
    kept = TABLE.decide(size, sums) == 1
    [keep], [further] = TABLE.forecast_groups([n], [s])
    assert keep == pytest.approx(kept.mean(), abs=0.02)
    assert further == pytest.approx(spent.mean(), abs=0.15)


def test_forecasts_from_the_start_are_the_tables_outcome() -> None:
    [keep], [further] = TABLE.forecast_groups([0], [0])
    outcome = TABLE.compute_outcome()
    assert (keep, further) == (pytest.approx(outcome.kept), pytest.approx(outcome.rollouts))


def test_kept_groups_that_are_topped_up_cost_what_they_lack() -> None:
    n, s = np.array([8, 12, 8, 8]), np.array([4, 6, 0, 2])
    assert TABLE.decide(n, s).tolist() == [1, 1, 2, 0]
    without = TABLE.forecast_groups(n, s)[1]
    keep, further = TABLE.forecast_groups(n, s, min_kept_group=30)
    assert further[:3].tolist() == [22, 18, 0]
    assert without[3] + 6 * keep[3] <= further[3] <= without[3] + 18 * keep[3]  # it ends with 12 to 24 of the 30


def test_each_prompt_looks_ahead_along_its_own_table() -> None:
    strict = StoppingTable.solve(Prior(0.4, 0.6).belief, Band(), max_group=24, false_keep_loss=4000)
    rule = StoppingRule((TABLE, strict), (0.3, 0.7))
    keep, further = rule.forecast_groups([0.1, 0.9], [8, 8], [3, 3])
    expected = [table.forecast_groups([8], [3]) for table in (TABLE, strict)]
    assert keep.tolist() == [float(k[0]) for k, _ in expected]
    assert further.tolist() == [float(f[0]) for _, f in expected]


def test_what_happens_is_in_the_interval_nine_times_in_ten() -> None:
    budget, hits, widths = SamplingBudget(want=40), [], []
    for seed in range(16):
        rates = np.random.default_rng([seed, 3]).beta(0.3, 0.3, 900)
        pool = Pool.of_bernoulli(rates, budget, seed=seed)
        plan = pool.plan(endless=True, seed=seed)
        prompts, rollouts, kept = pool.finish()
        assert kept >= 40
        hits.append((holds(plan.prompts, prompts), holds(plan.rollouts, rollouts)))
        assert plan.prompts.high
        assert plan.prompts.low
        widths.append(plan.prompts.high / plan.prompts.low)
    assert np.mean(hits) >= 0.8
    assert max(widths) < 4  # an interval that says nothing would always be right


def test_a_pool_without_a_goal_is_looked_at_whole() -> None:
    pool = Pool.of_bernoulli(np.random.default_rng(5).beta(0.5, 0.5, 400), SamplingBudget(), seed=5)
    plan = pool.plan()
    prompts, rollouts, kept = pool.finish()
    assert plan.prompts == Estimate.exactly(400) == Estimate.exactly(prompts)
    assert plan.chance == 1
    assert holds(plan.kept, kept)
    assert holds(plan.rollouts, rollouts)
    assert plan.tokens
    assert plan.tokens.high
    assert plan.tokens.high == pytest.approx((plan.rollouts.high or 0) * TOKENS)


def test_a_finished_run_is_known_exactly() -> None:
    pool = Pool.of_bernoulli(np.random.default_rng(6).beta(0.5, 0.5, 300), SamplingBudget(want=40), seed=6)
    prompts, rollouts, kept = pool.finish()
    plan = pool.plan(endless=True)
    exactly = Estimate.exactly
    assert (plan.prompts, plan.rollouts, plan.kept) == (exactly(prompts), exactly(rollouts), exactly(kept))
    assert kept >= 40
    assert (plan.tokens_ahead, plan.spent_rollouts, plan.chance) == (exactly(0), rollouts, 1)


def test_a_goal_that_the_pilot_reaches_reads_no_more() -> None:
    rates = np.random.default_rng(4).beta(0.5, 0.5, 64)
    plan, whole = (Pool.of_bernoulli(rates, budget).plan() for budget in (SamplingBudget(want=5), SamplingBudget()))
    assert plan.prompts == Estimate.exactly(64)
    assert plan.rollouts.high
    assert whole.rollouts.low
    assert plan.rollouts.high < whole.rollouts.low


def test_a_source_that_holds_too_few_says_so() -> None:
    rates = np.random.default_rng(7).beta(0.3, 0.3, 300)
    pool = Pool.of_bernoulli(rates, SamplingBudget(want=200), seed=7)
    plan = pool.plan()
    prompts, _, kept = pool.finish()
    assert plan.chance < 0.05
    assert plan.prompts == Estimate.exactly(300) == Estimate.exactly(prompts)
    assert kept < 200
    assert holds(plan.kept, kept)


def test_a_pool_that_holds_enough_if_groups_go_on_again_is_forecast_so() -> None:
    hits = []
    for seed in range(4):
        rates = np.random.default_rng([seed, 9]).beta(0.3, 0.3, 300)
        pool = Pool.of_bernoulli(rates, SamplingBudget(want=68), seed=seed)
        plan, endless = pool.plan(seed=seed), pool.plan(endless=True, seed=seed)
        _, rollouts, kept = pool.finish()
        assert kept >= 68
        assert plan.chance > 0.2
        assert plan.rollouts.high
        hits.append(holds(plan.rollouts, rollouts))
        assert endless.prompts.high
        assert endless.prompts.high > 300
    assert np.mean(hits) >= 0.75


def test_a_hopeless_pilot_has_no_upper_end() -> None:
    never = Pool.of_bernoulli(np.zeros(400), SamplingBudget(want=50))
    endless, whole = never.plan(endless=True), never.plan()
    assert endless.prompts.high is None
    assert endless.rollouts.high is None
    assert endless.prompts.low
    assert endless.prompts.low > 50 * 10
    assert endless.chance < 0.9
    assert whole.prompts == Estimate.exactly(400)
    assert whole.chance == 0
    assert whole.kept
    assert whole.kept.low == 0
    assert whole.kept.high
    assert whole.kept.high < 25


def test_families_count_by_their_share_of_the_pool() -> None:
    families = ["rich" if number % 4 == 0 else "poor" for number in range(2000)]
    rates = np.where(np.array(families) == "rich", np.random.default_rng(10).beta(1, 1, 2000), 0.0)
    pool = Pool.of_bernoulli(rates, SamplingBudget(want=200), families)
    plan = pool.plan(endless=True)
    prompts, rollouts, _ = pool.finish()
    assert holds(plan.prompts, prompts)
    assert holds(plan.rollouts, rollouts)
    alone = Pool.of_bernoulli(rates[::4], SamplingBudget(want=200)).plan(endless=True)
    assert plan.prompts.expected
    assert alone.prompts.expected
    missing = alone.prompts.expected - 64  # new prompts that the rich family takes, one in four of them all
    assert plan.prompts.expected == pytest.approx(128 + 4 * missing, rel=0.15)


@pytest.mark.parametrize(("std", "share"), [(0.15, 1.0), (0.07, 0.0)])
def test_graded_prompts_must_vary(std: float, share: float) -> None:
    rewards = np.clip(0.5 + std * np.random.default_rng(8).standard_normal((300, 52)), 0, 1)
    pool = Pool(rewards, SamplingBudget())
    plan = pool.plan()
    _, rollouts, kept = pool.finish()
    assert pool.schedule.family_priors["one"].graded
    assert holds(plan.kept, kept)
    assert kept == pytest.approx(300 * share, abs=15)
    assert holds(plan.rollouts, rollouts)


def test_the_seed_settles_the_simulations() -> None:
    pool = Pool.of_bernoulli(np.random.default_rng(9).beta(0.3, 0.3, 500), SamplingBudget(want=60))
    assert pool.plan(seed=1) == pool.plan(seed=1) != pool.plan(seed=2)


def test_groups_of_one_size_are_known() -> None:
    plan = plan_fixed(40, 16, stored=240, tokens=50.0)
    assert plan.rollouts == Estimate.exactly(640)
    assert plan.tokens == Estimate.exactly(32_000)
    assert plan.tokens_ahead == Estimate.exactly(20_000)
    assert plan_fixed(40, 16, stored=0, tokens=None).tokens is None


def test_an_estimate_is_the_median_and_a_central_interval() -> None:
    assert Estimate.of(np.arange(1001.0)) == Estimate(500, 50, 950)
    assert Estimate.of(np.append(np.zeros(96), np.full(4, np.inf))).high == 0
    assert Estimate.of(np.append(np.zeros(90), np.full(10, np.inf))) == Estimate(0, 0, None)
