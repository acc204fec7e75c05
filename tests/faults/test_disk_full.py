"""A disk that fills up, for real: a small tmpfs under the store."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.runs_for_tests import PAID, SIMULATED, Run, Shell
from tests.faults.stores_for_tests import check_rollouts, check_scores, files, leftovers, rollouts

FIND = (*SIMULATED, "--limit", "400", "--group-size", "8")
ROLLOUTS = 3200  # three chunks of 1,024 and a rest
RESERVE = 16 << 20
PAGE = 4096


@pytest.fixture
def disk(shell: Shell) -> Iterator[Path]:
    """The store's folder, with 24 MiB."""
    shell.store.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(shell.store)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a tmpfs cannot be mounted here: {done.stderr.strip()}")
    try:
        yield shell.store
    finally:
        shell.kill_all()
        subprocess.run(["umount", "--lazy", str(shell.store)], check=True)


def free(disk: Path) -> int:
    stat = os.statvfs(disk)
    return stat.f_bavail * stat.f_frsize


def fill(disk: Path, leave: int) -> Path:
    """Take all the room but `leave` bytes."""
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, free(disk) - leave)
    return ballast


def check_all_paid_is_there(shell: Shell, full: Run) -> None:
    assert "error: store 'store' is full: everything that was paid for is in it; free some room" in full.err
    assert "the same command goes on from there" in full.err
    paid = (shell.folder / "paid").read_text().split()
    assert len(paid) >= 1024
    check_rollouts(shell.store, rollouts(shell.store).height)
    assert set(paid) <= set(rollouts(shell.store)["rollout_id"])
    assert not (shell.store / "curated").exists()
    assert not (shell.folder / "cache").exists()


def check_going_on(shell: Shell, ballast: Path) -> None:
    before, stored = files(shell.store / "rollouts"), rollouts(shell.store).height
    ballast.unlink()
    last = shell.run(*FIND, program=PAID, PAID="paid")
    assert (last.reused, last.generated) == (stored, ROLLOUTS - stored)
    check_rollouts(shell.store, ROLLOUTS)
    check_scores(shell.store, ROLLOUTS)
    paid = (shell.folder / "paid").read_text().split()
    assert len(paid) == len(set(paid))
    assert before.items() <= files(shell.store / "rollouts").items()
    assert leftovers(shell.store) == []


def test_too_little_room_for_the_first_chunk(shell: Shell, disk: Path) -> None:
    ballast = fill(disk, leave=RESERVE + 2 * PAGE)
    full = shell.run(*FIND, status=2, program=PAID, PAID="paid")
    check_all_paid_is_there(shell, full)
    check_going_on(shell, ballast)


def test_another_program_fills_the_disk_in_mid_run(shell: Shell, disk: Path) -> None:
    run = shell.start(*FIND, "--engine-arg", "group_seconds=0.01", program=PAID, PAID="paid")
    run.wait_for("8/3,200 rollouts")  # at the first group: the chunk is a second away
    ballast = fill(disk, leave=0)
    check_all_paid_is_there(shell, run.end(status=2))
    check_going_on(shell, ballast)


def test_no_room_at_all_is_said_before_anything_is_paid(shell: Shell, disk: Path) -> None:
    ballast = fill(disk, leave=RESERVE - PAGE)
    run = shell.run(*FIND, status=2, program=PAID, PAID="paid")
    assert "store 'store' has no room for a chunk of rollouts (No space left on device): free 16 MiB there" in run.err
    assert not run.started_an_engine
    assert not (shell.folder / "paid").exists()
    assert leftovers(disk) == []
    check_going_on(shell, ballast)


def test_a_disk_that_is_full_at_the_end_costs_no_rollout(shell: Shell, disk: Path) -> None:
    """The ledger is whole, and there is no room to publish: the same command publishes once there is."""
    shell.run(*FIND, program=PAID, PAID="paid")
    curated = files(disk / "curated")
    assert curated
    ballast = fill(disk, leave=RESERVE + PAGE)
    run = shell.run(*FIND, "--name", "another", status=2, program=PAID, PAID="paid")
    assert "No space left on device" in run.err
    assert files(disk / "curated") == curated
    assert leftovers(disk) == []
    ballast.unlink()
    again = shell.run(*FIND, "--name", "another", program=PAID, PAID="paid")
    assert not again.started_an_engine
    check_rollouts(disk, ROLLOUTS)
