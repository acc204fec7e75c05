"""One scoring process, seen from its caller, from its start to its end.

The process is a fresh interpreter that gets the caller's `sys.path` and imports nothing of the caller's:
no `__main__` (a script needs no guard), no torch. It ignores SIGINT and has a session of its own, so Ctrl-C
reaches the caller alone, and it can be killed with what its verifiers have started. It ends when its caller does.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from operator import attrgetter

from learnable.data.errors import LearnableError
from learnable.data.records import Score
from learnable.verifiers.own.trust import trusted_names
from learnable.verifiers.pool.channel import Channel, DeadlineError, DisconnectedError
from learnable.verifiers.pool.jobs import ScoreJob
from learnable.verifiers.registry import known_version

LOAD_SECONDS = 120.0  # to start, import a verifier and load its dictionaries: no part of a completion's time
END_SECONDS = 10.0  # to end by itself, and then to be gone once killed

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from learnable.verifiers.pool.serving import serve; serve(int(sys.argv[2]))"
)
_JOB_FIELDS = attrgetter(*(field.name for field in fields(ScoreJob)))


class WorkerError(LearnableError):
    """The process is of no more use. `how` says what it did, e.g. "exited with status 3"."""

    def __init__(self, how: str) -> None:
        super().__init__(f"the scoring process {how}")
        self.how = how


class WorkerDiedError(WorkerError):
    """It ended before it gave an answer, or could not be started."""


class TimeLimitError(WorkerError):
    """It gave no score within `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"gave no score within {seconds:g} s")
        self.seconds = seconds


class LoadingError(WorkerError):
    """It died or hung while it loaded `verifier`."""

    def __init__(self, verifier: str, how: str) -> None:
        super().__init__(how)
        self.verifier = verifier


class Worker:
    """A running scoring process. It is for one thread; only `kill` may be called from another.

    The thread that makes it must live as long as the worker is wanted (see `serving`). After an exception it can only
    be ended: what it still sends would be taken for the answer to another question. Raises `WorkerDiedError` where the
    process does not start.
    """

    def __init__(self) -> None:
        command = [sys.executable, "-P", "-c", _START, json.dumps(sys.path), str(os.getpid())]
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(command, bufsize=0, stdin=pipe, stdout=pipe, start_new_session=True)
        except OSError as error:
            raise WorkerDiedError(f"could not be started ({error})") from error
        self._channel = Channel(self._process)
        self._limits: dict[str, float] = {}  # of the verifiers it has loaded
        self.in_groups: set[str] = set()  # those of them that judge the completions of a prompt in one call
        self._lock = threading.Lock()
        self._ended = False

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def load(self, verifier_names: Sequence[str]) -> None:
        """Load these verifiers and their dictionaries. Raises `WorkerError`."""
        self._send(list(verifier_names))
        for name in verifier_names:
            self._await_loading(name)

    def score(self, jobs: Sequence[ScoreJob], time_limit: float | None, *, singly: bool = False) -> Iterator[Score]:
        """Yield one score for each job as it comes. Raises `WorkerError` about the first job without one.

        `time_limit` is in seconds for each completion; None takes what its verifier declares. A call that judges
        several has no more, unless each is judged `singly`.
        """
        self._send([_JOB_FIELDS(job) for job in jobs], singly=singly)
        for job in jobs:
            declared = self._await_loading(job.verifier)
            limit = declared if time_limit is None else time_limit
            try:
                answer = self._channel.receive(limit)
            except DeadlineError as late:
                raise TimeLimitError(limit) from late
            except DisconnectedError as end:
                raise self._death() from end
            yield Score(*answer)

    def close(self) -> None:
        """Let the process end by itself, and kill it where it does not."""
        self._channel.end_questions()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        self.end()

    def kill(self) -> None:
        """Kill the process, and with it the children that verifiers left in its process group."""
        with self._lock:
            if not self._ended:  # else its number may be another's by now
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill the process, and close its pipes."""
        self.kill()
        with suppress(subprocess.TimeoutExpired):  # stuck in the kernel: it goes when that lets go of it
            self._process.wait(END_SECONDS)
        with self._lock:
            self._ended = True
        self._channel.close()

    def _send(self, items: Sequence[object], *, singly: bool = False) -> None:
        try:
            self._channel.send((items, singly, trusted_names()), LOAD_SECONDS)
        except DeadlineError as late:
            raise WorkerDiedError(f"took no question within {LOAD_SECONDS:g} s") from late
        except DisconnectedError as end:
            raise self._death() from end

    def _await_loading(self, verifier: str) -> float:
        if verifier not in self._limits:
            try:
                limit, version, in_groups = self._channel.receive(LOAD_SECONDS)
            except DeadlineError as late:
                raise LoadingError(verifier, f"did not load it within {LOAD_SECONDS:g} s") from late
            except DisconnectedError as end:
                raise LoadingError(verifier, self._death().how) from end
            if version and (known := known_version(verifier)) not in (None, version):
                raise LoadingError(verifier, f"found it edited since the run began (version {version}, not {known})")
            self._limits[verifier] = limit
            if in_groups:
                self.in_groups.add(verifier)
        return self._limits[verifier]

    def _death(self) -> WorkerDiedError:
        try:
            status = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return WorkerDiedError("closed its pipe")
        return WorkerDiedError(f"was killed by signal {-status}" if status < 0 else f"exited with status {status}")
