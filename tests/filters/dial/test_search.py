"""The search, against pass rates that are known: where it ends, and how often it errs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from learnable.data.errors import LearnableError
from learnable.filters.arrays import Values
from learnable.filters.dial.aim import Aim
from learnable.filters.dial.search import DialSearch

X = np.linspace(0, 1, 9)
PROMPTS = 32  # a pick
BUDGET = 1536  # prompts
SEEDS = range(8)

# Each with whether some setting is within .1 of .5.
CURVES: dict[str, tuple[Values, bool]] = {
    "monotone": (expit(4 - 8 * X), True),
    "one valley between": (np.array([0.95, 0.95, 0.5, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95]), True),
    "hump": (0.05 + 0.5 * np.exp(-(((X - 0.5) / 0.25) ** 2)), True),
    "flat and right": (np.full(9, 0.5), True),
    "flat and easy": (np.full(9, 0.9), False),
    "just outside": (np.full(9, 0.63), False),
    "a step over it": (np.where(X < 0.5, 0.95, 0.05), False),
    "a step beside it": (np.where(X < 0.5, 0.65, 0.05), False),
    "rough": (np.array([0.9, 0.62, 0.8, 0.3, 0.65, 0.35, 0.7, 0.2, 0.63]), False),
}


def run(rates: Values, seed: int, aim: Aim | None = None) -> tuple[str, int | None, DialSearch]:
    """Search where prompts differ: each has a pass rate of its own, and two rollouts."""
    rng = np.random.default_rng([7, seed])
    search = DialSearch(np.linspace(0, 1, len(rates))[:, None], aim or Aim(), seed)
    picks = search.opening()
    while True:
        for setting in picks:
            own = rng.beta(1.5 * rates[setting], 1.5 * (1 - rates[setting]), PROMPTS)
            shares = rng.binomial(2, own) / 2
            search.add(setting, shares, 2 * shares * (1 - shares))
        look = search.look()
        if look.found is not None:
            return "found", look.found, search
        if look.is_hopeless:
            return "hopeless", None, search
        if search.prompts.sum() >= BUDGET:
            return "budget", None, search
        picks = look.picks


@pytest.fixture(scope="module")
def ends() -> dict[str, list[tuple[str, int | None, DialSearch]]]:
    return {name: [run(rates, seed) for seed in SEEDS] for name, (rates, _) in CURVES.items()}


def test_what_is_found_is_within_the_tolerance(ends: dict[str, Any]) -> None:
    """The stated error is 5 % on either side; over all these curves together there is less."""
    missed = [
        (name, found)
        for name, runs in ends.items()
        for outcome, found, _ in runs
        if outcome == "found" and abs(CURVES[name][0][found] - 0.5) > 0.1
    ]
    assert len(missed) <= 0.05 * len(CURVES) * len(SEEDS), missed


@pytest.mark.parametrize("name", [name for name, (_, is_there) in CURVES.items() if is_there])
def test_it_finds_what_is_there(ends: dict[str, Any], name: str) -> None:
    outcomes = Counter(outcome for outcome, _, _ in ends[name])
    assert outcomes["found"] >= len(SEEDS) - 1, outcomes


@pytest.mark.parametrize("name", ["flat and easy", "a step over it"])
def test_it_gives_up_early_where_there_is_nothing(ends: dict[str, Any], name: str) -> None:
    assert {outcome for outcome, _, _ in ends[name]} == {"hopeless"}
    assert np.mean([search.prompts.sum() for _, _, search in ends[name]]) < BUDGET / 2


def test_it_spends_its_rollouts_near_the_target(ends: dict[str, Any]) -> None:
    rates, prompts = CURVES["monotone"][0], sum(search.prompts for _, _, search in ends["monotone"])
    near = np.abs(rates - 0.5) < 0.25
    assert prompts[near].sum() > 0.5 * prompts.sum()


def test_another_target_is_found_too() -> None:
    rates = CURVES["monotone"][0]
    found = [run(rates, seed, Aim(0.2, 0.1))[1] for seed in range(4)]
    assert [setting for setting in found if setting is None or abs(rates[setting] - 0.2) > 0.1] == []


def test_a_search_is_a_function_of_its_seed_and_its_rollouts() -> None:
    first, second = (run(CURVES["hump"][0], 3) for _ in range(2))
    assert first[:2] == second[:2]
    assert first[2].prompts.tolist() == second[2].prompts.tolist()


def test_two_rollouts_of_a_prompt_that_agree_are_one() -> None:
    """Where prompts always pass or always fail, their number says how much is known, not that of rollouts."""
    alike, apart = DialSearch(np.zeros((1, 1)), Aim()), DialSearch(np.zeros((1, 1)), Aim())
    alike.add(0, np.array([0.0, 1.0] * 50), np.zeros(100))
    apart.add(0, np.array([0.0, 0.5, 0.5, 1.0] * 25), np.array([0.0, 0.5, 0.5, 0.0] * 25))
    widths = [float(high[0] - low[0]) for low, high in (alike.own_intervals(), apart.own_intervals())]
    assert widths[0] == pytest.approx(2 * 1.645 * 0.5 / np.sqrt(100), rel=0.05)
    assert widths[1] == pytest.approx(2 * 1.645 * 0.5 / np.sqrt(200), rel=0.05)
    assert apart.within_variances[0] == 0.25


def test_settings_without_more_prompts_are_not_picked() -> None:
    search = DialSearch(X[:, None], Aim())
    for setting in range(9):
        search.add(setting, np.array([0.0, 1.0] * 4), np.zeros(8))
        if setting:
            search.close_setting(setting)
    assert set(search.look().picks) == {0}
    search.close_setting(0)
    assert search.look().picks == ()


@pytest.mark.parametrize(("target", "tolerance"), [(0, 0.1), (1, 0.1), (float("nan"), 0.1), (0.5, 0), (0.5, 0.6)])
def test_aims_that_cannot_work(target: float, tolerance: float) -> None:
    with pytest.raises(LearnableError, match=r"`t(arget|olerance)` \S+ is"):
        Aim(target, tolerance)
