from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict

import pytest
from fsspec import AbstractFileSystem
from fsspec.implementations.memory import MemoryFile, MemoryFileSystem
from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.storage import lease
from learnable.data.storage.lease import LEASES, WHOLE, hold_lease
from learnable.data.storage.lock import hold_store
from learnable.data.storage.owner import Owner, Waiting
from tests.data.storage.object_store_for_tests import ObjectStore, object_store

OTHER = Owner("elsewhere", 7, "find-learnable", "2026-01-01T12:00:00+00:00")
OTHERS_LEASE = json.dumps({"owner": asdict(OTHER), "beat": 3, "token": "theirs"}).encode()


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    with object_store() as started:
        yield started


@pytest.fixture
def remote(server: ObjectStore, request: pytest.FixtureRequest) -> UPath:
    return UPath(server.url) / request.node.name


@pytest.fixture
def memory(request: pytest.FixtureRequest) -> UPath:
    return UPath(f"memory://{request.node.name}")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The lease's clock: time passes where it sleeps and where `Patience` pauses, and nowhere else."""
    clock = Clock()
    monkeypatch.setattr(lease, "time", clock)
    return clock


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0
        self.at_sleep: Callable[[], object] = list

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.at_sleep()


class Patience:
    """Waits for ever; `meanwhile` is what others do at each pause."""

    def __init__(self, clock: Clock, meanwhile: Callable[[], object] = list) -> None:
        self.clock, self.meanwhile = clock, meanwhile

    def pause(self, owner: Owner | None, seconds: float) -> None:
        self.clock.now += seconds
        self.meanwhile()


def waiting(seconds: float = 0) -> Waiting:
    return Waiting("X", seconds, str)


def names(root: UPath) -> list[str]:
    root.fs.invalidate_cache()
    return sorted(path.rsplit("/", 1)[1] for path in root.fs.ls((root / LEASES).path, detail=False))


def read(root: UPath) -> dict[str, object]:
    """Return the newest generation, which is one of less than ten."""
    return json.loads(root.fs.cat_file((root / LEASES / names(root)[-1]).path))


def write(root: UPath, data: bytes = OTHERS_LEASE, number: int = 1) -> None:
    root.fs.pipe_file((root / LEASES / f"{WHOLE}-{number}").path, data)


def until(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("waited for half a minute")


def test_a_lease_is_taken_over_once_its_beats_have_stopped_for_six(memory: UPath, clock: Clock) -> None:
    def beat() -> None:
        if clock.now < 3000:
            write(memory, OTHERS_LEASE.replace(b": 3", f": {clock.now // 50}".encode()))

    beat()
    with hold_lease(memory, Patience(clock, beat), 10) as lock:
        assert 3000 - 50 + 60 <= clock.now <= 3000 + 60 + 10 + 2 * lease.LEASE_POLL_SECONDS
        assert read(memory)["token"] != "theirs"
        assert lock.taken_over
        lock.check()
    assert names(memory) == [f"{WHOLE}-2"]
    assert read(memory)["released"]


def test_a_released_lease_is_taken_at_once_and_generations_go_on_counting(memory: UPath, clock: Clock) -> None:
    for generation in (1, 2, 3):
        with hold_lease(memory, waiting(), 10) as lock:
            assert names(memory) == [f"{WHOLE}-{generation}"]
            assert not lock.taken_over


@pytest.mark.parametrize("cleared", [False, True])
def test_of_two_who_see_a_lease_expire_the_slower_one_waits(
    memory: UPath, monkeypatch: pytest.MonkeyPatch, clock: Clock, cleared: bool
) -> None:
    """It is halted before it creates the next generation, which is there by then, or is past and cleared away."""
    create, halted = lease.Lease._create_once, []

    def create_late(one: lease.Lease, name: str) -> bool:
        if not halted:
            halted.append(name)
            write(memory, number=3 if cleared else 2)
        return create(one, name)

    def let_go() -> None:
        if clock.now > 1100 and len(names(memory)) == 1 + (not cleared):
            write(memory, json.dumps({"token": "theirs", "released": True}).encode(), 3 if cleared else 2)

    write(memory, b"garbage")
    monkeypatch.setattr(lease.Lease, "_create_once", create_late)
    with hold_lease(memory, Patience(clock, let_go), 10):
        assert clock.now > 1100
        assert names(memory) == [f"{WHOLE}-{4 if cleared else 3}"]
    assert halted == [f"{WHOLE}-2"]


def test_parts_are_taken_beside_each_other_and_the_whole_alone(memory: UPath, clock: Clock) -> None:
    def ask(part: str) -> None:
        with pytest.raises(LearnableError, match="is in use by"), hold_lease(memory, waiting(), 10, part):
            pass

    with hold_lease(memory, waiting(), 10, "a"), hold_lease(memory, waiting(), 10, "b"):
        ask("a")
        ask(WHOLE)
    with hold_lease(memory, waiting(), 10):
        ask("a")
        ask(WHOLE)
    with hold_lease(memory, waiting(), 10, "a"):
        pass


def test_one_of_many_takes_an_expired_lease(remote: UPath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LEASE_POLL_SECONDS", 0.05)
    write(remote)
    inside, most = [], []

    def hold() -> None:
        with hold_lease(remote, waiting(60), beat_seconds=0.3):
            inside.append(1)
            most.append(len(inside))
            inside.pop()

    with ThreadPoolExecutor() as pool:
        for claim in [pool.submit(hold) for _ in range(3)]:
            claim.result()
    assert most == [1, 1, 1]


@pytest.mark.parametrize(
    ("left", "whom"), [(OTHERS_LEASE, "process 7 on elsewhere"), (b"?", "another process"), (None, "another process")]
)
def test_a_holder_learns_that_its_lease_was_taken(
    remote: UPath, monkeypatch: pytest.MonkeyPatch, left: bytes | None, whom: str
) -> None:
    monkeypatch.setattr(lease, "EXPIRY", 600)
    with hold_lease(remote, waiting(), beat_seconds=0.2) as lock:
        lock.check()
        remote.fs.rm_file((remote / LEASES / f"{WHOLE}-1").path) if left is None else write(remote, left, 2)
        until(lambda: is_lost(lock))
        with pytest.raises(LearnableError, match=rf"lease on store 's3://.* was lost to {whom}.*: stop, the same"):
            lock.check()
    assert remote.fs.exists((remote / LEASES / f"{WHOLE}-2").path) == (left is not None)


def is_lost(lock: lease.StoreLock) -> bool:
    try:
        lock.check()
    except LearnableError:
        return True
    return False


def test_a_lease_lasts_as_long_as_it_is_renewed(memory: UPath, clock: Clock) -> None:
    with hold_lease(memory, waiting(), beat_seconds=0.02) as lock:
        for _ in range(5):
            clock.now += 0.1  # of 0.12 until it is overdue
            beat = int(read(memory)["beat"])
            until(lambda beat=beat: read(memory)["beat"] > beat + 1)
            lock.check()


def test_an_overdue_lease_is_not_revived(memory: UPath, clock: Clock) -> None:
    with hold_lease(memory, waiting(), beat_seconds=0.02) as lock:
        clock.now += 1
        time.sleep(0.3)
        with pytest.raises(LearnableError, match="was lost: it could not be renewed"):
            lock.check()
    assert not read(memory)["released"]  # somebody may be taking it over just now


def test_failed_beats_are_borne(server: ObjectStore, remote: UPath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "EXPIRY", 600)
    with hold_lease(remote, waiting(), beat_seconds=0.1) as lock:
        failed = server.failed
        server.fail_puts(3, LEASES)
        until(lambda: server.failed == failed + 3)
        beat = read(remote)["beat"]
        until(lambda: read(remote)["beat"] > beat)
        lock.check()


def test_beats_that_fail_for_too_long_lose_the_lease(
    server: ObjectStore, remote: UPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "EXPIRY", 20)
    with hold_lease(remote, waiting(), beat_seconds=0.1) as lock:
        server.fail_puts(1000, LEASES)
        beat = read(remote)["beat"]
        until(lambda: is_lost(lock))
        with pytest.raises(LearnableError, match=r"was lost: it could not be renewed for 2 s \(OSError: .*internal"):
            lock.check()
    server.fail_puts(0)  # not before: a beat under way would come through
    assert read(remote)["beat"] == beat


def test_a_lease_whose_creation_was_done_but_not_answered_is_ours(server: ObjectStore, remote: UPath) -> None:
    server.fail_puts(1, LEASES, stored=True)
    with hold_lease(remote, waiting()) as lock:
        lock.check()


def test_a_bucket_that_is_not_there_is_not_waited_for(server: ObjectStore) -> None:
    refusal = r"store 's3://nowhere/s' cannot be locked \(FileNotFoundError: "
    with pytest.raises(LearnableError, match=refusal), hold_store(UPath("s3://nowhere/s"), on_wait=pytest.fail):
        pass


@pytest.mark.parametrize(("outage", "borne"), [(50, True), (70, False)])
def test_an_outage_while_we_wait_is_borne_for_six_beats(
    memory: UPath, clock: Clock, monkeypatch: pytest.MonkeyPatch, outage: float, borne: bool
) -> None:
    cat_file = memory.fs.cat_file

    def answer(*arguments: object, **options: object) -> bytes:
        if 1020 < clock.now < 1020 + outage:
            raise OSError("busy")
        return cat_file(*arguments, **options)

    monkeypatch.setattr(memory.fs, "cat_file", answer)
    write(memory)
    ends = nullcontext() if borne else pytest.raises(LearnableError, match=r"cannot be locked \(OSError: busy\)")
    with ends, hold_lease(memory, Patience(clock), 10):
        assert clock.now >= 1020 + outage


def overwrite(filesystem: MemoryFileSystem, path: str, value: bytes, mode: str = "") -> None:
    filesystem.store[path] = MemoryFile(filesystem, path, value)


def refuse(*_: object, **__: object) -> None:
    raise NotImplementedError


@pytest.mark.parametrize("pipe_file", [overwrite, refuse, lambda fs, path, value: None, AbstractFileSystem.pipe_file])
def test_a_file_system_without_exclusive_creation_is_refused(
    memory: UPath, monkeypatch: pytest.MonkeyPatch, pipe_file: Callable[..., None]
) -> None:
    monkeypatch.setattr(MemoryFileSystem, "pipe_file", pipe_file)
    with pytest.raises(LearnableError, match=r"store 'memory://.* cannot be locked \(its "), hold_store(memory):
        pass
    assert not memory.fs.exists((memory / LEASES).path) or names(memory) == []
