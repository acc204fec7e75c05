"""Beliefs against sums over the Beta distribution, plain loops, and weighted samples from the population."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import beta as beta_distribution

from learnable.data.band import Band
from learnable.filters.decisions.choosing import expected_within_variance
from learnable.filters.decisions.decide import expected_mean
from learnable.filters.posterior.belief import RATE_EDGES, RATE_GRID, Belief
from tests.filters.populations_for_tests import Prior, Values, below, draw_means, expected_means

SHAPES = st.floats(0.1, 5.0)
MASSES = st.sampled_from([0.0, 0.1, 0.4])
PRIORS = st.builds(Prior, SHAPES, SHAPES, MASSES, MASSES)
COUNTS = st.integers(0, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


def expect(belief: Belief) -> tuple[float, float]:
    """The mean and the within-group variance that a certified row of passes and fails expects."""
    names = dict(zip(("alpha", "beta", "p_zero", "p_one"), belief.to_moments(), strict=True))
    row = pl.DataFrame({name: np.atleast_1d(value) for name, value in names.items()}).with_columns(variance_share=1.0)
    return row.select(mean=expected_mean(), variance=expected_within_variance()).row(0)


def test_the_grid_is_even_and_has_the_usual_ends_of_bands() -> None:
    assert (np.diff(RATE_GRID) > 0).all()
    assert np.isin([0.1, 0.2, 0.25, 0.5, 0.75, 0.8, 0.9], np.round(RATE_EDGES, 12)).all()
    assert np.diff(RATE_EDGES).max() < 0.014
    assert RATE_GRID[1] < 1e-4


@given(PRIORS, COUNTS)
def test_rollouts_update_by_bayes_rule(prior: Prior, counts: tuple[int, int]) -> None:
    n, s = counts
    by_hand = [w * p**s * (1 - p) ** (n - s) for w, p in zip(prior.belief.weights, RATE_GRID, strict=True)]
    np.testing.assert_allclose(prior.belief.update(n, s).weights, np.array(by_hand) / sum(by_hand), atol=1e-12)


@given(PRIORS, COUNTS, st.sampled_from([(0.2, 0.8), (0.0, 0.5), (0.4, 1.0), (0.0, 1.0), (0.05, 0.3)]))
def test_a_beta_population_is_told_as_beta(prior: Prior, counts: tuple[int, int], ends: tuple[float, float]) -> None:
    """The conjugate posterior, where none of the masses is left."""
    n, s = counts[0] + 2, counts[1] + 1
    found, shape = prior.belief.update(n, s), beta_distribution(prior.alpha + s, prior.beta + n - s)
    assert float(found.in_band(Band(*ends))) == pytest.approx(shape.cdf(ends[1]) - shape.cdf(ends[0]), abs=2e-3)
    mean, variance = expect(found)
    assert mean == pytest.approx(shape.mean(), abs=1e-3)
    assert variance == pytest.approx(shape.mean() - shape.moment(2), abs=1e-3)


@pytest.mark.parametrize("counts", [(0, 0), (4, 0), (4, 4), (9, 3)])
def test_everything_equals_a_weighted_sample_from_the_population(counts: tuple[int, int]) -> None:
    (n, s), prior = counts, Prior(0.6, 1.2, 0.25, 0.15)
    p = draw_means(np.random.default_rng(11), prior, 400_000)
    weights = p**s * (1 - p) ** (n - s)
    found, band = prior.belief.update(n, s), Band()

    def average(values: Values) -> float:
        return float(np.average(values, weights=weights))

    mean, variance = expect(found)
    assert mean == pytest.approx(average(p), abs=5e-3)
    assert found.in_band(band) == pytest.approx(average((p >= band.low) & (p <= band.high)), abs=5e-3)
    assert below(found, 0.3) == pytest.approx(average(p <= 0.3), abs=5e-3)
    assert variance == pytest.approx(average(p * (1 - p)), abs=5e-3)
    assert found.zero_std_share(8) == pytest.approx(average(p**8 + (1 - p) ** 8), abs=5e-3)
    assert found.to_moments().zero == pytest.approx(average(p == 0), abs=5e-3)
    low, high = found.interval(0.8)
    assert average(p < low) <= 0.105 <= average(p <= low) + 0.01
    assert average(p > high) <= 0.105 <= average(p >= high) + 0.01


@given(PRIORS, COUNTS, st.sampled_from([0.5, 0.9, 0.99]))
@example(Prior(0.125, 1.0, 0.0, 0.0), (0, 0), 0.5)
def test_interval_leaves_out_each_tail(prior: Prior, counts: tuple[int, int], coverage: float) -> None:
    found, tail = prior.belief.update(*counts), (1 - coverage) / 2
    low, high = (float(end) for end in found.interval(coverage))
    assert 0 <= low <= high <= 1
    for end, q in ((low, tail), (high, 1 - tail)):
        if end > 0:  # 0 also stands for somewhere in the first cell
            assert float(below(found, min(1.0, end + 1e-9))) >= q - 1e-6
        if (
            RATE_EDGES[1] <= end <= RATE_EDGES[-2]
        ):  # the smallest such point, where it is not the end of an outermost cell
            assert float(below(found, end - 1e-9)) <= q + 1e-6


def test_an_interval_starts_or_ends_at_a_likely_certainty() -> None:
    low, high = Prior(1, 1, 0.3, 0.3).belief.update(np.array([0, 8, 8]), np.array([0, 0, 8])).interval()
    assert (low[0], low[1], high[0], high[2]) == (0, 0, 1, 1)
    assert 0 < high[1] < 0.1
    assert 0.9 < low[2] < 1


@given(PRIORS, COUNTS, COUNTS)
def test_two_halves_say_what_the_whole_says(prior: Prior, first: tuple[int, int], second: tuple[int, int]) -> None:
    twice = prior.belief.update(*first).update(*second)
    once = prior.belief.update(first[0] + second[0], first[1] + second[1])
    np.testing.assert_allclose(twice.weights, once.weights, atol=1e-12)


@given(PRIORS)
def test_moments_and_back_is_the_same_mean_and_variance(prior: Prior) -> None:
    again = Belief.of_moments(*prior.belief.to_moments())
    assert expect(again) == pytest.approx(expect(prior.belief), abs=2e-3)
    assert again.weights[[0, -1]] == pytest.approx(prior.belief.weights[[0, -1]])


def test_many_at_once_are_those_one_by_one() -> None:
    belief, n, s = Prior(0.3, 0.7, 0.1, 0.2).belief, np.array([0.0, 3.5, 8.0, 8.0]), np.array([0.0, 1.2, 0.0, 8.0])
    together = belief.update(n, s)
    for row in range(4):
        alone = belief.update(n[row], s[row])
        assert together.in_band(Band())[row] == pytest.approx(float(alone.in_band(Band())))
        assert together.interval()[1][row] == pytest.approx(float(alone.interval()[1]))


@pytest.mark.parametrize("masses", [(0.0, 0.0), (0.3, 0.1)])
def test_thousands_of_rewards_are_numbers_still(masses: tuple[float, float]) -> None:
    n, s = np.array([1500.0, 6400.0, 6400.0]), np.array([750.0, 3200.0, 0.0])
    found = Prior(0.5, 0.5, *masses).belief.update(n, s)
    assert expected_means(found) == pytest.approx([0.5, 0.5, 0.0], abs=5e-3)
    assert found.in_band(Band()) == pytest.approx([1, 1, 0], abs=1e-6)
