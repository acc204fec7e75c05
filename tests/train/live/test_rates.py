from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from learnable.train.live.rates import LOG_ODDS, RATES, Certificates, PassRates


def certificates(alpha: float, beta: float, p_zero: float = 0.0, p_one: float = 0.0) -> Certificates:
    return Certificates(*(np.array([value]) for value in (alpha, beta, p_zero, p_one)))


@given(st.floats(0.6, 40), st.floats(0.6, 40))
def test_rates_begin_where_certificates_leave_them(alpha: float, beta: float) -> None:
    rates = PassRates.of(certificates(alpha, beta))
    assert rates.weights.sum() == pytest.approx(1, abs=1e-5)
    assert rates.expect_rates()[0] == pytest.approx(alpha / (alpha + beta), abs=0.012)


def test_masses_stand_at_the_ends() -> None:
    rates = PassRates.of(certificates(4, 4, p_zero=0.3, p_one=0.2))
    assert rates.weights[0, 0] == pytest.approx(0.3, abs=1e-3)
    assert rates.weights[0, -1] == pytest.approx(0.2, abs=1e-3)


@given(st.integers(0, 16), st.integers(0, 16))
def test_a_group_tells_what_it_would_tell_a_beta_posterior(passes: int, failures: int) -> None:
    rates = PassRates.of(certificates(2, 3))
    rates.observe(0, passes, failures)
    assert rates.expect_rates()[0] == pytest.approx((2 + passes) / (5 + passes + failures), abs=0.01)


def test_expected_usable_share_is_that_of_a_beta_binomial() -> None:
    rates = PassRates.of(certificates(3, 5))
    whole = stats.betabinom(8, 3, 5)
    assert rates.expect_usable(8)[0] == pytest.approx(1 - whole.pmf(0) - whole.pmf(8), abs=0.005)


def test_the_walk_has_the_drift_it_says() -> None:
    weights = np.zeros((1, len(RATES)), np.float32)
    weights[0, len(RATES) // 2] = 1
    rates = PassRates(weights, drift=0.1)
    for _ in range(49):
        rates.drift_on()
    found = rates.weights[0].astype(float)
    assert found.sum() == pytest.approx(1, abs=1e-5)
    assert np.sqrt(found @ LOG_ODDS**2) == pytest.approx(0.1 * 7, rel=0.01)


def test_a_mastered_prompt_becomes_uncertain_again() -> None:
    rates = PassRates.of(certificates(2, 2))
    rates.observe(0, 1000, 0)
    mastered = rates.expect_usable(16)[0]
    for _ in range(200):
        rates.drift_on()
    assert mastered < 0.05
    assert rates.expect_usable(16)[0] > 2 * mastered


def test_what_was_ruled_out_is_not_divided_by_zero() -> None:
    weights = np.zeros((1, len(RATES)), np.float32)
    weights[0, 0] = 1
    rates = PassRates(weights, drift=0)
    rates.observe(0, 4000, 0)
    assert np.isfinite(rates.weights).all()
    assert rates.weights.sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("drift", [-0.1, 0.25, float("nan")])
def test_a_drift_that_the_grid_cannot_take_is_refused(drift: float) -> None:
    with pytest.raises(ValueError, match="drift"):
        PassRates.of(certificates(1, 1), drift)
