"""One candidate's process, seen from the judge: what it says is read frame by frame, and believed in nothing."""

from __future__ import annotations

import json
import marshal
import os
import select
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from learnable.data.errors import LearnableError
from learnable.verifiers.programs.sandbox.jail.codec import LENGTH_BYTES, pack
from learnable.verifiers.programs.sandbox.jail.server import EXIT_REPORT, LEFT, NOT_FORKED, NOT_KILLED

MAX_JOB_BYTES = 16 << 20
MAX_ANSWER_BYTES = 1 << 20
GLANCE_SECONDS = 0.5
SANDBOX_GRACE_SECONDS = 60.0  # beyond what a candidate may take on a machine that has as much else to do

Mode = Literal["calls", "console", "serve", "exam"]
HowEnded = Literal["ended", "killed", "timeout"]
Call = tuple[tuple[Any, ...], dict[str, object], list[tuple[str, tuple[Any, ...]]]]


class SandboxError(LearnableError):
    """The sandbox could not run a program, for no fault of the program's."""


class ViolationError(LearnableError):
    """The process wrote what no honest one writes."""


class FloodError(ViolationError):
    """It wrote more than `MAX_ANSWER_BYTES`."""


@dataclass(frozen=True, slots=True)
class SandboxJob:
    """What one process does: the program and what its mode needs, see `jail.child`.

    `calls` of the function `entry` are `(positional, keywords, wrappers)`, wrappers being the built-ins that an
    answer passes through; `text` is standard input; `units` are the tests of an exam, and `remote` the names that its
    test code takes from the candidate.
    """

    mode: Mode
    source: str
    entry: str = ""
    calls: Sequence[Call] = ()
    text: str = ""
    units: Sequence[str] = ()
    remote: Sequence[str] = ()

    def pack(self) -> bytes:
        """Return the job as bytes for the jail. Raises `LearnableError` where that is more than `MAX_JOB_BYTES`."""
        content = marshal.dumps({field.name: getattr(self, field.name) for field in fields(self)})
        if len(content) > MAX_JOB_BYTES:
            raise LearnableError(f"the inputs of a program are {len(content)} bytes: give {MAX_JOB_BYTES} at most")
        return content


@dataclass(frozen=True, slots=True)
class End:
    """How a process ended, and the CPU seconds it used."""

    how: HowEnded
    cpu_seconds: float


class CandidateProcess:
    """A process that waits for its job. For one thread. It ends when it is closed."""

    def __init__(self, connection: socket.socket, line: socket.socket, cpu_seconds: float) -> None:
        self._connection, self._line = connection, line
        self._cpu_seconds = cpu_seconds
        self._patience = 2 * cpu_seconds + 1 + SANDBOX_GRACE_SECONDS
        self._unread = bytearray()
        self._received = 0
        self._poll = select.poll()
        connection.setblocking(False)

    def __enter__(self) -> CandidateProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection to the process: the server ends it if it still runs."""
        self._connection.close()
        self._line.close()

    def give(self, job: bytes, *, more: bool = False) -> None:
        """Hand over the job. Without `more` nothing else will be sent, and the process that reads on finds the end.

        Raises `SandboxError` when the process takes nothing for too long.
        """
        self._send(len(job).to_bytes(LENGTH_BYTES, "little") + job)
        if not more:
            self._hang_up(self._connection)

    def say(self, frame: list[Any]) -> None:
        """Send a frame. A process that is gone does not get it. Raises `SandboxError` as `give` does."""
        self._send(pack(frame))

    def next_frame(self) -> tuple[str, Any, Any] | None:
        """Return the next frame, or None at the end.

        Raises `ViolationError` for what is no frame, `FloodError` for too much of it, `SandboxError` when it takes
        too long.
        """
        while True:
            payload = self._next_payload()
            if payload is not None:
                return _parse(payload)
            self._wait(self._connection, select.POLLIN)
            try:
                chunk = self._connection.recv(1 << 16)
            except (BlockingIOError, InterruptedError):
                continue
            except ConnectionError:
                return None
            if not chunk:
                return None
            self._received += len(chunk)
            if self._received > MAX_ANSWER_BYTES:
                raise FloodError
            self._unread += chunk

    def await_ready(self) -> None:
        """Return once it is confined, before anything of the candidate's runs. Raises `SandboxError` if it never is."""
        if (frame := self.next_frame()) != ("ready", 0, None):
            how = self.end()
            raise SandboxError(f"a process could not be confined: {frame or how}")

    def end(self) -> End:
        """End the process if it still runs, and say how it ended. Raises `SandboxError` for an end from outside."""
        self._hang_up(self._line)
        self._wait(self._line, select.POLLIN)
        report = self._line.recv(EXIT_REPORT.size)
        if len(report) < EXIT_REPORT.size:
            raise SandboxError("the sandbox's server ended")
        return _read_end(report, self._cpu_seconds)

    def _next_payload(self) -> bytes | None:
        if len(self._unread) < LENGTH_BYTES:
            return None
        size = int.from_bytes(self._unread[:LENGTH_BYTES], "little")
        if size > MAX_ANSWER_BYTES:
            raise FloodError
        if len(self._unread) < LENGTH_BYTES + size:
            return None
        payload = bytes(self._unread[LENGTH_BYTES : LENGTH_BYTES + size])
        del self._unread[: LENGTH_BYTES + size]
        return payload

    def _send(self, content: bytes) -> None:
        message = memoryview(content)
        while message:
            try:
                message = message[self._connection.send(message) :]
            except BlockingIOError:
                self._wait(self._connection, select.POLLOUT)
            except ConnectionError:
                return  # it has ended: reading says so

    def _wait(self, stream: socket.socket, event: int) -> None:
        """Return when the stream is ready.

        Patience is counted in glances and not by the clock: where the whole machine was busy, nobody is late.
        """
        self._poll.register(stream, event)
        ready = self._poll.poll(GLANCE_SECONDS * 1000)
        while not ready and self._patience > 0:
            self._patience -= GLANCE_SECONDS
            ready = self._poll.poll(GLANCE_SECONDS * 1000)
        self._poll.unregister(stream)
        if not ready:
            raise SandboxError("the sandbox gave no answer in time")

    @staticmethod
    def _hang_up(stream: socket.socket) -> None:
        try:
            stream.shutdown(socket.SHUT_WR)
        except OSError:
            return  # the other end is closed already


def _parse(payload: bytes) -> tuple[str, Any, Any]:
    """Read a frame: a list of a name, a number and a value. Raises `ViolationError` for anything else."""
    try:
        frame = json.loads(payload)
    except (ValueError, RecursionError, MemoryError) as error:
        raise ViolationError from error
    if type(frame) is not list or len(frame) != 3 or type(frame[0]) is not str:
        raise ViolationError
    return frame[0], frame[1], frame[2]


def _read_end(report: bytes, limit: float) -> End:
    status, cpu_seconds, why = EXIT_REPORT.unpack(report)
    if why == NOT_FORKED:
        raise SandboxError("the sandbox's server could not start a process")
    if os.WIFEXITED(status):  # with whatever status: the candidate may have chosen it
        return End("ended", cpu_seconds)
    number = os.WTERMSIG(status)
    if number in (signal.SIGPROF, signal.SIGXCPU):
        return End("timeout", cpu_seconds)
    if number != signal.SIGKILL or why == LEFT:
        return End("killed" if number != signal.SIGKILL else "ended", cpu_seconds)
    if why == NOT_KILLED and cpu_seconds >= limit:  # by RLIMIT_CPU
        return End("timeout", cpu_seconds)
    raise SandboxError("a process was killed from outside (out of memory?)")
