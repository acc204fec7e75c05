"""One completion to score, and what becomes of it whatever the verifier does."""

from __future__ import annotations

import contextvars
import json
import threading
from dataclasses import dataclass, replace
from numbers import Real
from typing import Self, get_args

from learnable.data.progress import progress
from learnable.data.records import FinishReason, Prompt, Rollout, Score, Verdict
from learnable.verifiers.registry import find_verifier

REASON_LENGTH = 300
VERDICTS: tuple[str, ...] = get_args(Verdict)
_TIME_OUT = "time limit: "  # how the reason begins, where a completion took too long


@dataclass(frozen=True, slots=True)
class ScoreJob:
    """A completion and everything its judgement depends on, ready to cross into another process."""

    verifier: str
    completion: str
    prompt: str
    spec_json: str
    finish_reason: FinishReason = "stop"

    @classmethod
    def of(cls, prompt: Prompt, rollout: Rollout) -> Self:
        """Return the job of scoring a rollout as an answer to this prompt."""
        return cls(prompt.verifier, rollout.completion, prompt.text, prompt.spec_json, rollout.judged_as)


def score_one(job: ScoreJob) -> Score:
    """Score one completion. Never raises: a fault of the verifier becomes a verdict without a reward.

    A completion that ran out of tokens keeps its reward under the verdict `truncated`.
    """
    try:
        verifier = find_verifier(job.verifier)
        score = verifier.score(job.completion, prompt=job.prompt, spec=json.loads(job.spec_json))
        score = _checked(score)
    except Exception as error:  # whatever a verifier raises is its own fault, not the policy's
        notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
        return Score.unscored(f"{type(error).__name__}: {error}"[:REASON_LENGTH] + notes[:REASON_LENGTH])
    if job.finish_reason == "length" and score.verdict == "scored":
        return replace(score, verdict="truncated")
    return score


def _checked(score: Score) -> Score:
    """Return the score in plain types, ready for a pipe and a column, if it is an honest one.

    NaN fails both comparisons.
    """
    if not isinstance(score, Score):
        raise TypeError(f"score() returned {type(score).__name__}, not Score")
    if score.verdict not in VERDICTS:
        raise ValueError(f"score() returned the verdict {score.verdict!r}, which is none of {', '.join(VERDICTS)}")
    components = {str(name): float(value) for name, value in score.components.items()}
    passed = None if score.passed is None else bool(score.passed)
    if score.reward is None:
        if score.verdict == "scored":
            return Score.unscored(score.reason or "the verifier gave no reward")
        return Score(None, passed, components, score.verdict, str(score.reason))
    reward: object = score.reward
    if not isinstance(reward, Real):
        raise TypeError(f"reward {reward!r:.60} is no number: give one from 0 to 1, or None")
    if not 0.0 <= score.reward <= 1.0:
        return Score.unscored(f"reward {score.reward} is outside [0, 1]")
    return Score(float(score.reward), passed, components, score.verdict, str(score.reason))


def time_out_score(seconds: float) -> Score:
    """Return the score of a completion that had none within `seconds`: no reward, and the reason."""
    return Score.unscored(f"{_TIME_OUT}no score within {seconds:g} s")


def is_time_out(score: Score) -> bool:
    """Say whether this score stands for a completion that took too long."""
    return score.reward is None and score.reason.startswith(_TIME_OUT)


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
                self._context.run(_warn, job.verifier, score.reason.removeprefix(_TIME_OUT))


def _warn(verifier: str, why: str) -> None:
    progress().warn(
        f"verifier {verifier!r} was given up on a completion ({why}), which goes unscored; is it hanging? "
        "--verifier-timeout SECONDS gives it more time, or less"
    )
