"""Errors stop a run, instead of passing a broken verifier or an outage off as prompts that are too hard.

A verifier is tried on the first completions of a run: where it fails on all of them, or hangs, the run stops before
more is drawn. Later a few errors are forgiven, and a spike of them, or a verifier that begins to hang, stops the run.
One prompt alone, whose scores may all be errors because of what its row holds, never does.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from learnable.data.errors import LearnableError, shorten_reason
from learnable.data.records import Score
from learnable.verifiers.pool.jobs import TimeOutWarning, is_time_out
from learnable.verifiers.pool.scoring import ScoreJob

FIRST_ERRORS = 8  # errors, and no score yet: the verifier is broken
FIRST_TIME_OUTS = 3  # likewise: each takes the verifier's whole time limit
TIME_OUTS_IN_A_ROW = 5  # without a score in between
CHUNK_SCORES = 200
MAX_ERRORS = 0.02
GO_ON = "what was drawn is in the store and is not drawn again: the same command goes on from there"


class FailingVerifierError(LearnableError):
    """A verifier that fails on all of its first completions, or hangs on one after the other."""


class ErrorWatch:
    """Looks at every score of a run: `see` at each as it comes, in any thread; `add` at those that were taken in."""

    def __init__(self) -> None:
        self._scores: Counter[str] = Counter()  # by prompt
        self._errors: defaultdict[str, Counter[str]] = defaultdict(Counter)  # by prompt, their reasons
        self._trials: defaultdict[str, _Trial] = defaultdict(_Trial)
        self._warning = TimeOutWarning()
        self._news = threading.Condition()

    def see(self, job: ScoreJob, score: Score) -> None:
        """Look at one score as it comes. Raises `FailingVerifierError` when its verifier is to be given up."""
        self._warning.see(job, score)
        with self._news:
            self._trials[job.verifier].add(job, score)
            self._news.notify_all()

    def has_scored(self, verifier: str) -> bool:
        """Whether this verifier has scored a completion of this run."""
        return self._trials[verifier].has_scored

    def await_score(self, verifier: str, scoring: Sequence[Future[list[Score]]]) -> None:
        """Wait until this verifier has scored a completion, or until everything that is being scored is done."""
        for future in scoring:
            future.add_done_callback(self._wake)
        with self._news:
            self._news.wait_for(lambda: self.has_scored(verifier) or all(future.done() for future in scoring))

    def add(self, scores: Iterable[tuple[str, Score]]) -> None:
        """Count scores, each with its prompt. Raises `LearnableError` when too many of a chunk are errors.

        That is more than `MAX_ERRORS` of them, the worst prompt left out.
        """
        for prompt, score in scores:
            self._scores[prompt] += 1
            if score.reward is None:
                self._errors[prompt][shorten_reason(f"{score.verdict}: {score.reason}")] += 1
        if self._scores.total() >= CHUNK_SCORES:
            self._judge()
            self._scores.clear()
            self._errors.clear()

    def _wake(self, _: object) -> None:
        with self._news:
            self._news.notify_all()

    def _judge(self) -> None:
        worst = max(self._errors, key=lambda prompt: self._errors[prompt].total(), default="")
        reasons: Counter[str] = Counter()
        for counts in self._errors.values():
            reasons.update(counts)
        errors, scores = reasons.total(), self._scores.total()
        others = errors - self._errors[worst].total()
        if others <= MAX_ERRORS * (scores - self._scores[worst]):
            return
        raise LearnableError(
            f"{errors} of {scores} scores in a row are errors "
            f"({errors / scores:.1%}, over {MAX_ERRORS:.0%}): {_most_common(reasons)}. The run stops, "
            "since errors are no zeros. The rollouts are in the store: mend the verifier or the engine, then the same "
            "command goes on from there"
        )


@dataclass(slots=True)
class _Trial:
    """What one verifier has shown in this run: errors since the last score, by reason, and their prompts."""

    has_scored: bool = False
    time_outs: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    prompts: set[tuple[str, str, str]] = field(default_factory=set)

    def add(self, job: ScoreJob, score: Score) -> None:
        """Count a score. Raises `FailingVerifierError`, where the errors are those of several prompts."""
        if score.reward is not None:
            self.has_scored, self.time_outs = True, 0
            self.reasons.clear()
            self.prompts.clear()
            return
        self.prompts.add((job.prompt, job.messages_json, job.spec_json))
        self.time_outs += is_time_out(score)
        self.reasons[shorten_reason(score.reason)] += 1
        errors, verifier = self.reasons.total(), job.verifier
        if len(self.prompts) < 2:
            return
        if self.time_outs >= (TIME_OUTS_IN_A_ROW if self.has_scored else FIRST_TIME_OUTS):
            raise FailingVerifierError(
                f"verifier {verifier!r} hangs: no score for {errors} completions one after the other "
                f"({_most_common(self.reasons)}). The run stops here. Mend the verifier, or give it more time with "
                f"`verifier_timeout` SECONDS; {GO_ON}"
            )
        if not self.has_scored and errors >= FIRST_ERRORS:
            raise FailingVerifierError(
                f"verifier {verifier!r} fails: none of its first {errors} completions got a score "
                f"({_most_common(self.reasons)}). The run stops here, since errors are no zeros. "
                f"Mend the verifier; {GO_ON}"
            )


def _most_common(reasons: Counter[str]) -> str:
    return "; ".join(f"{count} x {reason}" for reason, count in reasons.most_common(3))
