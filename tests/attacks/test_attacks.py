"""Every hostile program comes to what is expected, on each rung within reach, as root and as an ordinary user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from learnable.verifiers.programs.sandbox.ladder import Rung, look_at_machine
from tests.attacks.ordinary_user import ROOT, run_as_user
from tests.attacks.suites import OWN, SHARED, find_attacks

MACHINE = look_at_machine()
RUNGS = [rung for rung in (Rung.A, Rung.B) if rung in MACHINE.rungs]

pytestmark = pytest.mark.skipif(not RUNGS, reason="; ".join(MACHINE.advice) or "no rung within reach")


def test_there_are_attacks_enough() -> None:
    attacks = find_attacks(OWN)
    assert len(attacks) >= 60
    assert len({attack.source for attack in attacks}) == len(attacks)


def test_attacks_do_nothing_outside_the_sandbox() -> None:
    for path in sorted(OWN.glob("[0-9]*.py")):
        text = path.read_text(encoding="utf-8")
        first = next(line for line in text.splitlines() if not line.startswith("#"))
        assert "# mode: make" in text or first == 'if __name__ != "__candidate__":', path


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, dict[str, Any]]]:
    """Give what all attacks came to under a user, by rung: one process a user, one server a rung."""

    @cache
    def fought(user: str) -> dict[str, dict[str, Any]]:
        workspace = tmp_path_factory.mktemp("arena")
        if SHARED.is_dir():
            shutil.copytree(SHARED, workspace / "shared")
        arguments = [word for rung in RUNGS for word in ("--rung", str(rung))] + ["--strict"]
        if user == "root":
            environment = {**os.environ, "LEARNABLE_ATTACKS": str(workspace / "shared")}
            command = [sys.executable, "-m", "tests.attacks.arena", *arguments]
            run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        else:
            run = run_as_user("tests.attacks.arena", *arguments, workspace=workspace)
        reports = [json.loads(line) for line in run.stdout.splitlines()]
        assert len(reports) == len(RUNGS), run.stdout + run.stderr
        assert run.returncode == any(report["faults"] for report in reports), run.stdout + run.stderr
        return {report["rung"]: report for report in reports}

    return fought


@pytest.mark.parametrize("user", ["root", "ordinary user"])
@pytest.mark.parametrize("rung", [Rung.A, Rung.B])
def test_attacks(arena: Callable[[str], dict[str, dict[str, Any]]], rung: Rung, user: str) -> None:
    if rung not in RUNGS:
        pytest.skip(f"rung {rung} is out of reach: {'; '.join(MACHINE.advice)}")
    if user == "root" and os.getuid() != 0:
        pytest.skip("these tests do not run as root")
    report = arena(user)[rung]
    assert report["faults"] == []
    assert (report["user"] == 0) == (user == "root")
    assert report["uid"] != 0, "the server is still root"
    assert report["attacks"] >= len(find_attacks(OWN))
    assert "refused" in report["probes"].values()
