"""Which server is asked for which group, and when: one event loop, a limit a server, failures asked again elsewhere."""

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
from learnable.rollouts.server.answers import Choice, read_choices, request_body, to_answer
from learnable.rollouts.server.failures import RequestRefusedError, ServerFailedError, ServerHealth, read_failure
from learnable.rollouts.server.models import NO_KEY, Served

if TYPE_CHECKING:
    from openai import AsyncOpenAI

CONNECT_TIMEOUT = 10.0  # seconds
STRIKES = 8  # failures of a request whose server answered others in between: the request is the cause


@dataclass(slots=True)
class Access:
    """How servers are asked; times in seconds. `ignores_n` is learned: the servers give one completion a request."""

    key: str | None = field(repr=False)
    concurrency: int
    request_timeout: float
    patience: float
    ignores_n: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell whoever watches the run."""

    text: str
    is_warning: bool


@dataclass(slots=True, eq=False)
class Group:
    """A group on its way: the completions so far, by index."""

    request: GroupRequest
    choices: dict[int, Choice] = field(default_factory=dict)
    is_refused: bool = False


@dataclass(slots=True, eq=False)
class Ask:
    """One HTTP request: `count` completions of a group, from its `first` on."""

    group: Group
    first: int
    count: int
    strikes: int = 0
    successes_seen: int = -1

    def split(self, start: int = 0) -> Iterator[Ask]:
        """Yield one request a completion, from `start` on."""
        return (Ask(self.group, self.first + i, 1) for i in range(start, self.count))


class Server:
    """One server: its client, its health, and how many more requests it takes."""

    def __init__(self, served: Served, client: AsyncOpenAI, access: Access) -> None:
        self.served = served
        self.client = client
        self.health = ServerHealth(access.patience)
        self.free = asyncio.Semaphore(access.concurrency)
        self.news = asyncio.Event()  # a request has ended, in whichever way


class ServerPool:
    """Answers requests from several servers of one model. `emit` hears every answer and notice, in any order.

    Made in any thread; everything else happens in the loop that runs `run`.
    """

    def __init__(
        self,
        served: Sequence[Served],
        policy_id: str,
        sampling: Sampling,
        access: Access,
        emit: Callable[[Answer | Notice], None],
    ) -> None:
        self._served = served
        self._policy_id = policy_id
        self._sampling = sampling
        self._access = access
        self._emit = emit
        self._servers: list[Server] = []
        self._asks: asyncio.Queue[Ask] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._error: BaseException | None = None

    async def run(self) -> None:
        """Answer until `stop`. Raises `EngineError` when the servers are given up."""
        async with AsyncExitStack() as stack:
            for served in self._served:
                client = await stack.enter_async_context(new_client(served, self._access))
                self._servers.append(Server(served, client, self._access))
            try:
                for server in self._servers:
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
        whole = Ask(Group(request), 0, request.group_size)
        for ask in whole.split() if self._access.ignores_n else [whole]:
            self._asks.put_nowait(ask)

    async def _feed(self, server: Server) -> None:
        """Keep a server busy. While it fails, one request at a time tries whether it is back."""
        while True:
            await server.free.acquire()
            ask = await self._asks.get()
            if (pause := server.health.pause(monotonic())) > 0:
                self._asks.put_nowait(ask)  # for another server
                server.free.release()
                await sleep(pause)
                continue
            attempt = self._spawn(self._attempt(server, ask))
            while server.health.is_failing and not attempt.done():
                server.news.clear()
                await server.news.wait()

    async def _attempt(self, server: Server, ask: Ask) -> None:
        asked = monotonic()
        try:
            if not ask.group.is_refused:
                choices = await self._ask(server, ask)
                self._succeed(server)
                self._take(ask, choices)
        except RequestRefusedError as refusal:
            self._succeed(server)
            self._refuse(ask.group, str(refusal))
        except ServerFailedError as failure:
            self._fail(server, ask, failure, asked)
        finally:
            server.free.release()
            server.news.set()

    async def _ask(self, server: Server, ask: Ask) -> list[Choice]:
        path, body = request_body(ask.group.request, ask.first, ask.count, self._sampling, server.served)
        try:
            async with asyncio.timeout(self._access.request_timeout):
                answer = await server.client.post(path, body=body, cast_to=object)
        except Exception as error:  # sorted out there; what is none of the server's comes back as it is
            raise read_failure(error, self._access.key) from None
        return read_choices(answer, ask.count, body["max_tokens"])

    def _take(self, ask: Ask, choices: list[Choice]) -> None:
        if len(choices) < ask.count:  # one for many
            self._access.ignores_n = True
            for rest in ask.split(start=1):
                self._asks.put_nowait(rest)
        group = ask.group
        group.choices.update(enumerate(choices, start=ask.first))
        if len(group.choices) == group.request.group_size and not group.is_refused:
            whole = [group.choices[index] for index in range(group.request.group_size)]
            self._emit(to_answer(group.request, whole, self._sampling, self._policy_id))

    def _refuse(self, group: Group, reason: str) -> None:
        if not group.is_refused:
            group.is_refused = True
            self._emit(Refusal(group.request, reason))

    def _succeed(self, server: Server) -> None:
        if server.health.is_reported:
            self._emit(Notice(f"server {server.served.url} answers again", is_warning=False))
        server.health.succeed()

    def _fail(self, server: Server, ask: Ask, failure: ServerFailedError, asked: float) -> None:
        now = monotonic()
        health = server.health
        health.fail(failure, asked, now)
        if all(each.health.is_hopeless(now) for each in self._servers):
            raise EngineError(self._despair())
        if health.worth_reporting(failure):
            health.is_reported = True
            self._emit(
                Notice(
                    f"server {server.served.url} fails ({failure.reason}): asked again until it answers",
                    is_warning=True,
                )
            )
        if failure.blames_request and health.successes > ask.successes_seen:
            ask.strikes += 1
            ask.successes_seen = health.successes
        if ask.strikes >= STRIKES:
            self._refuse(ask.group, f"failed {STRIKES} times where others did not: {failure.reason}")
        else:
            self._asks.put_nowait(ask)

    def _despair(self) -> str:
        servers = "; ".join(f"{each.served.url}: {each.health.reason}" for each in self._servers)
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


def new_client(served: Served, access: Access) -> AsyncOpenAI:
    """Return a client that never asks again by itself: `ServerPool` does, and knows of the other servers."""
    from openai import AsyncOpenAI, Timeout

    timeout = Timeout(access.request_timeout, connect=min(CONNECT_TIMEOUT, access.request_timeout))
    return AsyncOpenAI(base_url=served.url, api_key=access.key or NO_KEY, timeout=timeout, max_retries=0)
