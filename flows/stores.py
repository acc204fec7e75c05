"""The store of a run, held by one writer from its first look at the ledger to its last word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from learnable.data.progress import progress
from learnable.data.store import Store
from learnable.flows.settings import CurateSettings

# A flow's parameters must be plain data, so what the command line holds already travels beside them.
_held: ContextVar[dict[str, Store] | None] = ContextVar("held", default=None)


@contextmanager
def locked_store(settings: CurateSettings) -> Iterator[Store]:
    """Hold the run's store inside the block; inside another such block of this run, it is the same store."""
    outer = _held.get() or {}
    if settings.store in outer:
        yield outer[settings.store]
        return
    store = Store(settings.store)
    with store.hold(wait=None if settings.wait else 0, on_wait=progress().note):
        token = _held.set({**outer, settings.store: store})
        try:
            yield store
        finally:
            _held.reset(token)
