"""Completions that took a verifier too long: how their scores are known, and that they are told of at once."""

from __future__ import annotations

import contextvars
import threading

from learnable.data.progress import progress
from learnable.data.records import Score
from learnable.verifiers.pool.jobs import ScoreJob

_MARK = "time limit: "


def time_out_score(seconds: float) -> Score:
    """Return what becomes of a completion that had no score within `seconds`."""
    return Score.unscored(f"{_MARK}no score within {seconds:g} s")


def is_time_out(score: Score) -> bool:
    """Whether this score stands for a completion that took too long."""
    return score.reward is None and score.reason.startswith(_MARK)


class TimeOutWarning:
    """Warns once for each verifier that it hung on a completion, when that is seen. For any thread.

    Whoever watches the run in the thread that makes this object is told.
    """

    def __init__(self) -> None:
        self._context = contextvars.copy_context()
        self._told: set[str] = set()
        self._lock = threading.Lock()

    def see(self, job: ScoreJob, score: Score) -> None:
        """Look at one score."""
        if not is_time_out(score):
            return
        with self._lock:
            if job.verifier not in self._told:
                self._told.add(job.verifier)
                self._context.run(_warn, job.verifier, score.reason.removeprefix(_MARK))


def _warn(verifier: str, why: str) -> None:
    progress().warn(
        f"verifier {verifier!r} was given up on a completion ({why}), which goes unscored; is it hanging? "
        "--verifier-timeout SECONDS gives it more time, or less"
    )
