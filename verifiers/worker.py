"""One scoring process and the pipe to it.

The process is a fresh interpreter that gets the caller's `sys.path` and imports nothing of the caller's:
no `__main__` (a script needs no guard), no torch. It ignores SIGINT and has a session of its own, so
Ctrl-C reaches the caller alone, and it ends when the caller does, because its input ends.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import struct
import subprocess
import sys
from collections.abc import Sequence
from typing import IO, Any

from learnable.data.errors import LearnableError
from learnable.data.records import Score
from learnable.verifiers.jobs import ScoreJob, score_one
from learnable.verifiers.registry import find_verifier

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from learnable.verifiers.worker import serve; serve()"
)
_LENGTH = struct.Struct("<Q")


class WorkerDied(Exception):
    """The process ended, or was ended from outside, while it still owed an answer."""


class Worker:
    """A handle on one scoring process, which starts when it is first needed and again after its death."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def load(self, verifier_names: Sequence[str]) -> None:
        """Load the dictionaries of these verifiers. Raises `WorkerDied`."""
        self._ask(list(verifier_names))

    def score(self, jobs: Sequence[ScoreJob]) -> list[Score]:
        """Return one score for each job. Raises `WorkerDied`; the next call then starts another process."""
        scores: list[Score] = self._ask(tuple(jobs))
        return scores

    @property
    def pid(self) -> int | None:
        """Process id, or None where none runs."""
        return None if self._process is None else self._process.pid

    def close(self) -> None:
        """Let the process end by itself."""
        if self._process is not None:
            _pipe(self._process.stdin).close()
            self._process.wait()
            _pipe(self._process.stdout).close()
            self._process = None

    def kill(self) -> None:
        """End the process at once. May be called while another thread waits in `score`."""
        if (process := self._process) is not None:
            process.kill()

    def _ask(self, question: object) -> Any:
        try:
            if self._process is None:
                self._process = _start()
            _send(_pipe(self._process.stdin), question)
            return _receive(_pipe(self._process.stdout))
        except (OSError, EOFError) as error:
            self._forget()
            raise WorkerDied(str(error)) from error

    def _forget(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                _close_quietly(_pipe(stream))


def serve() -> None:
    """Answer questions until input ends. Runs in the worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a verifier prints goes to stderr, never into an answer
    questions = sys.stdin.buffer
    while True:
        try:
            question = _receive(questions)
        except EOFError:
            return
        if isinstance(question, list):
            load_verifiers(question)
            _send(answers, None)
        else:
            _send(answers, [score_one(job) for job in question])


def load_verifiers(names: Sequence[str]) -> None:
    """Import these verifiers and call the `warm_up` of those that have one."""
    for name in names:
        try:
            warm_up = getattr(find_verifier(name), "warm_up", None)
        except LearnableError:
            continue  # scoring reports it, for each completion it costs
        if warm_up is not None:
            warm_up()


def _start() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", _START, json.dumps(sys.path)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True)


def _send(stream: IO[bytes], message: object) -> None:
    payload = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(payload)) + payload)
    stream.flush()


def _receive(stream: IO[bytes]) -> Any:
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        raise EOFError("the pipe ended")
    (length,) = _LENGTH.unpack(header)
    payload = stream.read(length)
    if len(payload) < length:
        raise EOFError("the pipe ended within a message")
    return pickle.loads(payload)


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise ValueError("a worker has both pipes")
    return stream


def _close_quietly(stream: IO[bytes]) -> None:
    try:
        stream.close()
    except OSError:
        return  # unsent bytes for a process that is gone
