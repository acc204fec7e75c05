"""FSDP2 on two processes of this machine: killed and gone on with, the same losses, a policy that vLLM samples."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open

from learnable.data.policies import bundled_policy_path
from learnable.data.records import Prompt
from learnable.train.monitor.records import StepRecord, read_metrics
from tests.faults.runs_for_tests import Shell
from tests.support.paths import ROOT
from tests.support.warm_starts import Starter
from tests.train.test_killed_training import kill_in_training

CONFIG = ROOT / "train" / "accelerate_files" / "fsdp2-cpu.yaml"
NAMES = ("loss", "grad_norm", "kl", "reward", "completion_length", "importance_ratio_max")


@pytest.fixture
def shell(tmp_path: Path, starter: Starter) -> Iterator[Shell]:
    started = Shell(tmp_path, starter)
    yield started
    started.kill_all()


def find_weights(folder: Path) -> dict[str, tuple[int, ...]]:
    with safe_open(folder / "model.safetensors", "pt") as weights:
        return {name: tuple(weights.get_slice(name).get_shape()) for name in weights.keys()}  # noqa: SIM118


def read_losses(record: StepRecord) -> dict[str, float]:
    """Return the metrics that a step has a value of."""
    return {name: value for name in NAMES if (value := record.read(name)) is not None}


@pytest.mark.e2e
def test_a_killed_run_goes_on_with_the_same_losses_and_leaves_a_policy_that_vllm_samples(
    shell: Shell, make_curated: Any
) -> None:
    pairs = [(a, b) for a in range(2, 8) for b in range(3, 9)]
    sums = [Prompt(f"{a} + {b} = ", "number", {"answer": a + b}, "arithmetic", "Sums") for a, b in pairs]
    bundled = bundled_policy_path()
    curated = make_curated(bundled, train=sums[:32], test=sums[32:])
    folder = shell.folder / "run"
    usual = (
        "train", "--curated", str(curated), "--output", str(folder), "--accelerate-config", str(CONFIG),
        "--num-generations", "8", "--batch-size", "16", "--max-completion-length", "8", "--learning-rate", "1e-3",
        "--part", "train", "--sampler", "live", "--trl", "num_iterations=2", "--save-steps", "2", "--no-evaluate",
        "--json",
    )  # fmt: skip
    run = shell.start(*usual, "--steps", "500")
    kill_in_training(run, folder, whole=True)
    before = {record.step: read_losses(record) for record in read_metrics(folder / "metrics.jsonl")}
    done, checkpoints = 4, folder / "checkpoints"
    for later in (path for path in checkpoints.glob("checkpoint-*") if int(path.name.split("-")[1]) > done):
        shutil.rmtree(later)
    resumed = shell.run(*usual, "--steps", str(done + 2), "--resume")

    assert resumed.report["training"]["resumed_from"] == done
    after = {record.step: read_losses(record) for record in read_metrics(folder / "metrics.jsonl")}
    assert list(after) == list(range(1, done + 3))
    again = sorted(before.keys() & after.keys())
    assert max(again) > done  # a step was taken twice: before the kill, and after it
    assert {step: after[step] for step in again} == {step: pytest.approx(before[step], rel=1e-5) for step in again}
    assert any(losses["loss"] != pytest.approx(0, abs=1e-6) for losses in after.values())

    assert (
        len(list((checkpoints / "checkpoint-4" / "pytorch_model_fsdp_0").glob("*.distcp"))) == 2
    )  # each process has its part
    assert find_weights(folder / "policy") == find_weights(Path(bundled))
    sampled = shell.run(
        "eval", "--curated", str(curated), "--policy", str(folder / "policy"), "--limit", "2", "--group-size", "2",
        "--k", "1", "--no-greedy", "--engine-arg", "max_model_len=64", "--json",
    )  # fmt: skip
    assert sampled.report
