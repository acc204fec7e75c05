"""The process that forks a child for each candidate. It holds no answer and reads no job.

It is started by exec with an environment of its own, loads the standard library, gives up every right it does not need,
and takes jobs from a socket: a message of two numbers with two descriptors, the child's connection and a line to report
on. It ends when its client is gone; a child ends when it does, or when its client hangs up.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import random
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from . import landlock, probes, seccomp
from .child import run_child
from .libc import PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, fork, prctl
from .limits import Lowering, lower_for_all

JOB_FORMAT = struct.Struct("<dQ?")  # CPU seconds, memory in bytes, and whether the program reads and prints
EXIT_REPORT = struct.Struct("<idB")  # wait status, CPU seconds, and why the server killed it
NOT_KILLED, LEFT, NOT_FORKED = range(3)
NOBODY = 65_534
HIDDEN_MODULES = ("jail", "ctypes", "_ctypes")
# The standard library that candidates find loaded. Nothing else can be imported: no file can be read.
MODULES = (
    "_strptime abc argparse array ast base64 binascii bisect calendar cmath collections collections.abc colorsys "
    "concurrent.futures contextlib contextvars copy copyreg csv dataclasses datetime decimal difflib encodings.ascii "
    "encodings.idna encodings.latin_1 encodings.utf_16 enum errno fileinput fractions functools getpass glob graphlib "
    "hashlib heapq hmac html inspect io ipaddress itertools json keyword linecache locale logging math mmap numbers "
    "opcode operator os.path pathlib pprint queue random re reprlib sched secrets shlex shutil socket stat statistics "
    "string stringprep struct subprocess sys tempfile textwrap threading time token tokenize traceback types typing "
    "unicodedata unittest uuid warnings weakref zlib zoneinfo"
).split()


@dataclass(slots=True)
class Child:
    """A running candidate, the line to report on, and why it was killed."""

    pid: int
    line: int
    why: int = NOT_KILLED


def main(control_fd: int, options_json: str) -> None:
    """Serve jobs until the client closes its end of the control socket."""
    options = json.loads(options_json)
    control = socket.socket(fileno=control_fd)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(
            "1000", encoding="ascii"
        )  # where memory runs out, this is what the kernel ends: the engine costs more
    null = os.open(os.devnull, os.O_RDWR)
    load_library()
    facts = confine(options["landlock"])
    confine_child = seccomp.Filter().install if options["seccomp"] else lambda: None
    probed = probes.look_around()
    sys.argv[:] = [""]
    for name in [name for name in sys.modules if name.partition(".")[0] in HIDDEN_MODULES]:
        del sys.modules[name]  # no barrier, but no honest program imports them
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.close(null)
    gc.collect()
    gc.disable()
    gc.freeze()
    control.send(json.dumps({**facts, "probes": probed}).encode())
    ForkServer(control, confine_child).serve()


def load_library() -> None:
    """Import `MODULES`, and make chance start from a fixed state, where no seed is given too."""
    for name in MODULES:
        with contextlib.suppress(ImportError):  # an interpreter may be built without one
            importlib.import_module(name)
    random.Random.__init__.__defaults__ = (0,)
    random.Random.seed.__defaults__ = (0, 2)
    random.seed(0)


def confine(with_landlock: bool) -> dict[str, int]:
    """Give up what this process does not need, and return what it has given up."""
    lower_for_all()
    dropped = os.getuid() != 0 or drop_root()
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    version = landlock.restrict() if with_landlock else 0
    prctl(PR_SET_DUMPABLE, 0)
    return {"landlock": version, "uid": os.getuid(), "dropped": dropped, "pid": os.getpid()}


def drop_root() -> bool:
    """Become nobody, for good. Done after the library is loaded: nobody may be unable to read it."""
    try:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    except OSError:
        return False  # the client decides whether that will do
    return True


@lru_cache(maxsize=64)
def prepare_limits(cpu_seconds: float, memory_bytes: int) -> Lowering:
    """Return the limits of a child; most jobs share them."""
    return Lowering(cpu_seconds, memory_bytes)


class ForkServer:
    """Forks children, watches them and reports how they ended."""

    def __init__(self, control: socket.socket, confine_child: Callable[[], None]) -> None:
        self._control = control
        self._confine = confine_child
        self._children: dict[int, Child] = {}  # by the descriptor of the process
        self._lines: dict[int, int] = {}  # from the line to that descriptor
        self._poll = select.poll()
        self._poll.register(control.fileno(), select.POLLIN)

    def serve(self) -> None:
        """Serve until the client is gone. The kernel ends the children then."""
        while True:
            ready = [fd for fd, _ in self._poll.poll()]
            for fd in ready:
                if fd in self._children:
                    self._reap(fd)
                elif fd in self._lines:
                    self._kill(self._lines[fd])
                    self._poll.unregister(fd)
            # Last: its new descriptors may have the numbers of ones that were closed in this very round.
            if self._control.fileno() in ready and not self._take():
                return

    def _take(self) -> bool:
        message, fds, _, _ = socket.recv_fds(self._control, 4096, 2)
        if not message:
            return False
        cpu_seconds, memory_bytes, reads = JOB_FORMAT.unpack(message)
        connection, line = fds
        lower = prepare_limits(cpu_seconds, memory_bytes).apply
        try:
            pid = fork()
        except OSError:
            os.write(line, EXIT_REPORT.pack(0, 0.0, NOT_FORKED))
            os.close(connection)
            os.close(line)
            return True
        if pid == 0:
            run_child(connection, reads, lower, self._confine)
        os.close(connection)
        process = os.pidfd_open(pid)
        self._children[process] = Child(pid, line)
        self._lines[line] = process
        self._poll.register(process, select.POLLIN)
        self._poll.register(line, select.POLLIN)
        return True

    def _reap(self, process: int) -> None:
        child = self._children.pop(process)
        _, status, used = os.wait4(child.pid, 0)
        with contextlib.suppress(KeyError):
            self._poll.unregister(child.line)
        with contextlib.suppress(OSError):  # the client has gone
            os.write(child.line, EXIT_REPORT.pack(status, used.ru_utime + used.ru_stime, child.why))
        del self._lines[child.line]
        self._poll.unregister(process)
        os.close(child.line)
        os.close(process)

    def _kill(self, process: int) -> None:
        self._children[process].why = LEFT
        signal.pidfd_send_signal(process, signal.SIGKILL)
