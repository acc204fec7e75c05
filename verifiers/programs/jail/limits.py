"""What a child may use, set before anything of the candidate's is read, and never raised again."""

from __future__ import annotations

import os
import resource
import signal

from .frames import CONNECTION
from .libc import PR_SET_PDEATHSIG, prctl

MAX_OUTPUT_BYTES = 512 << 10  # what a program with standard output may write, to memory


def keep_only(connection: int) -> None:
    """Close every descriptor but the connection, which becomes `CONNECTION`, and the null device below it."""
    os.dup2(connection, CONNECTION)
    os.closerange(CONNECTION + 1, (1 << 31) - 1)


def lower(cpu_seconds: float, memory_bytes: int) -> None:
    """Lower this process's limits for good. It ends when its parent does.

    The timer counts the CPU time of this process and its default action ends it: the filter refuses every call that
    could change either. RLIMIT_CPU counts whole seconds and stands behind it.
    """
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    whole = int(cpu_seconds) + 2
    for kind, value in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, whole),
        (resource.RLIMIT_FSIZE, MAX_OUTPUT_BYTES),  # no file can be opened: it bounds the output kept in memory
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, CONNECTION + 1),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        resource.setrlimit(kind, (value, value))
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
