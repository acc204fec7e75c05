"""How much this machine can offer: the rungs of the ladder, from namespaces down to nothing."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from enum import StrEnum

from learnable.data.errors import LearnableError
from learnable.verifiers.programs.sandbox.jail import landlock, seccomp
from learnable.verifiers.programs.sandbox.jail.libc import ARCHITECTURE


class NoSandboxError(LearnableError):
    """This machine cannot confine programs as strictly as the caller wants."""


class Rung(StrEnum):
    """What confines a candidate. A and B are as strong against all that we know; A has one more layer.

    D is taken only where the caller names it: it runs a part of Python alone.
    """

    A = "A"
    B = "B"
    C = "C"
    D = "D"
    E = "E"


MEANING = {
    Rung.A: "namespaces (bubblewrap), Landlock and seccomp",
    Rung.B: "Landlock and seccomp, without namespaces",
    Rung.C: "seccomp alone, without Landlock",
    Rung.D: "a subset of Python in an interpreter that has nothing to give (pydantic-monty)",
    Rung.E: "limits on time and memory alone: no sandbox",
}
STRICT = (Rung.A, Rung.B)


@dataclass(frozen=True, slots=True)
class Machine:
    """What can be seen without trying: whether each layer is there at all."""

    system: str
    machine: str
    seccomp: bool
    landlock: int
    bubblewrap: str | None
    root: bool

    @property
    def rungs(self) -> list[Rung]:
        """The rungs that may be reached, best first, without E."""
        if self.system != "linux" or not self.seccomp:
            return []
        if not self.landlock:
            return [Rung.C]
        return [Rung.A, Rung.B] if self.bubblewrap else [Rung.B]

    @property
    def advice(self) -> list[str]:
        """What to install or change to reach a better rung, the best advice last."""
        if self.system != "linux":
            return [
                "candidates need Linux: use a Linux machine, container or virtual machine, or choose a subset of "
                "Python (LEARNABLE_SANDBOX=subset, with the extra 'monty')"
            ]
        if self.machine not in seccomp.ARCHITECTURES:
            return [f"no table of system calls for {self.machine}: use {' or '.join(seccomp.ARCHITECTURES)}"]
        steps = []
        if not self.seccomp:
            steps.append("use a kernel or a container profile that allows seccomp filters")
        if not self.landlock:
            steps.append("use Linux 5.13 or later with Landlock among the LSMs, and a container profile that allows it")
        if self.bubblewrap is None:
            steps.append("install bubblewrap (Debian, Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap)")
        return steps


def look_at_machine() -> Machine:
    """Return what this machine has."""
    linux = sys.platform == "linux"
    return Machine(
        system=sys.platform,
        machine=ARCHITECTURE,
        seccomp=linux and seccomp.is_supported(),
        landlock=landlock.find_version() if linux else 0,
        bubblewrap=shutil.which("bwrap") if linux else None,
        root=linux and os.getuid() == 0,
    )
