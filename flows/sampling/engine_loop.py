"""Requests every missing rollout of the engine until it is there or refused, or the engine is given up."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from learnable.data.errors import LearnableError
from learnable.data.progress import progress
from learnable.data.storage.speeds import Speed, note_speed
from learnable.flows.engines import drop_engine, engine_for
from learnable.flows.garbage import set_aside
from learnable.flows.sampling.collector import Collector
from learnable.flows.sampling.missing import MissingRollouts
from learnable.flows.settings import CurateSettings
from learnable.rollouts.protocol import Answer, EngineError, Refusal

ATTEMPTS = 4  # at an engine that yields nothing in between
FIRST_DELAY = 1.0  # seconds, doubled after each failure
MANY = 10_000  # groups requested at once, that garbage collection had better not walk through


class EngineLoop:
    """One run's requests to the engine; counts what came, in rollouts and in tokens of completions."""

    def __init__(self, collector: Collector, settings: CurateSettings) -> None:
        self.collector = collector
        self.settings = settings
        self.total = self.expected = self.done = self.tokens = 0
        self.seconds = 0.0  # of wall clock, while the engine answered
        self._missing: dict[tuple[str, int], MissingRollouts] = {}
        self._refused: set[str] = set()
        self._attempt: RetryCallState

    def expect(self, rollouts: int) -> None:
        """Say how many rollouts there may be in the end, so that progress has something to be measured by."""
        self.expected = rollouts

    def generate(self, missing: Iterable[MissingRollouts]) -> set[str]:
        """Request everything that is missing in one call; an engine that fails is started anew, after growing pauses.

        Returns the ids of the questions that the engine refused. Raises `LearnableError` when it fails `ATTEMPTS` times
        without an answer in between: what is still missing then is not scored.
        """
        self._missing = {(m.prompt.question_id, m.first): m for m in missing}
        self._refused = set()
        self.total += sum(m.count for m in self._missing.values())
        if len(self._missing) >= MANY:
            set_aside()
        if self._missing:
            self._request_until_answered()
        self._note_speed()
        return self._refused

    def _request_until_answered(self) -> None:
        attempts = Retrying(
            retry=retry_if_exception_type(EngineError),
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_exponential(FIRST_DELAY),
            after=lambda _: drop_engine(self.settings),
            before_sleep=self._warn,
            retry_error_callback=self._give_up,
        )
        try:
            for attempt in attempts:
                with attempt:
                    self._attempt = attempt.retry_state
                    self._request()
        finally:  # what tenacity keeps is a cycle with this loop in it, and all rewards of the run
            attempts.iter_state.reset()
            with suppress(AttributeError):  # Ctrl-C may come before the first attempt
                del self._attempt

    def _request(self) -> None:
        requests = (missing.request(self.settings.seed) for missing in list(self._missing.values()))
        engine = engine_for(self.settings)
        started = time.monotonic() - self.seconds
        for answer in engine.generate(requests, self.settings.sampling):
            self._take(answer)
            self.seconds = time.monotonic() - started  # up to the last answer: waiting for a dead engine is no speed
        if self._missing:
            raise EngineError(f"the engine left {len(self._missing)} groups unanswered")

    def _take(self, answer: Answer) -> None:
        self.done += self.collector.take(answer)
        self._attempt.attempt_number = 1  # after an answer they are counted anew
        if isinstance(answer, Refusal):
            del self._missing[answer.request.prompt.question_id, answer.request.first_index]
            self._refused.add(answer.request.prompt.question_id)
            return
        del self._missing[answer[0].question_id, min(rollout.rollout_index for rollout in answer)]
        self.tokens += sum(rollout.num_tokens for rollout in answer)
        progress().rollouts(self.done, max(self.total, self.expected), self.tokens)

    def _note_speed(self) -> None:
        root, policy_id = self.collector.ledger.root, self.collector.draw.policy_id
        note_speed(root, policy_id, self.settings.engine.name, Speed(self.tokens, self.seconds))

    def _warn(self, attempt: RetryCallState) -> None:
        progress().warn(
            f"{_error_of(attempt)}; the engine is tried again in {attempt.upcoming_sleep:g} s for {len(self._missing)} "
            "groups"
        )

    def _give_up(self, attempt: RetryCallState) -> None:
        error = _error_of(attempt)
        raise LearnableError(
            f"the engine failed {ATTEMPTS} times in a row, last with: {error}. {self.done:,} rollouts of this run "
            f"are in {self.settings.store}; {self.total - self.done:,} are still missing and were not scored: the "
            "same command goes on from there"
        ) from error


def _error_of(attempt: RetryCallState) -> BaseException | None:
    return attempt.outcome.exception() if attempt.outcome else None
