"""Scores already given: the completions of a group repeat."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

from learnable.data.records import Score

CAPACITY = 16_384  # about 16 MiB


class ScoreCache:
    """The scores last given, by a hash of the program and of its spec. May be shared by threads."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._scores: OrderedDict[bytes, Score] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> Score | None:
        """Return the score under a key of `score_key`, if it is still kept."""
        with self._lock:
            if key in self._scores:
                self._scores.move_to_end(key)
            return self._scores.get(key)

    def put(self, key: bytes, score: Score) -> None:
        """Keep a score, in place of the one asked for longest ago."""
        with self._lock:
            self._scores[key] = score
            if len(self._scores) > self._capacity:
                self._scores.popitem(last=False)


def score_key(source: str, spec_json: str) -> bytes:
    """Return a hash of everything that a score depends on."""
    text = f"{len(source)}\n{source}{spec_json}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
