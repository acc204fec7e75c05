"""The format reward of the past that never fired: named after the pilot, explained, and not trained on unasked."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.train.settings import TrainSettings
from tests.flows.scripted_shell_for_tests import ScriptedShell, Typed

PATTERN = r"^<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>\n$"
SILENT = {"right": {"kind": "correct"}, "form": {"kind": "pattern", "pattern": PATTERN, "weight": 0.2}}
PILOT = ("--sampling", "optimal", "--pilot-prompts", 16, "--pilot-rollouts", 8)
WANTED = f"(its pattern {PATTERN} has to match from the first character on)"
READS = "A completion of this policy reads '<answer>"


@pytest.fixture
def shell(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> ScriptedShell:
    """A policy that prints `<answer>123</answer>`, or the right answer likewise, and 40 questions."""
    monkeypatch.chdir(tmp_path)
    shell = ScriptedShell(tmp_path, capfd)
    ask(shell, 40, ("<answer>123</answer>", "<answer>{}</answer>"))
    return shell


def ask(shell: ScriptedShell, count: int, completions: Sequence[str]) -> None:
    texts = {f"What is {n} and 1?": n + 1 for n in range(count)}
    shell.write_rows({"prompt": text, "answer": answer} for text, answer in texts.items())
    shell.script = {text: [each.format(answer) for each in completions] for text, answer in texts.items()}


def find(shell: ScriptedShell, *arguments: object, reward: object = SILENT) -> Typed:
    (shell.folder / "spec.json").write_text(json.dumps({"reward": reward}))
    return shell.find("--prompts", "questions.jsonl", "--verifier", "number", "--spec", "@spec.json", *arguments)


def test_it_is_named_and_explained_after_the_pilot(shell: ScriptedShell) -> None:
    planned = find(shell, *PILOT, "--dry-run")
    assert planned.paid == 16 * 8
    found = find(shell, *PILOT)
    assert found.paid > 0
    assert "questions: form is 0 in all 128 rollouts of 16 prompts so far: it never fires" in planned.err
    assert re.search(r"questions: form is 0 in all \d+ rollouts of \d+ prompts so far: it never fires", found.err)
    for typed in (planned, found):
        assert WANTED in typed.err
        assert READS in typed.err
        assert "training needs --allow-silent-reward" in typed.err
    again = find(shell, *PILOT)  # all of its scores are in the store: there is no pilot to stop after
    assert again.paid == 0
    assert "of 40 prompts: it never fires, so GRPO can learn nothing" in again.err
    assert f"{WANTED}. {READS}" in again.err
    assert again.err.count("it never fires") == 1


def test_training_on_it_is_refused(shell: ScriptedShell) -> None:
    report = find(shell).report
    [finding] = [found for found in report["findings"] if found["code"] == "silent_reward"]
    assert finding["subject"] == "questions: form"
    assert "form is 0 in all 640 rollouts of 40 prompts" in finding["text"]
    assert WANTED in finding["text"]
    assert READS in finding["text"]
    assert finding["subject"] not in [f["subject"] for f in report["findings"] if f["code"] == "constant_component"]
    kept = open_curated(report["curated"]).manifest.findings[0].text
    assert kept.endswith("needs `allow_silent_reward`")  # the set names the setting, the command line its flag
    assert kept.replace("`allow_silent_reward`", "--allow-silent-reward") == finding["text"]

    refused = shell.type("train", "--curated", report["curated"], "--output", "run")
    assert refused.status == 2
    assert f"error: curated set '{report['curated']}': {finding['text']}" in refused.err
    assert not Path("run").exists()

    usual = ("--policy", "policy", "--no-prefect", "--workers", 0, "--sampling", "fixed")
    shown = shell.type("find", *usual, "--prompts", "questions.jsonl", "--verifier", "number", "--spec", "@spec.json")
    [line] = [line for line in shown.out.splitlines() if line.startswith("next ")]
    assert "mend the reward, or learnable train --curated " in line
    assert line.endswith(" --allow-silent-reward")


def test_a_run_that_goes_on_to_train_stops_before_it(shell: ScriptedShell) -> None:
    refused = find(shell, "--then-train", "--name", "sums")
    assert refused.status == 2
    assert "questions: form is 0 in all 640 rollouts" in refused.err
    assert "--allow-silent-reward" in refused.err
    assert open_curated("learnable-store/curated/sums").manifest.parts["train"].rows > 0
    alone = find(shell, "--allow-silent-reward")
    assert alone.status == 2
    assert "add --then-train" in alone.err


def test_training_on_it_may_be_allowed(shell: ScriptedShell, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[TrainSettings] = []

    def stop(stage: Any) -> None:
        assert READS in "".join(stage.run.warnings) or stage.settings.signal == "pass"
        begun.append(stage.settings)
        raise SystemExit(0)

    monkeypatch.setattr("learnable.flows.training.stage._Stage.run_all", stop)
    assert find(shell, "--then-train", "--allow-silent-reward").status == 0
    curated = begun[0].curated
    assert shell.type("train", "--curated", curated, "--allow-silent-reward").status == 0
    assert shell.type("train", "--curated", curated, "--signal", "pass").status == 0  # it does not see the part
    assert [settings.allow_silent_reward for settings in begun] == [True, True, False]


FORMAT = {"kind": "format", "weight": 0.2}
RIGHT = {"kind": "correct"}
WELL = "<think>\n.\n</think>\n<answer>\n{}\n</answer>\n"


@pytest.mark.parametrize(
    ("reward", "completions", "silent"),
    [
        ({"right": RIGHT, "form": FORMAT}, ("<answer>{}</answer>", "<answer>123</answer>"), ["questions: form"]),
        ({"right": RIGHT, "form": FORMAT}, (WELL, WELL.replace("{}", "123")), ["questions: form"]),
        ({"right": RIGHT, "form": FORMAT}, (WELL, "<answer>123</answer>"), []),
        ({"right": RIGHT, "form": FORMAT, "tags": {"kind": "tags"}}, ("<answer>{}</answer>", "{} or 3"), []),
        ({"right": RIGHT, "long": {"kind": "length", "from": 900, "to": 999}}, ("{}", "123"), []),
        ("binary", ("{}", "123"), []),
    ],
    ids=["never", "always", "sometimes", "other-part", "no-format-part", "no-parts"],
)
def test_only_a_reward_s_only_format_part_stops_training(
    shell: ScriptedShell, reward: object, completions: tuple[str, str], silent: list[str]
) -> None:
    ask(shell, 10, completions)
    findings = find(shell, reward=reward).report["findings"]
    assert [found["subject"] for found in findings if found["code"] == "silent_reward"] == silent
