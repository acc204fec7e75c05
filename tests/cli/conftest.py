"""What tests of the command line share."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest

from learnable.cli.app import app
from learnable.data.policies import find_policy
from learnable.flows.engines import use_engine
from learnable.flows.settings import CurateSettings
from tests.cli.files_for_tests import Find, Found, RecordingEngine


@pytest.fixture
def find(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Find:
    """Run `find-learnable --prompts ...` in a temporary folder, without a model; prompts come in the order of their text."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    policy = tmp_path / "home" / "policy"
    policy.mkdir(parents=True)
    (policy / "config.json").write_text("{}")
    (policy / "model.safetensors").write_bytes(b"weights")
    engine = RecordingEngine(find_policy(str(policy)).policy_id)
    fixed = ["--no-prefect", "--json", "--sampling", "fixed", "--group-size", 2, "--workers", 0, "--policy", policy]

    runs = count()

    def find(prompts: str | Path, *arguments: object) -> Found:
        engine.prompts.clear()
        store = f"store-{next(runs)}"  # what one holds is not asked for again
        command = ["find", "--prompts", prompts, *fixed, "--store", store, *arguments]
        with use_engine(engine, CurateSettings(policy=str(policy))), pytest.raises(SystemExit) as ended:
            app([str(argument) for argument in command])
        out, err = capfd.readouterr()
        sampled = sorted(engine.prompts, key=lambda prompt: prompt.text)
        return Found(int(ended.value.code or 0), " ".join(err.split()), sampled, json.loads(out) if out else {})

    return find
