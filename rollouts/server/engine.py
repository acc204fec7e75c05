"""An engine over servers with the OpenAI interface (vLLM, SGLang, hosted ones): several at once, any may stop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType

from learnable.data.dialogue.chats import read_chat_template
from learnable.data.errors import SpentBudgetError
from learnable.data.policies import Policy
from learnable.data.progress import progress
from learnable.data.records import Prompt, Sampling, weights_id
from learnable.rollouts.protocol import Answer, GroupRequest
from learnable.rollouts.server.client import Notice, ServerPool
from learnable.rollouts.server.endpoint import Access, Endpoint, find_room
from learnable.rollouts.server.limits import ConcurrencyLimit
from learnable.rollouts.server.models import (
    HEALTH_TIMEOUT,
    UNHASHED,
    check_key,
    find_served,
    find_served_policy,
    identify,
)
from learnable.rollouts.server.spending import Allowance, close_account, open_account

__all__ = ["ServerEngine", "find_served_policy"]


class ServerEngine:
    """An `Engine` over any endpoints with the OpenAI interface that serve one model.

    `policy` is whose rollouts these are; without it the servers' own (see `find_served_policy`). `model` chooses where
    a server has several. Each server has at most `concurrency` requests in flight, one a group. A request fails after
    `request_timeout` seconds. A failed request is sent again, elsewhere if possible, until no server has answered
    for `patience` seconds. Raises `LearnableError` when a server cannot be used.
    """

    def __init__(
        self,
        base_urls: Sequence[str],
        policy: Policy | None = None,
        *,
        model: str | None = None,
        api_key: str | None = None,
        concurrency: int = 4096,
        request_timeout: float = 600.0,
        patience: float = 300.0,
        allowance: Allowance | None = None,
    ) -> None:
        key = check_key(api_key)
        self._served = find_served(base_urls, policy, model, key, HEALTH_TIMEOUT)
        self._access = Access(key, request_timeout, patience, any(each.is_sglang for each in self._served))
        room = find_room(concurrency, len(self._served))
        self._limits = [ConcurrencyLimit(room) for _ in self._served]
        self._allowance = allowance or Allowance()
        self._is_paid = key is not None or self._allowance != Allowance()
        self.idle_slots = 0
        self.policy = identify(self._served, policy)
        known = Path(self.policy.path).is_dir() or not weights_id(self.policy.policy_id).startswith(f"{UNHASHED}-")
        self.template = read_chat_template(self.policy.path, download=False) if known else None
        self.max_context = min(each.context or 1 << 30 for each in self._served)  # without a limit where none is known

    @property
    def policy_id(self) -> str:
        """Name and hash of the policy's weights; `@served` in place of a hash where nothing could be hashed."""
        return self.policy.policy_id

    def count_tokens(self, prompts: Sequence[Prompt]) -> None:
        """Return None: a server cannot count cheaply. A prompt that is too long comes back as a refusal."""

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        """Yield each group as it finishes. See `Engine.generate`.

        `requests` is read in the caller's thread, half as many again as the servers take at once. Raises `EngineError`
        when no server has answered for `patience` seconds, `SpentBudgetError` where the allowance is spent.
        """
        queue = iter(requests)
        missing, have_ended = 0, False
        with _PoolThread(self, sampling) as pool:
            while True:
                while missing <= pool.room + pool.room // 2:
                    # Nothing is made that may not be needed, where somebody is paid for it.
                    self.idle_slots = 0 if self._is_paid else pool.room - missing
                    if (request := next(queue, None)) is None:
                        if not have_ended:
                            pool.end_requests()
                        have_ended = True
                        break
                    pool.add(request)
                    missing, have_ended = missing + 1, False
                if not missing:
                    return
                answer = pool.wait()
                missing -= 1
                yield answer

    def close(self) -> None:
        """Nothing to free: each `generate` closes what it opened."""


class _PoolThread:
    """A `ServerPool` in a thread and loop of its own, so that it runs in any thread and beside any loop."""

    def __init__(self, engine: ServerEngine, sampling: Sampling) -> None:
        self._events: SimpleQueue[Answer | Notice | BaseException] = SimpleQueue()
        self._allowance = engine._allowance
        access, put, template = engine._access, self._events.put, engine.template
        endpoints = [Endpoint(*pair, access) for pair in zip(engine._served, engine._limits, strict=True)]
        spending = open_account(self._allowance)
        self._pool = ServerPool(endpoints, engine.policy_id, sampling, access, spending, put, template)
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)  # without it the caller's loop is replaced
        self._loop = self._runner.get_loop()
        self._thread = threading.Thread(target=self._run, name="server-engine", daemon=True)

    def __enter__(self) -> _PoolThread:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call(self._pool.stop)
        self._thread.join()

    @property
    def room(self) -> int:
        """Requests that the servers take at once."""
        return self._pool.room

    def add(self, request: GroupRequest) -> None:
        """Take a request on."""
        self._call(self._pool.add, request)

    def end_requests(self) -> None:
        """Take note that no more are to be added for now."""
        self._call(self._pool.end_requests)

    def wait(self) -> Answer:
        """Return the next answer, and pass notices on; raises what ended the pool."""
        while True:
            event = self._events.get()
            if isinstance(event, SpentBudgetError):
                close_account(self._allowance)
            if isinstance(event, BaseException):
                raise event
            if not isinstance(event, Notice):
                return event
            (progress().warn if event.is_warning else progress().note)(event.text)

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: what ended it is among the events
            self._loop.call_soon_threadsafe(function, *arguments)

    def _run(self) -> None:
        try:
            with self._runner:
                self._runner.run(self._pool.run())
        except BaseException as error:  # whatever it is, the caller's thread raises it
            self._events.put(error)
