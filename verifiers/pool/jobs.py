"""Completions to score, alone or with others of their prompt, and what becomes of them whatever the verifier does."""

from __future__ import annotations

import contextvars
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from numbers import Real
from typing import Any, Self

from learnable.data.progress import progress
from learnable.data.records import (
    VERDICTS,
    Failure,
    FailureKind,
    FinishReason,
    Prompt,
    Rollout,
    Score,
    canonical_json,
    is_own_verifier,
    message_list,
)
from learnable.verifiers.registry import find_verifier

REASON_LENGTH = 300


@dataclass(frozen=True, slots=True)
class ScoreJob:
    """A completion and everything its judgement depends on, ready to cross into another process.

    `messages_json` has all turns of a prompt that is a chat, for verifiers of users' own; `num_tokens` is that of the
    completion, where it is known.
    """

    verifier: str
    completion: str
    prompt: str
    spec_json: str
    finish_reason: FinishReason = "stop"
    messages_json: str = ""
    num_tokens: int | None = None

    @classmethod
    def of(cls, prompt: Prompt, rollout: Rollout) -> Self:
        """Return the job of scoring a rollout as an answer to this prompt."""
        return cls(
            prompt.verifier,
            rollout.completion,
            prompt.text,
            prompt.spec_json,
            rollout.judged_as,
            write_messages(prompt),
            rollout.num_tokens,
        )

    @property
    def group_key(self) -> tuple[str, ...]:
        """What jobs have in common whose completions may be scored in one call."""
        return self.verifier, self.prompt, self.spec_json, self.messages_json


def write_messages(prompt: Prompt) -> str:
    """Return the turns of a chat as JSON for a job, "" for a prompt that is text or whose verifier is one of ours."""
    if isinstance(prompt.prompt, str) or not is_own_verifier(prompt.verifier):
        return ""
    return canonical_json(message_list(prompt.prompt))


def split_jobs(jobs: Iterable[ScoreJob], *, singly: bool = False) -> Iterator[list[ScoreJob]]:
    """Yield jobs as they are scored: in one call those of a prompt that come together, where their verifier takes them.

    All others are by themselves, and with `singly` every job is.
    """
    for _, group in groupby(jobs, lambda job: job.group_key):
        together = list(group)
        if singly or not takes_groups(together[0].verifier):
            yield from ([job] for job in together)
        else:
            yield together


def takes_groups(verifier: str) -> bool:
    """Whether a verifier judges completions of one prompt together; not if it cannot be loaded."""
    try:
        return _group_judge(verifier) is not None
    except Exception:  # scoring meets the same fault, and reports it for each completion
        return False


def score_one(job: ScoreJob) -> Score:
    """Score one completion, as `score_jobs` does."""
    return score_jobs([job])[0]


def score_jobs(jobs: Sequence[ScoreJob]) -> list[Score]:
    """Score one completion, or the completions of one prompt in one call, as `split_jobs` yields them.

    Never raises: a fault of the verifier becomes a verdict without a reward. A call that raises is made again for each
    completion by itself, so that it costs the one that it is about. A completion that ran out of tokens keeps its
    reward under the verdict `truncated`.
    """
    try:
        return [_settled(score, job) for score, job in zip(_judge(jobs), jobs, strict=True)]
    except Exception as error:  # whatever a verifier raises is its own fault, not the policy's
        if len(jobs) > 1:
            return [score_one(job) for job in jobs]
        notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
        return [Score.unscored(f"{type(error).__name__}: {error}"[:REASON_LENGTH] + notes[:REASON_LENGTH])]


def _group_judge(verifier: str) -> Callable[..., list[Score]] | None:
    judge: Callable[..., list[Score]] | None = getattr(find_verifier(verifier), "score_group", None)
    return judge


def _judge(jobs: Sequence[ScoreJob]) -> list[Any]:
    """Return what the verifier of these jobs says, unchecked. Raises whatever it raises."""
    first = jobs[0]
    verifier, spec = find_verifier(first.verifier), json.loads(first.spec_json)
    judge_group = _group_judge(first.verifier)
    if judge_group is None:
        return [verifier.score(job.completion, prompt=job.prompt, spec=spec) for job in jobs]
    prompt = json.loads(first.messages_json) if first.messages_json else first.prompt
    completions, tokens = [job.completion for job in jobs], [job.num_tokens for job in jobs]
    return judge_group(completions, prompt=prompt, spec=spec, num_tokens=tokens)


def _settled(score: Score, job: ScoreJob) -> Score:
    score = _checked(score)
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
    failure = score.failure if isinstance(score.failure, Failure) else None
    if score.reward is None:
        if score.verdict == "scored":
            return Score.unscored(score.reason or "the verifier gave no reward")
        return Score(None, passed, components, score.verdict, str(score.reason), failure)
    reward: object = score.reward
    if not isinstance(reward, Real):
        raise TypeError(f"reward {reward!r:.60} is no number: give one from 0 to 1, or None")
    if not 0.0 <= score.reward <= 1.0:
        return Score.unscored(f"reward {score.reward} is outside [0, 1]")
    return Score(float(score.reward), passed, components, score.verdict, str(score.reason), failure)


def time_out_score(seconds: float) -> Score:
    """Return the score of a completion that had none within `seconds`: no reward, and the reason."""
    late = Failure(FailureKind.TIME_LIMIT, f"no score within {seconds:g} s")
    return Score(None, None, verdict="verifier_error", failure=late)


def is_time_out(score: Score) -> bool:
    """Say whether this score stands for a completion that took too long."""
    return score.failure is not None and score.failure.kind is FailureKind.TIME_LIMIT


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
        if score.failure is None or not is_time_out(score):
            return
        with self._lock:
            if job.verifier not in self._told:
                self._told.add(job.verifier)
                self._context.run(_warn, job.verifier, score.failure.why)


def _warn(verifier: str, why: str) -> None:
    progress().warn(
        f"verifier {verifier!r} was given up on a completion ({why}), which goes unscored; is it hanging? "
        "`verifier_timeout` SECONDS gives it more time, or less"
    )
