"""Who may write to a store: one process at a time, and what the others are told while they wait.

A local store is locked by the kernel, which frees the lock however its holder ends; a remote one by a lease (`lease.py`).
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout
from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.progress import progress

LOCK_FILE = ".lock"  # never removed: two processes could then each lock a file of that name
OWNER_FILE = ".lock-owner.json"
POLL_SECONDS = 0.1
COMMAND_LENGTH = 80


class Held(Protocol):
    """A store that is ours to write."""

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
        """Read an owner; None where the text holds none."""
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

    `seconds` None waits for ever, 0 not at all. Time is the monotonic clock's.
    """

    def __init__(self, store: str, seconds: float | None, on_wait: Callable[[str], None]) -> None:
        self.store = store
        self._end = None if seconds is None else time.monotonic() + seconds
        self._on_wait: Callable[[str], None] | None = on_wait

    def pause(self, owner: Owner | None, seconds: float) -> None:
        """Sleep for `seconds`, or for what is left; raise `LearnableError` where nothing is left."""
        left = seconds if self._end is None else self._end - time.monotonic()
        in_use = f"store {self.store!r} is in use by {owner.describe() if owner else 'another process'}"
        if left <= 0:
            raise LearnableError(f"{in_use}: wait for it, or give another --store")
        if self._on_wait:
            self._on_wait(f"{in_use}: waiting for it")
            self._on_wait = None
        time.sleep(min(seconds, left))


def _note(sentence: str) -> None:
    progress().note(sentence)


@contextmanager
def hold_store(
    root: UPath | Path, *, wait: float | None = None, on_wait: Callable[[str], None] = _note
) -> Iterator[Held]:
    """Be the only writer of the store at `root` inside the block, among all threads and processes that ask this way.

    Not re-entrant: a thread that asks again for a store it holds waits for itself. `wait` is in seconds: None waits
    for ever, 0 not at all; a killed holder frees a local store at once, a remote one after the lease's expiry.
    `on_wait` is told once, in a sentence, whom we wait for. Raises `LearnableError` when the wait is over, and for a
    store that cannot be locked. Call `check` on what is yielded before anything is published.
    """
    from learnable.data.lease import hold_lease  # it takes its words from this module

    waiting = Waiting(str(root), wait, on_wait)
    if isinstance(root, Path) or root.protocol in ("", "file", "local"):
        with _hold_folder(Path(root.path) if isinstance(root, UPath) else root, waiting) as held:
            yield held
    else:
        with hold_lease(root, waiting) as held:
            yield held


class _HeldFolder:
    def check(self) -> None:
        """The kernel takes no lock away."""


@contextmanager
def _hold_folder(folder: Path, waiting: Waiting) -> Iterator[Held]:
    folder = folder.absolute()  # the block may change the working directory
    # Without the soft fallback: that lock is a file, which a killed holder leaves behind.
    lock = FileLock(folder / LOCK_FILE, thread_local=False, fallback_to_soft=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        while not _locked_now(lock):
            waiting.pause(_read_owner(folder), POLL_SECONDS)
    except OSError as error:
        raise LearnableError(
            f"store {waiting.store!r} cannot be locked ({error.strerror or error}): choose another --store"
        ) from error
    try:
        _write_owner(folder)
        yield _HeldFolder()
    finally:
        with suppress(OSError):  # a stale owner misleads nobody: the next holder writes its own
            (folder / OWNER_FILE).unlink(missing_ok=True)
        lock.release()


def _locked_now(lock: FileLock) -> bool:
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    return True


def _read_owner(folder: Path) -> Owner | None:
    try:
        return Owner.from_json((folder / OWNER_FILE).read_bytes())
    except OSError:
        return None


def _write_owner(folder: Path) -> None:
    draft = folder / f"{OWNER_FILE}.new"  # one name is enough: only the holder writes
    with suppress(OSError):  # a full disk costs the others a name in a message; the lock is held all the same
        draft.write_text(json.dumps(asdict(Owner.of_this_process())))
        draft.replace(folder / OWNER_FILE)


def _command() -> str:
    program, *arguments = sys.argv or [sys.executable]
    path = Path(program)
    name = path.parent.name if path.name == "__main__.py" else path.name
    words = " ".join([name, *arguments])
    return words if len(words) <= COMMAND_LENGTH else f"{words[: COMMAND_LENGTH - 1]}…"
