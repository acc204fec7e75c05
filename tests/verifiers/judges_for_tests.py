"""Verifiers that misbehave, for workers to import by name."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from learnable.data.records import Score, Spec

CHUNK = 8 << 20
MAX_CHUNKS = 64  # half a GiB: where no limit stops it, a test fails and the machine lives


@dataclass(frozen=True)
class Misbehaving:
    """Does what the completion says."""

    name: str = "misbehaving"
    version: str = "1"

    def check_spec(self, spec: Spec) -> None:
        """Accept anything."""

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        if completion in TOLD:
            return Score(1.0, True, reason=TOLD[completion]())
        if completion in ACTS:
            ACTS[completion](prompt)
            return Score(1.0, True)
        found: Score = ODD[completion] if completion in ODD else Score(float(completion), True)
        return found


@dataclass(frozen=True)
class Impatient(Misbehaving):
    """Declares a short time limit."""

    time_limit: float = 1.0


@dataclass(frozen=True)
class NoLimit(Misbehaving):
    """Declares a time limit that is none."""

    time_limit: float = float("nan")


class SlowToLoad(Impatient):
    """Takes longer to load than it may take to score."""

    def warm_up(self) -> None:
        time.sleep(2.5)


class NeverLoads(Misbehaving):
    """Hangs when loaded."""

    def warm_up(self) -> None:
        time.sleep(600)


class DiesLoading(Misbehaving):
    """Ends the process when loaded, until the file that LOADABLE names is there."""

    def warm_up(self) -> None:
        if not Path(os.environ["LOADABLE"]).exists():
            os._exit(4)


def out_of_ink(prompt: str) -> None:
    raise RuntimeError("out of ink")


def die(prompt: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(prompt: str) -> None:
    """Die unless the file named by the prompt says that it has happened."""
    if not Path(prompt).exists():
        Path(prompt).write_text("died", encoding="utf-8")
        die(prompt)


def die_then_exit(prompt: str) -> None:
    die_once(prompt)
    sys.exit(3)


def mark(prompt: str) -> None:
    """Add a letter to the file named by the prompt."""
    with Path(prompt).open("a", encoding="utf-8") as file:
        file.write("x")


def hang(prompt: str) -> None:
    """Backtrack without end, in C, where no other thread and no signal handler gets a turn."""
    if prompt:
        Path(prompt).write_text(str(os.getpid()), encoding="utf-8")
    re.match("(a|a)+$", "a" * 64 + "b")


def hang_with_child(prompt: str) -> None:
    child = subprocess.Popen(["sleep", "600"])
    Path(prompt).write_text(str(child.pid), encoding="utf-8")
    child.wait()


def fork_and_die(prompt: str) -> None:
    """Leave a child behind that holds every pipe of the process open."""
    child = os.fork()
    if child == 0:
        time.sleep(600)
        os._exit(0)
    Path(prompt).write_text(str(child), encoding="utf-8")
    die(prompt)


def linger(prompt: str) -> None:
    """Start a thread that Python waits for when it ends."""
    threading.Thread(target=time.sleep, args=(600,)).start()


def ask_for_alarms(prompt: str) -> None:
    """Have a signal handler called a thousand times a second, and go on."""
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)


def eat(prompt: str) -> None:
    """Join the control group that the prompt names, and take more memory than it allows."""
    Path(prompt, "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
    meal = [b"\1" * CHUNK for _ in range(MAX_CHUNKS)]
    raise RuntimeError(f"{len(meal) * CHUNK} bytes, and nothing happened")


TOLD: dict[str, Callable[[], str]] = {
    "modules": lambda: " ".join(sys.modules),
    "pid": lambda: str(os.getpid()),
    "oom_score_adj": lambda: Path("/proc/self/oom_score_adj").read_text(encoding="ascii").strip(),
    "long": lambda: "long " * 200_000,
}
ACTS: dict[str, Callable[[str], object]] = {
    "raise": out_of_ink,
    "die": die,
    "die once": die_once,
    "die then exit": die_then_exit,
    "exit": lambda prompt: sys.exit(3),
    "print": lambda prompt: print("noise on standard output", flush=True),
    "input": lambda prompt: input(),
    "mark": mark,
    "hang": hang,
    "hang with child": hang_with_child,
    "fork and die": fork_and_die,
    "linger": linger,
    "eat": eat,
    "alarms": ask_for_alarms,
}
ODD: dict[str, Any] = {
    "None": None,
    "blank": Score(None, None),
    "text": Score("0.5", True),  # type: ignore[arg-type]
    "object": Score(1.0, True, {"part": object()}),  # type: ignore[dict-item]
    "verdict": Score(1.0, True, verdict="great"),  # type: ignore[arg-type]
}
