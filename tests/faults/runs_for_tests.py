"""Runs of the command line in processes of their own: to be waited for, interrupted, killed."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.warm_starts import Starter, WarmProcess

PATIENCE = 300.0  # seconds, for one run: only one that hangs takes as long
POLL_SECONDS = 0.005
LEARNABLE = ("-m", "learnable")
PAID = (str(Path(__file__).with_name("paid_for_tests.py")),)
SIMULATED = (
    "find", "--engine", "simulated", "--family", "simulated", "--sampling", "fixed", "--no-prefect", "--json",
    "--store", "store",
)  # fmt: skip


class Run:
    """A command under way. Its output goes to files, so nobody need read it for it to go on."""

    def __init__(self, process: WarmProcess, out: Path, err: Path) -> None:
        self.process = process
        self._out, self._err = out, err

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def err(self) -> str:
        return self._err.read_text()

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def report(self) -> dict[str, Any]:
        """What it printed with `--json`."""
        report: dict[str, Any] = json.loads(self.out)
        return report

    @property
    def reused(self) -> int:
        """How many rollouts it says it found in the store."""
        found = re.findall(r"^([\d,]+) rollouts reused", self.err, re.MULTILINE)
        return _number(found[0]) if found else 0

    @property
    def generated(self) -> int:
        """How many rollouts it says it generated, or was about to."""
        found = re.findall(r"^ +[\d,]+/([\d,]+) rollouts", self.err, re.MULTILINE)
        return _number(found[-1]) if found else 0

    @property
    def started_an_engine(self) -> bool:
        return "Starting the engine" in self.err

    def wait_until(self, holds: Callable[[], bool]) -> bool:
        """Wait until it `holds`; return whether it did before the process ended."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            if holds():
                return True
            assert time.monotonic() < end, f"waited for too long:\n{self.err}"
            time.sleep(POLL_SECONDS)
        return holds()

    def wait_for(self, text: str) -> None:
        """Wait until it says `text` on stderr."""
        assert self.wait_until(lambda: text in self.err), f"ended without {text!r}:\n{self.err}"

    def end(self, status: int = 0) -> Run:
        """Wait for its end, and see that it is the one expected."""
        self.process.wait(PATIENCE)
        assert self.process.returncode == status, f"status {self.process.returncode}, not {status}:\n{self.err}"
        assert "Traceback" not in self.err, self.err
        return self

    def send(self, number: signal.Signals) -> None:
        """Signal it and all its children, as a terminal does."""
        if self.process.poll() is None:
            os.killpg(self.pid, number)

    def kill(self) -> None:
        """Kill it without a warning."""
        self.send(signal.SIGKILL)
        self.process.wait(PATIENCE)


@dataclass
class Shell:
    """Starts commands in one folder, with a home and a cache of its own."""

    folder: Path
    starter: Starter
    runs: list[Run] = field(default_factory=list)

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def start(self, *arguments: str, program: Sequence[str] = LEARNABLE, **environment: str) -> Run:
        """Start a command of `learnable`, or of another program that takes the same arguments."""
        output = self.folder / f"run-{len(self.runs)}"
        out, err = output.with_suffix(".out"), output.with_suffix(".err")
        home = {"HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache"), "DO_NOT_TRACK": "1"}
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = self.starter.start(
                [sys.executable, *program, *arguments],
                cwd=self.folder,
                env={**os.environ, **home, **environment},
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        self.runs.append(Run(process, out, err))
        return self.runs[-1]

    def run(self, *arguments: str, status: int = 0, **options: Any) -> Run:
        """Run a command to its end; `options` are those of `start`."""
        return self.start(*arguments, **options).end(status)

    def kill_all(self) -> None:
        for run in self.runs:
            run.kill()


def _number(text: str) -> int:
    return int(text.replace(",", ""))
