"""Who is told how a run goes: the console, a log, a notebook, or nobody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Progress(Protocol):
    """Hears of a run's progress. Stages and notes are short sentences; tokens are completion tokens so far."""

    def stage(self, text: str) -> None:
        """A new stage begins."""

    def rollouts(self, done: int, total: int, tokens: int) -> None:
        """`done` of `total` rollouts are generated."""

    def step(self, done: int, total: int, metrics: Mapping[str, float]) -> None:
        """`done` of `total` training steps are taken; `metrics` is the trainer's latest line."""

    def note(self, text: str) -> None:
        """Something worth knowing."""

    def warn(self, text: str) -> None:
        """Something that may make the result worse than it looks."""


class Silence:
    """Progress that nobody watches."""

    def stage(self, text: str) -> None:
        """Say nothing."""

    def rollouts(self, done: int, total: int, tokens: int) -> None:
        """Say nothing."""

    def step(self, done: int, total: int, metrics: Mapping[str, float]) -> None:
        """Say nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""

    def warn(self, text: str) -> None:
        """Say nothing."""


_current: ContextVar[Progress | None] = ContextVar("progress", default=None)


def progress() -> Progress:
    """Return whoever watches this run. A flow's parameters must be plain data, so this travels beside them."""
    return _current.get() or Silence()


def is_watched() -> bool:
    """Whether anybody watches this run."""
    return _current.get() is not None


@contextmanager
def watched_by(watcher: Progress) -> Iterator[None]:
    """Let `watcher` hear of runs inside the block."""
    token = _current.set(watcher)
    try:
        yield
    finally:
        _current.reset(token)
