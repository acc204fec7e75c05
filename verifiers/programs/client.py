"""The trusted side of the runner: starts it, asks it, and starts it again when it is gone."""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RUNNER = Path(__file__).with_name("runner.py")
READY = '["ready", true, ""]\n'
GRACE_SECONDS = 10.0  # beyond the job's own wall limit, which the runner keeps


class RunnerError(Exception):
    """The runner could not be started, or failed twice on the same job: no fault of the candidate's."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a candidate ended, and the lines that it says are its answers: not to be trusted."""

    end: str
    answer: str


class Runner:
    """A handle on one runner process, started on first use. May be shared by threads; not carried across a fork."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._lock = threading.Lock()

    def run(self, source: str, entry: str, calls: Sequence[Sequence[Any]], cpu_seconds: float) -> Outcome:
        """Run a program and call `entry` with each of `calls`. Raises `RunnerError`."""
        job = {"source": source, "entry": entry, "calls": calls, "cpu_seconds": cpu_seconds}
        line = json.dumps(job).encode() + b"\n"
        seconds = 2 * cpu_seconds + 1 + GRACE_SECONDS
        with self._lock:
            try:
                return self._ask(line, seconds)
            except (OSError, ValueError):
                self.close()
            try:
                return self._ask(line, seconds)
            except (OSError, ValueError) as error:
                self.close()
                raise RunnerError(f"the program runner failed twice: {error}") from error

    def start(self) -> None:
        """Start the process now rather than at the first job."""
        with self._lock:
            self._running()

    @property
    def pid(self) -> int | None:
        """Process id, or None where none runs."""
        return None if self._process is None else self._process.pid

    def close(self) -> None:
        """End the process, if this process started it."""
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    continue  # an unsent job for a process that is gone

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._owner != os.getpid():
            self._process, self._owner = _start(), os.getpid()
            atexit.register(self.close)
        return self._process

    def _ask(self, line: bytes, seconds: float) -> Outcome:
        process = self._running()
        if process.stdin is None or process.stdout is None:
            raise ValueError("the runner has no pipes")
        process.stdin.write(line)
        process.stdin.flush()
        outcome = json.loads(_read_line(process.stdout.fileno(), time.monotonic() + seconds))
        answer = outcome["answer"]
        if not answer.startswith(READY):  # written before any of the candidate's code runs
            raise OSError(f"the candidate's process could not be limited: {answer[:200] or outcome['end']}")
        return Outcome(outcome["end"], answer.removeprefix(READY))


def _start() -> subprocess.Popen[bytes]:
    # A fixed hash seed makes a program that prints a set answer alike twice. -I would ignore it, hence
    # its parts: no user site, no script folder on the path, no site packages.
    command = [sys.executable, "-s", "-P", "-S", "-B", str(RUNNER)]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PYTHONHASHSEED": "0"},
        cwd="/",
        start_new_session=True,
    )


def _read_line(fd: int, deadline: float) -> bytes:
    line = bytearray()
    while not line.endswith(b"\n"):
        if not select.select([fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise OSError("no answer in time")
        chunk = os.read(fd, 1 << 20)
        if not chunk:
            raise OSError("the process ended")
        line += chunk
    return bytes(line)
