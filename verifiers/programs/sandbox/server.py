"""One server of the sandbox, seen from its client: started, asked for a process, and gone."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from dataclasses import dataclass
from typing import IO, Any

from learnable.verifiers.programs.sandbox.jail.server import JOB
from learnable.verifiers.programs.sandbox.ladder import Machine, Rung
from learnable.verifiers.programs.sandbox.process import CandidateProcess, SandboxError
from learnable.verifiers.programs.sandbox.server import ENVIRONMENT, server_command

START_SECONDS = 60.0  # it takes .1 s; a machine may be held up
END_SECONDS = 10.0
MAX_HELLO = 1 << 16
LAST_WORDS = 2000


@dataclass(frozen=True, slots=True)
class Limits:
    """What one candidate may use: processor time, whatever the clock on the wall says, and memory."""

    cpu_seconds: float = 2.0
    memory_bytes: int = 256 << 20


class Server:
    """A running server. Its processes may be asked for by several threads. Raises `SandboxError` where it fails to start."""

    def __init__(self, rung: Rung, machine: Machine) -> None:
        self.owner = os.getpid()
        self._lock = threading.Lock()
        self._spare: tuple[Limits, bool, CandidateProcess] | None = None
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, os.fdopen(os.memfd_create("errors"), "w+b") as errors:
            try:
                command = server_command(rung, theirs.fileno(), machine.bubblewrap)
                self._process = _start(command, theirs.fileno(), errors)
            except OSError as error:
                self._control.close()
                raise SandboxError(f"the sandbox's server cannot be started: {error}") from error
            theirs.close()
            try:
                self.facts = self._hello()
            except (OSError, ValueError) as error:
                self.close()
                errors.seek(0)
                words = errors.read(LAST_WORDS).decode("utf-8", "replace").strip()
                raise SandboxError(f"the sandbox's server did not start: {error} {words}".strip()) from error

    @property
    def pid(self) -> int:
        """Process id of what was started: the server, or bubblewrap around it."""
        return self._process.pid

    def new_process(self, limits: Limits, *, reads: bool = False) -> CandidateProcess:
        """Return a fresh process that waits for its job: the one kept ready, or one made now.

        `reads`: the job is a program with standard input. Raises `OSError` where the server is gone.
        """
        with self._lock:
            spare, self._spare = self._spare, None
        if spare is not None:
            if spare[:2] == (limits, reads):
                return spare[2]
            spare[2].close()
        return self._ask(limits, reads)

    def keep_ready(self, limits: Limits, *, reads: bool = False) -> None:
        """Have a process made for the next job, while this one runs. Raises `OSError` where the server is gone."""
        with self._lock:
            if self._spare is None:
                self._spare = (limits, reads, self._ask(limits, reads))

    def _ask(self, limits: Limits, reads: bool) -> CandidateProcess:
        ours, theirs = socket.socketpair()
        our_line, their_line = socket.socketpair()
        with theirs, their_line:
            try:
                message = JOB.pack(limits.cpu_seconds, limits.memory_bytes, reads)
                socket.send_fds(self._control, [message], [theirs.fileno(), their_line.fileno()])
            except OSError:
                ours.close()
                our_line.close()
                raise
        return CandidateProcess(ours, our_line, limits.cpu_seconds)

    def close(self) -> None:
        """End the server and all its children. A copy of this object in a forked process leaves them alone."""
        self._control.close()
        with self._lock:
            if self._spare is not None:
                self._spare[2].close()
        if self.owner != os.getpid():
            return
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _hello(self) -> dict[str, Any]:
        self._control.settimeout(START_SECONDS)
        content = self._control.recv(MAX_HELLO)
        if not content:
            raise OSError("it ended")
        self._control.settimeout(None)
        facts: dict[str, Any] = json.loads(content)
        return facts


def _start(command: list[str], control_fd: int, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        pass_fds=[control_fd],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        env=ENVIRONMENT,
        cwd="/",
        start_new_session=True,  # Ctrl-C is for the client
    )
