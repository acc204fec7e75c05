"""Questions to a scoring process and its answers, with a deadline on every wait."""

from __future__ import annotations

import os
import pickle
import select
import struct
import subprocess
import time
from typing import IO, Any

from learnable.data.errors import LearnableError

LENGTH = struct.Struct("<Q")  # comes before each answer
GLANCE_SECONDS = 1.0  # between looks whether a silent process lives: a child it forked may hold the pipe open


class DeadlineError(LearnableError):
    """The process did not answer, or take a question, within its seconds."""


class DisconnectedError(LearnableError):
    """The process has ended, or its end of a pipe is closed, and all that it sent has been read."""


class Channel:
    """The caller's ends of a process's standard input and output."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._questions = _Pipe(process.stdin, select.POLLOUT)
        self._answers = _Pipe(process.stdout, select.POLLIN)
        self._unread = bytearray()

    def send(self, question: object, seconds: float) -> None:
        """Hand over a question within so many seconds. Raises `DeadlineError` or `DisconnectedError`."""
        message = memoryview(pickle.dumps(question, protocol=pickle.HIGHEST_PROTOCOL))
        deadline = time.monotonic() + seconds
        try:
            while message:
                self._wait(self._questions, deadline)
                message = message[os.write(self._questions.fd, message) :]
        except BrokenPipeError as error:
            raise DisconnectedError from error

    def receive(self, seconds: float) -> Any:
        """Return the next answer, if it comes within so many seconds. Raises `DeadlineError` or `DisconnectedError`."""
        deadline = time.monotonic() + seconds
        while (payload := self._next_payload()) is None:
            self._wait(self._answers, deadline)
            chunk = os.read(self._answers.fd, 1 << 16)
            if not chunk:
                raise DisconnectedError
            self._unread += chunk
        return pickle.loads(payload)

    def end_questions(self) -> None:
        """Tell the process that there are no more questions."""
        self._questions.stream.close()

    def close(self) -> None:
        """Close both pipes."""
        self._questions.stream.close()
        self._answers.stream.close()

    def _next_payload(self) -> bytes | None:
        if len(self._unread) < LENGTH.size:
            return None
        end = LENGTH.size + LENGTH.unpack_from(self._unread)[0]
        if len(self._unread) < end:
            return None
        payload = bytes(self._unread[LENGTH.size : end])
        del self._unread[:end]
        return payload

    def _wait(self, pipe: _Pipe, deadline: float) -> None:
        """Return when the pipe is ready.

        What is there counts even after the deadline: a caller that was kept from reading blames no completion for it.
        """
        while True:
            left = deadline - time.monotonic()
            if pipe.ready(max(0.0, min(left, GLANCE_SECONDS))):
                return
            if self._process.poll() is not None and not pipe.ready(0.0):
                raise DisconnectedError
            if left <= 0.0:
                raise DeadlineError


class _Pipe:
    """One end of a pipe, never waited for without a bound."""

    def __init__(self, stream: IO[bytes] | None, event: int) -> None:
        if stream is None:
            raise ValueError("a scoring process has both pipes")
        self.stream, self.fd = stream, stream.fileno()
        os.set_blocking(self.fd, False)
        self._poll = select.poll()  # select.select refuses the high descriptors that a large caller has
        self._poll.register(self.fd, event)

    def ready(self, seconds: float) -> bool:
        """Wait until there is something to read, room to write, or nobody at the other end."""
        return bool(self._poll.poll(seconds * 1000.0))
