"""Chat prompts from a file to a refreshed set: every table holds messages, and nothing is lost on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from learnable.data.curated.curated_set import open_curated
from tests.flows.scripted_shell_for_tests import ScriptedShell

SCRIPT = {f"Work out {i} + 4 = ": [str(i + 4), str(i)] for i in range(12)}
SUMS = ("--prompts", "chats.jsonl", "--verifier", "arithmetic", "--group-size", "8", "--name", "chats")


@pytest.fixture
def shell(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> ScriptedShell:
    monkeypatch.chdir(tmp_path)
    shell = ScriptedShell(tmp_path, capfd, dict(SCRIPT))
    rows = [
        {"prompt": [{"role": "system", "content": "Be terse."}, {"role": "user", "content": text}], "answer": index + 4}
        for index, text in enumerate(SCRIPT)
    ]
    shell.write_rows([*rows, rows[0]], "chats.jsonl")
    return shell


@pytest.mark.parametrize("sampling", ["fixed", "optimal"])
def test_chats_are_found_published_and_read_by_datasets(shell: ScriptedShell, sampling: str) -> None:
    from datasets import load_dataset

    report = shell.find(*SUMS, "--sampling", sampling).report
    assert report["totals"]["kept"] >= 8
    curated = open_curated(report["curated"])
    for part in ("train", "test", "rejects", "control", "demonstrations"):
        assert curated.read(part).schema.field("prompt").type.value_type.names == ["role", "content"], part
    rows = load_dataset("parquet", data_files=f"{report['curated']}/train-*.parquet", split="train")
    assert [turn["role"] for turn in rows[0]["prompt"]] == ["system", "user"]
    shown = curated.read("demonstrations").to_pylist()
    assert all(row["completion"][0]["role"] == "assistant" for row in shown)


def test_a_set_of_chats_is_refreshed(shell: ScriptedShell) -> None:
    curated = shell.find(*SUMS).report["curated"]
    (shell.folder / "policy/model.safetensors").write_bytes(b"trained weights")
    shell.script.update({text: answers[:1] for text, answers in list(SCRIPT.items())[:6]})  # these it can do now
    typed = shell.type(
        "refresh", "--curated", curated, "--policy", "policy", "--no-prefect", "--workers", "0", "--json"
    )
    report: dict[str, Any] = typed.report
    assert report["changed"]["keep_to_drop"] >= 4
    refreshed = open_curated(report["curated"])
    assert (
        refreshed.read("train").schema.field("prompt").type
        == open_curated(curated).read("train").schema.field("prompt").type
    )
