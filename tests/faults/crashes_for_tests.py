"""Keeps what a crash would leave at each touch of the disk by a job: a copy of its folder before the touch.

    python -m tests.faults.crashes_for_tests FOLDER JOB

For each touch that changed anything there is FOLDER/nnnn, as a process that died there would have left it: what a
program has not handed to the system is in no copy. `died` says what the job was about to do. FOLDER/whole came through.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.ledger import upkeep
from learnable.data.ledger.upkeep import compact
from learnable.data.records import content_id
from learnable.data.storage import places
from learnable.data.store import Store
from learnable.flows.sampling import chunk_writer as chunks
from tests.faults.scripted_for_tests import run_small, small_settings

TOUCHES = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.posix_fallocate")
CHUNK = 16  # rollouts: half of the run
GROWN = 6  # rollouts a prompt
RESERVE = ".reserve"


class Crashes:
    """Copies the folder before each touch of a file in it, and in the middle of a write. A state is kept once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen: set[str] = set()
        self._alone = RLock()  # threads wait for a copy, as they would not go on after a crash
        sys.addaudithook(self.hook)
        Path.write_bytes = lambda path, data: self.write(path, bytes(data))  # type: ignore[method-assign, assignment]
        Path.write_text = lambda path, text, **_: self.write(path, text.encode())  # type: ignore[method-assign]

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in TOUCHES and str(self.folder) in str(arguments[0]) and arguments[1] not in ("r", "rb"):
            self.touch(f"{event} {arguments[0]}")

    def touch(self, what: str) -> None:
        with self._alone:
            if (state := state_of(self.folder)) not in self._seen:
                self._seen.add(state)
                place = self.folder.with_name(f"{len(self._seen):04d}")
                copy(self.folder, place)
                (place / "died").write_text(what)

    def write(self, path: Path, data: bytes) -> int:
        with path.open("wb") as file:
            file.write(data[: len(data) // 2])
            file.flush()
            if self.folder in path.parents:
                self.touch(f"half of {path}")
            return file.write(data[len(data) // 2 :])


def state_of(folder: Path) -> str:
    """Return a digest of every file and folder under `folder`, of the room set aside its size."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        is_read = path.is_file() and path.name != RESERVE
        found.update(f"{path} {path.is_file() and path.stat().st_size}\n".encode())
        found.update(path.read_bytes() if is_read else b"")
    return found.hexdigest()


def first(folder: Path) -> None:
    """A run on an empty store."""
    run_small(small_settings(folder))


def grow(folder: Path) -> None:
    """Larger groups on a store that has some."""
    run_small(small_settings(folder, group_size=GROWN))


def merge(folder: Path) -> None:
    """Fewer files."""
    store = Store(folder / "store")
    with store.hold(wait=0, on_wait=print):
        compact(store.ledger)


def tidy(folder: Path) -> None:
    """A run that merges its files at its end."""
    upkeep.MANY_FILES = 1
    run_small(small_settings(folder))


def leave_outside(folder: Path) -> None:
    """A run whose store cannot be written: its first chunk is kept in the cache."""
    sync = places.sync

    def refuse(path: Path) -> None:
        if folder / "store" in path.parents:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(path)

    places.sync = refuse
    with suppress(LearnableError):
        run_small(small_settings(folder))


# What is to be crashed, and what comes before it. To deliver is to run where a chunk is kept outside the store.
Job = Callable[[Path], object]
JOBS: dict[str, tuple[Job, Job]] = {
    "first": (first, small_settings),
    "grow": (grow, first),
    "merge": (merge, first),
    "tidy": (tidy, small_settings),
    "deliver": (first, leave_outside),
}


def in_child(work: Job, folder: Path) -> int:
    """Do the work in a child; return its exit status. This process only imported things: the child lacks no thread."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    status = 1
    try:
        work(folder)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def copy(start: Path, place: Path) -> None:
    """Copy a store with what is kept outside of it, under the name that goes with the new place."""
    shutil.copytree(start, place, copy_function=copy_file)
    for unsaved in (place / "cache").glob("learnable/unsaved/*"):
        unsaved.rename(unsaved.with_name(content_id(str(place / "store"))))


def copy_file(source: str, target: str) -> None:
    """Copy a file; the room set aside is large and says nothing, so only its size is copied."""
    if Path(source).name != RESERVE:
        shutil.copy2(source, target)
    elif size := Path(source).stat().st_size:
        with Path(target).open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)
    else:
        Path(target).touch()


def main(folder: Path, job: Job, before: Job) -> None:
    chunks.CHUNK_ROLLOUTS = CHUNK
    start, whole = folder / "start", folder / "whole"
    if in_child(before, start):
        raise SystemExit("cannot start")
    copy(start, whole)

    def crash(place: Path) -> None:
        Crashes(place)
        job(place)

    raise SystemExit(in_child(crash, whole))


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), *JOBS[sys.argv[2]])
