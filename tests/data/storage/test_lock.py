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
from learnable.data.storage import lease, owner
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


def test_a_file_system_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(LearnableError, match=r"cannot be locked \(Function not implemented\)"), hold_store(tmp_path):
        pass


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
