from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from learnable.train.preflight import device
from learnable.train.preflight.device import find_device


@pytest.fixture
def _driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a driver's program on the path that knows of GPUs 0 and 3."""
    program = tmp_path / "nvidia-smi"
    answers = "*--id=0) echo 81559;; *--id=3) echo 1024;; *) echo gone; exit 6;;"
    program.write_text(f'#!/bin/sh\ncase "$*" in {answers} esac\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.mark.usefixtures("_driver")
@pytest.mark.parametrize(("visible", "mebibytes"), [(None, 81559), ("3,0", 1024)])
def test_it_is_the_first_gpu_that_is_visible(
    monkeypatch: pytest.MonkeyPatch, visible: str | None, mebibytes: int
) -> None:
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert (find_device().kind, find_device().memory) == ("cuda", mebibytes << 20)


@pytest.mark.usefixtures("_driver")
@pytest.mark.parametrize("visible", ["", "-1", "7"])
def test_without_one_it_is_this_machine(monkeypatch: pytest.MonkeyPatch, visible: str) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert find_device().kind == "host"


@pytest.mark.usefixtures("_driver")
def test_a_driver_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("nvidia-smi", 20)

    monkeypatch.setattr(device.subprocess, "run", hang)
    assert find_device().kind == "host"


def test_a_control_group_s_limit_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    limit, none = tmp_path / "memory.max", tmp_path / "no.limit"
    limit.write_text("1048576\n")
    none.write_text("max\n")
    monkeypatch.setattr(device, "LIMITS", (str(none), str(tmp_path / "gone")))
    whole = find_device().memory
    assert whole > 1 << 20
    monkeypatch.setattr(device, "LIMITS", (str(none), str(limit)))
    assert find_device().memory == 1 << 20
