"""Figures of runs written by hand, against plain loops."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isnan, nan, sqrt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.train.ablation.figure import average_rewards, draw_ablation
from learnable.train.ablation.report import AblationReport, build_report
from learnable.train.ablation.results import RunFigures, collect_run, estimate_over_runs, summarise_variants
from learnable.train.results.report import TrainingSummary
from tests.support.ablation_runs import make_prepared, write_run

STEPS = [
    {"reward": 0.2, "frac_reward_zero_std": 0.5, "completion_length": 10.0, "step_seconds": 2.0},
    {"reward": 0.4, "frac_reward_zero_std": 0.25, "completion_length": 20.0, "step_seconds": 3.0},
    {"reward": 0.3, "frac_reward_zero_std": 0.0, "completion_length": 30.0, "step_seconds": 1.0},
    {"reward": 0.5, "frac_reward_zero_std": 0.25, "completion_length": 20.0, "step_seconds": 4.0},
]
T_975 = {1: 12.70620473617471, 2: 4.30265272974946}  # of Student's table, by degrees of freedom
PROMPTS = {"a": 0.25, "b": 0.75, "c": 1.0}  # c is not shared


def make_report(folder: Path, gains: dict[str, Sequence[float]]) -> AblationReport:
    """Write runs of which prompt a ends higher by those gains, seed by seed, and return the report on them."""
    prepared = make_prepared(folder, list(gains))
    for run in prepared.runs:
        values = gains[run.variant.name]
        if run.seed < len(values):
            write_run(run.settings, PROMPTS, {**PROMPTS, "a": 0.25 + values[run.seed], "c": 0.0}, STEPS)
    return build_report(make_prepared(folder, list(gains)), ("live, seed 2, failed: boom",))


def test_a_run_is_read_from_its_folder_and_only_shared_prompts_count(tmp_path: Path) -> None:
    run = make_prepared(tmp_path, ["static"], [0]).runs[0]
    write_run(run.settings, PROMPTS, {"a": 0.75, "b": 0.25, "c": 0.0, "d": 1.0}, STEPS)

    found = collect_run(run, frozenset("ab"))

    assert found.before == {
        "mean_reward": 0.5,
        "pass_at_1": 0.5,
        "pass_at_k": pytest.approx((0.5 + 1) / 2),
        "greedy_reward": 0.5,
    }
    assert found.after["mean_reward"] == 0.5
    assert found.steps == 4
    assert found.zero_std_share == 0.25
    assert found.tokens == 4 * 32 * 20
    assert found.seconds == 10.0


def test_tokens_are_of_completions_that_were_made_once_and_of_the_steps_that_were_taken(tmp_path: Path) -> None:
    run = make_prepared(tmp_path, ["static"], [0], trl={"num_iterations": 2}).runs[0]
    logged = [STEPS[0], {"reward": 0.2}]  # the second step takes the same completions again
    write_run(run.settings, PROMPTS, PROMPTS, logged)
    assert collect_run(run, frozenset("a")).tokens == 2 * 32 * 10 / 2


def test_supervised_steps_have_no_completions_and_the_seconds_of_their_summary(tmp_path: Path) -> None:
    run = make_prepared(tmp_path, ["static"], [0], method="sft").runs[0]
    write_run(run.settings, PROMPTS, PROMPTS, [{"loss": 1.0}])
    TrainingSummary(4, 0, 1, 1e-4, 7.5).write(run.settings.folder / "training.json")
    found = collect_run(run, frozenset("a"))
    assert isnan(found.tokens)
    assert isnan(found.zero_std_share)
    assert found.seconds == 7.5


def test_variants_over_seeds_against_plain_loops(tmp_path: Path) -> None:
    gains = {"static": [0.1, 0.3, 0.2], "live": [0.3, 0.4, 0.5]}
    report = make_report(tmp_path, gains)

    assert report.prompts == 2
    assert [variant.name for variant in report.variants] == ["static", "live"]
    for variant in report.variants:
        halves = [gain / 2 for gain in gains[variant.name]]  # of two prompts, one rose
        mean = sum(halves) / 3
        error = sqrt(sum((value - mean) ** 2 for value in halves) / 2) / sqrt(3)
        reward = variant.measures["mean_reward"]
        assert (reward.before, reward.after) == (pytest.approx(0.5), pytest.approx(0.5 + mean))
        assert reward.gain.value == pytest.approx(mean)
        assert reward.gain.low == pytest.approx(mean - T_975[2] * error)
        assert reward.gain.high == pytest.approx(mean + T_975[2] * error)
        assert (variant.zero_std_share, variant.tokens, variant.seconds) == (0.25, 4 * 32 * 20, 10.0)
    against = report.variants[1].against_first
    assert report.variants[0].against_first is None
    assert against is not None
    assert against.value == pytest.approx((0.2 + 0.1 + 0.3) / 3 / 2)  # seed by seed
    assert against.low == pytest.approx(0.1 - T_975[2] * 0.05 / sqrt(3))


def test_seeds_that_one_variant_lacks_are_not_paired(tmp_path: Path) -> None:
    report = make_report(tmp_path, {"static": [0.1, 0.3, 0.2], "live": [0.3, 0.4]})
    live = report.variants[1]
    assert [run.seed for run in live.runs] == [0, 1]
    assert live.against_first is not None
    assert live.against_first.value == pytest.approx((0.2 + 0.1) / 2 / 2)
    assert live.against_first.high == pytest.approx(0.075 + T_975[1] * 0.05 / 2)
    assert make_report(tmp_path / "none", {"static": [], "live": [0.3]}).variants[0].against_first is None


def test_one_seed_has_no_interval() -> None:
    found = estimate_over_runs([0.3, nan])
    assert found.value == 0.3
    assert isnan(found.low)
    assert isnan(found.high)
    assert isnan(estimate_over_runs([nan]).value)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=3))
def test_an_interval_is_students(values: list[float]) -> None:
    mean = sum(values) / len(values)
    error = sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))
    found = estimate_over_runs(values)
    assert found.value == pytest.approx(mean)
    assert found.high - found.value == pytest.approx(T_975[len(values) - 1] * error, abs=1e-9)


def test_the_table_says_what_there_is_and_what_is_missing(tmp_path: Path) -> None:
    report = make_report(tmp_path, {"static": [0.1, 0.3, 0.2], "li|ve": [0.3]})
    rows = {row[0]: row for row in map(report.list_cells, report.variants)}
    assert report.columns[:6] == ("variant", "runs", "before", "after", "gain", "against\nstatic")
    assert rows["static"][1:6] == ("3", "0.500", "0.600", "+0.100\n[-0.024, +0.224]", "-")
    assert rows["li|ve"][1:6] == ("1", "0.500", "0.650", "+0.150", "+0.100")
    assert rows["static"][8:] == ("0.250", "2,560", "10")
    text = report.to_markdown()
    assert text.startswith(
        "# A title\n\nAt step 4; 2 held-out prompts; 3 seeds, 95% intervals over them (Student's t).\n"
    )
    assert "| static | 3 | 0.500 | 0.600 | +0.100 [-0.024, +0.224] | - |" in text
    assert "| li\\|ve | 1 |" in text
    assert "- li|ve: sampler=live" in text
    assert "- live, seed 2, failed: boom" in text


def test_what_was_left_out_or_ended_early_is_noted(tmp_path: Path) -> None:
    prepared = make_prepared(tmp_path, ["static"], [0])
    write_run(prepared.runs[0].settings, PROMPTS, PROMPTS, STEPS[:3])
    prepared.measured["static"] = 3
    report = build_report(make_prepared(tmp_path, ["static"], [0]))
    assert report.notes == ("static, seed 0, was stopped at step 3 of 4",)
    finished = make_prepared(tmp_path, ["static"], [0])
    finished.measured["static"] = 3
    assert build_report(finished).notes[1] == "static measured 3 held-out prompts, of which all runs share 2"


def test_what_could_not_be_estimated_is_null_in_the_file(tmp_path: Path) -> None:
    report = make_report(tmp_path, {"static": [0.1], "live": [0.3]})
    report.write(tmp_path)
    values = json.loads((tmp_path / "ablation.json").read_text())
    live = values["variants"][1]
    assert live["measures"]["mean_reward"]["gain"] == {"value": pytest.approx(0.15), "low": None, "high": None}
    assert live["runs"][0]["seed"] == 0
    assert values["variants"][0]["against_first"] is None
    assert (tmp_path / "ablation.md").read_text() == report.to_markdown()


def test_rewards_are_averaged_where_all_runs_logged_one(tmp_path: Path) -> None:
    report = make_report(tmp_path, {"static": [0.1, 0.2, 0.3]})
    runs = report.variants[0].runs
    (Path(runs[1].folder) / "metrics.jsonl").write_text('{"step": 1, "reward": 0.5}\n{"step": 3, "reward": 0.0}\n')
    steps, rewards = average_rewards(runs)
    assert steps.tolist() == [1.0, 3.0]
    assert rewards.tolist() == pytest.approx([(0.2 + 0.5 + 0.2) / 3, (0.3 + 0.0 + 0.3) / 3])


@pytest.mark.parametrize(
    "gains", [{"static": [0.1]}, {"static": [0.1, 0.2], "a long name, learning_rate=1e-05": [0.3]}]
)
def test_any_ablation_can_be_drawn(tmp_path: Path, gains: dict[str, Sequence[float]]) -> None:
    draw_ablation(make_report(tmp_path, gains))
    assert (tmp_path / "ablation.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_no_run_no_row(tmp_path: Path) -> None:
    runs = make_prepared(tmp_path, ["static", "live"]).runs
    measures = dict.fromkeys(("mean_reward", "pass_at_1", "pass_at_k", "greedy_reward"), 0.5)
    found = [RunFigures("live", 0, "live-seed-0", 4, measures, measures, 0.0, 1.0, 1.0)]
    assert [variant.name for variant in summarise_variants(found, runs)] == ["live"]
