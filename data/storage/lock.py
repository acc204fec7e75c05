"""Who may write to a store or to a loop's folder, and what the others are told meanwhile.

A store has parts, one a policy and sampling: each has one writer at a time, and so has the store as a whole, which
then has no other. On a disk the kernel locks them, and frees a lock however its holder ends. In object storage, and on
mounts where those locks do not hold, a lease does (`lease.py`).
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from filelock import FileLock, Timeout
from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.progress import progress
from learnable.data.storage.lease import WHOLE, hold_lease
from learnable.data.storage.owner import Owner, StoreLock, Waiting
from learnable.data.storage.places import local_path

LOCK_FILE, OWNER_FILE = ".lock", ".lock-owner.json"
PART_LOCKS = ".locks"
LOCK_POLL_SECONDS = 0.1
SWEEP_SECONDS = 30.0  # of one who begins a run, and holds the whole store for it
MOUNTS = Path("/proc/self/mountinfo")
# Their locks may hold on one machine alone, or not at all, and nobody can tell from here.
SHARED_MOUNTS = frozenset("9p afs beegfs ceph cifs glusterfs lustre nfs nfs4 orangefs smb3 virtiofs".split())
NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)


def _note(sentence: str) -> None:
    progress().note(sentence)


@contextmanager
def hold_store(
    root: UPath | Path, part: str = "", *, wait: float | None = None, on_wait: Callable[[str], None] = _note
) -> Iterator[StoreLock]:
    """Be the only writer of a part of the store at `root` inside the block, among all threads and processes that ask.

    Without a `part`, of all of it. Not re-entrant: a thread that asks again for what it has locked waits for itself.
    `wait` is in seconds: None waits for ever, 0 not at all; a killed holder frees a local store at once, a lease after
    its expiry. `on_wait` is told once, in a sentence, whom we wait for. Call `share` on what is yielded once nothing is
    done to other parts, and `check` before anything is published. Raises `LearnableError` when the wait is over, and
    for a store that cannot be locked.
    """
    waiting = Waiting(str(root), wait, on_wait)
    folder = root if isinstance(root, Path) else local_path(root)
    if folder is None:
        with hold_lease(root, waiting, part=part or WHOLE) as lease:
            yield lease
    else:
        with _hold_folder(folder, waiting, part) as lock:
            yield lock


@contextmanager
def hold_output(folder: Path, kind: str) -> Iterator[None]:
    """Be the only one who writes a local output folder inside the block; `kind` says in a word what it is of.

    Nobody waits for it: whoever comes second typed the same command twice. Raises `LearnableError` that names the
    folder and the other process, and for a folder that cannot be locked.
    """
    with _hold_folder(folder, Waiting(str(folder), 0, _note, kind, "output")):
        yield


@contextmanager
def _hold_folder(folder: Path, waiting: Waiting, part: str = "") -> Iterator[StoreLock]:
    folder = folder.absolute()  # the block may change the working directory
    try:
        folder.mkdir(parents=True, exist_ok=True)
        kernel = not is_shared_mount(folder) and _locks_work(folder)
    except OSError as error:
        raise _cannot_lock(waiting, error) from error
    if not kernel:
        with hold_lease(folder, waiting, part=part or WHOLE) as lease:
            yield lease
    elif part:
        with _locked(folder / PART_LOCKS / part, waiting), _Shared(folder, waiting) as shared:
            yield shared
    else:
        with _locked(folder, waiting):
            yield _Whole()


class _Whole:
    """The kernel takes no lock away."""

    alone, taken_over = True, False

    def check(self) -> None: ...

    def share(self) -> None: ...


class _Shared(_Whole):
    """A share of a store: with others that have one, and without anybody who has all of it.

    Alone at first, where nobody else has a share, until it is shared.
    """

    def __init__(self, folder: Path, waiting: Waiting) -> None:
        self._folder, self._waiting = folder, waiting
        self._all = _file_lock(folder)
        self._descriptor: int | None = None

    def __enter__(self) -> StoreLock:
        self.alone = _locked_now(self._all)
        if not self.alone:
            self._take()
        return self

    def __exit__(self, *_: object) -> None:
        self._all.release()
        if self._descriptor is not None:
            _shares.discard(self._descriptor)
            os.close(self._descriptor)

    def share(self) -> None:
        """Let others in. Raises `LearnableError` where another takes the whole store just now, and we do not wait."""
        if self.alone:
            self.alone = False
            self._all.release()
            self._take()

    def _take(self) -> None:
        self._descriptor = os.open(self._folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        _shares.add(self._descriptor)
        patience = time.monotonic() + SWEEP_SECONDS
        while not _flocked(self._descriptor, fcntl.LOCK_SH):
            owner = _read_owner(self._folder)
            if owner is None and time.monotonic() < patience:  # somebody who begins a run
                time.sleep(LOCK_POLL_SECONDS)
            else:
                self._waiting.pause(owner, LOCK_POLL_SECONDS)


_shares: set[int] = set()  # descriptors


def _forget_shares() -> None:
    """Let go of them in a forked child, or it would hold the lock for longer than a parent that is killed."""
    while _shares:
        with suppress(OSError):
            os.close(_shares.pop())


os.register_at_fork(after_in_child=_forget_shares)


@contextmanager
def _locked(folder: Path, waiting: Waiting) -> Iterator[None]:
    """Lock all of a folder, and say who we are."""
    lock = _file_lock(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        while not _locked_now(lock):
            waiting.pause(_find_owner(folder), LOCK_POLL_SECONDS)
    except OSError as error:
        raise _cannot_lock(waiting, error) from error
    try:
        _write_owner(folder)
        yield
    finally:
        with suppress(OSError):  # a stale owner misleads nobody: the next holder writes its own
            (folder / OWNER_FILE).unlink(missing_ok=True)
        lock.release()


def is_shared_mount(folder: Path) -> bool:
    """Whether other machines may see the folder too: then the kernel's locks may not hold."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return False
    kinds = {}
    for line in lines:  # proc(5): the mount point is the fifth field, and the kind the first behind a dash
        fields, _, rest = line.partition(" - ")
        kinds[fields.split()[4].replace("\\040", " ")] = rest.partition(" ")[0]
    place = folder.resolve()
    kind = next((kinds[str(path)] for path in (place, *place.parents) if str(path) in kinds), "")
    return kind in SHARED_MOUNTS or kind.startswith("fuse.") or kind == "fuse"


def _locks_work(folder: Path) -> bool:
    descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _flocked(descriptor, fcntl.LOCK_SH)
    except OSError as error:
        if error.errno in NO_LOCKS:
            return False
        raise
    finally:
        os.close(descriptor)
    return True


def _flocked(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _file_lock(folder: Path) -> FileLock:
    # Without the soft fallback: that lock is a file, which a killed holder leaves behind.
    # The file is never removed: two processes could then each lock a file of that name.
    return FileLock(folder / LOCK_FILE, thread_local=False, fallback_to_soft=False)


def _locked_now(lock: FileLock) -> bool:
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    return True


def _find_owner(folder: Path) -> Owner | None:
    """Return who has all of a folder, or else one of those who have a part of it."""
    if owner := _read_owner(folder):
        return owner
    for part in sorted((folder / PART_LOCKS).glob("*/")):
        lock = _file_lock(part)
        if _locked_now(lock):
            lock.release()
        elif owner := _read_owner(part):
            return owner
    return None


def _read_owner(folder: Path) -> Owner | None:
    try:
        return Owner.from_json((folder / OWNER_FILE).read_bytes())
    except OSError:
        return None


def _write_owner(folder: Path) -> None:
    draft = folder / f"{OWNER_FILE}.new"  # one name is enough: only the holder writes
    with suppress(OSError):  # a full disk costs the others a name in a message; the store is locked all the same
        draft.write_text(json.dumps(asdict(Owner.of_this_process())))
        draft.replace(folder / OWNER_FILE)


def _cannot_lock(waiting: Waiting, error: OSError) -> LearnableError:
    return LearnableError(
        f"{waiting.kind} {waiting.store!r} cannot be locked ({error.strerror or error}): choose another "
        f"`{waiting.setting}`"
    )
