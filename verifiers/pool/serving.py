"""What a scoring process does: load verifiers, score one job after the other, and answer each at once."""

from __future__ import annotations

import ctypes
import os
import pickle
import resource
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from learnable.verifiers.own.trust import trust
from learnable.verifiers.pool.channel import LENGTH
from learnable.verifiers.pool.jobs import ScoreJob, score_jobs, split_jobs, takes_groups
from learnable.verifiers.protocol import DEFAULT_TIME_LIMIT, verifier_memory_limit, verifier_time_limit
from learnable.verifiers.registry import find_verifier

PR_SET_PDEATHSIG = 1


def serve(caller: int) -> None:
    """Answer questions until input ends. Runs in the scoring process; `caller` is the process that started it.

    A question is a list of the names of verifiers to load, or of the fields of jobs, whether each job is to be judged
    by itself, and the judges that the caller's user trusts. For the first item that needs a verifier, the answer is its
    time limit, its version and whether it takes groups, when it is loaded; then for a job its score. One message each,
    never held back: the caller takes the first job without an answer for the one that hangs or kills.
    """
    _end_with(caller)
    _be_first_to_go()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    questions, answers = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # a verifier that reads input finds none, and takes no question
    os.dup2(2, 1)  # whatever a verifier prints goes to stderr, never into an answer
    loaded: dict[str, int | None] = {}  # by name, the bytes that a completion may take
    with os.fdopen(questions, "rb") as stream:
        while True:
            try:
                items, singly, trusted = pickle.load(stream)
            except (EOFError, pickle.UnpicklingError):
                return  # the caller has closed the pipe, or ended in the middle of a question
            for name in trusted:
                trust(name)
            names = [item for item in items if isinstance(item, str)]
            for name in names:
                _load(answers, name, loaded)
            for part in split_jobs((ScoreJob(*item) for item in items[len(names) :]), singly=singly):
                _score(answers, part, loaded)


def load_verifier(name: str) -> tuple[float, str]:
    """Import a verifier, call its `warm_up` if it has one, and return its time limit in seconds and its version.

    Raises nothing: scoring meets the same fault, and reports it for each completion it costs.
    """
    limit, version = DEFAULT_TIME_LIMIT, ""
    with suppress(Exception):
        verifier = find_verifier(name)
        limit, version = verifier_time_limit(verifier), verifier.version
        warm_up = getattr(verifier, "warm_up", None)
        if warm_up is not None:
            warm_up()
    return limit, version


def _load(answers: int, name: str, loaded: dict[str, int | None]) -> None:
    if name not in loaded:
        loaded[name] = None
        _send(answers, (*load_verifier(name), takes_groups(name)))
        with suppress(Exception):  # scoring meets the same fault
            loaded[name] = verifier_memory_limit(find_verifier(name))


def _score(answers: int, jobs: Sequence[ScoreJob], loaded: dict[str, int | None]) -> None:
    name = jobs[0].verifier
    _load(answers, name, loaded)
    with bounded_memory(loaded[name]):
        scores = score_jobs(jobs)
    for score in scores:
        _send(answers, (score.reward, score.passed, score.components, score.verdict, score.reason))


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


def _send(pipe: int, answer: object) -> None:
    payload = pickle.dumps(answer, protocol=pickle.HIGHEST_PROTOCOL)
    message = memoryview(LENGTH.pack(len(payload)) + payload)
    while message:  # a signal that a verifier has asked for may cut a write short
        message = message[os.write(pipe, message) :]


def _end_with(caller: int) -> None:
    """Let the kernel kill this process when its caller ends, even while a verifier hangs.

    It does so when the *thread* that started the process ends. Elsewhere than on Linux the process ends when it next
    reads a question.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # a C library without prctl
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    if os.getppid() != caller:
        os._exit(0)  # it had ended before it could be watched


def _be_first_to_go() -> None:
    """Where memory runs out, be what the kernel kills, with all that verifiers start: the engine costs more."""
    score = Path("/proc/self/oom_score_adj")
    with suppress(OSError):  # not Linux, or not allowed
        if score.exists():
            score.write_text("1000", encoding="ascii")
