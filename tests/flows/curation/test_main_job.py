"""The main job for real: the command line, a Prefect server, vLLM on the bundled policy, TRL."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.e2e

TRAIN_SCRIPT = """
import sys
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
    """Runs commands in one folder with one home."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        home = {"HOME": str(self.folder / "home"), "PREFECT_HOME": str(self.folder / "prefect")}
        return {**os.environ, **home, "DO_NOT_TRACK": "1"}

    def start(self, *command: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [sys.executable, *command],
            cwd=self.folder,
            env=self.environment,
            stdout=pipe,
            stderr=pipe,
            text=True,
            start_new_session=True,
        )

    def run(self, *command: str) -> tuple[str, str]:
        process = self.start(*command)
        out, err = process.communicate()
        assert process.returncode == 0, err[-3000:]
        return out, err

    def learnable(self, *arguments: str) -> tuple[dict[str, Any], str]:
        out, err = self.run("-m", "learnable", *arguments, "--json")
        report: dict[str, Any] = json.loads(out)
        return report, err


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    folder = tmp_path_factory.mktemp("job")
    (folder / "home").mkdir()
    return Shell(folder)


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
    report, _ = shell.learnable(*FIND)
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
    process = shell.start(*command)
    assert process.stderr is not None
    for line in process.stderr:
        if "rollouts" in line:
            break
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the Prefect server too
    out, err = process.communicate()
    assert process.returncode == 130
    assert out == ""
    assert "goes on from there" in err
    assert "Traceback" not in err
    saved = sum(pq.read_metadata(path).num_rows for path in (shell.folder / "cut" / "rollouts").rglob("*.parquet"))
    assert 0 < saved < 960
    assert not (shell.folder / "cut" / "curated").exists()
    report, err = shell.learnable(*command[2:], "--no-prefect")
    assert f"{saved:,} rollouts reused" in err
    assert report["totals"]["rollouts"] == 960
