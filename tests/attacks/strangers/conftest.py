"""A trap to work in, and the policy and sets of the tests of training."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from learnable.cli.app import app
from tests.attacks.strangers.planted import MODULE, Trap
from tests.cli.conftest import run as run_apart
from tests.train.conftest import make_curated, tiny_policy

__all__ = ["make_curated", "run_apart", "tiny_policy"]  # fixtures

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trap]:
    """Work in a trap without network; whatever a test does, no marker may be there at its end."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("huggingface_hub.constants", "datasets.config"):
        if name in sys.modules:  # it read the variable when an earlier test imported it
            monkeypatch.setattr(sys.modules[name], "HF_HUB_OFFLINE", True)
    folder = tmp_path / "trap"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    trap = Trap(folder)
    yield trap
    sys.modules.pop(MODULE, None)
    assert trap.found == []


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Command:
    """Run `learnable ...` in this process; return the status, and what it said on one line."""

    def run(*arguments: object) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            app([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), " ".join((out + err).split())

    return run
