"""Populations of the sampling benchmark, and what a goal is compared with."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.decisions.real_models import agree_without_replacement
from benchmarks.decisions.sampling import POPULATIONS, draw_rates, screen_until
from learnable.data.errors import LearnableError


def test_spikes_are_drawn_equally_often_in_any_order() -> None:
    rates = draw_rates("spikes:0.12,0.5,0.88", 300, np.random.default_rng(1))
    values, counts = np.unique(rates, return_counts=True)
    assert (values.tolist(), counts.tolist()) == ([0.12, 0.5, 0.88], [100, 100, 100])
    assert len(set(rates[:20])) == 3


def test_one_rate_alone_is_a_population() -> None:
    assert set(draw_rates("spikes:0.15", 7, np.random.default_rng(1))) == {0.15}


def test_every_default_population_is_understood() -> None:
    for population in POPULATIONS:
        rates = draw_rates(population, 50, np.random.default_rng(1))
        assert len(rates) == 50
        assert ((rates >= 0) & (rates <= 1)).all()


@pytest.mark.parametrize("population", ["spikes:", "spikes:0.1,", "spikes:a", "spike:0.1", "beta:1"])
def test_another_population_is_an_error_that_says_what_is_one(population: str) -> None:
    with pytest.raises(LearnableError, match=r"spikes:RATE"):
        draw_rates(population, 5, np.random.default_rng(1))


def test_a_screen_ends_with_the_prompt_that_was_still_missing() -> None:
    rng = np.random.default_rng(1)
    found = screen_until(np.full(500, 0.5), 10, rng)
    assert found.good == found.kept == 10
    assert found.looked_at < 20
    assert screen_until(np.zeros(50), 10, rng).rollouts == 50 * 4


def test_ways_to_take_rollouts_that_agree_are_counted() -> None:
    n, passes = np.array([4, 4, 4, 4]), np.array([0, 1, 2, 4])
    assert agree_without_replacement(n, passes, 2) == pytest.approx([1, 3 / 6, 2 / 6, 1])
