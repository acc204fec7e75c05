"""Kills a job at its n-th touch of the disk, for every n, each time in a child process that dies on the spot.

    python -m tests.faults.crashes_for_tests FOLDER JOB

For each n there is FOLDER/nnnn with the store as the dead child left it, and in `died` what it was about to do. The
last child came through.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.ledger.upkeep import compact
from learnable.data.records import content_id
from learnable.data.storage import places
from learnable.data.store import Store
from learnable.flows.sampling import chunk_writer as chunks
from tests.faults.scripted_for_tests import run_small, small_settings

TOUCHES = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.posix_fallocate")
DIED = 9
CHUNK = 16  # rollouts: half of the run
GROWN = 6  # rollouts a prompt


class Death:
    """Ends this process before its n-th touch of a file in the folder; a write may also end half-way."""

    def __init__(self, folder: Path, touch: int) -> None:
        self.folder, self.note = str(folder), folder / "died"
        self.left = touch
        sys.addaudithook(self.hook)
        Path.write_bytes = lambda path, data: self.write(path, bytes(data))  # type: ignore[method-assign, assignment]
        Path.write_text = lambda path, text, **_: self.write(path, text.encode())  # type: ignore[method-assign]

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in TOUCHES and self.folder in str(arguments[0]) and arguments[1] not in ("r", "rb"):
            self.touch(f"{event} {arguments[0]}")

    def touch(self, what: str) -> None:
        self.left -= 1
        if self.left == 0:
            descriptor = os.open(self.note, os.O_WRONLY | os.O_CREAT)
            os.write(descriptor, what.encode())
            os._exit(DIED)

    def write(self, path: Path, data: bytes) -> int:
        with path.open("wb") as file:
            file.write(data[: len(data) // 2])
            file.flush()
            self.touch(f"half of {path}")
            return file.write(data[len(data) // 2 :])


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
    "deliver": (first, leave_outside),
}


def in_child(work: Job, folder: Path) -> int:
    """Do the work in a child; return its exit status. This process has only imported things: the child lacks no thread."""
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
    shutil.copytree(start, place)
    for unsaved in (place / "cache").glob("learnable/unsaved/*"):
        unsaved.rename(unsaved.with_name(content_id(str(place / "store"))))


def main(folder: Path, job: Job, before: Job) -> None:
    chunks.CHUNK_ROLLOUTS = CHUNK
    if in_child(before, folder / "start"):
        raise SystemExit("cannot start")
    for touch in count(1):
        place = folder / f"{touch:04d}"
        copy(folder / "start", place)

        def crash(place: Path, touch: int = touch) -> None:
            Death(place, touch)
            job(place)

        status = in_child(crash, place)
        if status != DIED:
            raise SystemExit(status)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), *JOBS[sys.argv[2]])
