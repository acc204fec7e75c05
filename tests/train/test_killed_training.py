"""kill -9 in training: a run that goes on draws the prompts that it would have drawn, and repeats no step."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from learnable.data.sources.rollouts.files import open_rollout_files
from learnable.train.monitor.records import read_metrics
from tests.faults.runs_for_tests import Run, Shell
from tests.support.warm_starts import Starter

STEPS = 8
TRIES = 3  # to kill a run in time, on a machine that is busy
SMALL = (
    "--num-generations", "4", "--batch-size", "8", "--max-completion-length", "3", "--learning-rate", "0.01",
    "--save-steps", "2", "--no-evaluate", "--trl", "log_completions=true", "--json",
)  # fmt: skip


@pytest.fixture
def shell(tmp_path: Path, starter: Starter) -> Iterator[Shell]:
    """A folder to run commands in; whatever still runs at the end is killed."""
    started = Shell(tmp_path, starter)
    yield started
    started.kill_all()


def find_trainer(command: Run) -> int:
    """Return the process of a command's that has a session of its own: the trainer."""
    children = Path(f"/proc/{command.pid}/task").glob("*/children")
    [trainer] = [pid for file in children for pid in map(int, file.read_text().split()) if os.getsid(pid) == pid]
    return trainer


def kill_in_training(run: Run, folder: Path, *, whole: bool) -> None:
    """Kill the trainer with all that it started, after the command that it belongs to or alone, past a checkpoint."""
    metrics = folder / "metrics.jsonl"
    assert run.wait_until(lambda: metrics.exists() and len(read_metrics(metrics)) >= 5), run.err
    trainer = find_trainer(run)
    if whole:
        run.kill()
    with suppress(ProcessLookupError):  # it ends with its command
        os.killpg(trainer, signal.SIGKILL)
    while is_alive(trainer):
        time.sleep(0.01)
    if not whole:
        run.end(status=2)
        assert "learnable.train.trainers.grpo failed (exit status -9)" in " ".join(run.err.split())


def is_in_time(folder: Path) -> bool:
    """Whether a run was killed before the step that it is to end with. One that was not is removed."""
    if (folder / "checkpoints" / f"checkpoint-{STEPS}").exists():
        shutil.rmtree(folder)
    return folder.exists()


def is_alive(process: int) -> bool:
    """Whether a process still does anything: one that nobody waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def list_prompts(folder: Path) -> dict[int, list[str]]:
    """Return the prompts of each step in their order, as TRL logged them."""
    files = sorted((folder / "checkpoints" / "completions").glob("*.parquet"))
    return {int(file.stem.split("_")[1]): pl.read_parquet(file)["prompt"].to_list() for file in files}


@pytest.mark.e2e
@pytest.mark.parametrize("sampler", ["static", "live"])
def test_a_killed_run_goes_on_as_if_nobody_had_killed_it(
    shell: Shell, make_curated: Any, tiny_policy: Path, sampler: str
) -> None:
    usual = ("train", "--curated", str(make_curated(tiny_policy)), "--sampler", sampler, *SMALL)
    whole, killed = shell.folder / "whole", shell.folder / "killed"
    shell.run(*usual, "--output", str(whole), "--steps", str(STEPS))
    for _ in range(TRIES):
        run = shell.start(*usual, "--output", str(killed), "--steps", "500")  # never ends by itself
        kill_in_training(run, killed, whole=sampler == "live")
        if is_in_time(killed):
            break
    shutil.rmtree(killed / "checkpoints" / "completions")
    resumed = shell.run(*usual, "--output", str(killed), "--steps", str(STEPS), "--resume")

    done = resumed.report["training"]["resumed_from"]
    assert 4 <= done < STEPS
    assert [record.step for record in read_metrics(killed / "metrics.jsonl")] == list(range(1, STEPS + 1))
    expected = list_prompts(whole)
    assert [len(expected[step]) for step in range(1, STEPS + 1)] == [8] * STEPS
    assert list_prompts(killed) == {step: prompts for step, prompts in expected.items() if step > done}

    logged = sorted((whole / "checkpoints" / "completions").glob("*.parquet"))
    files = open_rollout_files(list(map(str, logged)))  # what the real TRL writes can be imported
    assert files.format.name == "trl"
    survey = files.survey()
    assert (survey.rollouts, survey.bad_rows, survey.unrewarded) == (8 * STEPS, 0, 0)
