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
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Self

from learnable.data.records import Score
from learnable.verifiers.pool.jobs import ScoreJob, score_jobs, score_one, split_jobs
from learnable.verifiers.pool.supervisor import AnySupervisor, OnScore, supervise_here
from learnable.verifiers.pool.worker import load_verifier

__all__ = ["OnScore", "ScoreJob", "ScoringPool", "score_one"]

MAX_SHARD = 32  # jobs a worker takes at once: small enough that all workers finish together


class ScoringPool:
    """Scores batches in `workers` processes, which start on the first call; 0 scores in the caller's thread.

    A completion whose verifier hangs, or kills its process twice, goes unscored, and its neighbours keep their scores.
    `time_limit` is in seconds for each completion, in place of what verifiers declare (see `verifier_time_limit`);
    loading a verifier has a longer one of its own. In the caller's thread there is no limit and no second try: a
    verifier that hangs there hangs the caller.

    `on_score` sees each score as it comes, one at a time, in a thread of the pool's. What it raises ends the scoring:
    every batch that is not done raises it too, at once.

    `supervise` makes, when they are first needed, what keeps the processes, given `workers` and `time_limit`: those of
    this machine, or of a cluster (see `remote`).

    Leaving the `with` block waits for what was submitted; leaving it by an exception cancels it.
    """

    def __init__(
        self,
        workers: int,
        time_limit: float | None = None,
        on_score: OnScore | None = None,
        supervise: Callable[[int, float | None], Sequence[AnySupervisor]] = supervise_here,
    ) -> None:
        if workers < 0:
            raise ValueError(f"workers is {workers}: give 0 for the caller's own thread, or more")
        if time_limit is not None and not 0 < time_limit < math.inf:
            raise ValueError(f"time_limit is {time_limit}: give seconds, more than 0, or None for the verifiers' own")
        self._shards: queue.SimpleQueue[_Shard | None] = queue.SimpleQueue()
        self._supervise = partial(supervise, workers, time_limit)
        self._scores_here = not workers
        self._supervisors: Sequence[AnySupervisor] = ()
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
        if self._scores_here:
            for name in names:
                load_verifier(name)
        else:
            self._start(names)

    def submit(self, jobs: Sequence[ScoreJob]) -> Future[list[Score]]:
        """Return the scores to come, in the order of `jobs`. Raises what `supervise` raises."""
        if self._closed:
            raise RuntimeError("this scoring pool is closed: submit inside its with block")
        future: Future[list[Score]] = Future()
        if self._scores_here or not jobs:
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
            self._supervisors = self._supervise()
            self._threads = [
                threading.Thread(target=self._serve, args=(supervisor, names), daemon=True, name="scoring")
                for supervisor in self._supervisors
            ]
            for thread in self._threads:
                thread.start()

    def _serve(self, supervisor: AnySupervisor, names: list[str]) -> None:
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

    def _score(self, supervisor: AnySupervisor, shard: _Shard) -> None:
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
