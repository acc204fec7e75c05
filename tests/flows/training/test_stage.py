"""The whole stage for real: engine, trainer, engine again, each in a process of its own."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import pytest

from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.policies import bundled_policy_path, find_policy
from learnable.data.records import Prompt
from learnable.flows.training.stage import _Stage, run_training
from learnable.train.monitor.records import read_metrics
from learnable.train.settings import TrainSettings


class Listener:
    def __init__(self) -> None:
        self.stages: list[str] = []
        self.notes: list[str] = []
        self.warnings: list[str] = []
        self.steps: list[tuple[int, int]] = []
        self.drawn: list[tuple[int, int, int]] = []

    def stage(self, text: str) -> None:
        self.stages.append(text)

    def rollouts(self, done: int, total: int, tokens: int) -> None:
        self.drawn.append((done, total, tokens))

    def step(self, done: int, total: int, metrics: Any) -> None:
        self.steps.append((done, total))

    def note(self, text: str) -> None:
        self.notes.append(text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)


def settings(curated: Path, output: Path, **changes: Any) -> TrainSettings:
    usual = {
        "steps": 16,
        "num_generations": 8,
        "batch_size": 32,
        "learning_rate": 1e-2,
        "eval_group_size": 8,
        "eval_k": 4,
    }
    return TrainSettings(curated=str(curated), output=str(output), **{**usual, **changes})


@pytest.mark.e2e
@pytest.mark.usefixtures("_warm_stages")
def test_training_raises_held_out_reward_and_says_so(tiny_policy: Path, make_curated: Any, tmp_path: Path) -> None:
    run, listener = settings(make_curated(tiny_policy), tmp_path / "run", save_steps=8), Listener()

    report = run_training(run, listener)

    assert report.held_out is not None
    assert report.held_out.direction == "rose"
    assert report.verdict.startswith("held-out reward rose")
    assert json.loads((run.folder / "report.json").read_text())["verdict"] == report.verdict
    assert listener.steps == [(step, 16) for step in range(1, 17)]
    assert listener.drawn[-1][:2] == (16 * 9, 16 * 9)
    assert [record.step for record in read_metrics(run.folder / "metrics.jsonl")] == list(range(1, 17))
    assert (run.folder / "curve.png").stat().st_size > 10_000
    assert find_policy(report.trained_policy).policy_id != find_policy(str(tiny_policy)).policy_id

    again = Listener()
    longer = run_training(TrainSettings(curated=run.curated, output=run.output, resume=True, steps=18), again)

    assert "held-out reward before training is there already" in again.notes
    assert "going on from step 16" in again.notes
    assert again.steps == [(17, 18), (18, 18)]
    assert longer.held_out is not None
    assert longer.held_out.mean_reward.before == report.held_out.mean_reward.before


@pytest.mark.e2e
@pytest.mark.usefixtures("_warm_stages")
def test_adapters_are_merged_into_a_policy_that_loads_and_are_trained_further(
    tiny_policy: Path, make_curated: Any, tmp_path: Path
) -> None:
    from safetensors.numpy import load_file
    from transformers import AutoModelForCausalLM

    curated = make_curated(tiny_policy)
    run = settings(curated, tmp_path / "run", steps=2, lora_rank=2, evaluate=False, signal="pass")

    report = run_training(run, Listener())

    assert report.verdict == "held-out reward was not measured"
    assert AutoModelForCausalLM.from_pretrained(report.trained_policy).num_parameters() > 0
    adapter = run.folder / "adapter"
    given = {"policy": str(adapter), "reward_range": (-1.0, 1.0), "scale_rewards": "none"}
    further = settings(curated, tmp_path / "further", steps=2, evaluate=False, **given)

    report = run_training(further, Listener())

    assert (report.policy, report.policy_id) == (str(adapter), find_policy(str(adapter)).policy_id)
    assert report.training.trained_parameters == 4352  # of the adapter alone, without TRL's copy of it
    before, after = (
        load_file(folder / "adapter" / "adapter_model.safetensors") for folder in (run.folder, further.folder)
    )
    assert before.keys() == after.keys()
    assert any((before[name] != after[name]).any() for name in before)
    assert not (further.folder / "adapter" / "ref").exists()
    assert AutoModelForCausalLM.from_pretrained(report.trained_policy).num_parameters() > 0
    assert all(0 <= (record.read("reward") or 0) <= 1 for record in read_metrics(further.folder / "metrics.jsonl"))
    assert json.loads((further.folder / "report.json").read_text())["settings"]["reward_range"] == [-1.0, 1.0]


@pytest.mark.e2e
@pytest.mark.usefixtures("_warm_stages")
def test_preferences_are_learned_and_a_run_on_them_goes_on(
    make_curated: Any, prompts_of_ones: Any, tmp_path: Path
) -> None:
    curated = make_curated(bundled_policy_path(), others={"preferences": prompts_of_ones(6)})
    run = TrainSettings(
        curated=str(curated), output=str(tmp_path / "run"), method="dpo", steps=3, save_steps=2, evaluate=False
    )

    report = run_training(replace(run, warmup_steps=0), Listener())

    records = read_metrics(run.folder / "metrics.jsonl")
    losses = [record.read("loss") for record in records]
    assert losses[0] == pytest.approx(log(2), abs=1e-4)  # the policy is the reference
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] - 0.05
    assert [record.read("preference_accuracy") for record in records][1:] == [1.0, 1.0]
    assert (report.settings.beta, report.settings.batch_size, report.alarms) == (0.1, 4, ())
    assert find_policy(report.trained_policy).policy_id != find_policy(str(bundled_policy_path())).policy_id

    again = Listener()
    run_training(replace(run, resume=True, steps=4), again)

    assert again.steps == [(4, 4)]
    assert [record.step for record in read_metrics(run.folder / "metrics.jsonl")] == [1, 2, 3, 4]


@pytest.mark.e2e
@pytest.mark.usefixtures("_warm_stages")
def test_a_run_that_is_to_stop_dry_leaves_its_policy_there_and_is_done(
    tiny_policy: Path, make_curated: Any, tmp_path: Path
) -> None:
    nobody_can = [
        Prompt(f"{number:06b}=".replace("0", "2"), "arithmetic", {"answer": 9}, "arithmetic", "Nines")
        for number in range(8)
    ]
    curated = make_curated(tiny_policy, train=nobody_can)
    run = settings(curated, tmp_path / "run", part="train", sampler="live", steps=9, evaluate=False, on_dry="stop")
    first, again = Listener(), Listener()

    report = run_training(run, first)
    steps = report.training.steps
    assert report.training.ran_dry
    assert steps == 8, "32 groups tell"
    assert [step for step, _ in first.steps] == list(range(1, steps + 1))
    assert any(f"training ended at step {steps} of 9" in note for note in first.notes)
    policy_id = find_policy(report.trained_policy).policy_id

    (run.folder / "training.json").unlink()  # as a kill leaves it after the last checkpoint
    shutil.rmtree(report.trained_policy)
    resumed = run_training(replace(run, resume=True), again)
    assert not again.steps
    assert (resumed.training.steps, resumed.training.ran_dry) == (steps, True)
    assert find_policy(resumed.trained_policy).policy_id == policy_id


@pytest.mark.e2e
@pytest.mark.usefixtures("_warm_stages")
def test_what_a_live_sampler_warns_of_reaches_who_trains(tiny_policy: Path, make_curated: Any, tmp_path: Path) -> None:
    nobody_can = [
        Prompt(f"{number:06b}=".replace("0", "2"), "arithmetic", {"answer": 9}, "arithmetic", "Nines")
        for number in range(8)
    ]
    curated = make_curated(tiny_policy, train=nobody_can)
    run = settings(curated, tmp_path / "run", part="train", sampler="live", steps=6, evaluate=False)
    short = replace(run, output=str(tmp_path / "short"), steps=2)
    starved, once = Listener(), Listener()

    report = run_training(run, starved)
    run_training(short, once)

    [dry] = [warning for warning in starved.warnings if "runs dry" in warning]
    assert "the best of 8 prompts" in dry
    assert dry in report.warnings
    assert [warning for warning in once.warnings if "the 8 prompts have no certificates" in warning]


def test_nothing_is_written_when_a_check_fails(tiny_policy: Path, make_curated: Any, tmp_path: Path) -> None:
    with pytest.raises(LearnableError, match="`batch_size` 30"):
        run_training(settings(make_curated(tiny_policy), tmp_path / "run", batch_size=30), Listener())

    assert not (tmp_path / "run").exists()


def test_ctrl_c_while_the_results_are_drawn_says_how_to_go_on(
    tiny_policy: Path, make_curated: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(stage: _Stage) -> None:
        (stage.folder / "metrics.jsonl").write_text('{"step": 1, "reward": 0.5, "completion_length": 1.0}\n')

    def draw(stage: _Stage, *measured: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_Stage, "_train", train)
    monkeypatch.setattr(_Stage, "_make_report", draw)
    run = settings(make_curated(tiny_policy), tmp_path / "run", evaluate=False)
    with pytest.raises(InterruptedRunError, match=r"go on with learnable train .* --resume"):
        run_training(run, Listener())
