"""A comparison goes on where another machine left it."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan
from pathlib import Path

import pytest

from benchmarks.lift import archive as module
from benchmarks.lift.archive import Archive
from benchmarks.lift.runs import Run
from tests.benchmarks.lift.runs_for_tests import make_run


def keep(root: Path, file: Path, runs: list[Run], monkeypatch: pytest.MonkeyPatch, policy: str = "policy-1") -> None:
    """Let an archive find these runs in folders."""
    archive = Archive(root, file, policy, 12)
    with monkeypatch.context() as patched:
        patched.setattr(module, "is_over", lambda folder: True)
        for run in runs:
            patched.setattr(module, "read_run", lambda *_, run=run: run)
            assert archive.find(run.arm, run.rate, run.seed) == run


def test_runs_of_folders_are_found_without_them_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, runs = tmp_path / "new" / "dead.jsonl", [make_run(), make_run("curated", 2, alarms=[("collapse", "stop")])]
    keep(tmp_path, file, runs, monkeypatch)
    keep(tmp_path, file, runs, monkeypatch)  # each once
    assert len(file.read_text().splitlines()) == 2
    later = Archive(tmp_path / "elsewhere", file, "policy-1", 12)
    assert [later.find(run.arm, run.rate, run.seed) for run in runs] == runs
    assert later.find("pool", 1e-4, 7) is None


def test_runs_of_another_policy_or_length_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "dead.jsonl"
    keep(tmp_path, file, [make_run()], monkeypatch)
    assert Archive(tmp_path, file, "policy-2", 12).find("pool", 1e-4, 1) is None
    assert Archive(tmp_path, file, "policy-1", 120).find("pool", 1e-4, 1) is None


def test_what_is_not_known_stays_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, failed = tmp_path / "dead.jsonl", Run("pool", 4e-4, 3)
    unknown = replace(make_run(), first_zero_std=nan, forecast_zero_std=None)
    keep(tmp_path, file, [failed], monkeypatch)
    Archive(tmp_path, file, "policy-1", 12)._write(unknown)
    later = Archive(tmp_path, file, "policy-1", 12)
    found, broken = later.find("pool", 1e-4, 1), later.find("pool", 4e-4, 3)
    assert found is not None
    assert isnan(found.first_zero_std)
    assert found.forecast_zero_std is None
    assert broken is not None
    assert not broken.looks
