"""The lease on a store in object storage: one object that its holder renews, and that falls to another once it rests.

Nobody compares wall clocks. The holder counts its lease as lost when no renewal began within the expiry; whoever
waits takes it over after watching it rest for as long, so the holder always gives up first. What this does not stop:
a holder whose machine was suspended may write for up to one beat after it wakes, before `check` knows of the loss;
and someone who is halted for longer than a beat between reading an expired lease and deleting it deletes its
successor's, who learns of it at the next beat.
"""

from __future__ import annotations

import json
import math
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict

from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.storage.owner import Owner, StoreLock, Waiting

LEASE_FILE = ".lease"
BEAT_SECONDS = 10.0
EXPIRY = 6  # beats
LEASE_POLL_SECONDS = 2.0


@contextmanager
def hold_lease(root: UPath, waiting: Waiting, beat_seconds: float | None = None) -> Iterator[StoreLock]:
    """Hold the lease on the store at `root` inside the block, renewing it every `beat_seconds`.

    Raises `LearnableError` when `waiting` gives up, when the store cannot be reached, and where its file system
    cannot create a file exclusively.
    """
    lease = Lease(root, BEAT_SECONDS if beat_seconds is None else beat_seconds)
    try:
        lease.take(waiting)
        yield lease
    finally:
        lease.release()


class Lease:
    """One claim to a store: taken once, renewed from a thread of its own, released."""

    def __init__(self, root: UPath, beat_seconds: float) -> None:
        self.store = str(root)
        self._fs = root.fs
        self._path = (root / LEASE_FILE).path
        self._beat_seconds = beat_seconds
        self._expiry = EXPIRY * beat_seconds
        self._owner = Owner.of_this_process()
        self._token = uuid.uuid4().hex
        self._beat = 0
        self._renewed = time.monotonic()
        self._loss: str | None = None
        self._trouble: Exception | None = None
        self._released = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)

    def take(self, waiting: Waiting) -> None:
        """Wait until the lease is ours, then keep it renewed.

        Raises `LearnableError` where the store cannot be reached or locked at first, when it is out of reach for
        longer than a lease lasts, and when `waiting` gives up.
        """
        watch = _Watch(self._expiry)
        answered = -math.inf
        while True:
            try:
                if self._taken(watch):
                    break
                answered = time.monotonic()
            except LearnableError:
                raise
            except Exception as error:  # drivers raise what they like
                if time.monotonic() - answered >= self._expiry:
                    raise self._cannot_lock(f"{type(error).__name__}: {error}") from error
            waiting.pause(watch.owner, LEASE_POLL_SECONDS)
        self._thread.start()

    def check(self) -> None:
        """Raise `LearnableError` when the lease was lost."""
        if self._is_lost():
            raise LearnableError(
                f"the lease on store {self.store!r} {self._loss}: stop, the same command goes on later"
            )

    def release(self) -> None:
        """Stop renewing, and delete the lease if it is still ours."""
        self._released.set()
        if self._thread.is_alive():
            self._thread.join(self._expiry)
        if not self._is_lost():
            with suppress(Exception):  # what stays expires
                self._delete_if_ours()

    def _taken(self, watch: _Watch) -> bool:
        began = time.monotonic()
        lease = self._read()
        if lease is not None and not watch.is_expired(lease, began):
            return False
        if lease is not None:
            self._delete()
        self._renewed = time.monotonic()
        if not self._create():
            return False
        if lease is not None:  # another may have seen the same lease expire, and delete ours in its place
            time.sleep(self._beat_seconds)
        return lease is None or self._is_ours(self._read())

    def _keep(self) -> None:
        while not self._released.wait(self._beat_seconds) and not self._is_lost():
            try:
                self._renew()
            except Exception as error:  # borne until the lease is overdue; `check` then names it
                self._trouble = error

    def _renew(self) -> None:
        began = time.monotonic()
        lease = self._read()
        if not self._is_ours(lease):
            owner = _owner_of(lease)
            self._loss = f"was lost to {owner.describe() if owner else 'another process'}"
            return
        self._beat += 1
        self._fs.pipe_file(self._path, self._text())
        self._renewed = began

    def _create(self) -> bool:
        if not self._create_once(self._path):
            return self._is_ours(self._read())  # a driver that asks again, its first answer lost, finds its own object
        if self._create_once(self._path) and not self._creates_exclusively():
            self._delete()
            raise self._cannot_lock("its server ignores the demand that a file be new")
        return True

    def _creates_exclusively(self) -> bool:
        """Whether a file that is there is not created again. One of our own: who saw a lease expire may delete ours."""
        path = f"{self._path}.{self._token}"
        try:
            return not (self._create_once(path) and self._create_once(path))
        finally:
            self._delete(path)

    def _create_once(self, path: str) -> bool:
        if getattr(self._fs.pipe_file, "__qualname__", "") == "AbstractFileSystem.pipe_file":
            raise self._cannot_lock("its driver creates no file exclusively")  # it looks first and writes then
        try:
            self._fs.pipe_file(path, self._text(), mode="create")
        except FileExistsError:
            return False
        except (NotImplementedError, TypeError, ValueError) as error:
            raise self._cannot_lock("its driver creates no file exclusively") from error
        except OSError:
            if self._read(path) is None:
                raise
            return False  # servers name the refusal differently
        return True

    def _read(self, path: str = "") -> bytes | None:
        try:
            # Reading a range needs no listing, which drivers cache.
            return bytes(self._fs.cat_file(path or self._path, start=0, end=65_536))
        except FileNotFoundError:
            return None

    def _delete(self, path: str = "") -> None:
        with suppress(FileNotFoundError):
            self._fs.rm_file(path or self._path)

    def _delete_if_ours(self) -> None:
        if self._is_ours(self._read()):
            self._delete()

    def _is_ours(self, lease: bytes | None) -> bool:
        return lease is not None and self._token.encode() in lease

    def _is_lost(self) -> bool:
        if self._loss is None and time.monotonic() - self._renewed >= self._expiry:
            trouble = f" ({type(self._trouble).__name__}: {self._trouble})" if self._trouble else ""
            self._loss = f"was lost: it could not be renewed for {self._expiry:g} s{trouble}"
        return self._loss is not None

    def _text(self) -> bytes:
        return json.dumps({"owner": asdict(self._owner), "beat": self._beat, "token": self._token}).encode()

    def _cannot_lock(self, reason: str) -> LearnableError:
        return LearnableError(f"store {self.store!r} cannot be locked ({reason}): give another `store`")


class _Watch:
    """Watches somebody's lease: it has expired when it has not changed for `expiry` seconds of our own clock."""

    def __init__(self, expiry: float) -> None:
        self.owner: Owner | None = None
        self._expiry = expiry
        self._lease: bytes | None = None
        self._first_seen = 0.0

    def is_expired(self, lease: bytes, read_from: float) -> bool:
        """Whether `lease`, which was read at the time `read_from` or later, has rested for long enough."""
        if lease != self._lease:
            self._lease, self._first_seen, self.owner = lease, time.monotonic(), _owner_of(lease)
            return False
        return read_from - self._first_seen >= self._expiry


def _owner_of(lease: bytes | None) -> Owner | None:
    try:
        return Owner.from_json(json.dumps(json.loads(lease or b"")["owner"]))
    except (ValueError, TypeError, KeyError):
        return None
