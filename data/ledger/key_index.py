"""Which files of a folder hold a group, so that a pool can be looked up in many parts without opening every file.

<partition>/keys-<sha256>.arrow    key (a hash of 64 bits), file: what was learnt of files that were written or read

A file's name has its checksum, so what is known of a name holds for ever; files that no index names are read. An index
that is gone, damaged or of another kind costs that reading, and no rollout.
"""

from __future__ import annotations

import binascii
import hashlib
import threading
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Hashes = NDArray[np.int64]

ID_DIGITS = 20  # of `data.records.content_id`
RECENT = 256  # files whose keys are looked through one file after the other
SCHEMA = pa.schema([("key", pa.int64()), ("file", pa.dictionary(pa.int32(), pa.string()))])


def hash_keys(distinct: Collection[str | None]) -> Hashes:
    """Return a hash of each key, in their order: the same in every process.

    Ids are hashes already: the last 64 bits of their 20 hex digits. Of any other key it is 64 bits of its BLAKE2b.
    """
    if all(key is not None and len(key) == ID_DIGITS for key in distinct):
        with suppress(ValueError):
            digits = binascii.unhexlify("".join(map(str, distinct)))
            pairs = np.frombuffer(digits, np.uint8).reshape(-1, ID_DIGITS // 2)[:, -8:]
            return np.ascontiguousarray(pairs).view("<i8").reshape(-1).astype(np.int64, copy=False)
    return np.array([_hash_key(key or "") for key in distinct], np.int64)


def _hash_key(key: str) -> int:
    with suppress(ValueError):
        if len(key) == ID_DIGITS:
            return int.from_bytes(binascii.unhexlify(key)[-8:], "little", signed=True)
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "little", signed=True)


class KeyIndex:
    """Hashes of the distinct keys of each file: 12 bytes each. Equal hashes cost a read, and no wrong row.

    Files are added by the threads that write and read them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: list[str] = []
        self._recent: dict[str, Hashes] = {}  # not among those sorted yet
        self._hashes: Hashes = np.empty(0, np.int64)  # ascending
        self._files = np.empty(0, np.int32)  # whose they are
        self.names: set[str] = set()  # of the files whose keys are known

    def add(self, name: str, hashes: Hashes) -> None:
        """Remember the keys of a file."""
        with self._lock:
            self._recent[name] = hashes
            self.names.add(name)

    def find(self, hashes: Hashes) -> set[str]:
        """Return the files that hold one of these keys."""
        with self._lock:
            return self._find(hashes)

    def find_first(self, hashes: Hashes, places: Mapping[str, int]) -> NDArray[np.int64]:
        """Return, of each key, the least of the `places` of the files that hold it; their number where none does."""
        with self._lock:
            self._sort()
            of_file = np.array([places.get(name, len(places)) for name in self._names], np.int64)
            counts, files = self._look_up(hashes)
        first = np.full(len(hashes), len(places), np.int64)
        np.minimum.at(first, np.repeat(np.arange(len(hashes)), counts), of_file[files])
        return first

    def load(self, data: bytes) -> set[str]:
        """Remember what `dump` wrote; return the files that it tells of. Raises `ValueError` for anything else."""
        try:
            table = pa.ipc.open_file(pa.BufferReader(data)).read_all()
        except pa.ArrowException as error:
            raise ValueError(str(error)) from error
        if not table.schema.equals(SCHEMA) or any(column.null_count for column in table.columns):
            raise ValueError(f"its columns are {table.schema}")
        files: Any = table["file"].unify_dictionaries().combine_chunks()
        names = files.dictionary.to_pylist()
        with self._lock:
            numbers = files.indices.to_numpy().astype(np.int32) + np.int32(len(self._names))
            self._take(names, table["key"].to_numpy(), numbers)
            self.names |= set(names)
        return set(names)

    def dump(self, names: Collection[str]) -> bytes:
        """Return what is known of these files."""
        with self._lock:
            self._sort()
            wanted = np.array([name in names for name in self._names], bool)
            rows = wanted[self._files] if len(wanted) else np.empty(0, bool)
            numbers = (np.cumsum(wanted) - 1).astype(np.int32)[self._files[rows]]
            kept = pa.array([name for name in self._names if name in names], pa.string())
            files = pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), kept)
            table = pa.table([pa.array(self._hashes[rows]), files], schema=SCHEMA)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, SCHEMA, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(table)
        return bytes(sink.getvalue())

    def _find(self, hashes: Hashes) -> set[str]:
        if len(self._recent) >= RECENT:
            self._sort()
        names = {self._names[file] for file in np.unique(self._look_up(hashes)[1])}
        ordered = np.sort(hashes)
        return names | {name for name, keys in self._recent.items() if _any_in(keys, ordered)}

    def _look_up(self, hashes: Hashes) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return, of the keys in order, how many files hold each, and which: one after the other."""
        first = np.searchsorted(self._hashes, hashes)
        counts = np.searchsorted(self._hashes, hashes, side="right") - first
        places = np.arange(counts.sum()) + np.repeat(first - np.cumsum(counts) + counts, counts)
        return counts, self._files[places]

    def _sort(self) -> None:
        recent, self._recent = self._recent, {}
        if not recent:
            return
        lengths = [len(keys) for keys in recent.values()]
        files = np.repeat(np.arange(len(recent), dtype=np.int32) + np.int32(len(self._names)), lengths)
        self._take(list(recent), np.concatenate(list(recent.values())), files)

    def _take(self, names: list[str], hashes: Hashes, files: NDArray[np.int32]) -> None:
        hashes, files = np.concatenate([self._hashes, hashes]), np.concatenate([self._files, files])
        order = np.argsort(hashes, kind="stable")  # quick on what is in order: all of one index, or two runs
        self._hashes, self._files = hashes[order], files[order]
        self._names += names


def _any_in(keys: Hashes, ordered: Hashes) -> bool:
    """Return what `np.isin(keys, ordered).any()` does, which would put the `ordered` in order for each file again."""
    places = np.searchsorted(ordered, keys)
    inside = places < len(ordered)
    return bool((ordered[places[inside]] == keys[inside]).any())
