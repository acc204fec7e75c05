"""A clock that only sleeping moves, for engines that ask again; what vLLM in process draws, for those that agree."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest

from learnable.data.progress import Silence, watched_by
from learnable.rollouts.server import client as server_client
from tests.flows.sampling.agreement_for_tests import Workplace
from tests.support.warm_forks import locked
from tests.support.warm_starts import Starter


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


@pytest.fixture(scope="session")
def drawn_in_process(tmp_path_factory: pytest.TempPathFactory, shared_folder: Path, starter: Starter) -> pl.DataFrame:
    """The rewards of what vLLM in process draws at a `Workplace`, drawn once for all workers."""
    place = shared_folder / "drawn-in-process.parquet"
    with locked(place):
        if not place.exists():
            Workplace(tmp_path_factory.mktemp("in-process"), starter).rewards("vllm", 1).write_parquet(place)
    rewards = pl.read_parquet(place)
    assert 0.1 < rewards["reward"].mean() < 0.9  # or agreement would say nothing
    return rewards
