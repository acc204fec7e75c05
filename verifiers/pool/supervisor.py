"""Keeps one scoring process: starts it, ends it, and gives every job a score, whatever becomes of the process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import takewhile
from typing import Protocol

from learnable.data.records import Score
from learnable.verifiers.pool.jobs import ScoreJob, time_out_score
from learnable.verifiers.pool.worker import (
    LoadedVerifier,
    LoadingError,
    TimeLimitError,
    Worker,
    WorkerDiedError,
    WorkerError,
)

OnScore = Callable[[ScoreJob, Score], None]
RELOAD_SECONDS = 600.0  # before a verifier that could not be loaded is loaded again


class AnySupervisor(Protocol):
    """What a pool asks of a supervisor, wherever its process stands: see `Supervisor`."""

    def load(self, verifier_names: Sequence[str]) -> object:
        """Load these verifiers ahead of time."""

    def score(self, jobs: Sequence[ScoreJob], on_score: OnScore) -> list[Score]:
        """Return one score for each job."""

    def close(self) -> None:
        """Let the process end by itself."""

    def kill(self) -> None:
        """End it at once."""


class Supervisor:
    """Keeps one worker, which starts when it is first needed and again after its end, and gives every job a score.

    `time_limit` is in seconds for each completion; None takes what its verifier declares.
    """

    def __init__(self, time_limit: float | None) -> None:
        self._time_limit = time_limit
        self._worker: Worker | None = None
        self._unloadable: dict[str, tuple[float, str]] = {}  # until when, and why
        self._singly: set[str] = set()  # verifiers that hung or died on several completions at once
        self._killed = False
        self._lock = threading.Lock()

    def load(self, verifier_names: Sequence[str]) -> Mapping[str, LoadedVerifier]:
        """Load these verifiers ahead of time, and return what there is to say of them.

        A failure is left to the first job, which meets it again.
        """
        loaded: Mapping[str, LoadedVerifier] = {}
        try:
            with self._running() as worker:
                loaded = worker.loaded
                worker.load(verifier_names)
        except LoadingError as failure:
            return {**loaded, failure.verifier: LoadedVerifier(fault=f"the scoring process {failure.how}")}
        except (WorkerError, CancelledError) as failure:
            return {name: LoadedVerifier(fault=str(failure)) for name in verifier_names}
        return loaded

    def score(self, jobs: Sequence[ScoreJob], on_score: OnScore) -> list[Score]:
        """Return one score for each job; `on_score` sees each as it comes. Raises `CancelledError` once killed."""
        scores: list[Score] = []

        def take(score: Score) -> None:
            scores.append(score)
            on_score(jobs[len(scores) - 1], score)

        while len(scores) < len(jobs):
            self._score_next(jobs[len(scores) :], take)
        return scores

    def score_first(self, jobs: Sequence[ScoreJob]) -> list[Score]:
        """Return the scores of the first jobs, at least one: all of them where no process hangs or ends.

        Raises `CancelledError` once killed.
        """
        scores: list[Score] = []
        while not scores:
            self._score_next(jobs, scores.append)
        return scores

    def close(self) -> None:
        """Let the worker end by itself."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def kill(self) -> None:
        """End the worker at once and start no other. May be called while another thread waits in `score`."""
        with self._lock:
            self._killed = True
            if self._worker is not None:
                self._worker.kill()

    def _score_next(self, jobs: Sequence[ScoreJob], take: Callable[[Score], None]) -> None:
        """Hand over the scores of the first jobs: as many as one process gives, and what becomes of the next one."""
        if reason := self._why_not(jobs[0].verifier):
            take(Score.unscored(reason))
            return
        loadable = list(takewhile(lambda job: not self._why_not(job.verifier), jobs))
        done, singly = 0, jobs[0].verifier in self._singly
        loaded: Mapping[str, LoadedVerifier] = {}
        try:
            with self._running() as worker:
                loaded = worker.loaded
                for score in worker.score(loadable, self._time_limit, singly=singly):
                    done += 1
                    take(score)
        except LoadingError as failure:
            if reason := self._load_again(failure):
                take(Score.unscored(reason))
        except (TimeLimitError, WorkerDiedError) as failure:
            job, *others = loadable[done:]
            in_groups = job.verifier in loaded and loaded[job.verifier].in_groups
            if not singly and in_groups and others and others[0].group_key == job.group_key:
                self._singly.add(job.verifier)  # and its jobs come again
            elif isinstance(failure, TimeLimitError):
                take(time_out_score(failure.seconds))
            else:
                take(self._score_again(job, failure))

    def _score_again(self, job: ScoreJob, first: WorkerDiedError) -> Score:
        try:
            with self._running() as worker:
                (score,) = worker.score([job], self._time_limit)
                return score
        except TimeLimitError as late:
            return time_out_score(late.seconds)
        except WorkerError as second:
            return Score.unscored(f"the scoring process {_both(first, second)} on this completion{_guess(second)}")

    def _load_again(self, first: LoadingError) -> str:
        """Return why this verifier cannot be loaded, or nothing if now it can."""
        try:
            with self._running() as worker:
                worker.load([first.verifier])
        except WorkerError as second:
            why = f"{first.verifier} cannot be loaded: the scoring process {_both(first, second)}{_guess(second)}"
            self._unloadable[first.verifier] = (time.monotonic() + RELOAD_SECONDS, why)
            return why
        return ""

    def _why_not(self, verifier: str) -> str:
        until, why = self._unloadable.get(verifier, (0.0, ""))
        return why if time.monotonic() < until else ""

    @contextmanager
    def _running(self) -> Iterator[Worker]:
        """Give a worker that runs. Whatever goes wrong in the block ends it."""
        worker = self._started()
        try:
            yield worker
        except BaseException as error:
            self._worker = None
            worker.end()
            if self._killed:
                raise CancelledError from error
            raise

    def _started(self) -> Worker:
        with self._lock:
            if self._killed:
                raise CancelledError
            if self._worker is not None and not self._worker.alive:  # it ended between two questions: nobody's fault
                self._worker.end()
                self._worker = None
            if self._worker is None:
                self._worker = Worker()
            return self._worker


def supervise_here(workers: int, time_limit: float | None) -> list[AnySupervisor]:
    """Return what keeps so many processes on this machine."""
    return [Supervisor(time_limit) for _ in range(workers)]


def _both(first: WorkerError, second: WorkerError) -> str:
    return f"{first.how} twice" if first.how == second.how else f"{first.how}, then {second.how},"


def _guess(failure: WorkerError) -> str:
    return " (out of memory?)" if failure.how.endswith("signal 9") else ""
