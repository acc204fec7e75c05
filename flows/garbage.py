"""How often a run collects garbage: what it holds of a large pool is none, and to walk through it takes long."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pyarrow as pa

RARELY = (10_000, 50, 100)  # as `gc.set_threshold` takes them: runs hold far more than Python starts with


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Collect garbage far less often, and nothing of what was `set_aside`, until the end.

    A pool of a million prompts would be walked through dozens of times, a tenth of a run.
    """
    often = gc.get_threshold()
    gc.set_threshold(*RARELY)
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*often)


def give_back() -> None:
    """Give memory that was freed back to the system, where Arrow and glibc keep it: half a kilobyte a prompt."""
    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def set_aside() -> None:
    """Take all objects that there are out of collection; outside of `rarely_collected` nothing happens.

    It costs nothing, but objects that refer to each other are then kept until the end: it is for moments when a run
    holds much more than before.
    """
    if gc.get_threshold() == RARELY:  # to count what is set aside would walk through all of it
        gc.freeze()
