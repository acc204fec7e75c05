"""Writes chunks to the ledger, in a thread that Ctrl-C does not reach: rollouts first, then their scores."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from learnable.data.ledger.ledger import Draw, Ledger, ScoreRow
from learnable.data.ledger.outbox import StoreFullError
from learnable.data.records import Rollout

CHUNK_ROLLOUTS = 1024  # durable at once
CHUNK_SECONDS = 10.0  # and never later than this after the first of them, whatever the engine does meanwhile
MAX_WAITING = 8 * CHUNK_ROLLOUTS  # beyond this the engine waits for the disk


class ChunkWriter:
    """Writes what is added to it in chunks. A score never reaches the ledger before its rollout, nor without it.

    A failed write is raised at the next call. A timer writes what has waited for `CHUNK_SECONDS`, since an engine that
    hangs would keep what it has answered from the disk.
    """

    def __init__(self, ledger: Ledger, draw: Draw, versions: Mapping[str, str]) -> None:
        self.ledger = ledger
        self.draw = draw
        self.versions = versions
        self.saved = 0
        self._rollouts: list[Rollout] = []
        self._scores: list[ScoreRow] = []
        self._lost: set[str] = set()  # rollouts that the store does not have: they may wait outside
        self._lock = threading.RLock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="chunks")
        self._writing: Future[None] | None = None
        self._timer: threading.Timer | None = None
        self._failure: Exception | None = None  # of a write that the timer began

    def add(self, rollouts: Sequence[Rollout]) -> None:
        """Take a finished group. The engine waits for no write, unless writes fall far behind.

        Raises `LearnableError` for an earlier write that failed.
        """
        self._rollouts.extend(rollouts)
        self._raise_failure()
        if len(self._rollouts) >= CHUNK_ROLLOUTS:
            self._start_when_free(len(self._rollouts))
        self._set_timer()

    def add_scores(self, scores: Sequence[ScoreRow]) -> None:
        """Take scores of rollouts that were added before, or are in the ledger already.

        They are written with a chunk of rollouts, where there is one. Raises `LearnableError` for an earlier write that
        failed.
        """
        self._scores.extend(scores)
        self._raise_failure()
        if len(self._scores) >= CHUNK_ROLLOUTS and not self._rollouts:
            self._start_when_free(len(self._scores))
        self._set_timer()

    def flush(self) -> None:
        """Make everything durable that was added. Raises `LearnableError` when it is not."""
        self._start()
        self._wait()
        self._raise_failure()

    def close(self) -> None:
        """Flush, and end the thread. Raises `LearnableError` when something is not durable."""
        try:
            if (timer := self._timer) is not None:
                timer.cancel()
            self.flush()
        finally:
            self._thread.shutdown()

    def _start_when_free(self, waiting: int) -> None:
        if waiting >= MAX_WAITING or self._writing is None or self._writing.done():
            self._start()

    def _start(self) -> None:
        self._wait()
        self._writing = self._thread.submit(self._write)

    def _set_timer(self) -> None:
        if self._timer is None and (self._rollouts or self._scores):
            self._timer = timer = threading.Timer(CHUNK_SECONDS, self._write_late)
            timer.daemon = True  # what the end of a process has to wait for is `close`
            timer.start()

    def _write_late(self) -> None:
        self._timer = None  # first, so that what is added from now on sets another one
        with self._lock:
            try:
                self._write()
            except Exception as error:  # whatever it is, the next call raises it
                self._failure = error

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _wait(self) -> None:
        """Wait for the chunk on its way. An interrupt ends the waiting and not the writing."""
        if self._writing is not None:
            wait([self._writing])
            writing, self._writing = self._writing, None
            writing.result()

    def _write(self) -> None:
        with self._lock:  # of the timer's thread and the other one, of which an interrupt can leave two writes as well
            scores = self._scores[:]  # before the rollouts: so those of these scores are among them, or saved already
            rollouts = self._rollouts[:]
            try:
                self._write_rollouts(rollouts)
            finally:  # the ledger has done what can be done
                del self._rollouts[: len(rollouts)]
            try:
                scored = [row for row in scores if row[0].rollout_id not in self._lost] if self._lost else scores
                self.ledger.append_scores(self.draw, self.versions, scored)
            finally:
                del self._scores[: len(scores)]

    def _write_rollouts(self, rollouts: Sequence[Rollout]) -> None:
        try:
            if ahead := [(rollout.question_id, rollout.rollout_index) for rollout in rollouts if rollout.ahead]:
                self.ledger.append_marks(self.draw, ahead, needed=False)  # first: without its mark a rollout counts
            self.ledger.append_rollouts(self.draw, rollouts)
        except StoreFullError:  # they are in it
            raise
        except Exception:
            self._lost.update(rollout.rollout_id for rollout in rollouts)
            raise
        self.saved += len(rollouts)
