"""Numbers as if drawn at random that parts fix and nothing else does, without a generator's state."""

from __future__ import annotations

import hashlib


def hash_to_uniform(*parts: object) -> float:
    """Return a number in [0, 1)."""
    return hash_to_integer(*parts) / (2.0**64)


def hash_to_integer(*parts: object) -> int:
    """Return a whole number in [0, 2^64)."""
    digest = hashlib.blake2b("\0".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest())
