"""Values and how often they come: against pass and fail in closed form, planted families, and groups that are drawn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

from learnable.data.band import Band
from learnable.filters.posterior.value_fit import fit_value_model
from learnable.filters.posterior.value_model import (
    COARSE_CENTRES,
    CONCENTRATIONS,
    LOGIT_EDGES,
    Rewards,
    ValueModel,
    _log_dirichlet,
    count_values,
    find_chances,
)
from learnable.filters.posterior.value_posterior import ValuePosterior
from learnable.filters.posterior.variance_model import fit_variance_model
from tests.filters.populations_for_tests import Population, Prior, Values, graded, partial_credit, statistics

SIZES = (4, 8)
APART = len(COARSE_CENTRES) * len(CONCENTRATIONS)


def listed(rewards: Values) -> Rewards:
    """Full groups, shape (prompts, rollouts), one reward after the other."""
    return np.repeat(np.arange(len(rewards)), rewards.shape[1]), rewards.reshape(-1)


def fitted(rewards: Values) -> ValueModel:
    model = fit_value_model(listed(rewards), len(rewards), fit_variance_model(*statistics(rewards)).ess_per_rollout)
    assert model is not None
    return model


def binary(prior: Prior) -> ValueModel:
    """The model of rewards of 0 and 1 whose path has the prior's own weights: t is the log-odds of a pass."""
    below = np.array([float(prior.belief.update(0, 0).in_band(Band(0, p))) for p in 1 / (1 + np.exp(-LOGIT_EDGES))])
    weights = np.concatenate([np.diff(below), [prior.zero, prior.one], np.zeros(APART)])
    two = np.array([0.0, 1.0])
    coarse = find_chances(np.zeros(2), two, COARSE_CENTRES)
    return ValueModel(two, np.ones(2, bool), np.zeros((1, 2)), two[None], coarse, weights / weights.sum(), True)


@pytest.mark.parametrize("prior", [Prior(1, 1), Prior(2, 3, 0.2, 0.1)], ids=str)
def test_pass_and_fail_are_a_special_case(prior: Prior) -> None:
    rewards = (np.arange(8)[None, :] < np.arange(9)[:, None]).astype(np.float64)
    found, alone = ValuePosterior.of(binary(prior), listed(rewards), 9), prior.belief.update(8.0, np.arange(9.0))
    for size in (2, *SIZES, 64):
        assert found.zero_std_share(size) == pytest.approx(alone.zero_std_share(size), abs=0.002)
    assert found.in_band(Band()) == pytest.approx(alone.in_band(Band()), abs=0.002)
    for mine, theirs in zip(found.belief.to_moments(), alone.to_moments(), strict=True):
        assert mine == pytest.approx(theirs, rel=0.03, abs=0.003)
    central = [row for row in range(9) if row not in (0, 8)]
    for mine, theirs in zip(found.belief.interval(), alone.interval(), strict=True):
        assert mine[central] == pytest.approx(theirs[central], abs=0.003)


def share_of_zero_std(groups: Values) -> float:
    return float((groups.min(axis=1) == groups.max(axis=1)).mean())


@pytest.mark.slow
@pytest.mark.parametrize("cases", [3, 5])
def test_the_forecast_of_partial_credit_is_true(cases: int) -> None:
    """Rewards of .5 k / n repeat all the time, though they are seldom 0 or 1."""
    rng, population = np.random.default_rng(5), partial_credit(Prior(1, 1), cases, 0.5)
    p = population.prompts(rng, 2000)
    rewards = population.rewards(rng, p, 12)
    found = ValuePosterior.of(fitted(rewards), listed(rewards), len(p))
    middling = (rewards.mean(axis=1) > 0.2) & (rewards.mean(axis=1) < 0.8)
    for size in SIZES:
        truth = share_of_zero_std(population.rewards(rng, np.repeat(p, 20), size))
        assert found.zero_std_share(size).mean() == pytest.approx(truth, abs=0.012)
        truth = share_of_zero_std(population.rewards(rng, np.repeat(p[middling], 20), size))
        assert found.zero_std_share(size)[middling].mean() == pytest.approx(truth, abs=0.012)


def test_prompts_that_always_get_the_same_are_told_from_those_that_vary() -> None:
    """A third always gets .5, which others get too."""
    rng = np.random.default_rng(6)
    constant = np.arange(600) % 3 == 0
    others = rng.binomial(2, rng.beta(3, 3, 600)[:, None], (600, 12)) / 2
    rewards = np.where(constant[:, None], 0.5, others)
    found = ValuePosterior.of(fitted(rewards), listed(rewards), 600)
    assert found.zero_std_share(8)[constant].mean() > 0.9
    assert found.zero_std_share(8)[~constant].mean() < 0.05
    assert found.in_band(Band(), 0.1)[constant].max() < 0.1
    assert found.in_band(Band())[constant].min() > 0.95


def test_rewards_without_ties_never_agree() -> None:
    rng, population = np.random.default_rng(7), Population(Prior(2, 2), graded(0.2))
    rewards = population.rewards(rng, population.prompts(rng, 200), 8)
    model = fitted(rewards)
    assert not model.exact
    assert ValuePosterior.of(model, listed(rewards), 200).zero_std_share(4).max() < 0.001


def test_values_that_differ_by_prompt_agree_about_as_often_as_they_do() -> None:
    """Prompts of 2 to 10 cases in one family."""
    rng = np.random.default_rng(8)
    cases, p = np.array([2, 3, 4, 5, 10])[np.arange(1000) % 5][:, None], rng.random(1000)[:, None]

    def drawn(rollouts: int) -> Values:
        passed = rng.binomial(cases, p, (1000, rollouts))
        return np.where(passed == cases, 1.0, 0.5 * passed / cases)

    rewards = drawn(16)
    found = ValuePosterior.of(fitted(rewards), listed(rewards), 1000).zero_std_share(4).mean()
    assert found == pytest.approx(np.mean([share_of_zero_std(drawn(4)) for _ in range(20)]), abs=0.04)


def test_a_few_prompts_are_enough() -> None:
    rewards = np.array([[0.0, 0.25, 0.25, 0.25], [0.25, 0.25, 0.25, 0.25], [1.0, 0.25, 0.25, 1.0]])
    found = ValuePosterior.of(fitted(rewards), listed(rewards), 3).zero_std_share(4)
    assert 0.05 < found[0] < 0.6
    assert found[1] > found[0]
    assert found[1] > found[2]


@pytest.mark.parametrize("value", [0.5, 0.8])
def test_where_all_rewards_are_one_value_groups_agree(value: float) -> None:
    rewards = np.full((20, 8), value)
    found = ValuePosterior.of(fitted(rewards), listed(rewards), 20)
    assert found.zero_std_share(8).min() > 0.9
    low, high = found.belief.interval()
    assert (low[0], high[0]) == pytest.approx((value, value), abs=0.02)


def test_no_rewards_have_no_model() -> None:
    assert fit_value_model((np.zeros(0, np.int64), np.zeros(0)), 3, 1.0) is None


def test_rewards_are_counted_by_value_and_others_by_the_nearest_bin() -> None:
    values, repeats = np.array([0.0, 0.25, 0.5, 0.75]), np.array([True, False, True, False])
    rewards = np.array([0.0, 0.5, 0.5, 0.51, 0.1, 0.9])
    counted = count_values(values, repeats, (np.array([0, 0, 0, 1, 1, 1]), rewards), 3)
    assert counted.tolist() == [[1, 0, 2, 0], [0, 1, 0, 2], [0, 0, 0, 0]]


def test_a_prompt_without_rewards_is_as_likely_in_the_band_as_any() -> None:
    rng, population = np.random.default_rng(9), partial_credit(Prior(1, 1), 3, 0.5)
    p = population.prompts(rng, 800)
    model = fitted(population.rewards(rng, p, 8))
    means = population.means(p)
    nothing = ValuePosterior.of(model, (np.zeros(0, np.int64), np.zeros(0)), 1)
    assert nothing.in_band(Band())[0] == pytest.approx(((means >= 0.2) & (means <= 0.8)).mean(), abs=0.06)
    low, high = nothing.belief.interval()
    assert low[0] < np.quantile(means, 0.1)
    assert high[0] > np.quantile(means, 0.9)


def covered(rewards: Values, std: Values) -> float:
    """The share of prompts whose interval holds the true standard deviation."""
    low, high = ValuePosterior.of(fitted(rewards), listed(rewards), len(rewards)).std_interval()
    return float(np.mean((low <= std) & (std <= high)))


def test_the_standard_deviation_of_two_values_follows_from_their_mean() -> None:
    """Nearly all rewards of a prompt are equal: its own variance, and so many cases, say next to nothing."""
    rng = np.random.default_rng(10)
    p = rng.beta(0.1, 0.1, 800)
    rewards = np.where(rng.random((800, 8)) < p[:, None], 0.7, 0.3)
    assert covered(rewards, 0.4 * np.sqrt(p * (1 - p))) > 0.87
    assert fitted(rewards).weights[-APART:].sum() < 0.2


def test_intervals_of_standard_deviations_hold_what_a_fit_is_uncertain_of() -> None:
    """Rounded to tenths, and all alike at a mean: what prompts say of their own is surer than what the path is."""
    rng = np.random.default_rng(11)
    p = rng.beta(2, 2, 600)
    rewards = np.round(rng.beta(15 * p[:, None], 15 * (1 - p[:, None]), (600, 8)) * 10) / 10
    assert covered(rewards, np.sqrt(p * (1 - p) / 16 + 0.01 / 12)) > 0.87


def test_prompts_off_the_path_vary_as_their_own_rewards_do() -> None:
    """A prompt's chances are evenly distributed over all that four values may have."""
    rng = np.random.default_rng(12)
    values, chances = np.array([0.0, 0.1, 0.6, 1.0]), rng.dirichlet(np.ones(4), 600)
    rewards = values[(rng.random((600, 8))[:, :, None] >= chances.cumsum(axis=1)[:, None, :-1]).sum(axis=2)]
    std = np.sqrt(chances @ values**2 - (chances @ values) ** 2)
    assert 0.87 < covered(rewards, std) < 0.95


def test_the_likelihood_off_the_path_is_that_of_a_dirichlet_multinomial() -> None:
    shapes = np.array([[0.5, 2.0, 0.1], [3.0, 1e-3, 1.0]])
    counts = np.array([[0.0, 0, 0], [3, 0, 1], [1, 0, 0], [0, 0, 7]])  # nobody drew the value in the middle
    sizes, n = shapes.sum(axis=1), counts.sum(axis=1)[:, None]
    apart = gammaln(counts[:, None] + shapes) - gammaln(shapes)
    expected = apart.sum(axis=2) - gammaln(n + sizes) + gammaln(sizes)
    np.testing.assert_allclose(_log_dirichlet(shapes, counts), expected, atol=1e-12)
