"""A scoring process: its caller's end (`Worker`), and what it does itself (`serve`).

The process is a fresh interpreter that gets the caller's `sys.path` and imports nothing of the caller's:
no `__main__` (a script needs no guard), no torch. It ignores SIGINT and has a session of its own, so Ctrl-C
reaches the caller alone, and it can be killed with what its verifiers have started. It ends when its caller does.

The two speak in pickles over a socket, whose time limit bounds every wait of the caller's
(docs/decisions/035 says why not `multiprocessing`).
"""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from learnable.data.errors import LearnableError
from learnable.data.records import Score
from learnable.verifiers.own.trust import trust, trusted_names
from learnable.verifiers.pool.jobs import ScoreJob, score_jobs, split_jobs, takes_groups
from learnable.verifiers.protocol import (
    DEFAULT_TIME_LIMIT,
    verifier_conditions,
    verifier_memory_limit,
    verifier_notice,
    verifier_time_limit,
)
from learnable.verifiers.registry import find_verifier, known_version

LOAD_SECONDS = 120.0  # to start, import a verifier and load its dictionaries: no part of a completion's time
END_SECONDS = 10.0  # to end by itself, and then to be gone once killed


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


class LoadedVerifier(NamedTuple):
    """What a process says of a verifier that it has loaded.

    `fault` says why it will not judge there, such as a sandbox that does not hold, and is empty where it will. `notice`
    and `conditions` are those of its machine.
    """

    time_limit: float = DEFAULT_TIME_LIMIT
    version: str = ""
    in_groups: bool = False
    notice: str = ""
    conditions: Mapping[str, str] = {}
    fault: str = ""


class Worker:
    """A running scoring process. It is for one thread; only `kill` may be called from another.

    The thread that makes it must live as long as the worker is wanted (see `_end_with`). After an exception it can only
    be ended: what it still sends would be taken for the answer to another question. Raises `WorkerDiedError` where the
    process does not start.
    """

    def __init__(self) -> None:
        start = (
            "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
            "from learnable.verifiers.pool.worker import serve; serve(*map(int, sys.argv[2:]))"
        )
        try:
            self._socket, theirs = socket.socketpair()
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", start, json.dumps(sys.path), str(os.getpid()), str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=2,  # standard error: what a verifier prints
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
        except OSError as error:
            raise WorkerDiedError(f"could not be started ({error})") from error
        self._answers = self._socket.makefile("rb")
        self.loaded: dict[str, LoadedVerifier] = {}
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
        job_fields = attrgetter(*(field.name for field in fields(ScoreJob)))
        self._send([job_fields(job) for job in jobs], singly=singly)
        for job in jobs:
            declared = self._await_loading(job.verifier)
            limit = declared if time_limit is None else time_limit
            try:
                answer = self._receive(limit)
            except TimeoutError as late:
                raise TimeLimitError(limit) from late
            yield Score(*answer)

    def close(self) -> None:
        """Let the process end by itself, and kill it where it does not."""
        with suppress(OSError, subprocess.TimeoutExpired):
            self._socket.shutdown(socket.SHUT_WR)
            self._process.wait(END_SECONDS)
        self.end()

    def kill(self) -> None:
        """Kill the process, and with it the children that verifiers left in its process group."""
        with self._lock:
            if not self._ended:  # else its number may be another's by now
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill the process, and close the socket."""
        self.kill()
        with suppress(subprocess.TimeoutExpired):  # stuck in the kernel: it goes when that lets go of it
            self._process.wait(END_SECONDS)
        with self._lock:
            self._ended = True
        self._answers.close()
        self._socket.close()

    def _send(self, items: Sequence[object], *, singly: bool = False) -> None:
        self._socket.settimeout(LOAD_SECONDS)
        try:
            self._socket.sendall(pickle.dumps((items, singly, trusted_names())))
        except TimeoutError as late:
            raise WorkerDiedError(f"took no question within {LOAD_SECONDS:g} s") from late
        except OSError as end:
            raise self._death() from end

    def _receive(self, seconds: float) -> Any:
        """Return the next answer. Raises `TimeoutError` or `WorkerDiedError`.

        What is there counts even after the deadline: a caller that was kept from reading blames no completion for it.
        """
        seconds = min(seconds, 1e6)  # a socket's limit is 24 days
        if self._socket.gettimeout() != seconds:
            self._socket.settimeout(seconds)
        try:
            return pickle.load(self._answers)
        except TimeoutError:
            raise
        except (EOFError, OSError, pickle.UnpicklingError) as end:
            raise self._death() from end

    def _await_loading(self, verifier: str) -> float:
        if verifier not in self.loaded:
            try:
                loaded = LoadedVerifier(*self._receive(LOAD_SECONDS))
            except TimeoutError as late:
                raise LoadingError(verifier, f"did not load it within {LOAD_SECONDS:g} s") from late
            except WorkerDiedError as end:
                raise LoadingError(verifier, end.how) from end
            version = loaded.version
            if version and (known := known_version(verifier)) not in (None, version):
                raise LoadingError(verifier, f"found it edited since the run began (version {version}, not {known})")
            self.loaded[verifier] = loaded
        return self.loaded[verifier].time_limit

    def _death(self) -> WorkerDiedError:
        try:
            status = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return WorkerDiedError("closed its socket")
        return WorkerDiedError(f"was killed by signal {-status}" if status < 0 else f"exited with status {status}")


def serve(caller: int, descriptor: int) -> None:
    """Answer questions until there are no more. Runs in the scoring process, which `caller` has started.

    A question is a list of the names of verifiers to load, or of the fields of jobs, whether each job is to be judged
    by itself, and the judges that the caller's user trusts. For the first item that needs a verifier, the answer is a
    `LoadedVerifier`, as a tuple, when it is loaded; then for a job its score. One message each, never held back: the
    caller takes the first job without an answer for the one that hangs or kills.
    """
    _end_with(caller)
    _be_first_to_go()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.set_inheritable(descriptor, False)
    os.register_at_fork(after_in_child=lambda: os.close(descriptor))  # else a child of a verifier's hides our end
    loaded: dict[str, int | None] = {}  # by name, the bytes that a completion may take
    with socket.socket(fileno=descriptor) as answers, answers.makefile("rb") as questions:
        while True:
            try:
                items, singly, trusted = pickle.load(questions)
            except (EOFError, OSError, pickle.UnpicklingError):
                return  # the caller has no more, or has ended in the middle of a question
            for name in trusted:
                trust(name)
            names = [item for item in items if isinstance(item, str)]
            for name in names:
                _load(answers, name, loaded)
            for part in split_jobs((ScoreJob(*item) for item in items[len(names) :]), singly=singly):
                _score(answers, part, loaded)


def load_verifier(name: str) -> LoadedVerifier:
    """Import a verifier, call its `warm_up` if it has one, and return what there is to say of it.

    Raises nothing: scoring meets the same fault, and reports it for each completion it costs.
    """
    loaded = LoadedVerifier()
    try:
        verifier = find_verifier(name)
        loaded = LoadedVerifier(verifier_time_limit(verifier), verifier.version, takes_groups(name))
        warm_up = getattr(verifier, "warm_up", None)
        if warm_up is not None:
            warm_up()
        notice, conditions = verifier_notice(verifier), verifier_conditions(verifier)
    except Exception as error:
        return loaded._replace(fault=str(error) or type(error).__name__)
    return loaded._replace(notice=notice, conditions=conditions)


def _load(answers: socket.socket, name: str, loaded: dict[str, int | None]) -> None:
    if name not in loaded:
        loaded[name] = None
        answers.sendall(pickle.dumps(tuple(load_verifier(name))))
        with suppress(Exception):  # scoring meets the same fault
            loaded[name] = verifier_memory_limit(find_verifier(name))


def _score(answers: socket.socket, jobs: Sequence[ScoreJob], loaded: dict[str, int | None]) -> None:
    name = jobs[0].verifier
    _load(answers, name, loaded)
    with bounded_memory(loaded[name]):
        scores = score_jobs(jobs)
    for score in scores:
        answers.sendall(
            pickle.dumps((score.reward, score.passed, score.components, score.verdict, score.reason, score.failure))
        )


@contextmanager
def bounded_memory(size: int | None) -> Iterator[None]:
    """Let the block take so many bytes of address space more than the process has; None sets no bound.

    What needs more gets a `MemoryError`, and the machine its memory back. Without effect where the system knows no
    such limit.
    """
    if size is None:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    try:
        with suppress(OSError, ValueError):
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            bound = pages * resource.getpagesize() + size
            if before[1] == resource.RLIM_INFINITY or bound < before[1]:
                resource.setrlimit(resource.RLIMIT_AS, (bound, before[1]))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _end_with(caller: int) -> None:
    """Let the kernel kill this process when its caller ends, even while a verifier hangs.

    It does so when the *thread* that started the process ends. Elsewhere than on Linux the process ends when it next
    reads a question.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # a C library without prctl
            set_parent_death_signal = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>
            ctypes.CDLL(None).prctl(set_parent_death_signal, ctypes.c_ulong(signal.SIGKILL))
    if os.getppid() != caller:
        os._exit(0)  # it had ended before it could be watched


def _be_first_to_go() -> None:
    """Where memory runs out, be what the kernel kills, with all that verifiers start: the engine costs more."""
    score = Path("/proc/self/oom_score_adj")
    with suppress(OSError):  # not Linux, or not allowed
        if score.exists():
            score.write_text("1000", encoding="ascii")
