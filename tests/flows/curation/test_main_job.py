"""The main job for real: the command line, a Prefect server, vLLM on the bundled policy, TRL."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.homes import make_home
from tests.support.warm_starts import Starter

pytestmark = pytest.mark.e2e

TRAIN_SCRIPT = """
import sys
import time
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer
from learnable.data.policies import bundled_policy_path
from learnable.train.rewards import verifier_reward

def main():
    prompts = load_dataset("parquet", data_files=sys.argv[1], split="train")
    config = GRPOConfig(
        output_dir=sys.argv[2], max_steps=1, per_device_train_batch_size=8, num_generations=4,
        max_completion_length=200, beta=0.04, use_cpu=True, bf16=False, report_to=[], save_strategy="no",
        logging_steps=1,
    )
    policy = str(bundled_policy_path())
    trainer = GRPOTrainer(policy, reward_funcs=[verifier_reward], args=config, train_dataset=prompts)
    trainer.train()
    [log] = [entry for entry in trainer.state.log_history if "reward" in entry]
    print("REWARD", log["reward"], log["rewards/verifier_reward/mean"])

if __name__ == "__main__":
    main()
"""


@dataclass
class Shell:
    """Runs commands in one folder with one home: the first as a user's, the other ones warm."""

    folder: Path
    starter: Starter

    @property
    def environment(self) -> dict[str, str]:
        home = {"HOME": str(self.folder / "home"), "PREFECT_HOME": str(self.folder / "prefect")}
        return {**os.environ, **home, "DO_NOT_TRACK": "1"}

    def run(self, *command: str, cold: bool = False) -> tuple[str, str]:
        typed = [sys.executable, *command]
        if cold:
            done = subprocess.run(
                typed, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
            )
        else:
            done = self.starter.run(typed, cwd=self.folder, env=self.environment)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout, done.stderr

    def learnable(self, *arguments: str, cold: bool = False) -> tuple[dict[str, Any], str]:
        out, err = self.run("-m", "learnable", *arguments, "--json", cold=cold)
        report: dict[str, Any] = json.loads(out)
        return report, err


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory, starter: Starter) -> Shell:
    folder = tmp_path_factory.mktemp("job")
    make_home(folder / "home")
    return Shell(folder, starter)


FIND = (
    "find",
    "--sampling",
    "fixed",
    "--family",
    "arithmetic",
    "--family",
    "comparison",
    "--limit",
    "64",
    "--name",
    "job",
    "--store",
    "store",
)


@pytest.fixture(scope="module")
def found(shell: Shell) -> dict[str, Any]:
    report, _ = shell.learnable(*FIND, cold=True)
    return report


def test_a_flow_run_finds_prompts(shell: Shell, found: dict[str, Any]) -> None:
    assert {form["family"] for form in found["forms"]} == {"arithmetic", "comparison"}
    assert found["totals"]["rollouts"] == 64 * 16
    assert 0 < found["totals"]["kept"] < 64
    keys = {"form", "prompts", "kept", "rollouts", "tokens", "mean", "within_std", "between_std", "zero_std_share"}
    assert all(keys <= set(form) for form in found["forms"])
    curated = shell.folder / found["curated"]
    kept = pq.read_table(curated / "train-00000-of-00001.parquet").to_pylist()
    assert all(0.2 <= row["mean"] <= 0.8 and row["std"] >= 0.1 and row["n"] == 16 for row in kept)
    with sqlite3.connect(shell.folder / "prefect" / "prefect.db") as database:
        states = database.execute("select state_type from flow_run").fetchall()
        tasks = {name.rsplit("-", 1)[0] for (name,) in database.execute("select name from task_run")}
        [(artifact,)] = database.execute("select data from artifact where key = 'curated'").fetchall()
    assert states == [("COMPLETED",)]
    assert {"inspect_pool", "read_prompts", "roll_out_and_score", "decide_groups", "publish"} <= tasks
    assert f"{found['totals']['kept']} of 64 prompts kept" in artifact


def test_the_same_command_again_needs_no_engine(shell: Shell, found: dict[str, Any]) -> None:
    again, err = shell.learnable(*FIND, "--no-prefect")
    assert again["curated"] == found["curated"]
    assert again["forms"] == found["forms"]
    assert "1,024 rollouts reused" in err
    assert "engine" not in err


def test_training_reports_before_and_after(shell: Shell, found: dict[str, Any]) -> None:
    report, _ = shell.learnable(
        "train", "--curated", found["curated"], "--output", "run", "--steps", "2", "--batch-size", "32",
        "--max-completion-length", "16", "--eval-group-size", "8", "--prefect",
    )  # fmt: skip
    held_out = report["held_out"]
    assert held_out["prompts"] == found["totals"]["test"]
    for when in ("before", "after"):
        interval = held_out["mean_reward"][when]
        assert 0 <= interval["low"] <= interval["value"] <= interval["high"] <= 1
    metrics = [json.loads(line) for line in (shell.folder / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in metrics if "reward" in line] == [1, 2]
    assert (shell.folder / "run" / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert (shell.folder / "run" / "policy" / "model.safetensors").is_file()


def test_demonstrations_warm_a_policy_up(shell: Shell, found: dict[str, Any]) -> None:
    report, _ = shell.learnable(
        "train", "--curated", found["curated"], "--output", "warm", "--method", "sft", "--steps", "3",
        "--batch-size", "8", "--learning-rate", "1e-3", "--no-evaluate",
    )  # fmt: skip
    metrics = [json.loads(line) for line in (shell.folder / "warm" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in metrics] == [1, 2, 3]
    assert all(line["loss"] > 0 for line in metrics)
    assert report["held_out"] is None
    assert (shell.folder / "warm" / "policy" / "model.safetensors").is_file()


def test_sonnets_go_from_the_front_door_into_trl(shell: Shell) -> None:
    report, _ = shell.learnable("find", "--form", "sonnet", "--limit", "40", "--store", "store", "--no-prefect")
    [shard] = (shell.folder / report["curated"]).glob("train-00000-of-*.parquet")
    assert pq.read_metadata(shard).num_rows == report["totals"]["train"] > 0
    (shell.folder / "train.py").write_text(TRAIN_SCRIPT)
    out, _ = shell.run("train.py", str(shard), "trl")
    [line] = [line for line in out.splitlines() if line.startswith("REWARD")]
    assert all(0 < float(reward) < 1 for reward in line.split()[1:])


def test_ctrl_c_keeps_finished_groups_and_the_same_command_goes_on(shell: Shell) -> None:
    command = (
        "-m",
        "learnable",
        "find",
        "--sampling",
        "fixed",
        "--form",
        "quatrain",
        "--limit",
        "60",
        "--store",
        "cut",
    )
    out, err = shell.folder / "cut.out", shell.folder / "cut.err"
    with out.open("w") as stdout, err.open("w") as stderr:
        process = shell.starter.start(
            [sys.executable, *command], cwd=shell.folder, env=shell.environment, stdout=stdout, stderr=stderr
        )
    while "/960 rollouts" not in err.read_text():
        assert process.poll() is None, err.read_text()
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the Prefect server too
    assert process.wait() == 130
    assert out.read_text() == ""
    assert "goes on from there" in err.read_text()
    assert "Traceback" not in err.read_text()
    saved = sum(pq.read_metadata(path).num_rows for path in (shell.folder / "cut" / "rollouts").rglob("*.parquet"))
    assert 0 < saved < 960
    assert not (shell.folder / "cut" / "curated").exists()
    report, said = shell.learnable(*command[2:], "--no-prefect")
    assert f"{saved:,} rollouts reused" in said
    assert report["totals"]["rollouts"] == 960
