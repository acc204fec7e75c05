"""One job for real: from a file of questions and an empty store to a trained policy, and then for nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.faults.runs_for_tests import Shell
from tests.support.warm_starts import Starter


@pytest.fixture
def shell(tmp_path: Path, starter: Starter) -> Iterator[Shell]:
    """A folder to run commands in; whatever still runs at the end is killed."""
    started = Shell(tmp_path, starter)
    yield started
    started.kill_all()


@pytest.mark.e2e
def test_a_job_trains_on_what_found_its_prompts_and_the_second_time_generates_nothing(shell: Shell) -> None:
    rng = Random(7)
    numbers = [(rng.randint(2, 60), rng.randint(2, 60)) for _ in range(120)]
    rows = [{"prompt": f"{one} + {other} =", "answer": str(one + other)} for one, other in numbers]
    file = shell.folder / "questions.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    job = (
        "train", "--pool", str(file), "--verifier", "arithmetic", "--steps", "3", "--num-generations", "4",
        "--batch-size", "16", "--no-evaluate", "--json",
    )  # fmt: skip
    first = shell.run(*job, "--report-to", "tensorboard")
    report = first.report
    paid = {cost["what"]: cost["completions"] for cost in report["paid"]}
    assert paid["finding prompts"] == report["curation"]["totals"]["rollouts"] > 0
    assert report["stored_completions"] + paid["training"] == 3 * 16
    assert report["stored_completions"] >= 16, "the first step is taken on what found the prompts"
    assert (shell.folder / report["training"]["trained_policy"] / "config.json").is_file()
    _check_logs(shell.folder / "runs", report)
    plan = shell.run(*job, "--explain").report
    assert not plan["is_bound"]
    assert plan["tokens_each"] == pytest.approx(
        report["curation"]["totals"]["tokens"] / report["curation"]["totals"]["rollouts"], rel=0.5
    )
    second = shell.run(*job)
    assert not second.started_an_engine
    assert second.report["curation"]["totals"]["generated"] == 0
    assert second.report["paid"] == report["paid"]
    assert second.report["training"]["trained_policy"] == report["training"]["trained_policy"]


def _check_logs(folder: Path, report: dict[str, Any]) -> None:
    """TensorBoard finds what finding paid for, pilot and search apart, beside the steps of the training."""
    logs = {str(file.parent.relative_to(folder)): EventAccumulator(str(file)) for file in folder.rglob("events.out.*")}
    for log in logs.values():
        log.Reload()
    finding = [name for name in logs if name.startswith("curate-")]
    spent = {name: logs[name].Scalars("curation/rollouts")[-1].value for name in finding}
    assert all(name.startswith("curate-questions-") for name in spent)
    assert report["curation"]["totals"]["rollouts"] in spent.values()
    assert any("pilot" in name for name in spent)
    (trained,) = [log for name, log in logs.items() if name not in spent]
    assert [event.step for event in trained.Scalars("train/reward")] == [1, 2, 3]
