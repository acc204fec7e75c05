"""Draws of pass rates, against what is known without them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, kstest

from learnable.filters.arrays import Values
from learnable.filters.dial.pass_rates import draw_pass_rates

LINE = np.linspace(0, 1, 5)[:, None]


def drawn(passed: list[float], n: list[float], points: Values = LINE) -> Values:
    rng = np.random.default_rng(1)
    return draw_pass_rates(points, np.array(passed, np.float64), np.array(n, np.float64), 4000, rng)


def test_many_rollouts_speak_for_themselves() -> None:
    """With one setting and much data the prior is nothing, and the posterior is that of counting alone."""
    rates = drawn([3000], [10_000], np.zeros((1, 1)))[:, 0]
    assert kstest(rates, beta(3000.5, 7000.5).cdf).statistic < 0.05


def test_settings_without_rollouts_follow_their_neighbours_and_are_less_sure() -> None:
    rates = drawn([380, 0, 200, 0, 20], [400, 0, 400, 0, 400])
    mean, std = rates.mean(axis=0), rates.std(axis=0)
    assert mean == pytest.approx([0.95, 0.75, 0.5, 0.25, 0.05], abs=0.06)
    assert min(std[1], std[3]) > 2 * max(std[0], std[2], std[4])


def test_settings_that_pass_alike_are_pooled() -> None:
    alone = drawn([32], [64], np.zeros((1, 1)))[:, 0].std()
    assert drawn([32] * 5, [64] * 5).std(axis=0).max() < 0.75 * alone


def test_a_step_is_believed() -> None:
    rates = drawn([190, 190, 190, 10, 10], [200] * 5)
    assert rates.mean(axis=0) == pytest.approx([0.95, 0.95, 0.95, 0.05, 0.05], abs=0.04)


def test_nothing_but_passes_or_fails_stays_within_bounds() -> None:
    rates = drawn([0, 0, 0, 64, 64], [64, 0, 64, 64, 64])
    assert (rates >= 0).all()
    assert (rates <= 1).all()
    assert rates[:, 0].mean() < 0.05 < 0.95 < rates[:, -1].mean()
