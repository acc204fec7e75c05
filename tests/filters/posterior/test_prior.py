"""Fitted priors: planted populations come back, and a small pilot says nothing foolish."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from learnable.filters.posterior.posterior import Posterior
from learnable.filters.posterior.prior import FALLBACK, FLOOR, MAX_GROUPS, MIN_GROUPS, SHAPES, Prior, _Loss, fit_prior
from tests.filters.populations_for_tests import below, bernoulli, draw_means, expected_means


@pytest.mark.parametrize("planted", [Prior(0.3, 0.3), Prior(0.2, 1), Prior(1, 1, 0.0, 0.7), Prior(2, 2, 0.3)], ids=str)
def test_planted_populations_come_back(planted: Prior) -> None:
    rng = np.random.default_rng(23)
    passes = bernoulli(rng, draw_means(rng, planted, 20_000), 8).sum(axis=1)
    found = fit_prior(np.full(20_000, 8), passes)
    assert found.fitted_to == 20_000
    assert found.alpha == pytest.approx(planted.alpha, rel=0.15)
    assert found.beta == pytest.approx(planted.beta, rel=0.15)
    # In groups of 8 a prompt that passes once in a thousand is much like one that never does.
    assert found.zero == pytest.approx(max(planted.zero, FLOOR), abs=0.06)
    assert found.one == pytest.approx(max(planted.one, FLOOR), abs=0.06)
    believed, true = (Posterior.update(prior, 0, 0) for prior in (found, planted))
    for x in (0.05, 0.2, 0.5, 0.8, 0.95):
        assert float(below(believed, x)) == pytest.approx(float(below(true, x)), abs=0.015)


def test_groups_of_different_sizes_are_one_population() -> None:
    rng = np.random.default_rng(29)
    sizes = rng.choice([3, 6, 17], 8000)
    passes = rng.binomial(sizes, rng.beta(2, 4, 8000))
    found = fit_prior(sizes, passes)
    assert found.alpha / (found.alpha + found.beta) == pytest.approx(1 / 3, abs=0.02)
    assert found.alpha + found.beta == pytest.approx(6, rel=0.2)


def test_few_groups_say_nothing() -> None:
    assert fit_prior([8] * (MIN_GROUPS - 1), [3] * (MIN_GROUPS - 1)) == FALLBACK
    assert fit_prior([], []) == FALLBACK
    assert fit_prior([8] * MIN_GROUPS, [3] * MIN_GROUPS).fitted_to == MIN_GROUPS


def test_groups_without_scores_are_left_out() -> None:
    sizes, sums = [8.0] * 20, [float(s % 9) for s in range(20)]
    assert fit_prior([*sizes, 0, 8], [*sums, 0, math.nan]) == fit_prior(sizes, sums)


PILOTS = st.one_of(
    st.sampled_from([[0] * 64, [8] * 64, [4] * 64, [0] * 32 + [8] * 32, [0] * 63 + [8], [1] * 64]),
    st.lists(st.integers(0, 8), min_size=8, max_size=64),
)


@given(PILOTS)
@settings(max_examples=25)
def test_no_pilot_leads_to_nonsense(passes: list[int]) -> None:
    found = fit_prior([8] * len(passes), passes)
    assert min(found.zero, found.one, found.beta_weight) >= FLOOR - 1e-12
    assert SHAPES[0] * 0.999 <= min(found.alpha, found.beta)
    assert max(found.alpha, found.beta) <= SHAPES[1] * 1.001
    expected = float(expected_means(Posterior.update(found, 0, 0)))
    assert abs(expected - np.mean(passes) / 8) < 0.1
    later = Posterior.update(found, 64, 32)  # whatever the pilot said, enough evidence prevails
    assert 0.3 < float(expected_means(later)) < 0.7


@given(st.lists(st.integers(0, 8), min_size=12, max_size=40), st.randoms(use_true_random=False))
@settings(max_examples=10)
def test_order_of_the_groups_does_not_matter(passes: list[int], random: object) -> None:
    shuffled = list(passes)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert fit_prior([8] * len(passes), passes) == fit_prior([8] * len(passes), shuffled)


def test_every_kind_of_row_counts_in_a_large_file() -> None:
    """Two kinds in turn: every other row alone would be one kind."""
    turns = MAX_GROUPS + 2
    found = fit_prior(np.full(turns, 8), np.tile([0, 8], turns // 2))
    assert float(expected_means(Posterior.update(found, 0, 0))) == pytest.approx(0.5, abs=0.01)


def test_groups_worth_thousands_of_rollouts_still_fit() -> None:
    rng = np.random.default_rng(31)
    p = rng.beta(4, 4, 500)
    found = fit_prior(np.full(500, 3000.0), 3000 * p)
    assert found.alpha == pytest.approx(4, rel=0.2)
    assert found.beta == pytest.approx(4, rel=0.2)


KERNELS = """
import json
import numpy as np
from learnable.filters.posterior.prior import fit_prior
found = []
for seed in range(8):
    rng = np.random.default_rng(seed)
    found.append(fit_prior(np.full(300, 12), rng.binomial(12, rng.beta(0.3, 0.3, 300))).to_json())
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
    found = [fit_prior(sizes, passes) for passes in pilots]
    monkeypatch.setattr("learnable.filters.posterior.prior.STARTS", MANY_STARTS)
    for passes, few in zip(pilots, found, strict=True):
        assert few.to_json() == pytest.approx(fit_prior(sizes, passes).to_json(), abs=1e-4)


@given(PILOTS, st.tuples(*[st.floats(-2, 2)] * 4))
@settings(max_examples=25)
def test_the_gradient_is_that_of_the_loss(passes: list[int], packed: tuple[float, ...]) -> None:
    loss = _Loss(np.full(len(passes), 8.0), np.array(passes, dtype=np.float64), np.ones(len(passes)))
    found = approx_fprime(np.array(packed), lambda at: loss(at)[0], 1e-6)
    np.testing.assert_allclose(loss(np.array(packed))[1], found, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("values", [(0, 1), (1, -1), (1, 1, -0.1), (1, 1, 0.5, 0.5), (1, 1, 0, 1)])
def test_impossible_priors_are_refused(values: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="no distribution"):
        Prior(*values)


def test_figures_of_a_manifest() -> None:
    assert Prior(0.51234567, 2, 0.25, fitted_to=9).to_json() == {
        "alpha": 0.512346,
        "beta": 2,
        "zero": 0.25,
        "one": 0.0,
        "fitted_to": 9,
    }
