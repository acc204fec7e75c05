"""`learnable train --stored first` in processes of its own: killed, two at once, with adapters."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from learnable.data.errors import LearnableError
from learnable.train.child import run_stage
from learnable.train.monitor.records import StepRecord, read_metrics
from learnable.train.preflight.checks import prepare_run
from learnable.train.settings import TrainSettings
from tests.faults.runs_for_tests import Shell
from tests.support.warm_starts import Starter
from tests.train.test_killed_training import SMALL, TRIES, is_in_time, kill_in_training

STEPS = 8
SAME = ("loss", "reward", "frac_reward_zero_std", "kl", "grad_norm", "completion_length", "within_group_std")
SAME += ("stored_share", "ratio_ess", "clip_share")


@pytest.fixture
def shell(tmp_path: Path, starter: Starter) -> Iterator[Shell]:
    """A folder to run commands in; whatever still runs at the end is killed."""
    started = Shell(tmp_path, starter)
    yield started
    started.kill_all()


@pytest.fixture
def curated(make_curated: Any, tiny_policy: Path, fill_store: Any, prompts_of_ones: Any) -> Path:
    """A set of 24 prompts in a store with 16 rollouts of each."""
    prompts = prompts_of_ones(24)
    fill_store(prompts)
    folder: Path = make_curated(tiny_policy, train=prompts)
    return folder


def list_completions(folder: Path) -> dict[int, list[tuple[str, str]]]:
    """Return the prompts and completions of each step in their order, as TRL logged them."""
    files = sorted((folder / "checkpoints" / "completions").glob("*.parquet"))
    return {int(file.stem.split("_")[1]): pl.read_parquet(file).select("prompt", "completion").rows() for file in files}


@pytest.mark.e2e
@pytest.mark.parametrize("kl", ["--beta=0.04", "--no-kl"])
def test_a_killed_run_goes_on_with_the_stored_groups_that_are_left(shell: Shell, curated: Path, kl: str) -> None:
    usual = (
        "train",
        "--curated",
        str(curated),
        "--sampler",
        "live",
        "--stored",
        "first",
        *SMALL,
        "--learning-rate",
        "1e-4",
        kl,
    )
    whole, killed = shell.folder / "whole", shell.folder / "killed"
    shell.run(*usual, "--output", str(whole), "--steps", str(STEPS))
    for _ in range(TRIES):
        run = shell.start(*usual, "--output", str(killed), "--steps", "500")
        kill_in_training(run, killed, whole=kl == "--no-kl")
        if is_in_time(killed):
            break
    shutil.rmtree(killed / "checkpoints" / "completions")
    shutil.rmtree(shell.folder / "rollouts")  # a run that goes on has kept what it planned
    resumed = shell.run(*usual, "--output", str(killed), "--steps", str(STEPS), "--resume")

    done = resumed.report["training"]["resumed_from"]
    records = read_metrics(killed / "metrics.jsonl")
    expected = list_completions(whole)
    assert 4 <= done < STEPS
    assert [record.step for record in records] == list(range(1, STEPS + 1))
    assert [record.read("stored_share") for record in records] == [1.0] * STEPS
    assert [len(expected[step]) for step in range(1, STEPS + 1)] == [8] * STEPS
    assert list_completions(killed) == {step: rows for step, rows in expected.items() if step > done}


def train(curated: Path, policy: Path, output: Path, **changes: Any) -> list[StepRecord]:
    """Train on what is stored alone; return what was logged of each step."""
    usual = {
        "stored": "first",
        "steps": 4,
        "num_generations": 8,
        "batch_size": 24,
        "learning_rate": 1e-3,
        "evaluate": False,
    }
    settings = TrainSettings(str(curated), str(output), policy=str(policy), **usual | changes)
    settings.write(output / "settings.json")
    try:
        module, log = "learnable.train.trainers.grpo", output / "log"
        run_stage(module, output / "settings.json", log, lambda event: None, processes=settings.num_processes)
    except LearnableError as error:
        pytest.fail(f"{error}\n{log.read_text()[-3000:]}")
    return [record for record in read_metrics(output / "metrics.jsonl") if record.read("loss") is not None]


@pytest.mark.e2e
@pytest.mark.usefixtures("_warm_stages")
@pytest.mark.parametrize("no_kl", [False, True])
def test_two_processes_take_the_same_steps_as_one(
    curated: Path, tiny_policy: Path, tmp_path: Path, no_kl: bool
) -> None:
    """A step has three groups of 8, so the second is in both processes."""
    one, two = (
        train(curated, tiny_policy, tmp_path / str(count), num_processes=count, no_kl=no_kl, trl={"num_iterations": 2})
        for count in (1, 2)
    )
    assert len(one) == len(two) == 4
    for alone, together in zip(one, two, strict=True):
        mine, theirs = (
            {name: value for name in SAME if (value := record.read(name)) is not None} for record in (alone, together)
        )
        assert theirs == pytest.approx(mine, rel=1e-3, abs=1e-5)
    assert [record.read("stored_share") for record in one] == [1.0] * 4
    assert one[0].read("ratio_ess") == pytest.approx(1.0, abs=1e-6)
    assert (one[-1].read("ratio_ess") or 1) < 1 - 1e-6


@pytest.mark.e2e
@pytest.mark.usefixtures("_warm_stages")
def test_adapters_are_trained(curated: Path, tiny_policy: Path, tmp_path: Path) -> None:
    records = train(curated, tiny_policy, tmp_path / "run", lora_rank=4, learning_rate=3e-3)
    assert [record.read("stored_share") for record in records] == [1.0] * 4
    assert records[0].read("ratio_ess") == pytest.approx(1.0, abs=1e-6)
    assert (records[-1].read("ratio_ess") or 1) < 1 - 1e-6
    assert (tmp_path / "run" / "policy" / "config.json").is_file()


@pytest.mark.e2e
@pytest.mark.usefixtures("_warm_stages")
def test_without_it_nothing_of_it_is_there(curated: Path, tiny_policy: Path, tmp_path: Path) -> None:
    records = train(curated, tiny_policy, tmp_path / "run", stored="off", steps=1)
    assert not {"stored_share", "ratio_ess", "clip_share"} & records[0].metrics.keys()
    assert not list(tmp_path.rglob("stored_rollouts.parquet"))
    assert "stored" not in json.loads((tmp_path / "run" / "settings.json").read_text())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stored": "last"}, "`stored` 'last' is not known: choose one of first, off"),
        ({"method": "sft"}, "`stored` first is for groups, and `method` sft trains on stored completions by itself"),
        ({"curriculum": "arithmetic"}, "`stored` first draws prompts of all stages: leave it out, or `curriculum`"),
        ({"temperature": 0.7}, r"under t0\.7-p1\.0-k0 with at most 3 tokens there are none"),
        ({"num_generations": 32, "batch_size": 64}, r"it takes 2 groups of 32 different completions with spread"),
    ],
)
def test_what_cannot_be_begun_with_is_refused(
    curated: Path, tiny_policy: Path, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    given = {"policy": str(tiny_policy), "stored": "first", "num_generations": 4, **changes}
    with pytest.raises(LearnableError, match=message):
        prepare_run(TrainSettings(str(curated), str(tmp_path / "run"), **given))


def test_a_copy_of_a_set_has_no_store(curated: Path, tiny_policy: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(curated, tmp_path / "copies" / "v0001")
    with pytest.raises(LearnableError, match="lies in no store, so its stored rollouts are not here"):
        prepare_run(TrainSettings(str(copy), str(tmp_path / "run"), policy=str(tiny_policy), stored="first"))


def test_how_much_is_stored_is_said(curated: Path, tiny_policy: Path, tmp_path: Path) -> None:
    settings = TrainSettings(
        str(curated), str(tmp_path / "run"), policy=str(tiny_policy), stored="first", num_generations=4, batch_size=16
    )
    [note] = [note for note in prepare_run(settings).notes if "stored" in note]
    assert re.fullmatch(
        r"begins with what is stored: at most \d+ groups of 4 with spread, of 2\d prompts, for up to 1\d steps; it "
        "generates nothing as long as they last and are not stale",
        note,
    )
