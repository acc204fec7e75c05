"""Verifiers that misbehave, for workers to import by name."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from learnable.data.records import Score, Spec


@dataclass(frozen=True)
class Misbehaving:
    """Does what the completion says."""

    name: str = "misbehaving"
    version: str = "1"

    def check_spec(self, spec: Spec) -> None:
        """Accept anything."""

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        answers = {"modules": " ".join(sys.modules), "pid": str(os.getpid())}
        if completion in answers:
            return Score(1.0, True, reason=answers[completion])
        if completion in ACTS:
            ACTS[completion](prompt)
            return Score(1.0, True)
        if completion == "None":
            return None  # type: ignore[return-value]
        return Score(None, None) if completion == "blank" else Score(float(completion), True)


def out_of_ink(prompt: str) -> None:
    raise RuntimeError("out of ink")


def die(prompt: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(prompt: str) -> None:
    """Die unless the file named by the prompt says that it has happened."""
    if not Path(prompt).exists():
        Path(prompt).write_text("died", encoding="utf-8")
        die(prompt)


ACTS = {
    "raise": out_of_ink,
    "die": die,
    "die once": die_once,
    "exit": lambda prompt: sys.exit(3),
    "print": lambda prompt: print("noise on standard output", flush=True),
}
