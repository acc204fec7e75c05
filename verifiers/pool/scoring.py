"""Scoring of many completions in worker processes, while an engine fills the caller's own process.

    with ScoringPool(workers=2) as pool:
        pool.warm_up(["poetry"])
        scores = pool.submit(jobs)  # at once; scores.result() waits

The caller may hold a vLLM engine and torch's threads, so workers are never forked from it: each is a
fresh interpreter that imports the verifiers and nothing else (see `worker`).

A completion that reaches its time limit is given up: another try would take as long again. One on which the process
died is tried once more, alone in a fresh process, since what killed the first may have come from outside. Where either
happens while several completions are judged in one call, nobody knows on which: from there on that verifier judges
each by itself. A verifier that cannot be loaded twice is left alone for a while, so that it costs its completions and
not the whole run's time.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import takewhile
from types import TracebackType
from typing import Self

from learnable.data.records import Score
from learnable.verifiers.pool.jobs import ScoreJob, score_jobs, score_one, split_jobs, time_out_score
from learnable.verifiers.pool.worker import (
    LoadingError,
    TimeLimitError,
    Worker,
    WorkerDiedError,
    WorkerError,
    load_verifier,
)

__all__ = ["OnScore", "ScoreJob", "ScoringPool", "score_one"]

OnScore = Callable[[ScoreJob, Score], None]
RELOAD_SECONDS = 600.0  # before a verifier that could not be loaded is loaded again
MAX_SHARD = 32  # jobs a worker takes at once: small enough that all workers finish together


class ScoringPool:
    """Scores batches in `workers` processes, which start on the first call; 0 scores in the caller's thread.

    A completion whose verifier hangs, or kills its process twice, goes unscored, and its neighbours keep their scores.
    `time_limit` is in seconds for each completion, in place of what verifiers declare (see `verifier_time_limit`);
    loading a verifier has a longer one of its own. In the caller's thread there is no limit and no second try: a
    verifier that hangs there hangs the caller.

    `on_score` sees each score as it comes, one at a time, in a thread of the pool's. What it raises ends the scoring:
    every batch that is not done raises it too, at once.

    Leaving the `with` block waits for what was submitted; leaving it by an exception cancels it.
    """

    def __init__(self, workers: int, time_limit: float | None = None, on_score: OnScore | None = None) -> None:
        if workers < 0:
            raise ValueError(f"workers is {workers}: give 0 for the caller's own thread, or more")
        if time_limit is not None and not 0 < time_limit < math.inf:
            raise ValueError(f"time_limit is {time_limit}: give seconds, more than 0, or None for the verifiers' own")
        self._shards: queue.SimpleQueue[_Shard | None] = queue.SimpleQueue()
        self._supervisors = [Supervisor(time_limit) for _ in range(workers)]
        self._threads: list[threading.Thread] = []
        self._on_score = on_score
        self._seeing = threading.Lock()
        self._failure: Exception | None = None
        self._open: dict[Future[list[Score]], _Batch] = {}
        self._closing = False
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed, self._closing = True, kind is not None
        if self._closing:
            for supervisor in self._supervisors:
                supervisor.kill()
        for _ in self._threads:
            self._shards.put(None)
        for thread in self._threads:
            thread.join()

    def warm_up(self, verifier_names: Iterable[str]) -> None:
        """Start the workers and let each load these verifiers' dictionaries, in the background.

        Call it before the first `submit`; workers that run already load what they need when they need it.
        """
        names = sorted(set(verifier_names))
        if not self._supervisors:
            for name in names:
                load_verifier(name)
        self._start(names)

    def submit(self, jobs: Sequence[ScoreJob]) -> Future[list[Score]]:
        """Return the scores to come, in the order of `jobs`."""
        if self._closed:
            raise RuntimeError("this scoring pool is closed: submit inside its with block")
        future: Future[list[Score]] = Future()
        if not self._supervisors or not jobs:
            self._score_here(_Batch(future, len(jobs)), jobs)
            return future
        self._start([])
        size = min(MAX_SHARD, -(-len(jobs) // len(self._supervisors)))
        batch = _Batch(future, len(jobs))
        self._open[future] = batch
        future.add_done_callback(self._forget)
        for first in range(0, len(jobs), size):
            self._shards.put(_Shard(batch, first, jobs[first : first + size]))
        return future

    def _start(self, names: list[str]) -> None:
        if not self._threads:
            self._threads = [
                threading.Thread(target=self._serve, args=(supervisor, names), daemon=True, name="scoring")
                for supervisor in self._supervisors
            ]
            for thread in self._threads:
                thread.start()

    def _serve(self, supervisor: Supervisor, names: list[str]) -> None:
        """Feed one worker until the pool closes. The kernel ends the worker with this thread, its only user."""
        if names:
            supervisor.load(names)
        while (shard := self._shards.get()) is not None:
            if self._failure is not None:
                shard.batch.fail(self._failure)
            elif self._closing:
                shard.batch.future.cancel()
            else:
                self._score(supervisor, shard)
        supervisor.close()

    def _score_here(self, batch: _Batch, jobs: Sequence[ScoreJob]) -> None:
        scores: list[Score] = []
        for part in split_jobs(jobs):
            if self._failure is not None:
                batch.fail(self._failure)
                return
            scores += score_jobs(part)
            for job, score in zip(part, scores[-len(part) :], strict=True):
                self._see(job, score)
        if self._failure is not None:
            batch.fail(self._failure)
        batch.fill(0, scores)  # nothing, where it has failed

    def _see(self, job: ScoreJob, score: Score) -> None:
        if self._on_score is None:
            return
        with self._seeing:
            if self._failure is not None:
                return
            try:
                self._on_score(job, score)
            except Exception as error:  # the caller's own: it ends the scoring and reaches the caller by its futures
                self._failure = error
        if self._failure is not None:
            self._fail(self._failure)

    def _fail(self, error: Exception) -> None:
        for batch in list(self._open.values()):
            batch.fail(error)
        for supervisor in self._supervisors:
            supervisor.kill()

    def _forget(self, future: Future[list[Score]]) -> None:
        """Let go of a batch that is done: its future must not hold it, or scores stay until garbage is collected."""
        self._open.pop(future, None)

    def _score(self, supervisor: Supervisor, shard: _Shard) -> None:
        try:
            shard.batch.fill(shard.first, supervisor.score(shard.jobs, self._see))
        except CancelledError:
            shard.batch.future.cancel()
        except Exception as error:  # no fault of a verifier: the caller must hear of it
            shard.batch.fail(error)


@dataclass(slots=True)
class _Shard:
    """Consecutive jobs of a batch, the first of which has index `first`."""

    batch: _Batch
    first: int
    jobs: Sequence[ScoreJob]


class _Batch:
    """The scores of one `submit`, filled shard by shard from several threads."""

    def __init__(self, future: Future[list[Score]], size: int) -> None:
        self.future = future
        self._scores: list[Score | None] = [None] * size
        self._missing = size
        self._lock = threading.Lock()

    def fill(self, first: int, scores: Sequence[Score]) -> None:
        with self._lock:
            self._scores[first : first + len(scores)] = scores
            self._missing -= len(scores)
            done = self._missing == 0 and not self.future.done()
            if done and self.future.set_running_or_notify_cancel():
                self.future.set_result([score for score in self._scores if score is not None])

    def fail(self, error: Exception) -> None:
        with self._lock:
            if not self.future.done():
                self.future.set_exception(error)


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

    def load(self, verifier_names: Sequence[str]) -> None:
        """Load these verifiers ahead of time. A failure is left to the first job, which meets it again."""
        with suppress(WorkerError, CancelledError), self._running() as worker:
            worker.load(verifier_names)

    def score(self, jobs: Sequence[ScoreJob], on_score: OnScore) -> list[Score]:
        """Return one score for each job; `on_score` sees each as it comes. Raises `CancelledError` once killed."""
        scores: list[Score] = []

        def take(score: Score) -> None:
            scores.append(score)
            on_score(jobs[len(scores) - 1], score)

        while len(scores) < len(jobs):
            self._score_next(jobs[len(scores) :], take)
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
        done, in_groups, singly = 0, set[str](), jobs[0].verifier in self._singly
        try:
            with self._running() as worker:
                in_groups = worker.in_groups
                for score in worker.score(loadable, self._time_limit, singly=singly):
                    done += 1
                    take(score)
        except LoadingError as failure:
            if reason := self._load_again(failure):
                take(Score.unscored(reason))
        except (TimeLimitError, WorkerDiedError) as failure:
            job, *others = loadable[done:]
            if not singly and job.verifier in in_groups and others and others[0].group_key == job.group_key:
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


def _both(first: WorkerError, second: WorkerError) -> str:
    return f"{first.how} twice" if first.how == second.how else f"{first.how}, then {second.how},"


def _guess(failure: WorkerError) -> str:
    return " (out of memory?)" if failure.how.endswith("signal 9") else ""
