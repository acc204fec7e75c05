"""Drift against simulation: figures that were put in come out, and moved posteriors keep their promises."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from learnable.data.band import Band
from learnable.data.curated.refreshed import Drift
from learnable.filters.posterior.belief import Belief
from learnable.filters.refresh.drift import fit_drift, move_belief
from tests.filters.populations_for_tests import Prior, expected_means
from tests.filters.refresh.drift_for_tests import Moved, simulate

BAND = Band()
shapes = st.floats(0.1, 60)
masses = st.floats(0, 0.45)


def one(alpha: float, beta: float, zero: float = 0.0, always: float = 0.0) -> Belief:
    return Belief.of_moments(*(np.array([value]) for value in (alpha, beta, zero, always)))


def posteriors(moved: Moved) -> Belief:
    return Belief.of_moments(*(moved.before[name].to_numpy() for name in ("alpha", "beta", "p_zero", "p_one")))


def evidence_of(belief: Belief) -> float:
    return float(belief.to_moments().alpha[0] + belief.to_moments().beta[0])


def evidence(moved: Moved) -> tuple[np.ndarray, np.ndarray]:
    n = moved.after["n"].cast(pl.Float64).to_numpy()
    return n, n * moved.after["mean"].to_numpy()


def fit(moved: Moved, others: Drift | None = None) -> Drift:
    return fit_drift(posteriors(moved), *evidence(moved), others=others)


@pytest.mark.parametrize(
    ("shape", "drift"),
    [
        ((3.0, 9.0, 0.0, 0.0), Drift(shift=0.8, slope=0.9, noise=0.6)),
        ((0.3, 8.3, 0.5, 0.0), Drift(shift=1.5, noise=1.0, left_zero=0.3)),
        ((12.0, 2.0, 0.0, 0.3), Drift(shift=-1.0, noise=0.3, left_one=0.6)),
    ],
)
def test_a_moved_posterior_is_what_drawing_both_rates_gives(shape: tuple[float, ...], drift: Drift) -> None:
    rng, simulations = np.random.default_rng(1), 200_000
    kind = rng.random(simulations)
    at_zero, at_one = kind < shape[2], kind > 1 - shape[3]
    old = np.clip(rng.beta(shape[0], shape[1], simulations), 1e-12, 1 - 1e-12)
    new = expit(drift.shift + drift.slope * logit(old) + drift.noise * rng.normal(size=simulations))
    leaves = rng.random(simulations)
    new = np.where(at_zero, np.where(leaves < drift.left_zero, rng.beta(0.5, 1.5, simulations), 0.0), new)
    new = np.where(at_one, np.where(leaves < drift.left_one, rng.beta(1.5, 0.5, simulations), 1.0), new)
    moved = move_belief(drift, one(*shape))
    assert expected_means(moved)[0] == pytest.approx(new.mean(), abs=0.005)
    assert moved.to_moments().zero[0] == pytest.approx((new == 0).mean(), abs=0.005)
    assert moved.to_moments().one[0] == pytest.approx((new == 1).mean(), abs=0.005)
    assert moved.in_band(BAND)[0] == pytest.approx(((new >= 0.2) & (new <= 0.8)).mean(), abs=0.03)


@given(shapes, shapes, masses, masses)
def test_what_did_not_drift_is_what_it_was(alpha: float, beta: float, zero: float, always: float) -> None:
    before = one(alpha, beta, zero, always)
    moved = move_belief(Drift(), before)
    assert expected_means(moved)[0] == pytest.approx(expected_means(before)[0], abs=0.005)
    assert moved.in_band(BAND)[0] == pytest.approx(before.in_band(BAND)[0], abs=0.02)
    assert moved.to_moments().zero[0] == pytest.approx(zero)


@given(shapes, shapes, masses, masses, st.floats(-3, 3), st.floats(0.05, 3))
def test_more_shift_means_more_success_and_more_noise_less_evidence(
    alpha: float, beta: float, zero: float, always: float, shift: float, noise: float
) -> None:
    before = one(alpha, beta, zero, always)
    moved, further = (move_belief(Drift(shift=by, noise=noise), before) for by in (shift, shift + 0.5))
    noisier = move_belief(Drift(shift=shift, noise=noise + 0.5), before)
    assert moved.weights.sum() == pytest.approx(1)
    assert expected_means(further)[0] >= expected_means(moved)[0] - 1e-9
    assert evidence_of(noisier) <= evidence_of(moved) * 1.05


@pytest.mark.parametrize(("shift", "noise", "slope"), [(0.6, 0.5, 1.0), (-1.0, 1.0, 1.0), (0.8, 0.8, 0.8)])
def test_a_fit_finds_the_drift_that_was_put_in(shift: float, noise: float, slope: float) -> None:
    found = fit(simulate(1500, shift, noise, slope=slope, seed=2))
    assert found.shift == pytest.approx(shift, abs=0.15)
    assert found.noise == pytest.approx(noise, abs=0.2)
    assert found.slope == pytest.approx(slope, abs=0.1)


def test_no_drift_is_found_where_there_is_none() -> None:
    found = fit(simulate(1500, 0.0, 0.0, seed=3))
    assert abs(found.shift) < 0.1
    assert found.noise < 0.35


@pytest.mark.parametrize(("shift", "noise"), [(0.0, 0.0), (0.7, 0.5), (-1.0, 1.0), (0.0, 2.5)])
def test_moved_chances_come_true(shift: float, noise: float) -> None:
    """Of the prompts that were not sampled again, as many are in the band as their chances say, bin by bin."""
    moved = simulate(3000, shift, noise, seed=4)
    anchor_rows = slice(0, 150)
    n, s = evidence(moved)
    before = posteriors(moved)
    chances = move_belief(fit_drift(before.at(np.arange(150)), n[anchor_rows], s[anchor_rows]), before).in_band(BAND)[
        150:
    ]
    truth = moved.truth[150:]
    bins = np.digitize(chances, [0.1, 0.3, 0.5, 0.7, 0.9])
    for number in np.unique(bins):
        mine = bins == number
        if mine.sum() >= 100:
            assert truth[mine].mean() == pytest.approx(chances[mine].mean(), abs=0.12)
    assert truth.mean() == pytest.approx(chances.mean(), abs=0.06)


def test_point_masses_move_by_the_share_that_left() -> None:
    """200 prompts that failed 12 times; 40 % of them pass half of the time now. 200 that passed stay as they were."""
    rng = np.random.default_rng(5)
    before = Prior(0.4, 0.4, zero=0.4, one=0.4).belief.update(np.full(400, 12.0), np.repeat([0.0, 12.0], 200))
    rates = np.concatenate([np.where(rng.random(200) < 0.4, 0.5, 0.0), np.ones(200)])
    found = fit_drift(before, np.full(400, 12.0), rng.binomial(12, rates).astype(float))
    assert 0.2 < found.left_zero < 0.55
    assert found.left_one < 0.05


def test_graded_rewards_count_by_their_effective_size() -> None:
    """Rewards with an effective size of 20 each tell a noise of .2 from none at all; as 0 and 1 they could not."""
    rng, prompts, weight = np.random.default_rng(6), 150, 160.0
    old = rng.uniform(0.15, 0.85, prompts)
    for noise in (0.0, 0.4):
        new = expit(logit(old) + 0.3 + noise * rng.normal(size=prompts))
        seen = [rng.beta(rate * weight, (1 - rate) * weight) for rate in (old, new)]
        size = np.full(prompts, weight)
        found = fit_drift(Prior(1, 1).belief.update(size, size * seen[0]), size, size * seen[1])
        assert found.noise == pytest.approx(noise, abs=0.15)
        assert found.shift == pytest.approx(0.3, abs=0.1)


def test_few_prompts_are_drawn_toward_the_others_and_none_follow_them() -> None:
    others = Drift(shift=1.0, noise=0.5, fitted_to=80)
    few, many = (fit(simulate(count, -1.0, 0.5, seed=7), others) for count in (4, 800))
    assert -1.0 < few.shift < 1.0
    assert many.shift == pytest.approx(-1.0, abs=0.2)
    empty = np.zeros(0)
    nothing = fit_drift(Belief.of_moments(empty, empty), empty, empty, others)
    assert (nothing.shift, nothing.fitted_to) == (pytest.approx(1.0), 0)
    assert nothing.noise == pytest.approx(0.5)


def test_the_drifts_of_a_manifest_are_written_the_same() -> None:
    pinned = json.loads((Path(__file__).parent.parent / "manifest_figures.json").read_text())["drifts"]
    moved = Drift(0.51234567, 1.23456, 0.3, 0.123456, 0.2, 57)
    assert json.dumps({"usual": Drift().to_json(), "moved": moved.to_json()}) == json.dumps(pinned)
