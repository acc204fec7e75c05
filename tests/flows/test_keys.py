"""What is paid for once: a mended label and another judge cost no rollout."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.flows import launch
from learnable.flows.curation import pipeline
from tests.flows.scripted_shell_for_tests import ScriptedShell

# Eight sums, one of them with a wrong label.
SCRIPT = {f"{i} + 1 = ": [str(i + 1), str(i)] for i in range(6)} | {"2 + 5 = ": ["7"], "2 + 6 = ": ["9", "0"]}
SUMS = ("--prompts", "questions.jsonl", "--verifier", "arithmetic", "--group-size", "8", "--name", "sums")


@pytest.fixture
def shell(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> ScriptedShell:
    monkeypatch.chdir(tmp_path)
    shell = ScriptedShell(tmp_path, capfd, dict(SCRIPT))
    shell.write_rows(rows())
    return shell


def rows(label: int = 8, **changes: Any) -> list[dict[str, Any]]:
    """The sums with this label for 2 + 5, of which the policy is sure that it is 7."""
    answers = [*range(1, 7), label, 8]
    return [{"prompt": text, "answer": answer, **changes} for text, answer in zip(SCRIPT, answers, strict=True)]


def decisions(report: dict[str, Any]) -> dict[str, str]:
    curated = open_curated(report["curated"])
    tables = [pl.DataFrame(curated.read(part)) for part in ("train", "test", "rejects")]
    return {row["prompt"]: row["decision"] for table in tables for row in table.to_dicts()}


def test_a_mended_label_pays_for_no_rollout(shell: ScriptedShell) -> None:
    first = shell.find(*SUMS)
    assert (first.paid, decisions(first.report)["2 + 5 = "]) == (64, "too_hard")
    shell.write_rows(rows(label=7))
    second = shell.find(*SUMS)
    assert (second.paid, decisions(second.report)["2 + 5 = "]) == (0, "too_easy")
    assert second.report["totals"]["rollouts"] == 64


def test_another_judge_pays_for_no_rollout(shell: ScriptedShell) -> None:
    assert shell.find(*SUMS).paid == 64
    again = shell.find(*SUMS, "--verifier", "counting")
    assert again.paid == 0
    assert again.report["totals"]["errors"] == 0


def test_prompts_with_one_question_pay_for_it_once(shell: ScriptedShell) -> None:
    shell.write_rows([*rows(label=8, form="as labelled"), *rows(label=7, form="as mended")[6:7]])
    typed = shell.find(*SUMS)
    assert (typed.paid, typed.report["totals"]["rollouts"]) == (64, 72)
    means = {form["form"]: form["mean"] for form in typed.report["forms"]}
    assert (means["as labelled"] < 1, means["as mended"]) == (True, 1)
    assert shell.find(*SUMS).paid == 0


def test_what_to_type_next_can_be_typed_as_it_stands(shell: ScriptedShell) -> None:
    typed = shell.type(
        "find",
        "--policy",
        "policy",
        "--no-prefect",
        "--workers",
        "0",
        "--sampling",
        "fixed",
        *SUMS,
        "--store",
        "my store",
    )
    [command] = [line for line in typed.out.splitlines() if line.startswith("next")]
    assert Path(shlex.split(command)[-1]).is_dir()


def test_without_prefect_the_pool_is_read_once(shell: ScriptedShell, monkeypatch: pytest.MonkeyPatch) -> None:
    read, count = pipeline.read_prompts, 0

    def counted(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        return read(*arguments)

    for module in (launch, pipeline):
        monkeypatch.setattr(module, "read_prompts", counted)
    assert shell.find(*SUMS).paid == 64
    assert count == 1
