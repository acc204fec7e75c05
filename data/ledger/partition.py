"""One grow-only part of a table: numbered, immutable Parquet files whose names have their checksums.

    00000000-00000041-3f9a0c1d2b4e5f60.parquet    numbers 0 to 41, merged
    00000042-00000042-9c8b7a6d5e4f3021.parquet    number 42, as it was written

Numbers count up and never come from a clock. A file whose range contains another's replaces it: so merging may be
killed at any moment, and readers see each row once. Beside them lie indices of their keys (`key_index`).
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.ledger.key_index import RECENT, Hashes, KeyIndex, hash_keys
from learnable.data.schemas import LEDGER, LedgerTable
from learnable.data.storage.places import local_path, put, remove
from learnable.data.tables import parquet_bytes

T = TypeVar("T")

_NAME = re.compile(r"(\d{8})-(\d{8})-([0-9a-f]{16})\.parquet")
_KEYS_NAME = re.compile(r"keys-([0-9a-f]{16})\.arrow")
MANY_INDICES = 8  # before they are made one


class DamagedFileError(LearnableError):
    """The content of a file is not what was written."""

    def __init__(self, chunk: Chunk, why: str) -> None:
        super().__init__(f"{chunk.path} is damaged: {why}")
        self.chunk = chunk
        self.why = why


@dataclass(frozen=True, slots=True)
class Chunk:
    """One file: its folder, its name, the numbers it covers, the first 16 hex digits of its SHA-256."""

    folder: UPath
    name: str
    first: int
    last: int
    digest: str
    table: LedgerTable

    @property
    def path(self) -> UPath:
        """The file's place, worked out when it is asked for: of ten thousand files that would take a second."""
        return self.folder / self.name

    def read(self) -> pq.ParquetFile:
        """Return the verified file. A file that reads well the second time is well.

        Raises `DamagedFileError`, and `LearnableError` for a file that may not be read: it may be sound.
        """
        data = self._read_bytes()
        if _digest(data) != self.digest:
            data = self._read_bytes()
        if (digest := _digest(data)) != self.digest:
            raise DamagedFileError(self, f"its SHA-256 begins with {digest}, not {self.digest} ({len(data):,} bytes)")
        with self._parsing():
            file = _open(data, self.table.group)
        if fault := _find_fault(file, self.table):
            raise DamagedFileError(self, f"it is no file of this table: {fault}")
        return file

    def read_columns(self, file: pq.ParquetFile, names: Sequence[str] | None = None) -> pa.Table:
        """Return columns of the file, by default all. Raises `DamagedFileError`."""
        with self._parsing():
            return file.read(columns=None if names is None else list(names))

    @contextmanager
    def _parsing(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DamagedFileError(self, f"it cannot be read as Parquet ({' '.join(str(error).split())})") from error

    def _read_bytes(self) -> bytes:
        local = local_path(self.path)
        if local and not local.is_file() and os.path.lexists(local):  # reading a pipe would never end
            raise DamagedFileError(self, "it is a folder, a pipe or a link to nothing")
        try:
            return self.path.read_bytes()
        except IsADirectoryError:
            raise DamagedFileError(self, "it is a folder") from None
        except FileNotFoundError:
            raise
        except OSError as error:
            raise LearnableError(
                f"cannot read {str(self.path)!r} ({error.strerror or error}): it may hold rollouts that were paid for, "
                "so mend that, or move it away, and what it held is made again"
            ) from error

    def covers(self, other: Chunk) -> bool:
        """Whether this file has all that the other one has, and more."""
        wider = self.last - self.first > other.last - other.first
        return wider and self.first <= other.first and other.last <= self.last


class Partition:
    """The files of one folder, which hold rows of one table. Only the holder of the store's lock appends."""

    def __init__(self, folder: UPath, table: LedgerTable = LEDGER["rollouts"], *, leave_gap: bool = False) -> None:
        # Who lost the lease may write a chunk late. No file is merged over the numbers that are left free for it.
        self._gap = 1024 if leave_gap else 1
        self.folder = folder
        self.table = table
        self._next: int | None = None  # so that an append costs the same however many files there are
        self._index = KeyIndex()
        self._key_files: set[str] = set()  # indices that are there
        self._loaded: set[str] = set()  # those that were looked at
        self._indexed: set[str] = set()  # files that they tell of
        self._listing = threading.RLock()  # one thread writes, and others look things up meanwhile
        self._seen: int | None = None  # when the folder last changed, where `_known` is all that it had then
        self._known: dict[str, Chunk] = {}
        self._split: tuple[list[Chunk], list[Chunk]] = ([], [])  # of those known
        self._places: dict[str, int] = {}  # by name, of those that count

    def chunks(self) -> list[Chunk]:
        """Return the files that count, oldest first."""
        self._list()
        return self._split[0]

    def replaced(self) -> list[Chunk]:
        """Return the files whose rows a merged one has already."""
        self._list()
        return self._split[1]

    def append(self, table: pa.Table) -> None:
        """Make the rows durable. Raises `OSError` when they are not."""
        if self._next is None:
            self._next = self._first_free()
        self.write(table, self._next, self._next)
        self._next += 1

    def adopt(self, data: bytes) -> None:
        """Append a file that was encoded elsewhere, unless it is here already. Raises `OSError`."""
        if _digest(data) not in {chunk.digest for chunk in self._list()}:
            number = self._first_free()
            self._seen = None
            put(self.folder / _name(data, number, number), data)

    def write(self, table: pa.Table, first: int, last: int) -> None:
        """Write one file that covers the numbers `first` to `last`."""
        name, data = encode(table, first, last)
        self._seen = None  # some network mounts do not tell when a folder changed
        put(self.folder / name, data)
        # So that a run need not read all that it wrote to look it up, nor the next one if this one is killed:
        self._index.add(name, hash_groups(table, self.table.group))
        if len(self._index.names) - len(self._indexed) >= RECENT:
            with suppress(OSError):  # the rows are durable: without an index they are read to be looked up
                self.save_keys()

    def save_keys(self) -> None:
        """Write which keys the files have, as far as no index tells it yet. Raises `OSError`.

        Several indices become one where they are many, or tell of files that are gone.
        """
        with self._listing:
            self._list()
            counted = self._places.keys() & self._index.names
            whole = len(self._key_files) >= MANY_INDICES or bool(self._indexed - counted)
            if not whole and not counted - self._indexed:
                return
            data = self._index.dump(counted if whole else counted - self._indexed)
            name = f"keys-{_digest(data)}.arrow"
            put(self.folder / name, data)
            for other in self._key_files - {name} if whole else ():
                remove(self.folder / other)
            self._key_files = {name} if whole else self._key_files | {name}
            self._loaded.add(name)
            self._indexed = set(counted)

    def remake_keys(self, keys: KeyIndex) -> None:
        """Put an index of the files, as they were just read, in the place of all that are there. Raises `OSError`."""
        with self._listing:
            self._list()
            self._index, self._indexed = keys, set(keys.names) | {""}  # so that all are made one
            self.save_keys()

    def select(
        self, key: str, wanted: Collection[str], columns: Sequence[str], groups: Collection[str] | None = None
    ) -> Iterator[pa.Table]:
        """Yield, file by file and oldest first, the rows whose value in the column `key` is one of `wanted`, a set.

        A few files are in memory at a time. `groups` says whose rows those are, where `key` is another column: a file
        whose groups were seen before is not read for others, so that a pool can be looked up in many parts. Raises
        `DamagedFileError`.
        """
        if not wanted:
            return
        if key == self.table.group:
            groups = wanted
        chunks = self.chunks() if groups is None else self._find_chunks(groups)
        tables = read_in_order(chunks, lambda chunk: self._select(chunk, key, wanted, columns))
        yield from (table for table in tables if table.num_rows)

    def _find_chunks(self, groups: Collection[str]) -> list[Chunk]:
        """Return the files that hold one of these groups, and those whose groups are not known; oldest first."""
        hashes = hash_keys(groups)
        with self._listing:
            chunks = self.chunks()
            if self._places.keys() - self._index.names:
                self._load_keys()
            candidates = self._index.find(hashes)
            names = (candidates & self._places.keys()) | (self._places.keys() - self._index.names)
            return [chunks[place] for place in sorted(self._places[name] for name in names)]

    def find_first(self, groups: Collection[str]) -> NDArray[np.int64]:
        """Return the place of the first file that holds each group, among `chunks`; their number where none does."""
        self.learn_keys()
        with self._listing:
            return self._index.find_first(hash_keys(groups), self._places)

    def learn_keys(self) -> None:
        """Learn which groups the files hold: those that no index tells of are read. Raises `DamagedFileError`."""
        with self._listing:
            chunks = self.chunks()
            self._load_keys()
            unknown = [chunk for chunk in chunks if chunk.name not in self._index.names]
        deque(read_in_order(unknown, self._learn), maxlen=0)

    def _learn(self, chunk: Chunk) -> None:
        keys = chunk.read_columns(chunk.read(), [self.table.group])
        self._index.add(chunk.name, hash_groups(keys, self.table.group))

    def _load_keys(self) -> None:
        """Take in the indices that are new. One that is not as it was written tells nothing: its files are read."""
        for name in sorted(self._key_files - self._loaded):
            self._loaded.add(name)
            with suppress(OSError, ValueError):
                data = (self.folder / name).read_bytes()
                if name == f"keys-{_digest(data)}.arrow":
                    self._indexed |= self._index.load(data)

    def _select(self, chunk: Chunk, key: str, wanted: Collection[str], columns: Sequence[str]) -> pa.Table:
        pa.default_memory_pool().release_unused()  # or what earlier files took piles up, over a large ledger
        file = chunk.read()
        keys = chunk.read_columns(file, list({self.table.group, key}))
        if chunk.name not in self._index.names:
            self._index.add(chunk.name, hash_groups(keys, self.table.group))
        matching = _mask(keys[key], wanted)
        if not pc.any(matching).as_py():
            return file.schema_arrow.empty_table()
        return _plain(chunk.read_columns(file, columns).select(list(columns)).filter(matching))

    def _first_free(self) -> int:
        return -(-max((chunk.last + 1 for chunk in self._list()), default=0) // self._gap) * self._gap

    def _list(self) -> Collection[Chunk]:
        """Return every file that is there now. A file never changes, so only those that are new are looked at."""
        with self._listing:
            changed = self._read_change_time()
            if changed is not None and changed == self._seen:
                return self._known.values()
            # Clocks tick coarsely: after a change of just now there may be another one that bears the same time. After
            # two seconds no file can come to a folder without its time of change telling.
            self._seen = changed if changed is not None and time.time_ns() - changed > 2_000_000_000 else None
            there = self._read_names()
            self._key_files = {name for name in there if _KEYS_NAME.fullmatch(name)}
            names = {name for name in there if name in self._known or _NAME.fullmatch(name)}
            if names != self._known.keys():
                self._known = {name: self._known.get(name) or _parse(self.folder, name, self.table) for name in names}
                self._split = _split(self._known.values())
                self._places = {chunk.name: place for place, chunk in enumerate(self._split[0])}
            return self._known.values()

    def _read_change_time(self) -> int | None:
        """Return when the last file came or went, in ns; None where nobody can tell, or there is no folder yet."""
        local = local_path(self.folder)
        try:
            return None if local is None else local.stat().st_mtime_ns
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _read_names(self) -> list[str]:
        try:
            if (local := local_path(self.folder)) is None:
                return [path.name for path in self.folder.iterdir()]
            with os.scandir(local) as entries:
                return [entry.name for entry in entries]
        except (FileNotFoundError, NotADirectoryError):
            return []


def encode(table: pa.Table, first: int, last: int) -> tuple[str, bytes]:
    """Return the name and the bytes of a file."""
    data = parquet_bytes(table)
    return _name(data, first, last), data


def _name(data: bytes, first: int, last: int) -> str:
    return f"{first:08d}-{last:08d}-{_digest(data)}.parquet"


def read_in_order(chunks: Iterable[Chunk], read: Callable[[Chunk], T]) -> Iterator[T]:
    """Yield `read(chunk)` of each chunk, in order, while a few of the next ones are being read."""
    readers = 2
    with ThreadPoolExecutor(readers, thread_name_prefix="ledger") as pool:
        pending: deque[Future[T]] = deque()
        for chunk in chunks:
            pending.append(pool.submit(read, chunk))
            if len(pending) >= readers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def whole_table(chunk: Chunk) -> pa.Table:
    """Return every row of a file. Raises `DamagedFileError`."""
    return _plain(chunk.read_columns(chunk.read()))


def _find_fault(file: pq.ParquetFile, table: LedgerTable) -> str:
    """Return what keeps a file out of a table; nothing where it is one of its own."""
    schema = file.schema_arrow
    for column in table.schema:
        if column.name not in schema.names:
            return f"it has no column {column.name!r}"
        kind = schema.field(column.name).type
        plain = kind.value_type if column.name == table.group and pa.types.is_dictionary(kind) else kind
        if not plain.equals(column.type):
            return f"column {column.name!r} is of type {kind}, not {column.type}"
    groups = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]
    columns = [group.column(number) for group in groups for number in range(group.num_columns)]
    empty = {column.path_in_schema for column in columns if column.statistics and column.statistics.null_count}
    without = empty & table.needed
    return f"rows without {min(without)!r}" if without else ""


def _open(data: bytes, group: str) -> pq.ParquetFile:
    names = pq.read_schema(pa.BufferReader(data)).names  # of a foreign file, maybe
    return pq.ParquetFile(pa.BufferReader(data), read_dictionary=[name for name in names if name == group])


def hash_groups(table: pa.Table, group: str) -> Hashes:
    """Return a hash of each key of the groups that a table has rows of."""
    return hash_keys(set(pc.unique(table[group]).to_pylist()))


def _mask(key: Any, wanted: Collection[str]) -> Any:  # chunked arrays, of which the stubs know little
    """Look each distinct question or prompt up once: a group's rows share theirs.

    In a set that is made once: Arrow's `is_in` would make one of everything that is wanted for every file.
    """
    return pa.chunked_array([_mask_part(part, wanted) for part in key.chunks], pa.bool_())


def _mask_part(part: Any, wanted: Collection[str]) -> Any:
    if not pa.types.is_dictionary(part.type):
        return pa.array([value in wanted for value in part.to_pylist()], pa.bool_())
    is_wanted: Any = pa.array([value in wanted for value in part.dictionary.to_pylist()], pa.bool_())
    return is_wanted.take(part.indices)


def _plain(table: pa.Table) -> pa.Table:
    """Return the table with its dictionary columns as text."""
    for index, column in enumerate(table.schema):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(index, column.name, table[column.name].cast(pa.string()))
    return table


def _split(chunks: Collection[Chunk]) -> tuple[list[Chunk], list[Chunk]]:
    current: list[Chunk] = []
    replaced: list[Chunk] = []
    for chunk in sorted(chunks, key=lambda c: (c.first, -c.last, c.digest)):
        (replaced if current and current[-1].covers(chunk) else current).append(chunk)
    return current, replaced


def _parse(folder: UPath, name: str, table: LedgerTable) -> Chunk:
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{folder / name} is not a chunk")
    return Chunk(folder, name, int(match[1]), int(match[2]), match[3], table)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
