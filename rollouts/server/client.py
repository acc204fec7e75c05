"""Which server gets which request, and when: one event loop, a limit for each server, failed requests sent again."""

from __future__ import annotations

import asyncio
from asyncio import sleep
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from learnable.data.records import Sampling
from learnable.rollouts.protocol import Answer, EngineError, GroupRequest, Refusal
from learnable.rollouts.server.answers import Choice, cap_tokens, make_answer, read_choices, read_usage, write_body
from learnable.rollouts.server.endpoint import Access, Endpoint
from learnable.rollouts.server.failures import RequestRefusedError, ServerFailedError, read_failure
from learnable.rollouts.server.models import check_answered_model
from learnable.rollouts.server.spending import Reserve, Spending

MAX_STRIKES = 8  # failures of a request while its server answered others: the request is the cause
STATUS_SECONDS = 30.0  # between two notes of how the servers do


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell the user while the run goes on."""

    text: str
    is_warning: bool


@dataclass(slots=True, eq=False)
class Group:
    """A group on its way: the completions so far, by index. It has a `reserve` from its first request on."""

    request: GroupRequest
    choices: dict[int, Choice] = field(default_factory=dict)
    reserve: Reserve | None = None
    is_refused: bool = False


@dataclass(slots=True, eq=False)
class HttpRequest:
    """One HTTP request: `count` completions of a group, from its `first` on."""

    group: Group
    first: int
    count: int
    strikes: int = 0
    successes_seen: int = -1

    def split(self, start: int = 0) -> Iterator[HttpRequest]:
        """Yield one request a completion, from `start` on."""
        return (HttpRequest(self.group, self.first + i, 1) for i in range(start, self.count))


class ServerPool:
    """Answers requests from several servers of one model. `emit` gets every answer and notice, in any order.

    `template` is the policy's chat template, if it is known.
    Made in any thread; everything else happens in the loop that runs `run`.
    """

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        policy_id: str,
        sampling: Sampling,
        access: Access,
        spending: Spending,
        emit: Callable[[Answer | Notice], None],
        template: str | None = None,
    ) -> None:
        self._endpoints = endpoints
        self._policy_id = policy_id
        self._sampling = sampling
        self._access = access
        self._spending = spending
        self._emit = emit
        self._template = template
        self._pending: deque[HttpRequest] = deque()
        self._is_last = False  # no more requests are to be added for now
        self._told_at = monotonic()
        self._tasks: set[asyncio.Task[None]] = set()
        self._moved = asyncio.Event()  # a request was added, or ended with or without success
        self._stopping = asyncio.Event()
        self._error: BaseException | None = None

    @property
    def room(self) -> int:
        """Requests that the servers take at once, as far as is known by now; may be read in any thread."""
        return sum(each.limit.value for each in self._endpoints)

    async def run(self) -> None:
        """Answer until `stop`.

        Raises `EngineError` when no server answers any more, `SpentBudgetError` where the rest may not be paid for.
        """
        try:
            for server in self._endpoints:
                self._spawn(self._feed(server))
            await self._stopping.wait()
        finally:
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for server in self._endpoints:
                await server.close()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Drop what is in flight and end `run`."""
        self._stopping.set()

    def add(self, request: GroupRequest) -> None:
        """Take a request on."""
        single = HttpRequest(Group(request), 0, request.group_size)
        self._pending.extend(single.split() if self._access.ignores_n else [single])
        self._is_last = False
        self._moved.set()

    def end_requests(self) -> None:
        """Take note that no more are to be added for now."""
        self._is_last = True
        self._moved.set()

    async def _feed(self, server: Endpoint) -> None:
        """Keep a server busy. While it fails, only one request at a time tests whether it is back."""
        while True:
            if not (self._pending and server.has_room):
                await self._wait()
            elif (pause := server.health.pause_left(monotonic())) > 0:
                await sleep(pause)
            elif self._is_left_to_others(server):
                await self._wait()
            elif (http_request := self._take_next()) is None:
                self._check_spending()
                await self._wait()
            else:
                server.begin()
                attempt = self._spawn(self._attempt(server, http_request))
                while server.health.is_failing and not attempt.done():
                    await self._wait()

    async def _wait(self) -> None:
        self._moved.clear()
        await self._moved.wait()

    def _is_left_to_others(self, server: Endpoint) -> bool:
        """Whether the others will have answered the last requests before this server could answer one of them."""
        if not self._is_last or server.seconds is None:
            return False
        now = monotonic()
        others = [each for each in self._endpoints if each is not server and each.rate(now)]
        if not others:
            return False
        rate = sum(each.rate(now) for each in others)
        return len(self._pending) / rate + min(each.seconds or 0.0 for each in others) < server.seconds

    def _take_next(self) -> HttpRequest | None:
        """Take the first request that may be sent: of a group that is begun, or whose cost is allowed."""
        for _ in range(len(self._pending)):
            http_request = self._pending.popleft()
            if self._may_cost(http_request.group):
                return http_request
            self._pending.append(http_request)
        return None

    def _may_cost(self, group: Group) -> bool:
        if group.reserve is None:
            size = group.request.group_size
            max_tokens = max(cap_tokens(self._sampling, each.served) for each in self._endpoints)
            requests = size if self._access.ignores_n else 1
            group.reserve = self._spending.reserve(group.request, max_tokens, requests)
        return group.reserve is not None

    def _check_spending(self) -> None:
        """Raise `SpentBudgetError` where nothing is under way that could free what the next group may cost."""
        if not any(each.under_way for each in self._endpoints):
            raise self._spending.explain_end(len({id(waiting.group) for waiting in self._pending}))

    async def _attempt(self, server: Endpoint, http_request: HttpRequest) -> None:
        sent_at = monotonic()
        try:
            if not http_request.group.is_refused:
                choices = await self._post(server, http_request)
                self._note_answer(server, choices, sent_at)
                self._take(http_request, choices)
        except RequestRefusedError as refusal:
            self._succeed(server)
            self._refuse(http_request.group, str(refusal))
        except ServerFailedError as failure:
            self._fail(server, http_request, failure, sent_at)
        finally:
            server.under_way -= 1
            self._moved.set()
            self._tell_status()

    async def _post(self, server: Endpoint, http_request: HttpRequest) -> list[Choice]:
        count, group = http_request.count, http_request.group
        path, body = write_body(group.request, http_request.first, count, self._sampling, server.served)
        try:
            async with asyncio.timeout(self._access.request_timeout):
                answer = await server.post(path, body)
        except Exception as error:  # sorted out there; what is none of the server's comes back as it is
            raise read_failure(error, self._access.key) from None
        check_answered_model(server.served, answer)
        choices = read_choices(answer, count, body["max_tokens"], self._access.key)
        if group.reserve is not None:
            prompt_tokens, completion_tokens = read_usage(answer, group.request, choices)
            self._spending.spend(group.reserve, len(choices), prompt_tokens, completion_tokens)
        return choices

    def _take(self, http_request: HttpRequest, choices: list[Choice]) -> None:
        if len(choices) < http_request.count:  # one for many
            self._access.ignores_n = True
            self._pending.extend(http_request.split(start=1))
        group = http_request.group
        group.choices.update(enumerate(choices, start=http_request.first))
        if len(group.choices) == group.request.group_size and not group.is_refused:
            choices_in_order = [group.choices[index] for index in range(group.request.group_size)]
            self._emit(make_answer(group.request, choices_in_order, self._sampling, self._policy_id, self._template))

    def _refuse(self, group: Group, reason: str) -> None:
        if not group.is_refused:
            group.is_refused = True
            if group.reserve is not None:
                self._spending.release(group.reserve, group.reserve.completions)
            self._emit(Refusal(group.request, reason))

    def _note_answer(self, server: Endpoint, choices: Sequence[Choice], sent_at: float) -> None:
        self._succeed(server)
        now = monotonic()
        server.answers += 1
        server.note_seconds(now - sent_at)
        server.limit.note_answer(sent_at, now, sum(choice.num_tokens for choice in choices))

    def _succeed(self, server: Endpoint) -> None:
        if server.health.is_reported:
            self._emit(Notice(f"server {server.served.url} answers again", is_warning=False))
        server.health.succeed(monotonic())

    def _fail(self, server: Endpoint, http_request: HttpRequest, failure: ServerFailedError, sent_at: float) -> None:
        now = monotonic()
        health = server.health
        health.fail(failure, sent_at, now)
        server.failures[failure.kind] += 1
        server.limit.note_failure(sent_at, now, is_refusal=failure.is_refusal)
        if all(each.health.is_hopeless(now) for each in self._endpoints):
            raise EngineError(self._explain_end())
        if health.is_worth_reporting(failure):
            health.is_reported = True
            text = f"server {server.served.url} fails ({failure.reason}): requests are sent again until it answers"
            self._emit(Notice(text, is_warning=True))
        if failure.blames_request and health.successes > http_request.successes_seen:
            http_request.strikes += 1
            http_request.successes_seen = health.successes
        if http_request.strikes >= MAX_STRIKES:
            reason = f"failed {MAX_STRIKES} times where others did not: {failure.reason}"
            self._refuse(http_request.group, reason)
        else:
            self._pending.append(http_request)

    def _tell_status(self) -> None:
        if monotonic() - self._told_at >= STATUS_SECONDS:
            self._told_at = monotonic()
            self._emit(Notice(self.describe(), is_warning=False))

    def describe(self) -> str:
        """Return how each server does, and what was spent."""
        return "; ".join(filter(None, (*(each.describe() for each in self._endpoints), self._spending.describe())))

    def _explain_end(self) -> str:
        servers = "; ".join(f"{each.served.url}: {each.health.reason}" for each in self._endpoints)
        return f"no server has answered for {self._access.patience:g} s: {servers}"

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self._error = self._error or error
            self._stopping.set()
