"""Posteriors against numerical integration, weighted samples from the prior, and quantiles by bisection."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import integrate
from scipy.special import betainc
from scipy.stats import beta as beta_distribution

from learnable.filters.band import Band
from learnable.filters.decisions.choosing import expected_within_variance
from learnable.filters.decisions.decide import expected_mean
from learnable.filters.posterior.posterior import Posterior
from learnable.filters.posterior.prior import Prior
from tests.filters.populations_for_tests import Values, below, draw_means, expected_means

SHAPES = st.floats(0.1, 5.0)
MASSES = st.sampled_from([0.0, 0.1, 0.4])
PRIORS = st.builds(Prior, SHAPES, SHAPES, MASSES, MASSES)
COUNTS = st.integers(0, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


def integral(prior: Prior, value: Callable[[float], float], n: float, s: float) -> float:
    """Of value(p) p^s (1 - p)^(n - s) over the prior; `alg` weights take care of the poles at 0 and 1."""
    pole = (prior.alpha - 1, prior.beta - 1)

    def inner(p: float) -> float:
        return value(p) * p**s * (1 - p) ** (n - s)

    whole = integrate.quad(lambda _: 1.0, 0, 1, weight="alg", wvar=pole)[0]
    middle = integrate.quad(inner, 0, 1, weight="alg", wvar=pole)[0] / whole
    return float(prior.beta_weight * middle + prior.zero * inner(0.0) + prior.one * inner(1.0))


def expect(posterior: Posterior) -> tuple[float, float]:
    """The mean and the within-group variance that a certified row of passes and fails expects."""
    names = {"alpha": posterior.alpha, "beta": posterior.beta, "p_zero": posterior.zero, "p_one": posterior.one}
    names["variance_share"] = np.ones_like(posterior.alpha)
    row = pl.DataFrame({name: np.atleast_1d(value) for name, value in names.items()})
    return row.select(mean=expected_mean(), variance=expected_within_variance()).row(0)


def bisect(posterior: Posterior, q: float) -> Values:
    """The smallest x with `below(x) >= q`, by 60 halvings of [0, 1]."""
    low, high = np.zeros_like(posterior.alpha), np.ones_like(posterior.alpha)
    for _ in range(60):
        middle = (low + high) / 2
        enough = posterior.zero + posterior.beta_weight * betainc(posterior.alpha, posterior.beta, middle) >= q
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(posterior.zero >= q, 0.0, np.where(1 - posterior.one < q, 1.0, high))


@given(PRIORS, COUNTS)
def test_mean_and_variance_equal_integrals(prior: Prior, counts: tuple[int, int]) -> None:
    found, evidence = Posterior.update(prior, *counts), integral(prior, lambda p: 1.0, *counts)
    mean, variance = expect(found)
    assert mean == pytest.approx(integral(prior, lambda p: p, *counts) / evidence, abs=1e-7)
    assert variance == pytest.approx(integral(prior, lambda p: p * (1 - p), *counts) / evidence, abs=1e-7)


@given(PRIORS, COUNTS, st.sampled_from([(0.2, 0.8), (0.0, 0.5), (0.4, 1.0), (0.0, 1.0), (0.05, 0.3)]))
def test_chance_of_the_band_equals_an_integral(
    prior: Prior, counts: tuple[int, int], ends: tuple[float, float]
) -> None:
    n, s = counts
    found, shape = Posterior.update(prior, n, s), beta_distribution(prior.alpha + s, prior.beta + n - s)
    masses = float(found.zero) * (ends[0] <= 0) + float(found.one) * (ends[1] >= 1)
    inside = masses + float(found.beta_weight) * (shape.cdf(ends[1]) - shape.cdf(ends[0]))
    assert found.in_band(Band(*ends)) == pytest.approx(inside, abs=1e-9)
    certain = integral(prior, lambda p: 1.0, n, s)
    assert found.zero == pytest.approx(prior.zero * (s == 0) / certain, rel=1e-6)
    assert found.one == pytest.approx(prior.one * (s == n) / certain, rel=1e-6)


@pytest.mark.parametrize("counts", [(0, 0), (4, 0), (4, 4), (9, 3)])
def test_everything_equals_a_weighted_sample_from_the_prior(counts: tuple[int, int]) -> None:
    (n, s), prior = counts, Prior(0.6, 1.2, 0.25, 0.15)
    p = draw_means(np.random.default_rng(11), prior, 400_000)
    weights = p**s * (1 - p) ** (n - s)
    found, band = Posterior.update(prior, n, s), Band()

    def average(values: Values) -> float:
        return float(np.average(values, weights=weights))

    mean, variance = expect(found)
    assert mean == pytest.approx(average(p), abs=5e-3)
    assert found.in_band(band) == pytest.approx(average((p >= band.low) & (p <= band.high)), abs=5e-3)
    assert below(found, 0.3) == pytest.approx(average(p <= 0.3), abs=5e-3)
    assert variance == pytest.approx(average(p * (1 - p)), abs=5e-3)
    low, high = found.interval(0.8)
    assert average(p < low) <= 0.105 <= average(p <= low) + 0.01
    assert average(p > high) <= 0.105 <= average(p >= high) + 0.01


@given(PRIORS, COUNTS, st.sampled_from([0.5, 0.9, 0.99]))
def test_interval_leaves_out_each_tail(prior: Prior, counts: tuple[int, int], coverage: float) -> None:
    found, tail = Posterior.update(prior, *counts), (1 - coverage) / 2
    low, high = (float(end) for end in found.interval(coverage))
    assert 0 <= low <= high <= 1
    for end, q in ((low, tail), (high, 1 - tail)):
        assert float(below(found, min(1.0, end + 1e-9))) >= q - 1e-9  # steep where a shape is small
        if end > 1e-9:  # the smallest such point
            assert float(below(found, end - 1e-9)) <= q + 1e-9


def test_an_interval_starts_or_ends_at_a_likely_certainty() -> None:
    found = Posterior.update(Prior(1, 1, 0.3, 0.3), np.array([0, 8, 8]), np.array([0, 0, 8]))
    low, high = found.interval()
    assert low[0] == 0.0
    assert high[0] == 1.0
    assert low[1] == 0.0
    assert 0 < high[1] < 0.1
    assert 0.9 < low[2] < 1
    assert high[2] == 1.0


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
def test_ends_of_intervals_are_those_of_a_bisection(coverage: float) -> None:
    """4,000 posteriors: flat and steep, with no mass at 0 and 1, with some, and with nothing else."""
    rng, count = np.random.default_rng(23), 4000
    alpha, beta = np.exp(rng.uniform(np.log(1e-6), np.log(1e5), (2, count)))
    zero, one, _ = rng.dirichlet([0.3, 0.3, 0.5], count).T
    kind = rng.integers(0, 6, count)
    zero = np.select([kind == 0, kind == 1, kind == 2], [0.0, 0.0, 1.0], zero)
    one = np.select([kind == 0, kind == 2, kind == 3, kind == 4], [0.0, 0.0, 1 - zero, 0.0], one)
    posterior, tail = Posterior(alpha, beta, zero, one), (1 - coverage) / 2
    for end, q in zip(posterior.interval(coverage), (tail, 1 - tail), strict=True):
        np.testing.assert_allclose(end, bisect(posterior, q), rtol=0, atol=1e-9)


@given(PRIORS, COUNTS, COUNTS)
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
        assert together.in_band(Band())[row] == alone.in_band(Band())
        assert together.interval()[1][row] == alone.interval()[1]


@pytest.mark.parametrize("masses", [(0.0, 0.0), (0.3, 0.1)])
def test_thousands_of_rewards_are_numbers_still(masses: tuple[float, float]) -> None:
    n, s = np.array([1500.0, 6400.0, 6400.0]), np.array([750.0, 3200.0, 0.0])
    found = Posterior.update(Prior(0.5, 0.5, *masses), n, s)
    assert expected_means(found) == pytest.approx([0.5, 0.5, 0.0], abs=1e-3)
    assert found.in_band(Band()) == pytest.approx([1, 1, 0], abs=1e-6)
