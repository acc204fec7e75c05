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
        if completion == "raise":
            raise RuntimeError("out of ink")
        if completion == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if completion == "exit":
            sys.exit(3)
        if completion == "die once" and not Path(prompt).exists():
            Path(prompt).write_text("died", encoding="utf-8")
            os.kill(os.getpid(), signal.SIGKILL)
        if completion == "print":
            print("noise on standard output", flush=True)
        if completion == "modules":
            return Score(1.0, True, reason=" ".join(sys.modules))
        if completion == "pid":
            return Score(1.0, True, reason=f"{os.getpid()}")
        if completion == "None":
            return None  # type: ignore[return-value]
        if completion == "blank":
            return Score(None, None)
        return Score(float(completion) if completion[:1] in "-0123456789ni" else 1.0, True)
