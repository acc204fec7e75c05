"""Writes chunks to the ledger, in a thread that Ctrl-C does not reach: rollouts first, then their scores."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from learnable.data.ledger.ledger import Draw, Ledger, ScoreRow
from learnable.data.records import Rollout

CHUNK_ROLLOUTS = 1024  # durable at once
CHUNK_SECONDS = 10.0  # and never later than this after the last chunk
MAX_WAITING = 8 * CHUNK_ROLLOUTS  # beyond this the engine waits for the disk


class ChunkWriter:
    """Writes what is added to it in chunks. A score never reaches the ledger before its rollout.

    A failed write is raised at the next call.
    """

    def __init__(self, ledger: Ledger, draw: Draw, versions: Mapping[str, str]) -> None:
        self.ledger = ledger
        self.draw = draw
        self.versions = versions
        self.saved = 0
        self._rollouts: list[Rollout] = []
        self._scores: list[ScoreRow] = []
        self._due = time.monotonic() + CHUNK_SECONDS
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="chunks")
        self._writing: Future[None] | None = None

    def add(self, rollouts: Sequence[Rollout]) -> None:
        """Take a finished group. The engine waits for no write, unless writes fall far behind.

        Raises `LearnableError` for an earlier write that failed.
        """
        self._rollouts.extend(rollouts)
        if len(self._rollouts) >= CHUNK_ROLLOUTS or time.monotonic() >= self._due:
            self._start_when_free(len(self._rollouts))

    def add_scores(self, scores: Sequence[ScoreRow]) -> None:
        """Take scores of rollouts that were added before, or are in the ledger already.

        They are written with a chunk of rollouts. Raises `LearnableError` for an earlier write that failed.
        """
        self._scores.extend(scores)
        if len(self._scores) >= CHUNK_ROLLOUTS and not self._rollouts:
            self._start_when_free(len(self._scores))

    def flush(self) -> None:
        """Make everything durable that was added. Raises `LearnableError` when it is not."""
        self._start()
        self._wait()

    def close(self) -> None:
        """Flush, and end the thread. Raises `LearnableError` when something is not durable."""
        try:
            self.flush()
        finally:
            self._thread.shutdown()

    def _start_when_free(self, waiting: int) -> None:
        if waiting >= MAX_WAITING or self._writing is None or self._writing.done():
            self._start()

    def _start(self) -> None:
        self._wait()
        self._due = time.monotonic() + CHUNK_SECONDS
        self._writing = self._thread.submit(self._write)

    def _wait(self) -> None:
        """Wait for the chunk on its way. An interrupt ends the waiting and not the writing."""
        if self._writing is not None:
            wait([self._writing])
            writing, self._writing = self._writing, None
            writing.result()

    def _write(self) -> None:
        with self._lock:  # an interrupt while the thread was being started can leave two of them
            scores = self._scores[:]  # before the rollouts: so those of these scores are among them, or saved already
            rollouts = self._rollouts[:]
            try:
                self.ledger.append_rollouts(self.draw, rollouts)
                self.saved += len(rollouts)
            finally:  # the ledger has done what can be done
                del self._rollouts[: len(rollouts)]
            try:
                self.ledger.append_scores(self.draw, self.versions, scores)
            finally:
                del self._scores[: len(scores)]
