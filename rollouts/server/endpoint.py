"""One server: the connections to it, how it does, and how many requests it takes."""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from learnable.rollouts.server.failures import ServerHealth
from learnable.rollouts.server.limits import ConcurrencyLimit
from learnable.rollouts.server.models import Served, open_client

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# Requests of one client: it keeps so many connections open by default, and looks through all of them for each request.
POOL = 100
SPARE_FILES = 512  # that the rest of a run may have open
SMOOTHING = 0.1  # share of the latest answer in how long one takes


@dataclass(slots=True)
class Access:
    """How requests are sent; times in seconds. `ignores_n` is found out: the servers give one completion a request."""

    key: str | None = field(repr=False)
    request_timeout: float
    patience: float
    ignores_n: bool = False


class Endpoint:
    """One server as the loop of a `ServerPool` sees it."""

    def __init__(self, served: Served, limit: ConcurrencyLimit, access: Access) -> None:
        self.served = served
        self.health = ServerHealth(access.patience)
        self.limit = limit
        self.under_way = 0
        self.answers = 0
        self.failures: Counter[str] = Counter()
        self.seconds: float | None = None  # that an answer takes
        self._access = access
        self._clients: list[AsyncOpenAI] = []
        self._loads: list[int] = []  # requests of each client

    @property
    def has_room(self) -> bool:
        """Whether another request may be sent now."""
        return self.under_way < self.limit.value

    def rate(self, now: float) -> float:
        """Return the requests that it answers a second; 0 before the first answer, and while it fails or rests."""
        if not self.seconds or self.health.is_failing or self.health.pause_left(now) > 0:
            return 0.0
        return self.limit.value / self.seconds

    def begin(self) -> None:
        """Take a request on."""
        self.under_way += 1
        self.limit.note_sent(self.under_way)

    def note_seconds(self, seconds: float) -> None:
        """Take note of how long an answer took."""
        self.seconds = seconds if self.seconds is None else self.seconds + SMOOTHING * (seconds - self.seconds)

    async def post(self, path: str, body: Mapping[str, object]) -> object:
        """Send a request, and return what the server answers. Raises what the client raises."""
        number = next((number for number, load in enumerate(self._loads) if load < POOL), len(self._loads))
        if number == len(self._loads):
            self._clients.append(open_client(self.served.url, self._access.key, self._access.request_timeout))
            self._loads.append(0)
        self._loads[number] += 1
        try:
            return await self._clients[number].post(path, body=body, cast_to=object)
        finally:
            self._loads[number] -= 1

    async def close(self) -> None:
        """Close every connection."""
        for client in self._clients:
            await client.close()

    def describe(self) -> str:
        """Return how it does, in a line."""
        failed = ", ".join(f"{kind} {count:,}" for kind, count in self.failures.most_common())
        return (
            f"{self.served.url}: {self.under_way:,} requests under way, limit {self.limit.value:,}, "
            f"{self.answers:,} answered, {self.failures.total():,} failed{failed and f' ({failed})'}"
        )


def find_room(wanted: int, servers: int) -> int:
    """Return how many requests each of the servers may have, `wanted` at most: each takes a file.

    The limit on open files is raised as far as the system lets this process.
    """
    needed = wanted * servers + SPARE_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft != unlimited and soft < needed:
        soft = needed if hard == unlimited else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return wanted if soft == unlimited or soft >= needed else max((soft - SPARE_FILES) // servers, 1)
