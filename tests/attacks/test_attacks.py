"""Every hostile program comes to what is expected, on each rung within reach, as root and as an ordinary user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from learnable.verifiers.programs.sandbox.ladder import Rung, look_at_machine
from tests.attacks.ordinary_user import ROOT, run_as_user
from tests.attacks.suites import OWN, SHARED, find_attacks

MACHINE = look_at_machine()
RUNGS = [rung for rung in (Rung.A, Rung.B) if rung in MACHINE.rungs()]

pytestmark = pytest.mark.skipif(not RUNGS, reason="; ".join(MACHINE.advice()) or "no rung within reach")


def test_there_are_attacks_enough() -> None:
    attacks = find_attacks(OWN)
    assert len(attacks) >= 60
    assert len({attack.source for attack in attacks}) == len(attacks)


def test_attacks_do_nothing_outside_the_sandbox() -> None:
    for path in sorted(OWN.glob("[0-9]*.py")):
        text = path.read_text(encoding="utf-8")
        first = next(line for line in text.splitlines() if not line.startswith("#"))
        assert "# mode: make" in text or first == 'if __name__ != "__candidate__":', path


@pytest.mark.parametrize("user", ["root", "ordinary user"])
@pytest.mark.parametrize("rung", [Rung.A, Rung.B])
def test_attacks(rung: Rung, user: str, tmp_path: Path) -> None:
    if rung not in RUNGS:
        pytest.skip(f"rung {rung} is out of reach: {'; '.join(MACHINE.advice())}")
    if user == "root" and os.getuid() != 0:
        pytest.skip("these tests do not run as root")
    if SHARED.is_dir():
        shutil.copytree(SHARED, tmp_path / "shared")
    arguments = ("--rung", str(rung), "--strict")
    if user == "root":
        environment = {**os.environ, "LEARNABLE_ATTACKS": str(tmp_path / "shared")}
        command = [sys.executable, "-m", "tests.attacks.arena", *arguments]
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    else:
        run = run_as_user("tests.attacks.arena", *arguments, workspace=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    report = json.loads(run.stdout.splitlines()[0])
    assert (report["user"] == 0) == (user == "root")
    assert report["uid"] != 0, "the server is still root"
    assert report["rung"] == rung
    assert report["attacks"] >= len(find_attacks(OWN))
    assert "refused" in report["probes"].values()
