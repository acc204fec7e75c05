"""Prompts that are equal are found to be, those that differ hardly ever, and small pools cannot tell."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.stats import f as f_distribution

from learnable.filters.decisions.alike import ALIKE_INTRACLASS, DOUBT, FALSE_ALARM, compare_prompts
from learnable.filters.statistics.variance import OPENING
from tests.filters.stopped_pools_for_tests import sample_adaptively

Rng = np.random.Generator
Rewards = NDArray[np.float64]
Draw = Callable[[Rng, tuple[int, int], float], Rewards]


def frame_of(rewards: Rewards) -> pl.DataFrame:
    return pl.DataFrame(
        {"n": np.full(len(rewards), rewards.shape[1]), "mean": rewards.mean(axis=1), "std": rewards.std(axis=1)}
    )


def likeness(rewards: Rewards) -> str:
    return compare_prompts(frame_of(rewards)).likeness


def graded_rewards(rng: Rng, shape: tuple[int, int], share: float) -> Rewards:
    """Draw rewards whose variance lies by `share` between prompts."""
    return rng.normal(rng.normal(0.5, share**0.5, (shape[0], 1)), (1 - share) ** 0.5, shape)


def passes_or_fails(rng: Rng, shape: tuple[int, int], share: float) -> Rewards:
    rates = rng.beta(*[(1 / share - 1) / 2] * 2, (shape[0], 1)) if share else 0.5
    return (rng.random(shape) < rates) * 1.0


def most(chance: float, tries: int) -> float:
    """Return how often something of this chance happens at most, give or take three deviations."""
    return tries * chance + 3 * (tries * chance * (1 - chance)) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(8, 16), (64, 2), (64, 4), (64, 16), (256, 16)])
@pytest.mark.parametrize("draw", [graded_rewards, passes_or_fails])
def test_prompts_that_differ_are_hardly_ever_alike(draw: Draw, shape: tuple[int, int]) -> None:
    # The least difference that counts, where the chance of a mistake is largest.
    rng, tries = np.random.default_rng(4), 150
    found = sum(likeness(draw(rng, shape, ALIKE_INTRACLASS)) == "alike" for _ in range(tries))
    assert found <= most(DOUBT, tries)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(8, 16), (64, 4), (256, 16)])
@pytest.mark.parametrize("draw", [graded_rewards, passes_or_fails])
def test_equal_prompts_are_hardly_ever_different(draw: Draw, shape: tuple[int, int]) -> None:
    rng, tries = np.random.default_rng(6), 150
    found = sum(likeness(draw(rng, shape, 0.0)) == "different" for _ in range(tries))
    assert found <= most(FALSE_ALARM, tries)


def test_more_data_finds_more_equal_prompts() -> None:
    rng = np.random.default_rng(5)
    shares = [
        np.mean([likeness(graded_rewards(rng, shape, 0.0)) == "alike" for _ in range(100)])
        for shape in ((8, 4), (32, 8), (64, 16), (256, 16))
    ]
    assert shares == sorted(shares)
    assert shares[0] < 0.1
    assert shares[-1] > 0.97


def test_plainly_different_prompts_are_told_apart() -> None:
    rng = np.random.default_rng(7)
    assert all(likeness(graded_rewards(rng, (64, 8), 0.3)) == "different" for _ in range(50))


def test_f_is_the_textbook_one_where_sizes_are_equal() -> None:
    rewards = np.random.default_rng(8).random((12, 9))
    found = compare_prompts(frame_of(rewards))
    expected = 9 * rewards.mean(axis=1).var(ddof=1) / rewards.var(axis=1, ddof=1).mean()
    assert found.f_ratio == pytest.approx(expected)
    assert (found.prompts, found.size) == (12, 9)
    alike = f_distribution.cdf(expected / (1 + 9 * 0.05 / 0.95), 11, 96) <= DOUBT
    assert (found.likeness == "alike") == alike


def pool_of(f_ratio: float, prompts: int = 100, size: int = 16) -> pl.DataFrame:
    """Return groups whose means vary by so many times what the noise inside them, a variance of .05, makes of it."""
    means = np.linspace(-1, 1, prompts)
    means *= (f_ratio * 0.05 / size / means.var(ddof=1)) ** 0.5
    std = (0.05 * (size - 1) / size) ** 0.5
    return pl.DataFrame({"n": np.full(prompts, size), "mean": 0.5 + means, "std": np.full(prompts, std)})


@pytest.mark.parametrize(("chance", "expected"), [(0.009, "alike"), (0.011, "unknown"), (0.019, "unknown")])
def test_an_f_that_one_unequal_pool_in_a_hundred_has_is_not_called_alike(chance: float, expected: str) -> None:
    """At two in a hundred, a tenth of all sets of 25 such pools had two that were called alike."""
    true_over_noise = 16 * ALIKE_INTRACLASS / (1 - ALIKE_INTRACLASS)
    found = compare_prompts(pool_of((1 + true_over_noise) * float(f_distribution.ppf(chance, 99, 1500))))
    assert found.likeness == expected


@pytest.mark.parametrize("rewards", [np.zeros((1, 8)), np.zeros((9, 1)), np.zeros((0, 4))])
def test_what_cannot_be_compared_is_unknown(rewards: Rewards) -> None:
    groups = frame_of(rewards) if len(rewards) else pl.DataFrame(schema=dict.fromkeys(("n", "mean", "std"), pl.Float64))
    assert compare_prompts(groups).likeness == "unknown"


def test_constant_rewards_are_alike_or_plainly_different() -> None:
    assert likeness(np.full((64, 4), 0.5)) != "different"
    assert likeness(np.repeat(np.linspace(0, 1, 64)[:, None], 4, axis=1)) == "different"


POOLS, FEW = 25, 100


def rates_of(rng: Rng, prompts: int, mean: float, intraclass: float, share: float = 1.0) -> Rewards:
    """Draw means of prompts; `share` is the variance inside a group as a share of that of pass and fail."""
    if not intraclass:
        return np.full(prompts, mean)
    concentration = (1 / intraclass - 1) / share
    return rng.beta(mean * concentration, (1 - mean) * concentration, prompts)


@pytest.mark.slow
@pytest.mark.parametrize(("mean", "std", "count", "size"), [(0.25, None, POOLS, 1500), (0.5, 0.2, 6, 1000)])
def test_the_error_rates_hold_where_groups_stop_at_will(mean: float, std: float | None, count: int, size: int) -> None:
    share = 1.0 if std is None else 4 * std**2
    found: dict[float, list[str]] = {}
    for intraclass in (0.0, ALIKE_INTRACLASS):
        rng = np.random.default_rng(31)
        pools = (rates_of(rng, size, mean, intraclass, share) for _ in range(count))
        found[intraclass] = [compare_prompts(sample_adaptively(rng, rates, std)).likeness for rates in pools]
    assert found[0.0].count("alike") >= count - 1
    assert found[ALIKE_INTRACLASS].count("alike") <= 1


@pytest.mark.slow
def test_few_prompts_that_differ_are_not_alike_though_all_their_rollouts_say_so() -> None:
    """At a mean of .25 those near the end of the band get most rollouts, and .05 looks like .014 by all of them."""
    rng = np.random.default_rng(31)
    pools = [sample_adaptively(rng, rates_of(rng, FEW, 0.25, ALIKE_INTRACLASS)) for _ in range(POOLS)]
    assert [compare_prompts(pool).likeness for pool in pools].count("alike") <= 1
    assert looks_like(pools) == pytest.approx(ALIKE_INTRACLASS, abs=0.01)
    assert looks_like([pool.drop(OPENING) for pool in pools]) < 0.6 * ALIKE_INTRACLASS


def looks_like(pools: list[pl.DataFrame]) -> float:
    """Return the share of the variance that lies between prompts, by F of many pools: (F - 1) / n = r / (1 - r)."""
    found = [compare_prompts(pool) for pool in pools]
    over_noise = np.mean([(one.f_ratio - 1) / one.size for one in found])
    return float(over_noise / (1 + over_noise))
