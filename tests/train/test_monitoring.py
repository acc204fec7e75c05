"""What a run reports: warnings that last, metrics on disk, and the forecast beside what its first steps measured."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from learnable.data.curated.curated_set import CuratedSet, publish_curated
from learnable.data.curated.manifest import Manifest
from learnable.data.errors import LearnableError
from learnable.train.monitoring import (
    WINDOW,
    MetricsFile,
    StepRecord,
    TrainingMonitor,
    add_measured,
    forecast_training,
    read_metrics,
)
from learnable.train.settings import TrainSettings
from learnable.train.trainers.trainer import TrainingWatch

HEALTHY = {
    "reward": 0.4,
    "frac_reward_zero_std": 0.1,
    "kl": 0.01,
    "entropy": 1.0,
    "clipped_ratio": 0.0,
    "unscored_share": 0.0,
}
ROW = {
    "prompt": "p", "verifier": "choice", "spec": "{}", "family": "f", "alpha": 4.0, "beta": 4.0, "p_zero": 0.0,
    "p_one": 0.0, "n": 8, "zeros": 4, "ones": 4,
}  # fmt: skip
MANIFEST = {
    "policy": {"policy_id": "p@1"}, "band": {"low": 0.2, "high": 0.8, "min_std": 0.1, "signal": "reward"},
    "sampling": {}, "verifiers": {}, "seed": 0, "created": "now", "forms": [],
    "beliefs": {"f": {"flips_per_rollout": 1.0}},
}  # fmt: skip


def observe(monitor: TrainingMonitor, times: int, **values: Any) -> list[str]:
    said: list[str] = []
    for step in range(times):
        said += monitor.observe(StepRecord.from_json({"step": step, **HEALTHY, **values}))
    return said


def test_a_healthy_run_worries_nobody() -> None:
    assert observe(TrainingMonitor(), 50, components={"poetry/rhyme": 0.3}) == []


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"frac_reward_zero_std": 0.6}, "60% of groups have no spread"),
        ({"reward": 0.0}, "the verifier never fires"),
        ({"kl": 3.0}, "KL is 3.00"),
        ({"kl": float("nan")}, "KL is nan"),
        ({"clipped_ratio": 0.9}, "--max-completion-length"),
        ({"unscored_share": 0.3}, "could not be scored"),
        ({"components": {"poetry/lines": 0.0}}, "poetry/lines has been 0"),
    ],
)
def test_each_worry_is_said_once_and_only_when_it_lasts(values: dict[str, Any], words: str) -> None:
    monitor = TrainingMonitor()

    assert observe(monitor, WINDOW - 1, **values) == []
    said = observe(monitor, 10, **values)

    assert len(said) == 1
    assert words in said[0]


def test_entropy_collapse_is_measured_against_the_start() -> None:
    monitor = TrainingMonitor()
    observe(monitor, WINDOW)

    [said] = observe(monitor, WINDOW, entropy=0.05)

    assert "entropy fell from 1.00 to 0.05" in said


def test_a_worry_that_returns_is_said_again() -> None:
    monitor = TrainingMonitor()
    observe(monitor, WINDOW, kl=5.0)
    observe(monitor, WINDOW)

    assert len(observe(monitor, WINDOW, kl=5.0)) == 1


def test_a_component_that_fired_once_is_not_silent() -> None:
    monitor = TrainingMonitor()
    observe(monitor, 1, components={"poetry/lines": 0.1})

    assert observe(monitor, 20, components={"poetry/lines": 0.0}) == []


def test_a_run_without_kl_has_no_kl_to_worry_about() -> None:
    monitor = TrainingMonitor()
    records = [StepRecord(1, {key: value for key, value in HEALTHY.items() if key != "kl"}) for _ in range(10)]

    assert [text for record in records for text in monitor.observe(record)] == []


def test_training_stops_when_nothing_can_be_scored() -> None:
    with pytest.raises(LearnableError, match="no completion could be scored"):
        observe(TrainingMonitor(), WINDOW, reward=None, unscored_share=1.0)


def test_record_keeps_what_matters_under_short_names() -> None:
    logs = {
        "reward": 0.5,
        "completions/mean_length": 4.0,
        "clip_ratio/low_mean": 0.0,
        "rewards/verifier_reward/mean": 0.5,
        "rewards/verifier_reward/within_group_std": 0.3,
        "component/poetry/rhyme": 0.2,
    }

    assert StepRecord.from_logs(3, logs).to_json() == {
        "step": 3,
        "reward": 0.5,
        "completion_length": 4.0,
        "within_group_std": 0.3,
        "components": {"poetry/rhyme": 0.2},
    }


def test_metrics_are_on_disk_as_soon_as_they_are_written(tmp_path: Path) -> None:
    metrics = MetricsFile(tmp_path / "metrics.jsonl")
    metrics.write(StepRecord(1, {"reward": 0.5}))

    assert read_metrics(tmp_path / "metrics.jsonl") == [StepRecord(1, {"reward": 0.5})]
    metrics.close()


def test_a_resumed_run_takes_back_the_steps_after_its_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps({"step": step}) + "\n" for step in (1, 2, 3)))
    metrics = MetricsFile(path, from_step=2)
    metrics.write(StepRecord(3, {"reward": 1.0}))
    metrics.close()

    assert [record.step for record in read_metrics(path)] == [1, 2, 3]
    assert read_metrics(path)[-1].read("reward") == 1.0


def test_a_fresh_run_starts_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n')
    MetricsFile(tmp_path / "metrics.jsonl").close()

    assert read_metrics(tmp_path / "metrics.jsonl") == []


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2, "rew')

    assert read_metrics(path) == [StepRecord(1)]
    MetricsFile(path, from_step=1).close()
    assert read_metrics(path) == [StepRecord(1)]


def publish(folder: Path, row: dict[str, Any]) -> CuratedSet:
    rows = pl.DataFrame([row] * 3).to_arrow()
    return publish_curated(folder / "set", {"train": rows, "test": rows}, Manifest.from_json(MANIFEST))


@pytest.mark.parametrize(("group_size", "dead"), [(4, 0.212), (16, 0.0079)])
def test_the_forecast_is_for_the_group_size_that_is_trained_with(tmp_path: Path, group_size: int, dead: float) -> None:
    found = forecast_training(publish(tmp_path, ROW), TrainSettings(curated="", output="", num_generations=group_size))
    assert found is not None
    assert found.zero_std_share == pytest.approx(dead, abs=0.001)
    assert f"forecast at G = {group_size}: {dead:.0%}" in found.sentence


def test_a_set_without_certificates_and_a_warm_up_have_none(tmp_path: Path) -> None:
    bare = publish(tmp_path / "bare", {key: ROW[key] for key in ("prompt", "verifier", "spec", "family")})
    assert forecast_training(bare, TrainSettings(curated="", output="")) is None
    assert forecast_training(publish(tmp_path, ROW), TrainSettings(curated="", output="", method="sft")) is None


def test_the_first_logs_stand_beside_the_forecast(tmp_path: Path) -> None:
    found = forecast_training(publish(tmp_path, ROW), TrainSettings(curated="", output=""))
    assert found is not None
    first = StepRecord(2, {"zero_std_share": 0.1, "mean_abs_advantage": 0.7})
    seen = add_measured(
        found, [StepRecord(1, {"loss": 0.0}), *[first] * 10, *[StepRecord(12, {"zero_std_share": 1.0})] * 5]
    )
    assert seen.measured_zero_std_share == pytest.approx(0.1)
    assert seen.measured_mean_abs_advantage == pytest.approx(0.7)
    assert "measured in the first steps: 10%, 0.70" in seen.sentence
    assert "measured" not in add_measured(found, []).sentence


def test_rewards_are_kept_from_0_to_1_whatever_trl_was_given(tmp_path: Path) -> None:
    logs = {"reward": 0.0, "reward_std": 0.8, "eval_reward": -1.0, "kl": 0.1, "loss": 0.2}
    record = StepRecord.from_logs(3, logs).mapped_back(-1.0, 1.0)
    assert record.to_json() == {
        "step": 3, "loss": 0.2, "reward": 0.5, "reward_std": 0.4, "kl": 0.1, "eval_reward": 0.0,
    }  # fmt: skip
    assert StepRecord.from_logs(3, {"reward": None, "kl": 0.1}).mapped_back(-1.0, 1.0).read("reward") is None  # type: ignore[dict-item]  # as TRL logs it
    emitted: list[dict[str, Any]] = []
    metrics = MetricsFile(tmp_path / "metrics.jsonl")
    TrainingWatch(metrics, emitted.append, (-1.0, 1.0)).on_log(
        None, SimpleNamespace(global_step=1, max_steps=2), None, {"reward": -1.0, "loss": 0.1}
    )
    metrics.close()
    assert emitted[0]["metrics"]["reward"] == 0.0
    assert read_metrics(tmp_path / "metrics.jsonl")[0].read("reward") == 0.0
