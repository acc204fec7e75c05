"""What is read of the folder of a run, and what a run keeps for the evaluation of its checkpoints."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.lift import runs
from benchmarks.lift.arms import ARMS, Plan
from benchmarks.lift.runs import find_start, is_over, make_run_folder, perform, read_made, read_run
from learnable.data.curated.manifest import Manifest
from learnable.data.errors import LearnableError
from learnable.data.policies import Policy
from learnable.data.progress import Silence
from learnable.train.monitor.records import StepRecord
from learnable.train.settings import TrainSettings

PLAN = Plan(steps=12, batch_size=32, tokens=0.0)


def write_evaluation(path: Path, kept: float, rejected: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "prompt_id": part,
            "family": "f",
            "form": "F",
            "n": 16,
            "passes": round(16 * mean),
            "mean": mean,
            "unscored": 0,
        }
        | {"greedy": 1.0, "greedy_passed": True, "part": part}
        for part, mean in (("kept", kept), ("rejected", rejected))
    ]
    path.write_text(json.dumps({"policy_id": "p", "prompts": rows, "tokens": 1, "seconds": 1.0}))


@pytest.fixture
def curated(tmp_path: Path) -> Any:
    return SimpleNamespace(path=tmp_path / "set", manifest=Manifest(policy=Policy("start", "start@0")))


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[TrainSettings]:
    """Let trainings and evaluations leave their files without any process; return the settings of the trainings."""
    seen: list[TrainSettings] = []

    def train(settings: TrainSettings, watcher: Any) -> None:
        seen.append(settings)
        for step in range(settings.save_steps, settings.steps + 1, settings.save_steps):
            (settings.folder / "checkpoints" / f"checkpoint-{step}").mkdir(parents=True)
        record = {"reward": 0.5, "completion_length": 4.0, "step_seconds": 0.5, "zero_std_share": 0.25}
        lines = (json.dumps({"step": step, **record}) for step in range(1, settings.steps + 1))
        (settings.folder / "metrics.jsonl").write_text("\n".join(lines))
        report = {"settings": settings.as_json(), "training": {"steps": settings.steps}}
        report |= {"foresight": {"zero_std_share": 0.3}, "alarms": [{"rule": "kl", "severity": "warn"}]}
        (settings.folder / "report.json").write_text(json.dumps(report))

    def evaluate(module: str, file: Path, *_: Any) -> None:
        for one in json.loads(file.read_text()):
            end = one["policy"] == "start"
            write_evaluation(Path(one["output"]), 0.25 if end else 0.75, 0.0)

    monkeypatch.setattr(runs, "run_training", train)
    monkeypatch.setattr(runs, "run_stage", evaluate)
    return seen


def test_a_run_is_read_as_it_was_made_and_not_repeated(
    trained: list[TrainSettings], curated: Any, tmp_path: Path
) -> None:
    folder = make_run_folder(tmp_path, 12, "curated", 1e-4, 3)
    perform(ARMS["curated"], PLAN, curated, folder, 1e-4, 3, Silence())
    [settings] = trained

    assert settings.save_steps * PLAN.looks == settings.steps
    assert is_over(folder)
    assert not (folder / "checkpoints").exists()
    assert find_start(folder, 3) == tmp_path / "start" / "seed-3.json"
    run = read_run(folder, "curated", 1e-4, 3)
    assert [look.step for look in run.looks] == [0, 2, 4, 6, 8, 10, 12]
    assert [look.tokens for look in run.looks] == [0, 256, 512, 768, 1024, 1280, 1536]
    assert run.looks[-1].seconds == 6.0
    assert (run.looks[-1].completions, run.looks[-1].trained, run.measuring) == (384, 1536, 2)
    assert (run.looks[0].kept, run.looks[-1].kept, run.looks[-1].rejected) == (0.25, 0.75, 0.0)
    assert run.looks[-1].reward == 0.375
    assert (run.forecast_zero_std, run.first_zero_std, run.alarms) == (0.3, 0.25, (("kl", "warn"),))


def test_stored_completions_are_trained_on_and_not_generated(tmp_path: Path) -> None:
    shares = [1.0, 0.5, 0.0]
    records = [
        StepRecord(step, {"completion_length": 4.0, "stored_share": share}) for step, share in enumerate(shares, 1)
    ]
    assert read_made(tmp_path, records, 32).tolist() == [[0, 0, 128], [16, 64, 128], [32, 128, 128]]
    lines = [{"completions": 96, "tokens": 400}] * 3
    (tmp_path / "generated.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert read_made(tmp_path, records, 32).sum(axis=0).tolist() == [288, 1200, 384]


def test_a_run_that_chooses_a_rate_is_looked_at_when_it_ends(
    trained: list[TrainSettings], curated: Any, tmp_path: Path
) -> None:
    folder = make_run_folder(tmp_path, 12, "curated", 1e-4, 0)
    perform(ARMS["curated"], replace(PLAN, looks=1), curated, folder, 1e-4, 0, Silence())

    run = read_run(folder, "curated", 1e-4, 0)
    assert [look.step for look in run.looks] == [0, 12]
    assert run.looks[-1].tokens == 1536


def test_a_run_that_was_stopped_in_its_evaluation_is_not_trained_again(
    trained: list[TrainSettings], curated: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    folder = make_run_folder(tmp_path, 12, "pool", 1e-4, 3)
    evaluate = runs.run_stage
    monkeypatch.setattr(runs, "run_stage", stop)
    with pytest.raises(KeyboardInterrupt):
        perform(ARMS["pool"], PLAN, curated, folder, 1e-4, 3, Silence())
    assert not is_over(folder)
    monkeypatch.setattr(runs, "run_stage", evaluate)
    perform(ARMS["pool"], PLAN, curated, folder, 1e-4, 3, Silence())

    assert is_over(folder)
    assert len(trained) == 1


def test_a_training_that_failed_is_kept_as_broken(
    curated: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(settings: TrainSettings, watcher: Any) -> None:
        settings.folder.mkdir(parents=True)
        raise LearnableError("probabilities contain NaN")

    monkeypatch.setattr(runs, "run_training", fail)
    folder = make_run_folder(tmp_path, 12, "pool", 4e-4, 3)
    with pytest.raises(LearnableError):
        perform(ARMS["pool"], PLAN, curated, folder, 4e-4, 3, Silence())

    assert is_over(folder)
    assert read_run(folder, "pool", 4e-4, 3).looks == ()
