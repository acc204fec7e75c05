"""Strata by predicted rate: how many, whether they are worth having, and what is believed of each."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from learnable.data.band import Band
from learnable.data.records import Prompt
from learnable.filters.posterior.fitting import fit_belief
from learnable.filters.prediction.features import PromptFeatures
from learnable.filters.prediction.strata import (
    MAX_STRATA,
    STRATUM_GROUPS,
    Prediction,
    TextPredictor,
    compare,
    cut,
    find_strata,
    fit_strata,
    mix,
)


def draw(prompts: int, groups: int, slope: float, seed: int) -> tuple[Prediction | None, np.ndarray, np.ndarray]:
    """Return what is predicted of prompts with a number each, whose log-odds follow it by `slope`, and true rates."""
    rng = np.random.default_rng(seed)
    size = rng.uniform(-3, 3, prompts)
    rates = expit(slope * size + 0.4 * rng.standard_normal(prompts))
    if not slope:
        rates = rng.beta(0.4, 0.5, prompts)
    pool = [Prompt(f"Task {n}.", "simulated", {"rate": 0.5}, "f", "F", columns={"size": x}) for n, x in enumerate(size)]
    n = np.full(groups, 8.0)
    s = rng.binomial(8, rates[:groups]).astype(float)
    found = TextPredictor(PromptFeatures(pool)).predict(np.arange(prompts), np.arange(groups), (n, s), fit_belief(n, s))
    return found, rates, s


def test_a_prediction_with_skill_is_used_and_one_without_is_not() -> None:
    found, rates, _ = draw(300, 64, 1.5, seed=1)
    assert found is not None
    assert found.gain > 2 * found.standard_error
    assert np.corrcoef(found.rates, rates)[0, 1] > 0.85
    assert len(found.ends) == 64 // STRATUM_GROUPS - 1
    assert [draw(200, groups, 0.0, seed)[0] for seed in range(4) for groups in (20, 64, 150)] == [None] * 12


def test_strata_are_as_many_as_the_groups_can_carry() -> None:
    rng = np.random.default_rng(0)
    assert [len(cut(rng.random(count))) + 1 for count in (15, 31, 48, 100, 5000)] == [1, 1, 3, 6, MAX_STRATA]
    assert len(cut(np.full(100, 0.3))) == 0  # one rate is one stratum
    rates = rng.random(480)
    counts = np.bincount(find_strata(rates, cut(rates)))
    assert counts.max() - counts.min() <= 2


def test_the_gain_is_that_of_groups_that_were_left_out() -> None:
    rng = np.random.default_rng(4)
    rates = rng.beta(0.5, 0.5, 200)
    n, s = np.full(200, 8.0), rng.binomial(8, rates).astype(float)
    family = fit_belief(n, s).belief
    by_rate, by_chance = (rates > 0.5).astype(np.int64), rng.integers(0, 6, 200)
    gain, error = compare(by_rate, (n, s), family)
    assert gain > 4 * error > 0
    assert compare(by_chance, (n, s), family)[0] < 0


@pytest.mark.parametrize("groups", [15, 120])
def test_a_stratum_is_believed_what_its_groups_say_and_no_more(groups: int) -> None:
    rng = np.random.default_rng(5)
    strata = np.repeat([0, 1], groups)
    rates = np.where(strata == 0, 0.03, rng.beta(6, 6, 2 * groups))
    n, s = np.full(2 * groups, 8.0), rng.binomial(8, rates).astype(float)
    family = fit_belief(n, s)
    low, high = (float(fitted.belief.in_band(Band())) for fitted in fit_strata(strata, 2, (n, s), family))
    assert low < 0.1 < 0.85 < high
    assert low < float(family.belief.in_band(Band())) < high


def test_a_mixture_has_the_strata_shares() -> None:
    beliefs = [fit_belief([8.0] * 20, [s] * 20).belief for s in (0.0, 8.0)]
    whole = mix(beliefs, np.array([0.25, 0.75]))
    assert whole.weights.sum() == pytest.approx(1)
    assert float(whole.in_band(Band(0.5, 1))) == pytest.approx(0.75, abs=0.05)
