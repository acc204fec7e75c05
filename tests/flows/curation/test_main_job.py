"""The main job for real: the command line, a Prefect server, vLLM on the bundled policy, TRL."""

from __future__ import annotations

import asyncio
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

import polars as pl
import pyarrow.parquet as pq
import pytest

from tests.faults.stores_for_tests import rollouts, scores
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


# The first as TRL's documentation has it, the second async and with a column.
REWARDS = r"""
import asyncio
import re


def reward_len(completions, **kwargs):
    return [-abs(20 - len(completion)) for completion in completions]


async def reward_number(completions, ground_truth, **kwargs):
    await asyncio.sleep(0.01)
    matches = [re.match(r"\s*(\d+)", completion) for completion in completions]
    return [1.0 if match and match.group(1) == gt else -1.0 for match, gt in zip(matches, ground_truth)]
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


def test_training_begins_with_what_was_generated_to_find_the_prompts(shell: Shell, found: dict[str, Any]) -> None:
    shell.learnable(
        "train", "--curated", found["curated"], "--output", "stored", "--stored", "first", "--steps", "3",
        "--batch-size", "16", "--num-generations", "8", "--no-evaluate", "--trl", "log_completions=true",
    )  # fmt: skip
    metrics = [json.loads(line) for line in (shell.folder / "stored" / "metrics.jsonl").read_text().splitlines()]
    trained = pl.read_parquet(shell.folder / "stored" / "checkpoints" / "completions" / "*.parquet")
    stored = rollouts(shell.folder / "store")

    assert [line["stored_share"] for line in metrics if "reward" in line] == [1.0] * 3
    assert metrics[0]["ratio_ess"] == pytest.approx(1.0, abs=1e-5)
    assert all(line["zero_std_share"] == 0 for line in metrics if "reward" in line)
    assert trained.height == 3 * 16
    assert set(trained["completion"]) <= set(stored["completion"])
    assert set(trained["verifier_reward"]) == {0.0, 1.0}
    assert stored["token_ids"].list.len().to_list() == stored["num_tokens"].to_list()


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


def test_a_reward_function_of_trls_documentation_rewards_alike_in_both_commands(shell: Shell) -> None:
    (shell.folder / "rewards.py").write_text(REWARDS)
    sums = [(first, second) for first in range(2, 10) for second in (5, 14)]
    named = [{}, {"verifier": "rewards.py:reward_number?range=-1..1"}]
    rows = [
        {"prompt": f"Work out {first} + {second} = ", "ground_truth": str(first + second), **named[first % 2]}
        for first, second in sums
    ]
    (shell.folder / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found, _ = shell.learnable(
        "find", "--prompts", "sums.jsonl", "--verifier", "rewards.py:reward_len", "--verifier-range", "-100..0",
        "--sampling", "fixed", "--band", "0", "1", "--min-std", "0", "--near-duplicates", "1", "--test-share", "0",
        "--max-tokens", "8", "--store", "own", "--no-prefect", "--verifier", "rewards.py:reward_number?range=-1..1",
    )  # fmt: skip
    shell.learnable(
        "train", "--curated", found["curated"], "--part", "train", "--output", "own-run", "--steps", "2",
        "--num-generations", "4", "--batch-size", "32", "--no-evaluate", "--trl", "log_completions=true",
        "--verifier", "rewards.py:reward_len?range=-100..0", "--verifier", "rewards.py:reward_number?range=-1..1",
    )  # fmt: skip
    kept = pl.read_parquet(shell.folder / found["curated"] / "train-*.parquet")
    assert kept["verifier"].n_unique() == 2
    curated = scores(shell.folder / "own").join(rollouts(shell.folder / "own"), on="rollout_id")
    curated = curated.join(kept.select("prompt_id", "prompt"), on="prompt_id")
    assert curated.height == 16 * kept.height > 0
    rewarded = {(row["prompt"], row["completion"]): row["reward"] for row in curated.to_dicts()}
    trained = pl.read_parquet(shell.folder / "own-run" / "checkpoints" / "completions" / "*.parquet").to_dicts()
    assert len(trained) == 2 * 32
    own = own_rewards(rows, [*rewarded, *((row["prompt"], row["completion"]) for row in trained)])
    assert {key: own[key] for key in rewarded} == rewarded
    in_training = {(row["prompt"], row["completion"]): row["verifier_reward"] for row in trained}
    assert in_training == pytest.approx({key: own[key] for key in in_training}, abs=1e-6)  # TRL's are float32
    assert in_training.keys() & rewarded.keys()
    assert len(set(in_training.values())) > 2
    assert (shell.folder / "own-run" / "policy" / "model.safetensors").is_file()
    check_hand_on(shell, kept)


def check_hand_on(shell: Shell, kept: pl.DataFrame) -> None:
    """The set has a report, and its prompts, answers and order arrive in verl's files and in JSON Lines."""
    assert (shell.folder / "own" / "curated" / "sums" / "v0001" / "report.html").is_file()
    page, _ = shell.learnable("report", "sums", "--store", "own", "--output", "page.html")
    assert page["with_completions"] == page["prompts"] >= kept.height
    own = ("--verifier", "rewards.py:reward_len?range=-100..0", "--verifier", "rewards.py:reward_number?range=-1..1")
    for target in ("verl", "jsonl"):
        report, _ = shell.learnable("export", "sums", "--store", "own", "--to", target, "--output", target, *own)
        assert report["rows"] == {"train": kept.height, "test": 0}
    verl = pl.read_parquet(shell.folder / "verl" / "train.parquet").to_dicts()
    lines = [json.loads(line) for line in (shell.folder / "jsonl" / "train.jsonl").read_text().splitlines()]
    for row, theirs, line in zip(kept.to_dicts(), verl, lines, strict=True):
        assert theirs["prompt"] == [{"role": "user", "content": row["prompt"]}]
        assert theirs["extra_info"]["certificate"]["p_in_band"] == pytest.approx(row["p_in_band"])
        assert (line["prompt"], line["prompt_id"]) == (row["prompt"], row["prompt_id"])


def own_rewards(rows: list[dict[str, str]], answers: list[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """Call the functions of `REWARDS` themselves, and map what each says of a prompt and a completion to 0 to 1."""
    functions: dict[str, Any] = {}
    exec(REWARDS, functions)
    by_prompt = {row["prompt"]: row for row in rows}
    rewards = {}
    for prompt, completion in answers:
        if "verifier" in by_prompt[prompt]:
            judged = functions["reward_number"](
                completions=[completion], ground_truth=[by_prompt[prompt]["ground_truth"]]
            )
            rewards[prompt, completion] = (asyncio.run(judged)[0] + 1) / 2
        else:
            rewards[prompt, completion] = (functions["reward_len"](completions=[completion])[0] + 100) / 100
    return rewards


def test_sonnets_go_from_the_front_door_into_trl(shell: Shell) -> None:
    report, _ = shell.learnable("find", "--form", "sonnet", "--limit", "16", "--store", "store", "--no-prefect")
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
        "36",
        "--store",
        "cut",
    )
    out, err = shell.folder / "cut.out", shell.folder / "cut.err"
    with out.open("w") as stdout, err.open("w") as stderr:
        process = shell.starter.start(
            [sys.executable, *command], cwd=shell.folder, env=shell.environment, stdout=stdout, stderr=stderr
        )
    while "/576 rollouts" not in err.read_text():
        assert process.poll() is None, err.read_text()
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the Prefect server too
    assert process.wait() == 130
    assert out.read_text() == ""
    assert "goes on from there" in err.read_text()
    assert "Traceback" not in err.read_text()
    saved = sum(pq.read_metadata(path).num_rows for path in (shell.folder / "cut" / "rollouts").rglob("*.parquet"))
    assert 0 < saved < 576
    assert not (shell.folder / "cut" / "curated").exists()
    report, said = shell.learnable(*command[2:], "--no-prefect")
    assert f"{saved:,} rollouts reused" in said
    assert report["totals"]["rollouts"] == 576
