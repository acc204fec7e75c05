import json
from pathlib import Path
from typing import Any

import pytest

from learnable.data.errors import LearnableError
from learnable.train.monitoring.monitor import WINDOW, MetricsFile, TrainingMonitor, metrics_record, read_metrics

HEALTHY = {
    "reward": 0.4,
    "frac_reward_zero_std": 0.1,
    "kl": 0.01,
    "entropy": 1.0,
    "clipped_ratio": 0.0,
    "unscored_share": 0.0,
}


def observe(monitor: TrainingMonitor, times: int, **values: Any) -> list[str]:
    said: list[str] = []
    for step in range(times):
        said += monitor.observe({"step": step, **HEALTHY, **values})
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
    records = [{key: value for key, value in HEALTHY.items() if key != "kl"} for _ in range(10)]

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

    assert metrics_record(3, logs) == {
        "step": 3,
        "reward": 0.5,
        "completion_length": 4.0,
        "within_group_std": 0.3,
        "components": {"poetry/rhyme": 0.2},
    }


def test_metrics_are_on_disk_as_soon_as_they_are_written(tmp_path: Path) -> None:
    metrics = MetricsFile(tmp_path / "metrics.jsonl")
    metrics.write({"step": 1, "reward": 0.5})

    assert read_metrics(tmp_path / "metrics.jsonl") == [{"step": 1, "reward": 0.5}]
    metrics.close()


def test_a_resumed_run_takes_back_the_steps_after_its_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps({"step": step}) + "\n" for step in (1, 2, 3)))
    metrics = MetricsFile(path, from_step=2)
    metrics.write({"step": 3, "reward": 1.0})
    metrics.close()

    assert [record["step"] for record in read_metrics(path)] == [1, 2, 3]
    assert read_metrics(path)[-1]["reward"] == 1.0


def test_a_fresh_run_starts_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n')
    MetricsFile(tmp_path / "metrics.jsonl").close()

    assert read_metrics(tmp_path / "metrics.jsonl") == []


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2, "rew')

    assert read_metrics(path) == [{"step": 1}]
    MetricsFile(path, from_step=1).close()
    assert read_metrics(path) == [{"step": 1}]
