"""Commands that start a Prefect server, their descendants, and pipes that somebody may keep open.

They and their descendants start warm or cold: in both ways it is the same processes, related in the same way.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil

from tests.support.warm_starts import Starter
from tests.support.warm_twins import NAME as TWIN

PATIENCE = 480.0  # seconds, for what only a fault makes wait as long


def home_of(folder: Path) -> dict[str, str]:
    """Return an environment whose home, Prefect's too, is in `folder`, and in which no server is configured."""
    home = {"HOME": str(folder), "PREFECT_HOME": str(folder / "prefect"), "DO_NOT_TRACK": "1"}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_API")}
    return {**inherited, "PREFECT_SERVER_ANALYTICS_ENABLED": "false", "PREFECT_RUNNER_POLL_FREQUENCY": "1", **home}


class Command:
    """A command of `learnable` under way, and what it said: all on one pipe, as a shell's `2>&1 |` has it."""

    def __init__(self, starter: Starter | None, folder: Path, *arguments: str, **environment: str) -> None:
        start = partial(subprocess.Popen, stdin=subprocess.DEVNULL) if starter is None else starter.start
        self.pipe, writing = os.pipe()
        self.process = start(
            [sys.executable, *arguments],
            cwd=folder,
            env={**home_of(folder), "PYTHONUNBUFFERED": "1", **environment},
            stdout=writing,
            stderr=writing,
            start_new_session=True,
        )
        os.close(writing)
        self.said = ""
        self.seen: list[psutil.Process] = []
        self._reader = threading.Thread(target=self._read, daemon=True)  # always: a full pipe would stop the command
        self._reader.start()

    @property
    def ended(self) -> bool:
        """Whether everyone has closed the pipe."""
        return not self._reader.is_alive()

    def listen(self, enough: Callable[[], bool]) -> bool:
        """Wait until what was said is `enough` or everyone has closed the pipe; return whether it was enough."""
        end = time.monotonic() + PATIENCE
        while not (is_enough := enough()) and not self.ended:
            assert time.monotonic() < end, f"waited for too long:\n{self.said}"
            time.sleep(0.05)
        return is_enough or enough()

    def wait_for(self, text: str, times: int = 1) -> None:
        """Wait until it says `text`."""
        assert self.listen(lambda: self.said.count(text) >= times), f"ended without {text!r}:\n{self.said}"

    def family(self) -> list[psutil.Process]:
        """Return it and all its descendants, as they are now, but for those that only start others warm."""
        own = psutil.Process(self.process.pid)
        self.seen = [own, *own.children(recursive=True)]
        return [process for process in self.seen if not is_twin(process)]

    def _read(self) -> None:
        while data := os.read(self.pipe, 65536):
            self.said += data.decode(errors="replace")

    def close(self) -> None:
        """End it and its descendants, whatever they are doing."""
        if self.process.poll() is None:
            with suppress(psutil.NoSuchProcess):  # it may end this moment
                self.family()
        for process in self.seen:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.wait()
        self._reader.join(PATIENCE)
        os.close(self.pipe)


def is_twin(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.name() == TWIN
    return False


def still_alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Wait for the ends of processes; return those that did not come."""
    _, alive = psutil.wait_procs(processes, timeout=30)
    return [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]
