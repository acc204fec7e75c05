"""Where a paid chunk goes when the store cannot take it: room kept for it, or a folder outside the store."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, unquote

import pyarrow as pa
from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.ledger.partition import Partition, encode
from learnable.data.records import content_id
from learnable.data.storage import cache_folder
from learnable.data.storage.lock import PART_LOCKS
from learnable.data.storage.places import local_path, put

RESERVE = ".reserve"
RESERVED_BYTES = 16 << 20  # a chunk of 1,024 long completions and its scores, compressed


class StoreFullError(LearnableError):
    """The store has no room left; what was to be written is written, in the room that was kept for it."""


class Outbox:
    """Appends to a store's partitions, so that a paid chunk survives a full disk or a store out of reach."""

    def __init__(self, root: UPath) -> None:
        self.root = root
        path = local_path(root)
        self.folder = cache_folder() / "unsaved" / content_id(str(path.absolute() if path else root))
        self._reserve: Path | None = None

    def reserve(self, part: str = "") -> None:
        """Keep room for one more chunk of a part while a run goes on. Raises `LearnableError` where there is none."""
        if (root := local_path(self.root)) is None:
            return
        self._reserve = root / PART_LOCKS / part / RESERVE if part else root / RESERVE
        try:
            self._reserve.parent.mkdir(parents=True, exist_ok=True)
            with self._reserve.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, RESERVED_BYTES)
        except OSError as error:
            self.release()
            raise LearnableError(
                f"store {str(self.root)!r} has no room for a chunk of rollouts ({error.strerror}): free "
                f"{RESERVED_BYTES >> 20} MiB there, or choose another `store`"
            ) from error

    def release(self) -> bool:
        """Give the kept room back; return whether there was any."""
        if self._reserve is None or not self._reserve.exists():
            return False
        self._reserve.unlink()
        return True

    def append(self, partition: Partition, table: pa.Table, check_lock: Callable[[], None]) -> None:
        """Append, whatever it takes; `check_lock` raises when another writer has taken the store.

        Raises `StoreFullError` when that took the last room, and `LearnableError` when the rows had to be left
        outside the store, or are lost.
        """
        try:
            check_lock()
            partition.append(table)
            return
        except (OSError, LearnableError) as error:
            failure = error
        if getattr(failure, "errno", None) in (errno.ENOSPC, errno.EDQUOT) and self.release():
            self._append_to_the_last(partition, table)
        self._keep(partition, table, failure)

    def deliver(self, draw: str = "") -> int:
        """Bring the chunks that are kept outside, of one draw's folder or all, into the store; return how many.

        Raises `LearnableError` naming the chunk that could not be written.
        """
        files = [
            file
            for file in sorted(self.folder.glob("*/*.parquet"))
            if not draw or f"{unquote(file.parent.name)}/".partition("/")[2].startswith(f"{draw}/")
        ]
        for path in files:
            try:
                Partition(self.root / unquote(path.parent.name)).adopt(path.read_bytes())
            except OSError as error:
                raise LearnableError(f"{self._cannot(error)}: {str(path)!r} still waits to be brought in") from error
            path.unlink()
        return len(files)

    def _append_to_the_last(self, partition: Partition, table: pa.Table) -> None:
        try:
            partition.append(table)
        except OSError as error:
            self._keep(partition, table, error)
        raise StoreFullError(
            f"store {str(self.root)!r} is full: everything that was paid for is in it; free some room, then the "
            "same command goes on from there"
        )

    def _keep(self, partition: Partition, table: pa.Table, failure: Exception) -> None:
        folder = partition.folder.path.removeprefix(self.root.path).strip("/")
        name, data = encode(table, 0, 0)
        place = self.folder / quote(folder, safe="") / name
        cannot = self._cannot(failure)
        try:
            put(UPath(place), data)
        except OSError as error:
            raise LearnableError(f"{cannot}, nor can {str(place)!r}: {table.num_rows:,} rows are lost") from error
        raise LearnableError(
            f"{cannot}: {table.num_rows:,} rows are kept in {str(place.parent)!r}; the same command, once it can write "
            "the store, brings them in and goes on"
        )

    def _cannot(self, failure: Exception) -> str:
        return f"store {str(self.root)!r} cannot be written ({getattr(failure, 'strerror', None) or failure})"
