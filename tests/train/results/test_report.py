"""The report of a training run: its file has the pinned bytes."""

from __future__ import annotations

import json
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import pytest

from learnable.train.monitor.forecast import TrainingForecast
from learnable.train.monitor.watching import Alarm
from learnable.train.results.comparison import HeldOut, MeasureChange
from learnable.train.results.earlier_runs import PartRun, PartsComparison
from learnable.train.results.report import TrainingReport, TrainingSummary
from learnable.train.results.statistics import Interval
from learnable.train.settings import TrainSettings

GOLDEN = Path(__file__).parent / "golden"  # written by the code before the redesign of the report
UNKNOWN = MeasureChange(Interval(nan, nan, nan), Interval(nan, nan, nan), Interval(nan, nan, nan))


def around(value: float, width: float) -> Interval:
    return Interval(value, value - width, value + width)


def comparison(before: float, after: float, change: float) -> MeasureChange:
    return MeasureChange(around(before, 0.05), around(after, 0.05), around(change, 0.04))


HELD_OUT = HeldOut(
    prompts=16,
    group_size=8,
    k=4,
    unscored_before=1,
    unscored_after=0,
    mean_reward=comparison(0.4, 0.5, 0.1),
    pass_at_1=comparison(0.35, 0.45, 0.1),
    pass_at_k=UNKNOWN,
    greedy_reward=comparison(0.5, 0.45, -0.05),
    direction="rose",
    greedy_fell=True,
)
WHOLE = TrainingReport(
    curated="sets/sums/v0001",
    policy="policy",
    policy_id="policy@1",
    trained_policy="runs/sums-1/policy",
    settings=TrainSettings(
        beta=0.04,
        curated="sets/sums",
        output="runs/sums-1",
        part="train",
        families=("arithmetic", "counting"),
        policy="policy",
        steps=4,
        batch_size=32,
        temperature=0.9,
        top_p=1.0,
        top_k=0,
        max_completion_length=16,
    ),
    training=TrainingSummary(4, resumed_from=2, trained_parameters=1000, learning_rate=0.0001, seconds=1.5),
    held_out=HELD_OUT,
    families={"arithmetic": comparison(0.3, 0.4, 0.1), "counting": UNKNOWN},
    verdict=HELD_OUT.verdict,
    warnings=("first", "second …"),
    seconds={"evaluate_before": 1.0, "train": 2.25},
    metrics="runs/sums-1/metrics.jsonl",
    curve="runs/sums-1/curve.png",
    forecast=TrainingForecast(8, 0.21, 0.65, 0.25, None),
    comparisons=(
        PartsComparison(
            PartRun("train", "runs/sums-1", comparison(0.4, 0.5, 0.1)),
            PartRun("control", "runs/sums-control-1", comparison(0.4, 0.45, 0.05)),
            16,
            Interval(0.05, -0.01, 0.11),
            "no clear difference",
        ),
    ),
    not_compared=("runs/other trained on control too, but cannot be compared: seed 1 there, 0 here",),
)
BARE = TrainingReport(
    curated="c",
    policy="p",
    policy_id="p@1",
    trained_policy="o/policy",
    settings=TrainSettings(curated="c", output="o", part="train", beta=0.04, evaluate=False),
    training=TrainingSummary(1, resumed_from=0, trained_parameters=7, learning_rate=1e-06, seconds=0.0),
    held_out=None,
    families={},
    verdict="held-out reward was not measured",
    warnings=(),
    seconds={},
    metrics="m",
    curve="c.png",
)


@pytest.mark.parametrize(("report", "name"), [(WHOLE, "whole_report.json"), (BARE, "bare_report.json")])
def test_the_file_has_the_pinned_bytes(report: TrainingReport, name: str, tmp_path: Path) -> None:
    report.write(tmp_path / "report.json")

    assert (tmp_path / "report.json").read_bytes() == (GOLDEN / name).read_bytes()


def test_what_was_not_estimated_is_null(tmp_path: Path) -> None:
    replace(WHOLE, held_out=replace(HELD_OUT, greedy_reward=UNKNOWN)).write(tmp_path / "report.json")
    read: dict[str, Any] = json.loads((tmp_path / "report.json").read_text())

    assert read["held_out"]["greedy_reward"]["change"] == {"value": None, "low": None, "high": None}
    assert read["warnings"] == ["first", "second …"]
    assert HELD_OUT.mean_reward.in_words in read["verdict"]


def test_alarms_say_what_since_when_and_what_helped(tmp_path: Path) -> None:
    alarm = Alarm("kl", "kl", "warn", 3, 7, 2.5, float("nan"), "KL is 2.50", "raise `beta`")
    replace(BARE, alarms=(alarm,)).write(tmp_path / "report.json")

    assert json.loads((tmp_path / "report.json").read_text())["alarms"] == [
        {
            "rule": "kl", "metric": "kl", "severity": "warn", "since": 3, "step": 7, "value": 2.5, "reference": None,
            "says": "KL is 2.50", "helped": "raise `beta`",
        }
    ]  # fmt: skip


def test_a_summary_is_read_as_it_was_written(tmp_path: Path) -> None:
    WHOLE.training.write(tmp_path / "training.json")

    assert TrainingSummary.read(tmp_path / "training.json") == WHOLE.training
    assert json.loads((tmp_path / "training.json").read_text())["resumed_from"] == 2


def test_parts_of_what_is_held_out_are_written_where_there_are_some(tmp_path: Path) -> None:
    replace(WHOLE, held_out_parts={"kept": HELD_OUT}).write(tmp_path / "report.json")
    read: dict[str, Any] = json.loads((tmp_path / "report.json").read_text())

    assert read["held_out_parts"] == {"kept": read["held_out"]}
