"""Who may write to a store or to a loop's folder: one process at a time, and what the others are told meanwhile.

A local store is locked by the kernel, which frees the lock however its holder ends. A remote one is locked by a lease
(`lease.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from filelock import FileLock, Timeout
from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.progress import progress
from learnable.data.storage.lease import hold_lease
from learnable.data.storage.owner import Owner, StoreLock, Waiting

OWNER_FILE = ".lock-owner.json"
LOCK_POLL_SECONDS = 0.1


def _note(sentence: str) -> None:
    progress().note(sentence)


@contextmanager
def hold_store(
    root: UPath | Path, *, wait: float | None = None, on_wait: Callable[[str], None] = _note
) -> Iterator[StoreLock]:
    """Be the only writer of the store at `root` inside the block, among all threads and processes that ask this way.

    Not re-entrant: a thread that asks again for a store that it has locked waits for itself. `wait` is in seconds: None
    waits for ever, 0 not at all; a killed holder frees a local store at once, a remote one after the lease's expiry.
    `on_wait` is told once, in a sentence, whom we wait for. Raises `LearnableError` when the wait is over, and for a
    store that cannot be locked. Call `check` on what is yielded before anything is published.
    """
    waiting = Waiting(str(root), wait, on_wait)
    if isinstance(root, Path) or root.protocol in ("", "file", "local"):
        with _hold_folder(Path(root.path) if isinstance(root, UPath) else root, waiting) as lock:
            yield lock
    else:
        with hold_lease(root, waiting) as lock:
            yield lock


@contextmanager
def hold_output(folder: Path, kind: str) -> Iterator[None]:
    """Be the only one who writes a local output folder inside the block; `kind` says in a word what it is of.

    Nobody waits for it: whoever comes second typed the same command twice. Raises `LearnableError` that names the
    folder and the other process, and for a folder that cannot be locked.
    """
    with _hold_folder(folder, Waiting(str(folder), 0, _note, kind, "output")):
        yield


class _FolderLock:
    def check(self) -> None:
        """The kernel takes no lock away."""


@contextmanager
def _hold_folder(folder: Path, waiting: Waiting) -> Iterator[StoreLock]:
    folder = folder.absolute()  # the block may change the working directory
    # Without the soft fallback: that lock is a file, which a killed holder leaves behind.
    # The file is never removed: two processes could then each lock a file of that name.
    lock = FileLock(folder / ".lock", thread_local=False, fallback_to_soft=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        while not _locked_now(lock):
            waiting.pause(_read_owner(folder), LOCK_POLL_SECONDS)
    except OSError as error:
        raise LearnableError(
            f"{waiting.kind} {waiting.store!r} cannot be locked ({error.strerror or error}): choose another "
            f"`{waiting.setting}`"
        ) from error
    try:
        _write_owner(folder)
        yield _FolderLock()
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
    with suppress(OSError):  # a full disk costs the others a name in a message; the store is locked all the same
        draft.write_text(json.dumps(asdict(Owner.of_this_process())))
        draft.replace(folder / OWNER_FILE)
