"""Posteriors against numerical integration and against weighted draws from the prior."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import integrate
from scipy.stats import beta as beta_distribution

from learnable.filters.decisions.band import Band
from learnable.filters.posterior.posterior import Posterior
from learnable.filters.posterior.prior import Prior
from tests.filters.populations_for_tests import Values, draw_means

SHAPES = st.floats(0.1, 5.0)
MASSES = st.sampled_from([0.0, 0.1, 0.4])
PRIORS = st.builds(Prior, SHAPES, SHAPES, MASSES, MASSES)
FLIPS = st.integers(0, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


def integral(prior: Prior, value: Callable[[float], float], n: float, s: float) -> float:
    """Of value(p) p^s (1 - p)^(n - s) over the prior; `alg` weights take care of the poles at 0 and 1."""
    pole = (prior.alpha - 1, prior.beta - 1)

    def inner(p: float) -> float:
        return value(p) * p**s * (1 - p) ** (n - s)

    whole = integrate.quad(lambda _: 1.0, 0, 1, weight="alg", wvar=pole)[0]
    middle = integrate.quad(inner, 0, 1, weight="alg", wvar=pole)[0] / whole
    return float(prior.spread * middle + prior.zero * inner(0.0) + prior.one * inner(1.0))


@given(PRIORS, FLIPS)
def test_mean_and_learnability_equal_integrals(prior: Prior, flips: tuple[int, int]) -> None:
    found, evidence = Posterior.update(prior, *flips), integral(prior, lambda p: 1.0, *flips)
    assert found.mean == pytest.approx(integral(prior, lambda p: p, *flips) / evidence, abs=1e-7)
    assert found.learnability() == pytest.approx(integral(prior, lambda p: p * (1 - p), *flips) / evidence, abs=1e-7)


@given(PRIORS, FLIPS, st.sampled_from([(0.2, 0.8), (0.0, 0.5), (0.4, 1.0), (0.0, 1.0), (0.05, 0.3)]))
def test_chance_of_the_band_equals_an_integral(prior: Prior, flips: tuple[int, int], ends: tuple[float, float]) -> None:
    n, s = flips
    found, shape = Posterior.update(prior, n, s), beta_distribution(prior.alpha + s, prior.beta + n - s)
    masses = float(found.zero) * (ends[0] <= 0) + float(found.one) * (ends[1] >= 1)
    inside = masses + float(found.spread) * (shape.cdf(ends[1]) - shape.cdf(ends[0]))
    assert found.in_band(Band(*ends)) == pytest.approx(inside, abs=1e-9)
    assert found.below(ends[1]) == pytest.approx(
        float(found.zero) + float(found.one) * (ends[1] >= 1) + float(found.spread) * shape.cdf(ends[1]), abs=1e-9
    )
    certain = integral(prior, lambda p: 1.0, n, s)
    assert found.zero == pytest.approx(prior.zero * (s == 0) / certain, rel=1e-6)
    assert found.one == pytest.approx(prior.one * (s == n) / certain, rel=1e-6)


@pytest.mark.parametrize("flips", [(0, 0), (4, 0), (4, 4), (9, 3)])
def test_everything_equals_draws_from_the_prior_weighted_by_the_flips(flips: tuple[int, int]) -> None:
    (n, s), prior = flips, Prior(0.6, 1.2, 0.25, 0.15)
    p = draw_means(np.random.default_rng(11), prior, 400_000)
    weights = p**s * (1 - p) ** (n - s)
    found, band = Posterior.update(prior, n, s), Band()

    def average(values: Values) -> float:
        return float(np.average(values, weights=weights))

    assert found.mean == pytest.approx(average(p), abs=5e-3)
    assert found.in_band(band) == pytest.approx(average((p >= band.low) & (p <= band.high)), abs=5e-3)
    assert found.below(0.3) == pytest.approx(average(p <= 0.3), abs=5e-3)
    assert found.learnability() == pytest.approx(average(p * (1 - p)), abs=5e-3)
    low, high = found.interval(0.8)
    assert average(p < low) <= 0.105 <= average(p <= low) + 0.01
    assert average(p > high) <= 0.105 <= average(p >= high) + 0.01


@given(PRIORS, FLIPS, st.sampled_from([0.5, 0.9, 0.99]))
def test_interval_leaves_out_each_tail(prior: Prior, flips: tuple[int, int], coverage: float) -> None:
    found, tail = Posterior.update(prior, *flips), (1 - coverage) / 2
    low, high = (float(end) for end in found.interval(coverage))
    assert 0 <= low <= high <= 1
    for end, q in ((low, tail), (high, 1 - tail)):
        assert float(found.below(end)) >= q - 1e-9
        if end > 1e-9:  # the smallest such point
            assert float(found.below(end - 1e-9)) <= q + 1e-9


def test_an_interval_starts_or_ends_at_a_likely_certainty() -> None:
    found = Posterior.update(Prior(1, 1, 0.3, 0.3), np.array([0, 8, 8]), np.array([0, 0, 8]))
    low, high = found.interval()
    assert low[0] == 0.0
    assert high[0] == 1.0
    assert low[1] == 0.0
    assert 0 < high[1] < 0.1
    assert 0.9 < low[2] < 1
    assert high[2] == 1.0


@given(PRIORS, FLIPS, FLIPS)
def test_two_halves_say_what_the_whole_says(prior: Prior, first: tuple[int, int], second: tuple[int, int]) -> None:
    half = Posterior.update(prior, *first)
    assume(float(half.zero + half.one) < 1 - 1e-9)
    between = Prior(float(half.alpha), float(half.beta), float(half.zero), float(half.one))
    twice = Posterior.update(between, *second)
    once = Posterior.update(prior, first[0] + second[0], first[1] + second[1])
    for name in ("alpha", "beta", "zero", "one"):
        assert getattr(twice, name) == pytest.approx(getattr(once, name), rel=1e-7, abs=1e-12)


def test_many_at_once_are_those_one_by_one() -> None:
    prior, n, s = Prior(0.3, 0.7, 0.1, 0.2), np.array([0.0, 3.5, 8.0, 8.0]), np.array([0.0, 1.2, 0.0, 8.0])
    together = Posterior.update(prior, n, s)
    for row in range(4):
        alone = Posterior.update(prior, n[row], s[row])
        assert together.mean[row] == alone.mean
        assert together.interval()[1][row] == alone.interval()[1]


@pytest.mark.parametrize("masses", [(0.0, 0.0), (0.3, 0.1)])
def test_thousands_of_flips_are_numbers_still(masses: tuple[float, float]) -> None:
    n, s = np.array([1500.0, 6400.0, 6400.0]), np.array([750.0, 3200.0, 0.0])
    found = Posterior.update(Prior(0.5, 0.5, *masses), n, s)
    assert found.mean == pytest.approx([0.5, 0.5, 0.0], abs=1e-3)
    assert found.in_band(Band()) == pytest.approx([1, 1, 0], abs=1e-6)
