"""Families whose prompts are judged by different numbers of cases: are their kinds found, do forecasts hold?"""

from __future__ import annotations

import numpy as np
import pytest

from learnable.filters.posterior.value_fit import fit_value_model
from learnable.filters.posterior.value_model import Rewards, ValueModel
from learnable.filters.posterior.value_posterior import ValuePosterior
from learnable.filters.posterior.variance_model import fit_variance_model
from tests.filters.populations_for_tests import Values, statistics

PROMPTS, ROLLOUTS = 1200, 8
Draw = tuple[Values, Values, Values]
"""Cases, credit and chance of each prompt, shape (prompts, 1)."""


def mixed(rng: np.random.Generator, cases: tuple[int, ...], credit: float) -> Draw:
    of_prompt = np.array(cases, float)[np.arange(PROMPTS) % len(cases), None]
    return of_prompt, np.full((PROMPTS, 1), credit), rng.random((PROMPTS, 1))


def drawn(rng: np.random.Generator, prompts: Draw, rollouts: int) -> Values:
    cases, credit, chance = prompts
    passed = rng.binomial(cases.astype(int), chance, (PROMPTS, rollouts))
    return np.where(passed == cases, 1.0, credit * passed / cases)


def listed(rewards: Values) -> Rewards:
    return np.repeat(np.arange(len(rewards)), rewards.shape[1]), rewards.reshape(-1)


def fitted(rewards: Values) -> ValueModel:
    model = fit_value_model(listed(rewards), len(rewards), fit_variance_model(*statistics(rewards)).ess_per_rollout)
    assert model is not None
    return model


@pytest.mark.parametrize("credit", [0.5, 1.0])
def test_the_forecast_holds_where_prompts_have_different_numbers_of_cases(credit: float) -> None:
    """One path through all the values said .02 to .03 more zero-std groups than there are."""
    rng = np.random.default_rng(31)
    prompts = mixed(rng, (1, 3, 5, 10), credit)
    rewards = drawn(rng, prompts, ROLLOUTS)
    model = fitted(rewards)
    found = ValuePosterior.of(model, listed(rewards), PROMPTS)
    for size in (4, 8):
        groups = [drawn(rng, prompts, size) for _ in range(20)]
        truth = np.mean([(group.min(axis=1) == group.max(axis=1)).mean() for group in groups])
        assert found.zero_std_share(size).mean() == pytest.approx(truth, abs=0.012)
    assert model.kinds == 4


def test_intervals_hold_where_prompts_have_different_numbers_of_cases() -> None:
    rng = np.random.default_rng(32)
    cases, credit, chance = prompts = mixed(rng, (1, 3, 5, 10), 1.0)
    mean = (chance**cases + credit * (chance - chance**cases))[:, 0]
    rewards = drawn(rng, prompts, ROLLOUTS)
    low, high = ValuePosterior.of(fitted(rewards), listed(rewards), PROMPTS).belief.interval()
    assert 0.87 < ((mean >= low) & (mean <= high)).mean() < 0.93


def test_prompts_that_always_get_the_same_are_found_among_other_kinds() -> None:
    """A tenth always gets .5, a value that no number of cases here gives."""
    rng = np.random.default_rng(33)
    prompts = mixed(rng, (3, 5), 1.0)
    rewards, dead = drawn(rng, prompts, ROLLOUTS), np.arange(PROMPTS) % 10 == 0
    rewards[dead] = 0.5
    model = fitted(rewards)
    assert model.kinds == 2
    found = ValuePosterior.of(model, listed(rewards), PROMPTS).zero_std_share(8)
    assert found[dead].min() > 0.95
    assert found[~dead].mean() < 0.25


def test_one_number_of_cases_is_one_kind() -> None:
    rng = np.random.default_rng(34)
    assert fitted(drawn(rng, mixed(rng, (5,), 0.5), ROLLOUTS)).kinds == 1
