"""What tests of the command line share: commands in this process, on a terminal of any width, into a closed pipe."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from learnable.cli.app import app
from learnable.data.policies import find_policy
from learnable.flows.engines import use_engine
from learnable.flows.settings import CurateSettings
from tests.cli.files_for_tests import Find, Found, OnATerminal, Once, RecordingEngine, Run


@pytest.fixture
def find(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Find:
    """Run `find-learnable --prompts ...` in a temporary folder without a model; prompts come ordered by their text."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("huggingface_hub.constants", "datasets.config"):
        if name in sys.modules:  # it read the variable when an earlier test imported it
            monkeypatch.setattr(sys.modules[name], "HF_HUB_OFFLINE", True)
    policy = tmp_path / "home" / "policy"
    policy.mkdir(parents=True)
    (policy / "config.json").write_text("{}")
    (policy / "model.safetensors").write_bytes(b"weights")
    engine = RecordingEngine(find_policy(str(policy)).policy_id)
    fixed = ["--no-prefect", "--json", "--sampling", "fixed", "--group-size", 2, "--workers", 0, "--policy", policy]

    runs = count()

    def find(prompts: str | Path, *arguments: object) -> Found:
        engine.prompts.clear()
        store = f"store-{next(runs)}"  # what one has is not sampled again
        command = ["find", "--prompts", prompts, *fixed, "--store", store, *arguments]
        with use_engine(engine, CurateSettings(policy=str(policy))), pytest.raises(SystemExit) as ended:
            app([str(argument) for argument in command])
        out, err = capfd.readouterr()
        sampled = sorted(engine.prompts, key=lambda prompt: prompt.text)
        return Found(int(ended.value.code or 0), " ".join(err.split()), sampled, json.loads(out) if out else {})

    return find


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run `learnable ...`, or another `command`, in a temporary folder; return status, stdout, stderr on one line."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object, command: Callable[..., object] = app) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            command([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), out, " ".join(err.split())

    return run


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Call what fills the working folder; a later test of the module finds a copy, and what was returned."""
    made: dict[str, tuple[Path, str]] = {}

    def fill(name: str, make: Callable[[], str]) -> str:
        if name in made:
            shutil.copytree(made[name][0], Path.cwd(), dirs_exist_ok=True)
        else:
            said = make()
            made[name] = Path(shutil.copytree(Path.cwd(), tmp_path_factory.mktemp("once") / name)), said
        return made[name][1]

    return fill


@pytest.fixture
def run_unread(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Run `learnable ...` where nobody reads its standard output; return status and stderr."""

    def run(*arguments: str) -> tuple[int, str]:
        reading, writing = os.pipe()
        os.close(reading)
        with stdout_to(writing), pytest.raises(SystemExit) as ended:
            app(list(arguments))
        os.close(writing)
        return int(ended.value.code or 0), capfd.readouterr().err

    return run


@pytest.fixture
def on_a_terminal(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> OnATerminal:
    """Run `learnable ...` on a terminal of so many columns, without colours; return the lines that it shows."""

    def run(width: int, *arguments: str) -> list[str]:
        for name, value in {"COLUMNS": str(width), "TERM": "xterm", "NO_COLOR": "1"}.items():
            monkeypatch.setenv(name, value)
        ours, theirs = pty.openpty()
        said: list[bytes] = []
        reader = threading.Thread(target=lambda: said.extend(read_terminal(ours)))
        reader.start()
        with stdout_to(theirs), pytest.raises(SystemExit) as ended:
            app(list(arguments))
        os.close(theirs)
        reader.join()
        os.close(ours)
        assert not ended.value.code
        text = re.sub(r"\x1b\[[012]?m", "", b"".join(said).decode()).replace("\r\n", "\n")  # bold, dim and their end
        assert "\x1b" not in text, json.dumps(text)
        return text.splitlines()

    return run


@contextmanager
def stdout_to(descriptor: int) -> Iterator[None]:
    """Let what this process writes on standard output go to `descriptor` inside the block."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(descriptor, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def read_terminal(descriptor: int) -> Iterator[bytes]:
    """Yield what is written at the other end, until that is closed, which Linux calls an error."""
    try:
        while some := os.read(descriptor, 65536):
            yield some
    except OSError:
        return
