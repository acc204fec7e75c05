"""Who holds a store, in words for those who wait for it."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from learnable.data.errors import LearnableError


class StoreLock(Protocol):
    """The right to write a part of a store, while nobody has taken it away."""

    @property
    def alone(self) -> bool:
        """Whether nobody else can write any part, up to `share`."""

    @property
    def taken_over(self) -> bool:
        """Whether it was taken from a holder that may still be writing."""

    def share(self) -> None:
        """Let those in who write other parts. Raises `LearnableError` where that cannot be."""

    def check(self) -> None:
        """Raise `LearnableError` when the store is no longer ours; a local store always is."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a store. `command` is cut short; `since` is ISO text in UTC, by the owner's clock.

    It serves the messages only: no decision rests on it.
    """

    host: str
    pid: int
    command: str
    since: str

    @classmethod
    def of_this_process(cls) -> Owner:
        """Describe the running process as an owner from now on."""
        since = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(socket.gethostname(), os.getpid(), _command(), since)

    @classmethod
    def from_json(cls, text: str | bytes) -> Owner | None:
        """Read an owner; None where the text is not one."""
        try:
            fields = json.loads(text)
            return cls(str(fields["host"]), int(fields["pid"]), str(fields["command"]), str(fields["since"]))
        except (ValueError, TypeError, KeyError):
            return None

    def describe(self, now: datetime | None = None) -> str:
        """Say who it is and for how long.

        >>> owner = Owner("myhost", 4242, "find-learnable --form sonnet", "2026-01-01T12:00:00+00:00")
        >>> owner.describe(datetime(2026, 1, 1, 12, 3, 20, tzinfo=UTC))
        'process 4242 on myhost for 3 min (find-learnable --form sonnet)'
        """
        return f"process {self.pid} on {self.host} {self._age(now or datetime.now(UTC))} ({self.command})"

    def _age(self, now: datetime) -> str:
        try:
            seconds = int((now - datetime.fromisoformat(self.since)).total_seconds())
        except (ValueError, TypeError):  # no time, or one without its zone
            seconds = -1
        if seconds < 0:
            return f"since {self.since}"
        for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
            if seconds >= size:
                return f"for {seconds // size} {unit}"
        return f"for {seconds} s"


class Waiting:
    """One caller's patience with a store in use: it says once that it waits, and gives up when its time is over.

    `seconds` None waits for ever, 0 not at all. Time is the monotonic clock's. What is locked may be something else
    than a store: `kind` is its word in messages, and `setting` the one that names another.
    """

    def __init__(
        self,
        store: str,
        seconds: float | None,
        on_wait: Callable[[str], None],
        kind: str = "store",
        setting: str = "store",
    ) -> None:
        self.store, self.kind, self.setting = store, kind, setting
        self._end = None if seconds is None else time.monotonic() + seconds
        self._on_wait: Callable[[str], None] | None = on_wait

    def pause(self, owner: Owner | None, seconds: float) -> None:
        """Sleep for `seconds`, or for what is left. Raises `LearnableError` where nothing is left."""
        left = seconds if self._end is None else self._end - time.monotonic()
        in_use = f"{self.kind} {self.store!r} is in use by {owner.describe() if owner else 'another process'}"
        if left <= 0:
            raise LearnableError(f"{in_use}: wait for it, or give another `{self.setting}`")
        if self._on_wait:
            self._on_wait(f"{in_use}: waiting for it")
            self._on_wait = None
        time.sleep(min(seconds, left))


def _command() -> str:
    program, *arguments = sys.argv or [sys.executable]
    path = Path(program)
    name = path.parent.name if path.name == "__main__.py" else path.name
    words = " ".join([name, *arguments])
    length = 80
    return words if len(words) <= length else f"{words[: length - 1]}…"
