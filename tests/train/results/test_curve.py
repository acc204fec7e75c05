from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.train.monitor.records import StepRecord
from learnable.train.results.comparison import HeldOut, MeasureChange
from learnable.train.results.curve import choose_ticks, draw_curve, read_series, smooth, write_title
from learnable.train.results.statistics import Interval

PNG = b"\x89PNG\r\n\x1a\n"


def held_out() -> HeldOut:
    measure = MeasureChange(Interval(0.4, 0.35, 0.45), Interval(0.5, 0.45, 0.55), Interval(0.1, 0.05, 0.15))
    return HeldOut(20, 16, 8, 0, 0, measure, measure, measure, measure, "rose", greedy_fell=False)


@pytest.mark.parametrize("steps", [0, 1, 2, 30])
def test_a_run_of_any_length_can_be_drawn(tmp_path: Path, steps: int) -> None:
    records = [
        StepRecord(step, {"reward": 0.1 * (step % 5), "within_group_std": 0.3, "frac_reward_zero_std": 0.2})
        for step in range(1, steps + 1)
    ]
    draw_curve(
        [*records, StepRecord(steps, {"eval_reward": 0.3})], held_out() if steps else None, tmp_path / "curve.png"
    )

    assert (tmp_path / "curve.png").read_bytes().startswith(PNG)


def test_the_title_says_what_the_verdict_says() -> None:
    assert write_title(held_out()).startswith("Held-out reward rose: 0.400 \N{RIGHTWARDS ARROW} 0.500 (+0.100")


def test_steps_without_a_value_are_left_out() -> None:
    records = [StepRecord(1, {"reward": 0.1}), StepRecord(2, {"reward": None}), StepRecord(3)]
    steps, rewards = read_series(records, "reward")

    assert (steps.tolist(), rewards.tolist()) == ([1.0], [0.1])


@given(st.lists(st.floats(0, 1), max_size=40))
def test_the_running_mean_is_the_mean_of_the_neighbours(values: list[float]) -> None:
    smoothed = smooth(np.asarray(values))
    half = min(9, len(values) // 3) // 2

    expected = [np.mean(values[max(0, i - half) : i + half + 1]) for i in range(len(values))]
    assert smoothed.tolist() == pytest.approx(expected)


@given(st.integers(0, 100_000))
def test_ticks_are_few_and_start_at_zero(last: int) -> None:
    ticks = choose_ticks(last)

    assert ticks[0] == 0
    assert ticks[-1] <= last
    assert len(ticks) <= 9
