"""What a warm command starts is warm too: forked from a twin of the command, which was set aside at its birth.

The twin takes the place of fork and exec, and of nothing else: pipes, files and waiting are `subprocess`'s own. What it
forks becomes a child of the command, in the session and group that a cold start would give. It ends with the command.
"""

from __future__ import annotations

import _posixsubprocess
import ctypes
import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import dropwhile
from typing import Any

MESSAGE_BYTES = 1 << 20
MAX_FILES = 64
NAME = "warm-twin"  # of the process, 15 characters at most
# Beside a training's stages and launchers: servers, scheduled runs, kernels. Sandboxes and pools begin as users' do.
KINDS = re.compile(
    r"-m (learnable\.train\.|tests\.train\.trainers\.|learnable\.flows\.scheduling\.server"
    r"|accelerate\.commands\.launch|torch\.distributed\.run|prefect\.engine|uvicorn .*prefect\.server"
    r"|ipykernel_launcher)"
    r"|-c from multiprocessing\.spawn import spawn_main"
)
HIGH = 512  # no process here has as many open files
_SET_NAME, _SET_CHILD_SUBREAPER = 15, 36
_prctl = ctypes.CDLL(None, use_errno=True).prctl
_all_are_warm = False

Birth = tuple[dict[str, Any], list[int]]  # what a process is to become, and its files


def set_twin_aside(files: Sequence[int]) -> Birth | None:
    """Fork this process's twin, which closes `files`. Return None; where the twin has forked, what that becomes."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        for file in files:
            os.close(file)
        return _fork_what_is_wanted(theirs)
    theirs.close()
    _start_through(ours)
    return None


def place_files(files: Sequence[int], numbers: Sequence[int]) -> None:
    """Give open files the numbers that they are known by."""
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, HIGH) for file in files]
    for file in files:
        os.close(file)
    for file, number in zip(moved, numbers, strict=True):
        os.dup2(file, number)
        os.close(file)


@contextmanager
def all_warm() -> Iterator[None]:
    """Let every Python process that this one starts inside the block be warm."""
    global _all_are_warm
    _all_are_warm = True
    try:
        yield
    finally:
        _all_are_warm = False


def _fork_what_is_wanted(connection: socket.socket) -> Birth:
    _prctl(_SET_NAME, NAME.encode())
    kept = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    while True:
        data, files, _, _ = socket.recv_fds(connection, MESSAGE_BYTES, MAX_FILES)
        if not data:
            os._exit(0)
        reading, writing = os.pipe()
        between = os.fork()
        if between == 0:
            if pid := os.fork():
                os.write(writing, str(pid).encode())
                os._exit(0)  # its child is now the command's
            for file in (reading, writing):
                os.close(file)
            connection.close()
            for number, handler in kept.items():
                signal.signal(number, handler)
            _prctl(_SET_NAME, b"python")
            return json.loads(data), files
        for file in (writing, *files):
            os.close(file)
        os.waitpid(between, 0)
        with suppress(OSError):  # the command has been killed
            connection.send(os.read(reading, 32))
        os.close(reading)


def _start_through(connection: socket.socket) -> None:
    original, lock = _posixsubprocess.fork_exec, threading.Lock()

    def fork_exec(arguments: Sequence[str], *others: Any) -> int:
        typed = leave_flags_out([os.fsdecode(word) for word in arguments])
        if not is_warm(typed):
            return original(arguments, *others)
        with lock:
            _prctl(_SET_CHILD_SUBREAPER, 1)
            request, files = _describe(typed, *others)
            socket.send_fds(connection, [json.dumps(request).encode()], files)
            pid = int(connection.recv(32))
            _prctl(_SET_CHILD_SUBREAPER, 0)
            return pid

    replace_fork_exec(fork_exec)


def replace_fork_exec(fork_exec: Callable[..., int]) -> None:
    """Let `subprocess` and `multiprocessing` start processes by another `_posixsubprocess.fork_exec`."""
    _posixsubprocess.fork_exec = fork_exec
    subprocess._fork_exec = fork_exec  # type: ignore[attr-defined]


def leave_flags_out(arguments: Sequence[str]) -> list[str]:
    """Return a command without the flags that change nothing here.

    `multiprocessing` says `-B` and torchrun `-u`, and the environment says so too. What `-P` keeps out is tested cold.
    """
    program, *rest = arguments
    return [program, *dropwhile(lambda word: word in ("-B", "-P", "-u"), rest)]


def is_warm(arguments: Sequence[str]) -> bool:
    """Whether a command, its flags left out, starts warm."""
    return arguments[0] == sys.executable and (_all_are_warm or KINDS.match(" ".join(arguments[1:])) is not None)


def _describe(arguments: Sequence[str], *others: Any) -> Birth:
    """Return the request and the files for the arguments of `_posixsubprocess.fork_exec`, as Python 3.11 has them."""
    _, _, passed, folder, environment, stdin, _, _, stdout, _, stderr, _, errors, _, session, group, *_ = others
    assert group == -1
    numbers = [0, 1, 2, *(number for number in passed if number != errors)]
    standard = [own if file == -1 else file for own, file in enumerate((stdin, stdout, stderr))]
    given = dict(os.environ)
    if environment is not None:
        given = dict(os.fsdecode(pair).split("=", 1) for pair in environment)
    folder = os.getcwd() if folder is None else os.fsdecode(folder)  # noqa: PTH109 - as `subprocess` takes it
    request = {"arguments": arguments[1:], "cwd": folder, "env": given, "session": session, "numbers": numbers}
    return request, [*standard, *numbers[3:]]
