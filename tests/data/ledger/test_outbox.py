"""A chunk that was paid for survives a store that cannot take it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.data.ledger.outbox import StoreFullError
from learnable.data.storage import places
from learnable.data.store import Store
from tests.data.ledger.rollouts_for_tests import DRAW, prompt, rollout


class Disk:
    """Refuses to make files durable under `folder` while `error` is set; `room` is what a freed reserve gives."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.error = folder, 0
        self.reserve_helps = False
        sync = places.sync

        def checked(path: Path) -> None:
            full = self.error and self.folder in path.parents
            if full and not (self.reserve_helps and not (self.folder / ".reserve").exists()):
                raise OSError(self.error, os.strerror(self.error))
            sync(path)

        monkeypatch.setattr(places, "sync", checked)


@pytest.fixture
def disk(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(tmp_path / "store", monkeypatch)


def stored(store: Store) -> list[int]:
    found, _ = store.ledger.find_rollouts(DRAW, [prompt()])
    return found["rollout_index"].to_list()


def test_the_kept_room_takes_the_last_chunk(store: Store, disk: Disk) -> None:
    disk.error, disk.reserve_helps = errno.ENOSPC, True
    with pytest.raises(StoreFullError, match="everything that was paid for is in it"):
        store.ledger.append_rollouts(DRAW, [rollout()])
    assert stored(store) == [0]


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_what_the_store_cannot_take_is_kept_elsewhere_and_brought_in(store: Store, disk: Disk, error: int) -> None:
    disk.error = error
    with pytest.raises(LearnableError, match=r"1 rows are kept in .*brings them in"):
        store.ledger.append_rollouts(DRAW, [rollout()])
    assert stored(store) == []
    disk.error = 0
    store.ledger.open(lambda: None)
    assert stored(store) == [0]
    store.ledger.open(lambda: None)
    assert stored(store) == [0]


def test_a_lost_lease_costs_no_paid_chunk(store: Store, disk: Disk) -> None:
    def lost() -> None:
        raise LearnableError("the lease was lost to process 7")

    store.ledger.open(lost)
    with pytest.raises(LearnableError, match=r"lost to process 7.*kept in"):
        store.ledger.append_rollouts(DRAW, [rollout()])
    store.ledger.open(lambda: None)
    assert stored(store) == [0]


def test_no_room_for_a_chunk_is_said_before_anything_is_paid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with (
        pytest.raises(LearnableError, match=r"no room for a chunk of rollouts .*free 16 MiB"),
        Store(tmp_path / "s").hold(wait=0, on_wait=print),
    ):
        pass
    assert not (tmp_path / "s" / ".reserve").exists()


def test_the_reserve_goes_when_the_store_is_let_go(tmp_path: Path) -> None:
    with Store(tmp_path / "s").hold(wait=0, on_wait=print):
        assert (tmp_path / "s" / ".reserve").stat().st_size == 16 << 20
    assert not (tmp_path / "s" / ".reserve").exists()
