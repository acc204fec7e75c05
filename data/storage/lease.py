"""The lease on a store or a part of it: for object storage, and for mounts on which the kernel's locks do not hold.

<root>/.leases/<part>-<generation>    who has it and in which beat; the part of all is "store"

A holder writes its own file alone. Whoever waits creates the file of the next generation, exclusively, once the newest
one is released or rests. So a generation has one holder, nobody overwrites or deletes what another renews, and who sees
a later generation has lost. Nobody compares wall clocks: the holder counts its lease as lost when no renewal began
within the expiry, and whoever waits takes it over after watching it rest for as long, so the holder gives up first.
What this does not stop: a holder that is halted between `check` and a write finishes that write when it wakes. A chunk
gets a number then that its successor left free, so that no file replaces it (`taken_over`).
"""

from __future__ import annotations

import json
import math
import os
import re
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.storage.owner import Owner, StoreLock, Waiting

LEASES = ".leases"
WHOLE = "store"  # the part of all
BEAT_SECONDS = 10.0
EXPIRY = 6  # beats
LEASE_POLL_SECONDS = 2.0


@contextmanager
def hold_lease(
    root: UPath | Path, waiting: Waiting, beat_seconds: float | None = None, part: str = WHOLE
) -> Iterator[StoreLock]:
    """Hold the lease on a part of the store at `root` inside the block, renewing it every `beat_seconds`.

    Raises `LearnableError` when `waiting` gives up, when the store cannot be reached, and where its file system
    cannot create a file exclusively.
    """
    lease = Lease(root, part, BEAT_SECONDS if beat_seconds is None else beat_seconds)
    try:
        lease.take(waiting)
        yield lease
    finally:
        lease.release()


class Lease:
    """One claim to a part of a store: taken once, renewed from a thread of its own, released."""

    alone = False  # there may be others, of other parts

    def __init__(self, root: UPath | Path, part: str, beat_seconds: float) -> None:
        self.store = str(root)
        self.taken_over = False  # from a holder that did not release it
        self._files: _Files = _Mounted(root / LEASES) if isinstance(root, Path) else _Objects(root / LEASES)
        self._part = part
        self._number = 0  # of our generation, 0 before it is taken
        self._beat_seconds = beat_seconds
        self._expiry = EXPIRY * beat_seconds
        self._owner = Owner.of_this_process()
        self._token = uuid.uuid4().hex
        self._beat = 0
        self._renewed = _now()
        self._loss: str | None = None
        self._trouble: Exception | None = None
        self._released = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)
        self._watches: dict[str, _Watch] = {}

    def take(self, waiting: Waiting) -> None:
        """Wait until the lease is ours and no other stands in its way, then keep it renewed.

        Raises `LearnableError` where the store cannot be reached or locked at first, when it is out of reach for
        longer than a lease lasts, and when `waiting` gives up.
        """
        answered = -math.inf
        while True:
            owner = None
            try:
                in_use, owner = self._find_obstacle()
                if not in_use:
                    break
                answered = _now()
            except LearnableError:
                raise
            except Exception as error:  # drivers raise what they like
                if _now() - answered >= self._expiry:
                    raise self._cannot_lock(f"{type(error).__name__}: {error}") from error
            waiting.pause(owner, LEASE_POLL_SECONDS)
        self._begin()

    def check(self) -> None:
        """Raise `LearnableError` when the lease was lost."""
        if self._is_lost():
            raise LearnableError(
                f"the lease on store {self.store!r} {self._loss}: stop, the same command goes on later"
            )

    def share(self) -> None:
        """Let others in: those of other parts are there already."""

    def release(self) -> None:
        """Stop renewing, and say that it is free if it is still ours."""
        self._released.set()
        if self._thread.is_alive():
            self._thread.join(self._expiry)
        if self._number and not self._is_lost():
            with suppress(Exception):  # what stays expires
                self._give_back()

    def _find_obstacle(self) -> tuple[bool, Owner | None]:
        """Take the lease unless somebody has it, or another that excludes it; return whether so, and who that is."""
        began = _now()
        newest = self._list()
        if not self._number:
            watch = self._watch(self._part, newest.get(self._part, 0), began)
            if watch.in_use or not self._create(newest.get(self._part, 0) + 1):
                return True, watch.owner
            self.taken_over = watch.rests
        if self._part == WHOLE:
            self._begin()  # the others may take long
        others = newest.keys() - {self._part} if self._part == WHOLE else {WHOLE} & newest.keys()
        for other in others:
            if (watch := self._watch(other, newest[other], began)).in_use:
                if self._part != WHOLE:  # each of two would wait for the other
                    self._give_back()
                return True, watch.owner
        return False, None

    def _watch(self, part: str, number: int, began: float) -> _Watch:
        watch = self._watches.setdefault(part, _Watch(self._expiry))
        watch.look(self._files.read(f"{part}-{number}") if number else None, began)
        return watch

    def _begin(self) -> None:
        if not self._thread.is_alive():
            self._thread.start()

    def _keep(self) -> None:
        while not self._released.wait(self._beat_seconds) and not self._is_lost():
            try:
                self._renew()
            except Exception as error:  # borne until the lease is overdue; `check` then names it
                self._trouble = error

    def _renew(self) -> None:
        began = _now()
        newest = self._list().get(self._part, 0)
        lease = self._files.read(f"{self._part}-{newest}") if newest else None
        if not self._is_ours(lease):
            owner = _owner_of(lease)
            self._loss = f"was lost to {owner.describe() if owner else 'another process'}"
            return
        self._beat += 1
        self._files.write(self._name, self._text())
        self._renewed = began

    def _create(self, number: int) -> bool:
        """Create the next generation; return whether it is ours, and the newest."""
        self._number, self._renewed = number, _now()
        if not self._create_once(self._name) and not self._is_ours(self._files.read(self._name)):
            self._number = 0
            return False
        if not self._creates_exclusively():
            self._files.delete(self._name)
            self._number = 0
            raise self._cannot_lock("its server ignores the demand that a file be new")
        # Somebody slower may have created a generation that was there once, and was cleared away.
        if self._list().get(self._part, 0) != number:
            self._files.delete(self._name)
            self._number = 0
            return False
        for name in self._files.names():
            if (found := _split(name)) and found[0] == self._part and found[1] < number:
                self._files.delete(name)
        return True

    def _creates_exclusively(self) -> bool:
        """Whether a file that is there is not created again: seen by one of our own."""
        name = f"{self._part}.{self._token}"
        try:
            return self._create_once(name) and not self._create_once(name)
        finally:
            self._files.delete(name)

    def _create_once(self, name: str) -> bool:
        try:
            return self._files.create(name, self._text())
        except (NotImplementedError, TypeError, ValueError) as error:
            raise self._cannot_lock("its driver creates no file exclusively") from error
        except OSError:
            if self._files.read(name) is None:
                raise
            return False  # servers name the refusal differently

    def _give_back(self) -> None:
        """Say in our file that it is free; it stays, so that generations go on counting."""
        if self._is_ours(self._files.read(self._name)):
            self._files.write(self._name, self._text(released=True))
        self._number = 0

    def _list(self) -> dict[str, int]:
        """Return the newest generation of each part that somebody has or had."""
        newest: dict[str, int] = {}
        for part, number in filter(None, map(_split, self._files.names())):
            newest[part] = max(number, newest.get(part, 0))
        return newest

    @property
    def _name(self) -> str:
        return f"{self._part}-{self._number}"

    def _is_ours(self, lease: bytes | None) -> bool:
        return lease is not None and self._token.encode() in lease

    def _is_lost(self) -> bool:
        if self._loss is None and _now() - self._renewed >= self._expiry:
            trouble = f" ({type(self._trouble).__name__}: {self._trouble})" if self._trouble else ""
            self._loss = f"was lost: it could not be renewed for {self._expiry:g} s{trouble}"
        return self._loss is not None

    def _text(self, *, released: bool = False) -> bytes:
        fields = {"owner": asdict(self._owner), "beat": self._beat, "token": self._token, "released": released}
        return json.dumps(fields).encode()

    def _cannot_lock(self, reason: str) -> LearnableError:
        return LearnableError(f"store {self.store!r} cannot be locked ({reason}): give another `store`")


class _Files(Protocol):
    """The files of leases, which nobody caches."""

    def names(self) -> list[str]: ...
    def read(self, name: str) -> bytes | None: ...
    def create(self, name: str, data: bytes) -> bool: ...
    def write(self, name: str, data: bytes) -> None: ...
    def delete(self, name: str) -> None: ...


class _Objects:
    """Those in object storage, by an fsspec driver."""

    def __init__(self, folder: UPath) -> None:
        self._fs: Any = folder.fs
        self._folder = folder.path

    def names(self) -> list[str]:
        self._fs.invalidate_cache()
        try:
            return [str(path).rpartition("/")[2] for path in self._fs.ls(self._folder, detail=False)]
        except FileNotFoundError:
            return []

    def read(self, name: str) -> bytes | None:
        try:
            # Reading a range needs no listing, which drivers cache.
            return bytes(self._fs.cat_file(f"{self._folder}/{name}", start=0, end=65_536))
        except FileNotFoundError:
            return None

    def create(self, name: str, data: bytes) -> bool:
        if getattr(self._fs.pipe_file, "__qualname__", "") == "AbstractFileSystem.pipe_file":
            raise NotImplementedError  # it looks first and writes then
        try:
            self._fs.pipe_file(f"{self._folder}/{name}", data, mode="create")
        except FileExistsError:
            return False
        return True

    def write(self, name: str, data: bytes) -> None:
        self._fs.pipe_file(f"{self._folder}/{name}", data)

    def delete(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._fs.rm_file(f"{self._folder}/{name}")


class _Mounted:
    """Those on a mount. They are opened anew and written in place: a renamed file may be seen late through NFS."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        try:
            return [path.name for path in self._folder.iterdir()]
        except FileNotFoundError:
            return []

    def read(self, name: str) -> bytes | None:
        try:
            return (self._folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def create(self, name: str, data: bytes) -> bool:
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            self._write(name, data, os.O_EXCL)
        except FileExistsError:
            return False
        return True

    def write(self, name: str, data: bytes) -> None:
        self._write(name, data, os.O_TRUNC)

    def delete(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)

    def _write(self, name: str, data: bytes, how: int) -> None:
        with os.fdopen(os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | how, 0o666), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())


class _Watch:
    """Watches somebody's lease, by our own clock: `in_use` unless it is gone, released, or `rests` for the expiry."""

    def __init__(self, expiry: float) -> None:
        self.owner: Owner | None = None
        self.in_use = self.rests = False
        self._expiry = expiry
        self._lease: bytes | None = None
        self._first_seen = 0.0

    def look(self, lease: bytes | None, read_from: float) -> None:
        """Take in what was read at the time `read_from` or later."""
        if lease != self._lease:
            self._lease, self._first_seen, self.owner = lease, _now(), _owner_of(lease)
        is_free = lease is None or _is_released(lease)
        self.rests = not is_free and read_from - self._first_seen >= self._expiry
        self.in_use = not is_free and not self.rests


def _split(name: str) -> tuple[str, int] | None:
    found = re.fullmatch(r"(.+)-(\d+)", name)
    return (found[1], int(found[2])) if found else None


def _is_released(lease: bytes) -> bool:
    try:
        return json.loads(lease)["released"] is True
    except (ValueError, TypeError, KeyError):
        return False


def _owner_of(lease: bytes | None) -> Owner | None:
    try:
        return Owner.from_json(json.dumps(json.loads(lease or b"")["owner"]))
    except (ValueError, TypeError, KeyError):
        return None


def _now() -> float:
    """Return seconds of a clock that goes on while the machine is suspended, where there is one."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)
