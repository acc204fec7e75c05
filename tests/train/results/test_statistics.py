from itertools import combinations
from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learnable.train.results.statistics import (
    RESAMPLES,
    Interval,
    estimate_change,
    estimate_mean,
    estimate_pass_at_k,
)

rates = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(st.integers(1, 7), st.data())
def test_pass_at_k_is_the_share_of_samples_with_a_pass(n: int, data: st.DataObject) -> None:
    passes = data.draw(st.integers(0, n))
    k = data.draw(st.integers(1, n))
    outcomes = [index < passes for index in range(n)]
    drawn = [any(chosen) for chosen in combinations(outcomes, k)]

    assert estimate_pass_at_k(n, passes, k) == pytest.approx(sum(drawn) / len(drawn))


def test_pass_at_k_is_unknown_with_fewer_than_k_completions() -> None:
    assert isnan(estimate_pass_at_k(3, 3, 4))


@given(rates)
def test_interval_holds_the_mean_and_stays_among_the_values(values: list[float]) -> None:
    interval = estimate_mean(values)

    assert interval.value == pytest.approx(sum(values) / len(values))
    assert min(values) - 1e-9 <= interval.low <= interval.value + 1e-9
    assert interval.value - 1e-9 <= interval.high <= max(values) + 1e-9


def test_interval_agrees_with_the_normal_one_where_that_is_exact() -> None:
    values = np.random.default_rng(1).normal(0.5, 0.2, size=400)
    half = 1.96 * values.std() / np.sqrt(values.size)

    interval = estimate_mean(values.tolist())

    assert interval.low == pytest.approx(values.mean() - half, abs=0.002)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.002)


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(2)
    intervals = [estimate_mean(generator.beta(2, 3, size=40).tolist(), confidence=0.9) for _ in range(200)]

    covered = np.mean([interval.low <= 0.4 <= interval.high for interval in intervals])

    assert 0.83 <= covered <= 0.96


def test_many_values_are_resampled_in_pieces() -> None:
    values = np.random.default_rng(3).random(5_000).tolist()

    assert estimate_mean(values).low < np.mean(values) < estimate_mean(values).high


def test_interval_of_nothing_is_unknown() -> None:
    interval = estimate_mean([nan, nan])

    assert isnan(interval.value)
    assert not interval.is_above_zero
    assert not interval.is_below_zero


@given(rates, st.floats(0.01, 0.5))
def test_the_same_gain_on_every_prompt_has_no_uncertainty(before: list[float], gain: float) -> None:
    change = estimate_change(before, [value + gain for value in before])

    assert change.low == pytest.approx(gain)
    assert change.high == pytest.approx(gain)
    assert change.is_above_zero


def test_pairs_with_a_missing_side_are_left_out() -> None:
    assert estimate_change([0.0, nan, 0.5], [1.0, 1.0, nan]).value == 1.0


def test_pairing_sees_a_change_that_two_separate_intervals_hide() -> None:
    before = np.linspace(0.1, 0.8, 30)
    after = before + np.random.default_rng(4).normal(0.05, 0.02, size=30)

    early, late = estimate_mean(before.tolist()), estimate_mean(after.tolist())

    assert late.low < early.high
    assert estimate_change(before.tolist(), after.tolist()).is_above_zero


@settings(max_examples=5)
@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from("abcd")), min_size=5, max_size=20))
def test_problems_are_drawn_whole(drawn: list[tuple[float, str]]) -> None:
    values, problems = [value for value, _ in drawn], [problem for _, problem in drawn]
    groups = [[value for value, mine in drawn if mine == name] for name in sorted(set(problems))]
    generator, means = np.random.default_rng(3), []
    for chosen in generator.integers(len(groups), size=(RESAMPLES, len(groups))).tolist():
        together = [value for place in chosen for value in groups[place]]
        means.append(sum(together) / len(together))

    interval = estimate_mean(values, problems=problems, seed=3)

    assert interval.value == pytest.approx(sum(values) / len(values))
    assert [interval.low, interval.high] == pytest.approx(np.quantile(means, [0.025, 0.975]).tolist())


def test_other_words_for_a_problem_make_nothing_surer() -> None:
    values = np.random.default_rng(4).random(60).tolist()
    names = [str(number) for number in range(60)]
    once, twice = estimate_mean(values, problems=names), estimate_mean(values * 2, problems=names * 2)

    assert once == estimate_mean(values)
    assert twice.high - twice.low == pytest.approx(once.high - once.low, rel=0.05)
    plain = estimate_mean(values * 2)
    assert plain.high - plain.low < 0.8 * (once.high - once.low)


def test_a_problem_without_a_value_is_left_out() -> None:
    assert estimate_mean([0.5, nan, 0.5], problems=["a", "b", "a"]) == Interval(0.5, 0.5, 0.5)
    assert estimate_change([0.25, 0.5, 0.5], [0.5, nan, 0.75], problems=["a", "a", "a"]).value == 0.25
