from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from learnable.data.store import Store


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A locked store, whose outbox is in the test's folder too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    store = Store(tmp_path / "store")
    with store.hold(wait=0, on_wait=print):
        yield store
