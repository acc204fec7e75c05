"""A clock that only sleeping moves, for engines that ask again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from learnable.data.progress import Silence, watched_by
from learnable.rollouts.server import client as server_client


@dataclass
class Clock:
    """Time as the servers' pool sees it; `sleeps` are the pauses it took, `after[n]` is called after the nth."""

    now: float = 1000.0
    sleeps: list[float] = field(default_factory=list)
    after: dict[int, Callable[[], object]] = field(default_factory=dict)

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds
        self.after.get(len(self.sleeps), int)()
        await asyncio.sleep(0)


@dataclass
class Watcher(Silence):
    """Keeps what a run was told."""

    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(server_client, "monotonic", clock.monotonic)
    monkeypatch.setattr(server_client, "sleep", clock.sleep)
    return clock


@pytest.fixture
def watcher() -> Iterator[Watcher]:
    watcher = Watcher()
    with watched_by(watcher):
        yield watcher
