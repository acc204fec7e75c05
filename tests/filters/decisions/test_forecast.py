"""Forecasts against groups that are really drawn, their advantages computed as TRL does."""

from __future__ import annotations

from dataclasses import astuple
from math import comb, sqrt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.curated.manifest import Forecast
from learnable.filters.decisions.forecast import (
    advise,
    forecast,
    graded_advantage,
    read_zero_std,
)
from learnable.filters.posterior.belief import Belief
from learnable.filters.posterior.certificate import ZERO_STD_AT
from tests.filters.populations_for_tests import Prior, Values, bernoulli, draw_means

SIMULATIONS = 60_000
PRIORS = [Prior(0.4, 1.3), Prior(3, 2, 0.2, 0.3), Prior(0.05, 0.05), Prior(40, 40)]


def advantages(rewards: Values) -> Values:
    """Those of groups, shape (groups, size), with the sample standard deviation and 1e-4, as TRL computes them."""
    centred = rewards - rewards.mean(axis=1, keepdims=True)
    return centred / (rewards.std(axis=1, ddof=1, keepdims=True) + 1e-4)


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@pytest.mark.parametrize("size", [2, 4, 16])
def test_bernoulli_forecasts_equal_groups_that_are_drawn(prior: Prior, size: int) -> None:
    rng, posterior = np.random.default_rng(67), prior.belief.update(0, 0)
    rewards = bernoulli(rng, draw_means(rng, prior, SIMULATIONS), size)
    dead = rewards.min(axis=1) == rewards.max(axis=1)
    assert float(posterior.zero_std_share(size)) == pytest.approx(dead.mean(), abs=5 * 0.5 / sqrt(SIMULATIONS))
    per_group = np.abs(advantages(rewards)).mean(axis=1)
    assert float(posterior.mean_abs_advantage(size)) == pytest.approx(per_group.mean(), abs=0.012)


@given(st.integers(0, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), st.integers(2, 64))
def test_a_known_rate_agrees_by_the_binomial(counts: tuple[int, int], size: int) -> None:
    """A belief as narrow as the grid has it: within half a cell, .007 of a rate."""
    p = (counts[1] + 1) / (counts[0] + 2)
    known = Belief.of_moments(1e7 * p, 1e7 * (1 - p))
    assert float(known.zero_std_share(size)) == pytest.approx(p**size + (1 - p) ** size, abs=0.02)
    expected = sum(
        comb(size, k) * p**k * (1 - p) ** (size - k) * 2 * sqrt(k * (size - k) * (size - 1) / size) / size
        for k in range(size + 1)
    )
    assert float(known.mean_abs_advantage(size)) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("size", [2, 4, 8, 64])
def test_graded_advantage_equals_normal_rewards(size: int) -> None:
    rewards = np.random.default_rng(71).normal(0.5, 0.2, (200_000 // size, size))
    assert graded_advantage(size) == pytest.approx(np.abs(advantages(rewards)).mean(), rel=0.01)


def certified() -> pl.DataFrame:
    rows = [
        ("coins", 1.5, 3.5, 0.0, 0.0),
        ("coins", 0.5, 8.5, 0.4, 0.0),
        ("coins", 0.5, 8.5, 0.4, 0.0),
        ("coins", None, None, None, None),
        ("poems", 20.0, 30.0, 0.0, 0.0),
        ("poems", 90.0, 5.0, 0.0, 0.0),
    ]
    agree = {name: [None if row[1] is None else 0.5 / size for row in rows] for size, name in ZERO_STD_AT.items()}
    names = ["family", "alpha", "beta", "p_zero", "p_one"]
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(pl.DataFrame(agree))


def test_forecast_equals_a_plain_loop() -> None:
    groups, sizes = certified(), (4, 32)
    for found, size in zip(forecast(groups, {"coins": False, "poems": True}, sizes), sizes, strict=True):
        dead = taught = 0.0
        rows = [row for row in groups.to_dicts() if row["alpha"] is not None]
        for row in rows:
            if row["family"] == "poems":
                agrees = row[ZERO_STD_AT[size]]
                taught += (1 - agrees) * graded_advantage(size)
            else:
                alone = Belief.of_moments(*(np.array(row[name]) for name in ("alpha", "beta", "p_zero", "p_one")))
                agrees = float(alone.zero_std_share(size))
                taught += float(alone.mean_abs_advantage(size))
            dead += agrees
        assert found.group_size == size
        assert found.zero_std_share == pytest.approx(dead / len(rows))
        assert found.usable_rate == pytest.approx(1 - dead / len(rows))
        assert found.mean_abs_advantage == pytest.approx(taught / len(rows))


def test_the_forecast_of_a_graded_family_is_that_of_its_certificates() -> None:
    for found in forecast(certified(), {"coins": True, "poems": True}):
        assert found.zero_std_share == pytest.approx(0.5 / found.group_size)


@pytest.mark.parametrize("size", [2, 3, 4, 6, 12, 64, 100])
def test_between_the_sizes_of_a_certificate_the_forecast_is_near(size: int) -> None:
    """Against the closed form of coins; beyond the largest size too."""
    posterior = Prior(0.6, 1.2).belief.update(np.full(9, 8.0), np.arange(9.0))
    columns = {name: posterior.zero_std_share(each) for each, name in ZERO_STD_AT.items()}
    assert read_zero_std(pl.DataFrame(columns), size) == pytest.approx(posterior.zero_std_share(size), abs=0.02)


def test_a_family_that_nothing_is_known_of_is_taken_as_bernoulli() -> None:
    groups = certified()
    assert forecast(groups, {}) == forecast(groups, {"coins": False, "poems": False})
    assert [f.group_size for f in forecast(groups, {})] == [4, 8, 16, 32, 64]


def test_larger_groups_agree_less_often() -> None:
    shares = [f.zero_std_share for f in forecast(certified(), {"poems": True})]
    assert shares == sorted(shares, reverse=True)


def test_a_prompt_that_is_drawn_twice_as_often_counts_as_two() -> None:
    groups, graded = certified(), {"coins": False, "poems": True}
    times = np.arange(groups.height) % 3
    repeated = groups.with_columns(times=pl.Series(times)).select(pl.exclude("times").repeat_by("times").explode())
    for found, expected in zip(forecast(groups, graded, weights=times / 7), forecast(repeated, graded), strict=True):
        assert astuple(found)[1:] == pytest.approx(astuple(expected)[1:])
    assert forecast(groups, graded, weights=np.ones(groups.height)) == forecast(groups, graded)


def test_nothing_scored_is_nothing_forecast() -> None:
    assert forecast(certified().filter(pl.col("alpha").is_null()), {"coins": False}) == []
    assert advise([]) == ""


def test_advice_names_the_smallest_group_that_is_enough() -> None:
    def at(*shares: float) -> str:
        return advise([Forecast(4 * 2**i, share, 1 - share, 0.5) for i, share in enumerate(shares)])

    assert at(0.4, 0.2, 0.08, 0.01) == "at G = 4, 40% of the groups teach nothing; G = 16: 8%"
    assert at(0.4, 0.3) == "at G = 4, 40% of the groups teach nothing; G = 8: 30%"
    assert at(0.1) == "at G = 4, 10% of the groups teach nothing"
