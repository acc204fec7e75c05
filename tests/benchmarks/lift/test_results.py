"""Tokens to a reward, intervals, stable rates."""

from __future__ import annotations

import doctest
from dataclasses import replace
from math import exp, inf, isnan, log
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks.lift import arms, output, results
from benchmarks.lift.output import draw_figure, write_tables
from benchmarks.lift.results import (
    choose_rate,
    estimate_over_seeds,
    estimate_ratio,
    find_stable_rate,
    jackknife_ratio,
    summarise,
)
from benchmarks.lift.runs import Look, Paid, Run
from tests.benchmarks.lift.runs_for_tests import make_run

SEEDS = (1, 2, 3)
POOL = [make_run(seed=seed, rewards=(0.5, 0.6, 0.7)) for seed in SEEDS]


@pytest.mark.parametrize("module", [arms, output, results])
def test_examples_in_docstrings_hold(module: object) -> None:
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert found.attempted
    assert not found.failed


def test_an_arm_twice_as_fast_takes_half_the_tokens_and_seconds() -> None:
    fast = [make_run("curated", seed, (0.5, 0.7, 0.8)) for seed in SEEDS]
    for axis in ("tokens", "seconds"):
        found = estimate_ratio(fast, POOL, axis)  # type: ignore[arg-type]
        assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.5, 0.5))
    assert estimate_ratio(fast, POOL, "tokens", 40.0).value == pytest.approx(0.7)
    assert estimate_ratio(POOL, POOL, "tokens").value == 1.0


def test_what_finding_and_measuring_takes_is_counted() -> None:
    fast = [
        replace(make_run("one-job", seed, (0.5, 0.7, 0.8)), paid=Paid(completions=10, tokens=40), measuring=200.0)
        for seed in SEEDS
    ]
    [pool, found] = summarise([*POOL, *fast], {"pool": 1e-4, "one-job": 1e-4}, SEEDS, {})
    assert pool.whole_ratio.value == 1.0
    assert found.tokens_ratio.value == pytest.approx(0.5)
    assert found.whole_ratio.value == pytest.approx((100 + 40) / 200)
    assert found.measured_ratio.value == pytest.approx((100 + 40 + 200) / (200 + 200))
    assert found.completions_ratio.value == pytest.approx((1280 + 10) / 2560)
    assert found.steps_ratio.value == found.trained_ratio.value == pytest.approx(0.5)
    [pool, found] = summarise([*POOL, *fast], {"pool": 1e-4, "one-job": 1e-4}, SEEDS, {"one-job": Paid(10, 60)})
    assert found.whole_ratio.value == pytest.approx((100 + 40 + 60) / 200)


def test_a_ratio_may_be_of_kept_prompts_alone() -> None:
    """The arm forgets what was rejected, so that it never gets to the pool's reward on all."""
    runs = [make_run("curated", seed, (0.5, 0.5, 0.5)) for seed in SEEDS]
    kept = [replace(run, looks=tuple(map(replace_kept, run.looks, (0.5, 0.7, 0.8)))) for run in runs]
    pool = [replace(run, looks=tuple(map(replace_kept, run.looks, (0.5, 0.6, 0.7)))) for run in POOL]
    assert estimate_ratio(kept, pool, "tokens").value == inf
    assert estimate_ratio(kept, pool, "tokens", figure="kept").value == pytest.approx(0.5)


def replace_kept(look: Look, reward: float) -> Look:
    return replace(look, kept=reward)


def test_a_pool_that_stands_still_is_not_charged_for_its_rest() -> None:
    pool = [make_run(seed=seed, rewards=(0.5, 0.7, 0.7, 0.7)) for seed in SEEDS]
    slow = [make_run("control", seed, (0.5, 0.5, 0.6, 0.7)) for seed in SEEDS]
    assert estimate_ratio(slow, pool, "tokens").value == pytest.approx(3.0)


def test_one_high_look_among_low_ones_reaches_nothing() -> None:
    lucky = [make_run("curated", seed, (0.5, 0.75, 0.6)) for seed in SEEDS]
    assert estimate_ratio(lucky, POOL, "tokens").value == inf


def test_seeds_that_differ_widen_the_interval_and_unpaired_ones_do_not_count() -> None:
    mixed = [make_run("curated", seed, (0.5, end, 0.8)) for seed, end in zip(SEEDS, (0.7, 0.62, 0.78), strict=True)]
    found = estimate_ratio(mixed, POOL, "tokens")
    assert found.low < found.value < found.high
    assert estimate_ratio([*mixed, make_run("curated", 9, (0.5, 0.5, 0.5))], POOL, "tokens") == found
    assert isnan(estimate_ratio(mixed, [], "tokens").value)
    assert isnan(estimate_ratio(mixed[:1], POOL, "tokens").low)


def test_intervals_of_ratios_cover_the_truth() -> None:
    """Five seeds an arm, one of them twice as fast; runs differ in speed by a tenth, looks by .0025."""
    rng = np.random.default_rng(7)

    def simulate(seed: int, speed: float) -> Run:
        pace = speed * np.exp(rng.normal(0, 0.1))
        noise = [0.0, *rng.normal(0, 0.0025, 6)]
        return make_run(seed=seed, rewards=[0.03 * (1 - np.exp(-pace * n / 4)) + noise[n] for n in range(7)])

    found = [
        estimate_ratio([simulate(seed, 2.0) for seed in range(5)], [simulate(seed, 1.0) for seed in range(5)], "tokens")
        for _ in range(100)
    ]
    assert sum(one.low <= 0.5 <= one.high for one in found) >= 88
    assert sum(one.high < 1 for one in found) >= 60


def test_a_ratio_that_hangs_on_one_seed_has_no_bounds() -> None:
    found = jackknife_ratio(3, lambda chosen: 0.5 if 0 in chosen else inf)
    assert (found.value, found.low, found.high) == (0.5, 0.0, inf)


def test_a_jackknife_of_a_geometric_mean_is_students_interval_of_its_logarithms() -> None:
    ratios = (0.5, 0.8, 0.6, 0.7)
    found = jackknife_ratio(4, lambda chosen: float(stats.gmean([ratios[place] for place in chosen])))
    wanted = stats.ttest_1samp([log(ratio) for ratio in ratios], 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx(tuple(exp(end) for end in wanted))


def test_an_interval_over_seeds_is_students() -> None:
    wanted = stats.ttest_1samp([0.1, 0.2, 0.4], 0).confidence_interval()
    found = estimate_over_seeds([0.1, 0.2, 0.4])
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))


def test_the_best_rate_is_that_of_the_highest_end_and_the_stable_one_raised_no_alarm_of_its_own() -> None:
    calm = make_run(rate=1e-4, rewards=(0.5, 0.6), alarms=[("zero_std", "warn"), ("all_alike", "stop")])
    best = make_run(rate=2e-4, rewards=(0.5, 0.7), alarms=[("kl", "warn")])
    torn = make_run(rate=4e-4, rewards=(0.5, 0.7), alarms=[("entropy", "stop")])
    fallen = make_run(rate=4e-4, rewards=(0.5, 0.4))

    assert choose_rate([torn, calm, best]) == 2e-4  # of equals the lower
    assert find_stable_rate([calm, best, torn]) == 2e-4
    assert find_stable_rate([calm, best, fallen]) == 2e-4
    assert find_stable_rate([fallen]) is None


def test_a_summary_has_the_chosen_rate_and_the_reported_seeds_alone() -> None:
    curated = [make_run("curated", seed, (0.5, 0.7, 0.8), rate=2e-4) for seed in (0, 1, 2)]
    others = [make_run("curated", 0, (0.5, 0.6, 0.6)), make_run("control", 0)]
    chosen = {"pool": 1e-4, "curated": 2e-4, "control": 1e-4}
    found = {one.arm: one for one in summarise([*POOL, *curated, *others], chosen, SEEDS, {"curated": Paid(0, 40)})}

    assert {arm: one.seeds for arm, one in found.items()} == {"pool": (1, 2, 3), "curated": (1, 2)}
    assert found["curated"].tokens_ratio.value == pytest.approx(0.5)
    assert found["curated"].whole_ratio.value == pytest.approx(0.7)
    assert found["curated"].changes["greedy"].value == pytest.approx(0.3)
    assert found["curated"].lead.value == pytest.approx(0.1)
    assert found["pool"].tokens == 200.0


def test_the_tables_have_a_row_an_arm() -> None:
    never = [make_run("control", seed, (0.5, 0.5, 0.5)) for seed in SEEDS]
    found = summarise([*POOL, *never], {"pool": 1e-4, "control": 1e-4}, SEEDS, {})
    text = write_tables("dead", found, 12_345)

    assert "12,345 tokens" in text
    assert "| random control, as many as curated | 0.0001 | 20 x 128 | 0.2 | not reached |" in text
    assert "| pool | 0.0001 | 20 x 128 | 0.2 | 1.00 (1.00 to 1.00) |" in text
    assert "| pool | 0.10 | 0.15 | 0.20 | 0.0001 | 0.25 |" in text


def test_the_figure_is_drawn_of_what_there_is(tmp_path: Path) -> None:
    file = tmp_path / "lift.png"
    draw_figure("dead", {"pool": POOL, "curated": [make_run("curated", 1, (0.5, 0.7, 0.8))]}, file)
    assert file.read_bytes().startswith(b"\x89PNG")
