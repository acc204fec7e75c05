"""What a child may use, set before anything of the candidate's is read, and never raised again."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct

from .codec import CONNECTION
from .libc import ARCHITECTURE, PR_SET_PDEATHSIG, prctl, syscall

TIMER_CREATE, TIMER_SETTIME = {"x86_64": (222, 223), "aarch64": (107, 110)}.get(ARCHITECTURE, (0, 0))
PROCESS_CPU_CLOCK, SIGEV_SIGNAL = 2, 0
MAX_OUTPUT_BYTES = 512 << 10  # what a program with standard output may write, to memory


def keep_only(connection: int) -> None:
    """Close every descriptor but the connection, which becomes `CONNECTION`, and the null device below it."""
    os.dup2(connection, CONNECTION)
    os.closerange(CONNECTION + 1, (1 << 31) - 1)


def lower_for_all() -> None:
    """Lower what the server itself does not need, for good: its children inherit it."""
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE):
        resource.setrlimit(kind, (0, 0))


class Lowering:
    """The limits of a child, made ready by the server: what a child writes, even to make a number, is a page copied."""

    def __init__(self, cpu_seconds: float, memory_bytes: int) -> None:
        self._cpu_seconds = cpu_seconds
        self._limits = [
            (kind, (value, value))
            for kind, value in (
                (resource.RLIMIT_AS, memory_bytes),
                (resource.RLIMIT_CPU, int(cpu_seconds) + 2),  # counts whole seconds, and stands behind the timer
                (resource.RLIMIT_FSIZE, MAX_OUTPUT_BYTES),  # no file can be opened: it bounds the output kept in memory
                (resource.RLIMIT_NOFILE, CONNECTION + 1),
                (resource.RLIMIT_NPROC, 0),
            )
        ]
        whole, part = divmod(round(cpu_seconds * 1e9), 10**9)
        self._start = ctypes.create_string_buffer(struct.pack("4q", 0, 0, whole, part), 32)
        self._event = ctypes.create_string_buffer(struct.pack("Qii", 0, signal.SIGPROF, SIGEV_SIGNAL), 64)
        self._timer = ctypes.create_string_buffer(8)

    def apply(self) -> None:
        """Lower this process's limits for good. It ends when its parent does. Raises `OSError`."""
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        for kind, values in self._limits:
            resource.setrlimit(kind, values)
        self._end_in_time()

    def _end_in_time(self) -> None:
        """Let the kernel end this process once it has computed for so long. The filter refuses every call against that.

        ITIMER_PROF would count whole ticks, and on a busy machine ends programs at three quarters of their time.
        """
        if not TIMER_CREATE:
            signal.setitimer(signal.ITIMER_PROF, self._cpu_seconds)
            return
        syscall(TIMER_CREATE, PROCESS_CPU_CLOCK, self._event, self._timer)
        syscall(TIMER_SETTIME, int.from_bytes(self._timer.raw[:4], "little"), 0, self._start, None)
