"""Requests every missing rollout of the engine until it is there or refused, or the engine is given up."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Protocol, Self

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from learnable.data.errors import LearnableError
from learnable.data.progress import progress
from learnable.data.storage.speeds import Speed, note_speed
from learnable.flows.engines import drop_engine, engine_for
from learnable.flows.garbage import set_aside
from learnable.flows.sampling.collector import Collector
from learnable.flows.sampling.missing import MissingRollouts
from learnable.flows.settings import CurateSettings
from learnable.rollouts.protocol import Answer, EngineError, GroupRequest, Refusal, count_idle

ATTEMPTS = 4  # at an engine that yields nothing in between
FIRST_DELAY = 1.0  # seconds, doubled after each failure
MANY = 10_000  # groups requested at once, that garbage collection had better not walk through
NEWS = 64  # scored rollouts after which groups that go on are looked for, where the engine has others to start


class Source(Protocol):
    """What a loop asks for more to request."""

    def go_on(self, silent: Collection[str]) -> Collection[MissingRollouts]:
        """Return what is to be requested by what was scored since, where these questions were refused meanwhile."""

    def open(self) -> Collection[MissingRollouts]:
        """Return what is to be requested of new prompts, now that there is nothing else."""

    def speculate(self, slots: int) -> Collection[MissingRollouts]:
        """Return what may be needed, for an engine with so many idle slots."""

    @property
    def is_over(self) -> bool:
        """Whether nothing that the engine works on, or could work on, is needed any more."""

    def is_ahead(self, run: MissingRollouts) -> bool:
        """Whether it is still not known that these rollouts are needed."""

    def refuse_ahead(self, run: MissingRollouts) -> None:
        """Take note that the engine refuses rollouts of which it is not known whether they are needed."""


class NothingNeededError(Exception):
    """Ends an engine's iterator where all that it still works on was made ahead, and nobody will need it."""


class RequestQueue:
    """What the engine has not been asked for yet: groups under way before new ones. It fills while it is read.

    What comes `later` is looked for a part at a time, when there is nothing else.

    So an engine that has room again after the end of this iterator had better ask it again. Raises
    `NothingNeededError` when nothing more is needed.
    """

    def __init__(
        self, seed: int, fill: Callable[[], bool] | None = None, later: Iterable[Collection[MissingRollouts]] = ()
    ) -> None:
        self._seed, self._fill, self._later = seed, fill, iter(later)
        self._under_way: deque[MissingRollouts] = deque()
        self._new: deque[MissingRollouts] = deque()
        self.sent: dict[tuple[str, int], MissingRollouts] = {}  # and not answered, by question and first index

    def __len__(self) -> int:
        return len(self._under_way) + len(self._new)

    def __bool__(self) -> bool:
        while not len(self) and (part := next(self._later, None)) is not None:
            self.add(part)
        return len(self) > 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> GroupRequest:
        if self._fill is not None and self._fill() and (self or self.sent):
            raise NothingNeededError
        if not self:
            raise StopIteration
        missing = (self._under_way or self._new).popleft()
        self.sent[missing.prompt.question_id, missing.first] = missing
        return missing.request(self._seed)

    def add(self, missing: Collection[MissingRollouts]) -> None:
        """Take more to be requested."""
        for run in missing:
            (self._under_way if run.first else self._new).append(run)
        if len(missing) >= MANY:
            set_aside()

    def drop(self) -> int:
        """Forget all that was not answered; return how many rollouts that is."""
        dropped = [*self._under_way, *self._new, *self.sent.values()]
        self._under_way, self._new, self.sent = deque(), deque(), {}
        return sum(run.count for run in dropped)

    def take_back(self) -> None:
        """Let what was sent and not answered be requested again, before all else."""
        self._under_way.extendleft(reversed(self.sent.values()))
        self.sent.clear()


class EngineLoop:
    """One run's requests to the engine; counts what came, in rollouts and in tokens of completions."""

    def __init__(self, collector: Collector, settings: CurateSettings) -> None:
        self.collector = collector
        self.settings = settings
        self.total = self.expected = self.done = self.tokens = self._answers = 0
        self.seconds = 0.0  # of wall clock, while the engine answered
        self._queue = RequestQueue(settings.seed)
        self._source: Source | None = None
        self._refused: set[str] = set()
        self._attempt: RetryCallState

    def expect(self, rollouts: int) -> None:
        """Say how many rollouts there may be in the end, so that progress has something to be measured by."""
        self.expected = rollouts

    def generate(
        self, missing: Iterable[Collection[MissingRollouts]], rollouts: int = 0, source: Source | None = None
    ) -> set[str]:
        """Request everything that is missing; an engine that fails is started anew, after growing pauses.

        The parts of what is missing, of so many `rollouts`, are listed as they come to be requested. While the engine
        answers, `source` says what else to request; without one, this returns the ids of the questions that the engine
        refused. Raises `LearnableError` when it fails `ATTEMPTS` times without an answer in between: what is still
        missing then is not scored.
        """
        self._source, self._refused = source, set()
        self.total += rollouts
        self._queue = RequestQueue(self.settings.seed, self._fill if source else None, missing)
        try:
            while self._queue:
                self._request_until_answered()
                self._await_requests()
        finally:  # both lead back to this loop, and such a cycle would keep all rewards of the run
            self._queue, self._source = RequestQueue(self.settings.seed), None
        self._note_speed()
        return self._refused

    def _add(self, missing: Collection[MissingRollouts]) -> None:
        self.total += sum(m.count for m in missing)
        self._queue.add(missing)

    def _fill(self) -> bool:
        """Add what is to be requested next, by the scores of groups under way; say whether nothing is needed any more.

        Looking for few groups at a time costs much, so that is left until the engine has nothing else to start.
        """
        if not self._queue:
            self.collector.hurry()
        table = self.collector.table
        if self._refused or table.news >= NEWS:
            self._look_for_more()
        if not self._queue and self._source is not None:
            self._add(self._source.open())
        if table.news and not self._queue:
            self._look_for_more()
        if not self._queue and self._source is not None and (slots := count_idle(engine_for(self.settings))):
            self._add(self._source.speculate(slots))
        return self._source is not None and self._source.is_over

    def _await_requests(self) -> None:
        """Wait for scores while nothing can be requested without them."""
        if self._source is not None:
            self._fill()
            while not self._queue and self.collector.is_scoring:
                self.collector.hurry(wait=True)
                self._look_for_more()

    def _look_for_more(self) -> None:
        refused, self._refused = self._refused, set()
        if self._source is not None:
            self._add(self._source.go_on(refused))

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
        self._queue.take_back()
        engine = engine_for(self.settings)
        started, done = time.monotonic() - self.seconds, self._answers
        try:
            for answer in engine.generate(self._queue, self.settings.sampling):
                self._take(answer)
                self.seconds = time.monotonic() - started  # to the last answer: waiting for a dead engine is no speed
        except NothingNeededError:
            self.total -= self._queue.drop()
        if self._queue.sent or (self._queue and done == self._answers):
            raise EngineError(f"the engine left {self._missing} groups unanswered")

    @property
    def _missing(self) -> int:
        return len(self._queue) + len(self._queue.sent)

    def _take(self, answer: Answer) -> None:
        key = _find_key(answer)
        run = self._queue.sent.pop(key, None)  # asked for twice where a part of what was made ahead was refused
        if run is not None and run.ahead and self._source is not None and self._source.is_ahead(run):
            if isinstance(answer, Refusal):
                self._source.refuse_ahead(run)
                return
            answer = [replace(rollout, ahead=True) for rollout in answer]
        self.done += self.collector.take(answer)
        self._answers += 1
        self._attempt.attempt_number = 1  # after an answer they are counted anew
        if isinstance(answer, Refusal):
            self._refused.add(answer.request.prompt.question_id)
            return
        self.tokens += sum(rollout.num_tokens for rollout in answer)
        progress().rollouts(self.done, max(self.total, self.expected), self.tokens)

    def _note_speed(self) -> None:
        root, policy_id = self.collector.ledger.root, self.collector.draw.policy_id
        note_speed(root, policy_id, self.settings.engine.name, Speed(self.tokens, self.seconds))

    def _warn(self, attempt: RetryCallState) -> None:
        progress().warn(
            f"{_error_of(attempt)}; the engine is tried again in {attempt.upcoming_sleep:g} s for {self._missing} "
            "groups"
        )

    def _give_up(self, attempt: RetryCallState) -> None:
        error = _error_of(attempt)
        raise LearnableError(
            f"the engine failed {ATTEMPTS} times in a row, last with: {error}. {self.done:,} rollouts of this run "
            f"are in {self.settings.store}; {self.total - self.done:,} are still missing and were not scored: the "
            "same command goes on from there"
        ) from error


def _find_key(answer: Answer) -> tuple[str, int]:
    """Return the question and the first index of what is answered."""
    if isinstance(answer, Refusal):
        return answer.request.prompt.question_id, answer.request.first_index
    return answer[0].question_id, min(rollout.rollout_index for rollout in answer)


def _error_of(attempt: RetryCallState) -> BaseException | None:
    return attempt.outcome.exception() if attempt.outcome else None
