"""Fitted beliefs: planted populations come back, smooth or not, and a small pilot says nothing foolish."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from learnable.data.band import Band
from learnable.filters.arrays import Values
from learnable.filters.posterior.fitting import (
    MAX_GROUPS,
    MIN_GROUPS,
    OWN_GROUPS,
    FittedBelief,
    _Grid,
    fit_belief,
    fit_pool,
    fit_smooth_once,
)
from tests.filters.populations_for_tests import Prior, below, bernoulli, draw_means, expected_means

Draw = Callable[[np.random.Generator, int], Values]
SPIKES = [(0.12, 0.5, 0.88), (0.3, 0.7), (0.15,)]


@pytest.mark.parametrize("planted", [Prior(0.3, 0.3), Prior(0.2, 1), Prior(1, 1, 0.0, 0.7), Prior(2, 2, 0.3)], ids=str)
def test_planted_populations_come_back(planted: Prior) -> None:
    rng = np.random.default_rng(23)
    passes = bernoulli(rng, draw_means(rng, planted, 20_000), 8).sum(axis=1)
    found = fit_belief(np.full(20_000, 8), passes)
    assert found.fitted_to == 20_000
    for x in (0.05, 0.2, 0.5, 0.8, 0.95):
        assert float(below(found.belief, x)) == pytest.approx(float(below(planted.belief, x)), abs=0.015)


@pytest.mark.parametrize("seed", range(3))
def test_a_smooth_population_has_the_smooth_fit(seed: int) -> None:
    """Weights that follow the groups would be worse on others, and cross-validation says so."""
    rng = np.random.default_rng(seed)
    sizes, passes = np.full(800, 16), rng.binomial(16, rng.beta(0.7, 0.9, 800))
    np.testing.assert_array_equal(fit_belief(sizes, passes).belief.weights, _Grid(sizes, passes).fit_smooth())


@pytest.mark.parametrize("rates", SPIKES, ids=str)
def test_rates_on_a_few_points_are_told_as_they_are(rates: tuple[float, ...]) -> None:
    """A Beta distribution with masses says of the first .94 of the kept, where .87 are in the band."""
    rng = np.random.default_rng(31)
    p = rng.choice(rates, 3000)
    n, passes = np.full(3000, 16.0), rng.binomial(16, p)
    found = fit_belief(n, passes).belief.update(n, passes)
    inside = (p >= 0.2) & (p <= 0.8)
    kept = found.in_band(Band()) > 0.5
    assert kept.sum() == pytest.approx(inside.sum(), rel=0.15, abs=30)
    assert found.in_band(Band()).mean() == pytest.approx(inside.mean(), abs=0.04)
    if inside.any():
        assert found.in_band(Band())[kept].mean() == pytest.approx(inside[kept].mean(), abs=0.025)
    low, high = found.interval()
    assert ((low <= p) & (p <= high)).mean() > 0.88


def test_nothing_is_floored_where_all_prompts_are_middling() -> None:
    """A floor of .005 under the masses had intervals of Beta(8, 24) cover .81; four rollouts tell little of it."""
    covered = []
    for seed in range(37, 43):
        rng = np.random.default_rng(seed)
        p = rng.beta(8, 24, 20_000)
        n, passes = np.full(20_000, 4.0), rng.binomial(4, p)
        low, high = fit_belief(n, passes).belief.update(n, passes).interval()
        covered.append(((low <= p) & (p <= high)).mean())
    assert np.mean(covered) == pytest.approx(0.9, abs=0.03)


def test_a_small_family_leans_on_its_pool() -> None:
    """Forty families of 12, each with a mean of its own: nearer to the truth than with the pool's belief as it is."""
    rng = np.random.default_rng(41)
    means = rng.beta(1, 1, (40, 1))
    p = rng.beta(20 * means + 1e-3, 20 * (1 - means) + 1e-3, (40, 12))
    families = [(np.full(12, 8.0), rng.binomial(8, rates).astype(float)) for rates in p]
    n, s = (np.concatenate(part) for part in zip(*families, strict=True))
    pool = fit_pool((n, s), families)
    assert pool.family_width > 0

    def loss(beliefs: list[FittedBelief]) -> float:
        guesses = np.array([expected_means(b.belief.update(*f)) for b, f in zip(beliefs, families, strict=True)])
        return float(((guesses - p) ** 2).mean())

    leaning = loss([fit_belief(*family, pool) for family in families])
    print(leaning, loss([fit_belief(*family) for family in families]), loss([FittedBelief(pool.belief)] * 40))
    assert leaning < 1.03 * loss([fit_belief(*family) for family in families])
    assert leaning < 0.8 * loss([FittedBelief(pool.belief)] * 40)


def test_no_number_of_groups_is_a_cliff() -> None:
    """From none to more than enough for a fit of its own, the expected mean goes from the pool's to the family's."""
    rng = np.random.default_rng(43)
    pool = fit_belief(np.full(400, 8.0), rng.binomial(8, rng.beta(1, 3, 400)))
    pool = FittedBelief(pool.belief, pool.fitted_to, 0.5)
    told = [
        float(expected_means(fit_belief(np.full(count, 8.0), np.full(count, 6.0), pool).belief))
        for count in range(OWN_GROUPS + 8)
    ]
    assert told[0] == pytest.approx(0.25, abs=0.03)
    assert told[-1] == pytest.approx(0.75, abs=0.05)
    assert np.abs(np.diff(told)).max() < 0.15


def test_families_that_tell_nothing_have_the_belief_of_their_pool() -> None:
    rng = np.random.default_rng(47)
    families = [(np.full(12, 8.0), rng.binomial(8, rng.beta(0.7, 0.9, 12)).astype(float)) for _ in range(60)]
    n, s = (np.concatenate(part) for part in zip(*families, strict=True))
    pool = fit_pool((n, s), families)
    assert not pool.family_width
    assert fit_belief(*families[0], pool).belief is pool.belief


def test_groups_of_different_sizes_are_one_population() -> None:
    rng = np.random.default_rng(29)
    sizes = rng.choice([3, 6, 17], 8000)
    found = fit_belief(sizes, rng.binomial(sizes, rng.beta(2, 4, 8000))).belief.to_moments()
    assert found.alpha / (found.alpha + found.beta) == pytest.approx(1 / 3, abs=0.02)
    assert found.alpha + found.beta == pytest.approx(6, rel=0.2)


def test_few_groups_say_nothing() -> None:
    assert fit_belief([8] * (MIN_GROUPS - 1), [3] * (MIN_GROUPS - 1)).fitted_to == 0
    assert fit_belief([], []).fitted_to == 0
    assert fit_belief([8] * MIN_GROUPS, [3] * MIN_GROUPS).fitted_to == MIN_GROUPS


def test_groups_without_scores_are_left_out() -> None:
    sizes, sums = [8.0] * 20, [float(s % 9) for s in range(20)]
    with_none, without = fit_belief([*sizes, 0, 8], [*sums, 0, math.nan]), fit_belief(sizes, sums)
    np.testing.assert_array_equal(with_none.belief.weights, without.belief.weights)


PILOTS = st.one_of(
    st.sampled_from([[0] * 64, [8] * 64, [4] * 64, [0] * 32 + [8] * 32, [0] * 63 + [8], [1] * 64]),
    st.lists(st.integers(0, 8), min_size=8, max_size=64),
)


@given(PILOTS)
@settings(max_examples=25)
def test_no_pilot_leads_to_nonsense(passes: list[int]) -> None:
    found = fit_belief([8] * len(passes), passes).belief
    assert abs(float(expected_means(found)) - np.mean(passes) / 8) < 0.1
    later = found.update(256, 128)  # whatever the pilot said, enough evidence prevails
    assert 0.3 < float(expected_means(later)) < 0.7


@given(st.lists(st.integers(0, 8), min_size=12, max_size=40), st.randoms(use_true_random=False))
@settings(max_examples=10)
def test_order_of_the_groups_does_not_matter(passes: list[int], random: object) -> None:
    shuffled = list(passes)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = (fit_belief([8] * len(passes), order).belief.weights for order in (passes, shuffled))
    np.testing.assert_array_equal(one, other)


def test_every_kind_of_row_counts_in_a_large_file() -> None:
    """Two kinds in turn: every other row alone would be one kind."""
    turns = MAX_GROUPS + 2
    found = fit_belief(np.full(turns, 8), np.tile([0, 8], turns // 2)).belief
    assert float(expected_means(found)) == pytest.approx(0.5, abs=0.01)


def test_groups_worth_thousands_of_rollouts_still_fit() -> None:
    rng = np.random.default_rng(31)
    found = fit_belief(np.full(500, 3000.0), 3000 * rng.beta(4, 4, 500)).belief.to_moments()
    assert found.alpha == pytest.approx(4, rel=0.2)
    assert found.beta == pytest.approx(4, rel=0.2)


KERNELS = """
import json
import numpy as np
from learnable.filters.posterior.fitting import fit_belief
found = []
for seed in range(8):
    rng = np.random.default_rng(seed)
    found.append(fit_belief(np.full(300, 12), rng.binomial(12, rng.beta(0.3, 0.3, 300))).belief.weights.tolist())
print(json.dumps(found))
"""


def test_the_fit_does_not_hang_on_the_kernels_of_a_processor() -> None:
    """A fit that stops early, as one by differences does, ends elsewhere where OpenBLAS adds in another order."""
    one, other = (
        json.loads(
            subprocess.run(
                [sys.executable, "-c", KERNELS],
                env={**os.environ, "OPENBLAS_CORETYPE": kernel},
                stdout=subprocess.PIPE,
                check=True,
            ).stdout
        )
        for kernel in ("Prescott", "Haswell")
    )
    for mine, others in zip(one, other, strict=True):
        assert mine == pytest.approx(others, abs=1.5e-6)


MASSES = [(zero, one) for zero in (0.001, 0.05, 0.3, 0.6) for one in (0.001, 0.05, 0.3)]
MANY_STARTS = [(*masses, alpha, beta) for masses in MASSES for alpha in (0.1, 0.5, 2) for beta in (0.1, 0.5, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("mirrored", [False, True])
def test_the_fit_finds_the_best_of_several_optima(monkeypatch: pytest.MonkeyPatch, mirrored: bool) -> None:
    """Of small pools that mostly fail, or mostly pass: a mass explains them nearly as well as a steep Beta."""
    pilots = []
    for seed in range(6):
        rng = np.random.default_rng(50_000 + seed)
        passes = rng.binomial(8, np.where(rng.random(64) < 0.7, 0, rng.random(64)))
        pilots.append(8 - passes if mirrored else passes)
    sizes = np.full(64, 8)
    found = [_Grid(sizes, passes).fit_smooth() for passes in pilots]
    monkeypatch.setattr("learnable.filters.posterior.fitting.BELIEF_STARTS", MANY_STARTS)
    for passes, few in zip(pilots, found, strict=True):
        np.testing.assert_allclose(few, _Grid(sizes, passes).fit_smooth(), atol=1e-4)


@given(PILOTS, st.tuples(*[st.floats(-2, 2)] * 4))
@settings(max_examples=25)
def test_the_gradient_is_that_of_the_loss(passes: list[int], packed: tuple[float, ...]) -> None:
    grid, at = _Grid(np.full(len(passes), 8.0), np.array(passes, dtype=np.float64)), np.array(packed)
    found = approx_fprime(at, lambda near: grid.lose_smooth(near)[0], 1e-6)
    np.testing.assert_allclose(grid.lose_smooth(at)[1], found, rtol=1e-4, atol=1e-4)


def test_a_smooth_fit_is_kept_and_read_only() -> None:
    n, s = np.full(12, 8.0), np.arange(12.0) % 9
    first, again = (fit_smooth_once(n.tobytes(), s.tobytes()) for _ in range(2))
    np.testing.assert_array_equal(first, _Grid(n, s).fit_smooth())
    np.testing.assert_array_equal(first, again)
    with pytest.raises(ValueError, match="read-only"):
        again[0] = 1.0
