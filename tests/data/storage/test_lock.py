from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.storage import lease, lock, owner
from learnable.data.storage.lock import OWNER_FILE, hold_store
from learnable.data.storage.owner import Owner
from tests.data.storage.object_store_for_tests import object_store

HOLD = """
import os, sys, time
from upath import UPath
from learnable.data.storage import lease
from learnable.data.storage.lock import hold_store

lease.LEASE_POLL_SECONDS = 0.05
with hold_store(UPath(sys.argv[1]), on_wait=lambda _: print("waiting", flush=True)):
    child = os.fork() if "fork" in sys.argv else 0
    if child == 0 and "fork" in sys.argv:
        time.sleep(60)
    print("held", child, flush=True)
    sys.stdin.read()
"""
OWNER = Owner("myhost", 4242, "find-learnable --form sonnet", "2026-01-01T12:00:00+00:00")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(params=["local", "s3"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[UPath]:
    monkeypatch.setattr(lease, "LEASE_POLL_SECONDS", 0.05)
    if request.param == "local":
        yield UPath(tmp_path / "store")
        return
    with object_store() as server:
        yield UPath(server.url)


@contextmanager
def process(root: UPath | Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the store until its input is closed."""
    command = [sys.executable, "-c", HOLD, str(root), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.kill()


@contextmanager
def holder(root: UPath | Path) -> Iterator[subprocess.Popen[str]]:
    with process(root) as started:
        assert started.stdout.readline() == "held 0\n"
        yield started


def test_the_second_waits_for_the_first(root: UPath) -> None:
    told = []
    with holder(root) as first:

        def let_go(sentence: str) -> None:
            told.append(sentence)
            first.stdin.close()

        with hold_store(root, wait=60, on_wait=let_go) as lock:
            lock.check()
    [sentence] = told
    assert sentence.startswith(f"store {str(root)!r} is in use by process {first.pid} on ")
    assert sentence.endswith("): waiting for it")


def test_who_will_not_wait_is_told_whom_for(root: UPath) -> None:
    with (
        holder(root) as first,
        pytest.raises(LearnableError, match=rf"in use by process {first.pid} on .*: wait for it, or give another `st"),
        hold_store(root, wait=0),
    ):
        pass


def test_a_killed_holder_frees_the_store(root: UPath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "BEAT_SECONDS", 0.1)
    with holder(root) as first:
        first.kill()
        first.wait()
        at_once = isinstance(root, Path)
        with hold_store(root, wait=0 if at_once else 60):
            pass


def test_threads_of_one_process_exclude_each_other(root: UPath) -> None:
    inside, most = [], []

    def write() -> None:
        with hold_store(root, wait=60):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.02)
            inside.pop()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1, 1]


@pytest.mark.parametrize(("days", "age"), [(-2, r"since 20\d\d-"), (2, r"for 2 d \(")])
def test_a_clock_that_is_set_changes_the_text_alone(
    root: UPath, monkeypatch: pytest.MonkeyPatch, days: int, age: str
) -> None:
    class Skewed(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:
            return datetime.now(UTC) + timedelta(days=days)

    told: list[str] = []
    with hold_store(root) as lock:
        monkeypatch.setattr(owner, "datetime", Skewed)
        with pytest.raises(LearnableError, match=age), hold_store(root, wait=0.5, on_wait=told.append):
            pass
        assert len(told) == 1
        lock.check()
    with hold_store(root, wait=0):
        pass


def test_an_error_inside_frees_the_store(root: UPath) -> None:
    with pytest.raises(ZeroDivisionError), hold_store(root):
        raise ZeroDivisionError
    with hold_store(root, wait=0):
        pass


def test_ctrl_c_ends_the_wait_and_leaves_the_holder_alone(root: UPath) -> None:
    with holder(root) as first, process(root) as second:
        assert second.stdout.readline() == "waiting\n"
        second.send_signal(signal.SIGINT)
        assert second.wait(60) == -signal.SIGINT
        assert second.stdout.read() == ""
        with pytest.raises(LearnableError, match=f"process {first.pid} "), hold_store(root, wait=0):
            pass


def test_children_that_outlive_a_killed_holder_hold_nothing(tmp_path: Path) -> None:
    with process(tmp_path, "fork") as first:
        child = int(first.stdout.readline().removeprefix("held "))
        try:
            first.kill()
            first.wait()
            with hold_store(tmp_path, wait=30):  # the child may need a moment to let go
                pass
        finally:
            os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("text", [None, b"", b"\xff", b"[]", b'{"host": "h", "pid": "?", "command": "", "since": ""}'])
def test_an_owner_that_cannot_be_read_is_another_process(tmp_path: Path, text: bytes | None) -> None:
    with hold_store(tmp_path):
        (tmp_path / OWNER_FILE).unlink() if text is None else (tmp_path / OWNER_FILE).write_bytes(text)
        with pytest.raises(LearnableError, match="in use by another process: wait"), hold_store(tmp_path, wait=0):
            pass


def test_a_url_of_a_folder_is_that_folder(tmp_path: Path) -> None:
    url = UPath(tmp_path.as_uri())
    with hold_store(tmp_path), pytest.raises(LearnableError, match="in use"), hold_store(url, wait=0):
        pass


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("")
    with (
        pytest.raises(LearnableError, match=r"store .*s' cannot be locked \(File exists\)"),
        hold_store(tmp_path / "s"),
    ):
        pass


@pytest.fixture(params=["refused", "on one machine alone"])
def mount(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on a mount that has no locks, or whose locks nobody else sees: each believes that it is alone."""

    def flock(*_: object) -> None:
        if request.param == "refused":
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    if request.param != "refused":
        mounts = tmp_path / "mountinfo"
        mounts.write_text(
            "22 1 0:21 / / rw - ext4 /dev/sda rw\n"
            f"40 22 0:50 / {tmp_path}/shared\\040mount rw - fuse.sshfs host:/x rw\n"
        )
        monkeypatch.setattr(lock, "MOUNTS", mounts)
    monkeypatch.setattr(lease, "LEASE_POLL_SECONDS", 0.05)
    folder = tmp_path / "shared mount" / "store"
    folder.mkdir(parents=True)
    return folder


def test_where_locks_do_not_hold_a_lease_does(mount: Path) -> None:
    told = []
    with hold_store(mount, "p", wait=0) as mine, hold_store(mount, "q", wait=0):
        assert not mine.alone
        for part in ("p", ""):
            with (
                pytest.raises(LearnableError, match=r"in use by process \d+ on .* for 0 s"),
                hold_store(mount, part, wait=0),
            ):
                pass
        mine.check()
    with (
        hold_store(mount, wait=0),
        pytest.raises(LearnableError, match="in use"),
        hold_store(mount, "p", wait=0.2, on_wait=told.append),
    ):
        pass
    assert len(told) == 1


def test_a_killed_holder_on_such_a_mount_loses_the_lease(mount: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "BEAT_SECONDS", 0.1)
    leases = mount / lease.LEASES
    leases.mkdir()
    (leases / "p-7").write_text('{"owner": ')  # killed as it wrote
    with hold_store(mount, "p", wait=60) as later:
        assert later.taken_over
        assert sorted(path.name for path in leases.iterdir()) == ["p-8"]


def test_parts_of_a_store_have_a_writer_each(root: UPath) -> None:
    told: list[str] = []
    with hold_store(root, "p", wait=0) as first:
        first.share()
        with hold_store(root, "q", wait=0) as second:
            assert not second.alone
            for part in ("p", "q", ""):
                with pytest.raises(LearnableError, match=r"in use by process"), hold_store(root, part, wait=0):
                    pass
    with (
        hold_store(root, wait=0) as whole,
        pytest.raises(LearnableError, match=r"in use by process"),
        hold_store(root, "p", wait=1.0, on_wait=told.append),
    ):
        whole.check()
    assert len(told) == 1


def test_who_is_alone_lets_others_in_when_it_has_swept(tmp_path: Path) -> None:
    came = threading.Event()

    def second() -> None:
        with hold_store(tmp_path, "q", wait=0):  # a sweep is waited for
            came.set()

    with hold_store(tmp_path, "p", wait=0) as first:
        assert first.alone
        thread = threading.Thread(target=second)
        thread.start()
        assert not came.wait(0.3)
        first.share()
        assert came.wait(30)
        thread.join()


@pytest.mark.parametrize(
    ("kind", "is_shared"), [("ext4", False), ("fuseblk", False), ("nfs4", True), ("fuse.s3fs", True), ("cifs", True)]
)
def test_mounts_that_other_machines_may_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, is_shared: bool
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 0 0:1 / / rw - overlay x rw\n2 1 0:2 / {tmp_path} rw shared:1 - {kind} x rw\n")
    monkeypatch.setattr(lock, "MOUNTS", mounts)
    assert lock.is_shared_mount(tmp_path / "a") == is_shared
    assert not lock.is_shared_mount(Path("/elsewhere"))


@pytest.mark.parametrize(
    ("seconds", "age"),
    [
        (0, "for 0 s"),
        (59, "for 59 s"),
        (200, "for 3 min"),
        (7200, "for 2 h"),
        (9e5, "for 10 d"),
        (-1, "since 2026-01-01"),
    ],
)
def test_an_owner_says_for_how_long(seconds: float, age: str) -> None:
    assert f"on myhost {age}" in OWNER.describe(NOON + timedelta(seconds=seconds))


@pytest.mark.parametrize("since", ["", "yesterday", "2026-01-01T12:00:00"])
def test_an_owner_with_an_odd_time_is_described_all_the_same(since: str) -> None:
    owner = Owner("myhost", 1, "find-learnable", since)
    assert owner.describe(NOON) == f"process 1 on myhost since {since} (find-learnable)"


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["/x/bin/find-learnable", "--form", "sonnet"], "find-learnable --form sonnet"),
        (["/x/learnable/__main__.py", "train"], "learnable train"),
        (["/x/learnable", "a" * 200], f"learnable {'a' * 69}…"),
    ],
)
def test_a_command_is_short(monkeypatch: pytest.MonkeyPatch, argv: list[str], command: str) -> None:
    monkeypatch.setattr(sys, "argv", argv)
    assert Owner.of_this_process().command == command
