"""Waits with a bound, and whether a process still runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

BOUND = 60.0  # on every wait, in seconds


def wait_for(happened: Callable[[], bool]) -> None:
    """Wait until it has happened."""
    deadline = time.monotonic() + BOUND
    while not happened():
        assert time.monotonic() < deadline, "it has not happened"
        time.sleep(0.05)


def has_ended(pid: int) -> bool:
    """Say whether a process has ended. A zombie has."""
    try:
        os.kill(pid, 0)
        if not Path("/proc/self/stat").exists():
            return False
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True
