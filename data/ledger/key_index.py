"""Which files of a folder hold a group, so that a pool can be looked up in many parts without opening every file."""

from __future__ import annotations

import threading
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.int64]

RECENT = 256  # files whose keys are looked through one file after the other


def hash_keys(distinct: Collection[str | None]) -> Hashes:
    """Return a hash of each key, in any order. They hold for this process alone."""
    return np.fromiter(map(hash, distinct), np.int64, len(distinct))


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

    def _find(self, hashes: Hashes) -> set[str]:
        if len(self._recent) >= RECENT:
            self._sort()
        first = np.searchsorted(self._hashes, hashes)
        counts = np.searchsorted(self._hashes, hashes, side="right") - first
        places = np.arange(counts.sum()) + np.repeat(first - np.cumsum(counts) + counts, counts)
        names = {self._names[file] for file in np.unique(self._files[places])}
        ordered = np.sort(hashes)
        return names | {name for name, keys in self._recent.items() if _any_in(keys, ordered)}

    def _sort(self) -> None:
        recent, self._recent = self._recent, {}
        files = np.repeat(
            np.arange(len(recent), dtype=np.int32) + len(self._names), [len(keys) for keys in recent.values()]
        )
        hashes = np.concatenate([self._hashes, *recent.values()])
        order = np.argsort(hashes)
        self._hashes, self._files = hashes[order], np.concatenate([self._files, files])[order]
        self._names += recent


def _any_in(keys: Hashes, ordered: Hashes) -> bool:
    """Return what `np.isin(keys, ordered).any()` does, which would put the `ordered` in order for each file again."""
    places = np.searchsorted(ordered, keys)
    inside = places < len(ordered)
    return bool((ordered[places[inside]] == keys[inside]).any())
