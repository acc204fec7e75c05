"""Which server gets which request, and when: one event loop, a limit for each server, failed requests sent again."""

from __future__ import annotations

import asyncio
from asyncio import sleep
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

from learnable.data.records import Sampling
from learnable.rollouts.protocol import Answer, EngineError, GroupRequest, Refusal
from learnable.rollouts.server.answers import Choice, make_answer, read_choices, write_body
from learnable.rollouts.server.failures import RequestRefusedError, ServerFailedError, ServerHealth, read_failure
from learnable.rollouts.server.models import Served, check_answered_model, open_client

if TYPE_CHECKING:
    from openai import AsyncOpenAI

MAX_STRIKES = 8  # failures of a request while its server answered others: the request is the cause


@dataclass(slots=True)
class Access:
    """How requests are sent; times in seconds. `ignores_n` is found out: the servers give one completion a request."""

    key: str | None = field(repr=False)
    concurrency: int
    request_timeout: float
    patience: float
    ignores_n: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell the user while the run goes on."""

    text: str
    is_warning: bool


@dataclass(slots=True, eq=False)
class Group:
    """A group on its way: the completions so far, by index."""

    request: GroupRequest
    choices: dict[int, Choice] = field(default_factory=dict)
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


class Endpoint:
    """One server: its client, its health, and how many more requests it takes."""

    def __init__(self, served: Served, client: AsyncOpenAI, access: Access) -> None:
        self.served = served
        self.client = client
        self.health = ServerHealth(access.patience)
        self.free = asyncio.Semaphore(access.concurrency)
        self.ended = asyncio.Event()  # a request has ended, with or without success


class ServerPool:
    """Answers requests from several servers of one model. `emit` gets every answer and notice, in any order.

    `template` is the policy's chat template, if it is known.
    Made in any thread; everything else happens in the loop that runs `run`.
    """

    def __init__(
        self,
        served: Sequence[Served],
        policy_id: str,
        sampling: Sampling,
        access: Access,
        emit: Callable[[Answer | Notice], None],
        template: str | None = None,
    ) -> None:
        self._served = served
        self._policy_id = policy_id
        self._sampling = sampling
        self._access = access
        self._emit = emit
        self._template = template
        self._endpoints: list[Endpoint] = []
        self._pending: asyncio.Queue[HttpRequest] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._error: BaseException | None = None

    async def run(self) -> None:
        """Answer until `stop`. Raises `EngineError` when no server answers any more."""
        async with AsyncExitStack() as stack:
            for served in self._served:
                client = await stack.enter_async_context(
                    open_client(served.url, self._access.key, self._access.request_timeout)
                )
                self._endpoints.append(Endpoint(served, client, self._access))
            try:
                for server in self._endpoints:
                    self._spawn(self._feed(server))
                await self._stopping.wait()
            finally:
                tasks = list(self._tasks)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Drop what is in flight and end `run`."""
        self._stopping.set()

    def add(self, request: GroupRequest) -> None:
        """Take a request on."""
        single = HttpRequest(Group(request), 0, request.group_size)
        for http_request in single.split() if self._access.ignores_n else [single]:
            self._pending.put_nowait(http_request)

    async def _feed(self, server: Endpoint) -> None:
        """Keep a server busy. While it fails, only one request at a time tests whether it is back."""
        while True:
            await server.free.acquire()
            http_request = await self._pending.get()
            if (pause := server.health.pause_left(monotonic())) > 0:
                self._pending.put_nowait(http_request)  # for another server
                server.free.release()
                await sleep(pause)
                continue
            attempt = self._spawn(self._attempt(server, http_request))
            while server.health.is_failing and not attempt.done():
                server.ended.clear()
                await server.ended.wait()

    async def _attempt(self, server: Endpoint, http_request: HttpRequest) -> None:
        sent_at = monotonic()
        try:
            if not http_request.group.is_refused:
                choices = await self._post(server, http_request)
                self._succeed(server)
                self._take(http_request, choices)
        except RequestRefusedError as refusal:
            self._succeed(server)
            self._refuse(http_request.group, str(refusal))
        except ServerFailedError as failure:
            self._fail(server, http_request, failure, sent_at)
        finally:
            server.free.release()
            server.ended.set()

    async def _post(self, server: Endpoint, http_request: HttpRequest) -> list[Choice]:
        count = http_request.count
        path, body = write_body(http_request.group.request, http_request.first, count, self._sampling, server.served)
        try:
            async with asyncio.timeout(self._access.request_timeout):
                answer = await server.client.post(path, body=body, cast_to=object)
        except Exception as error:  # sorted out there; what is none of the server's comes back as it is
            raise read_failure(error, self._access.key) from None
        check_answered_model(server.served, answer)
        return read_choices(answer, count, body["max_tokens"], self._access.key)

    def _take(self, http_request: HttpRequest, choices: list[Choice]) -> None:
        if len(choices) < http_request.count:  # one for many
            self._access.ignores_n = True
            for rest in http_request.split(start=1):
                self._pending.put_nowait(rest)
        group = http_request.group
        group.choices.update(enumerate(choices, start=http_request.first))
        if len(group.choices) == group.request.group_size and not group.is_refused:
            choices_in_order = [group.choices[index] for index in range(group.request.group_size)]
            self._emit(make_answer(group.request, choices_in_order, self._sampling, self._policy_id, self._template))

    def _refuse(self, group: Group, reason: str) -> None:
        if not group.is_refused:
            group.is_refused = True
            self._emit(Refusal(group.request, reason))

    def _succeed(self, server: Endpoint) -> None:
        if server.health.is_reported:
            self._emit(Notice(f"server {server.served.url} answers again", is_warning=False))
        server.health.succeed()

    def _fail(self, server: Endpoint, http_request: HttpRequest, failure: ServerFailedError, sent_at: float) -> None:
        now = monotonic()
        health = server.health
        health.fail(failure, sent_at, now)
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
            self._pending.put_nowait(http_request)

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
