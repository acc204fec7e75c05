"""Ctrl-C in mid-run: what is said to be safe is safe, and the same command pays for the rest alone."""

from __future__ import annotations

import re
import signal
import time

import pytest

from tests.faults.runs_for_tests import PAID, SIMULATED, Run, Shell
from tests.faults.stores_for_tests import check_rollouts, files, leftovers, rollouts

FIND = (*SIMULATED, "--limit", "400", "--group-size", "8")
SLOW = (*FIND, "--engine-arg", "group_seconds=0.015")
ROLLOUTS = 3200


def interrupted(shell: Shell, *, chunks: int, after: float = 0.0) -> Run:
    """Press Ctrl-C some seconds after that many chunks are durable, in the middle of the next one."""
    run = shell.start(*SLOW, program=PAID, PAID="paid")
    run.wait_for("8/3,200 rollouts")
    run.wait_until(lambda: len(list((shell.store / "rollouts").glob("*/*/[!.]*"))) >= chunks)
    time.sleep(after)
    run.send(signal.SIGINT)
    return run


def read_books(shell: Shell) -> list[str]:
    """Return what the runs have taken; none where Ctrl-C came while the first group was being taken."""
    books = shell.folder / "paid"
    return books.read_text().split() if books.exists() else []


def check_the_rest_is_paid_once(shell: Shell) -> None:
    """Finish, and see that nothing that was paid for is lost, or paid for again."""
    stored = rollouts(shell.store)
    before = files(shell.store / "rollouts")
    assert set(read_books(shell)) <= set(stored["rollout_id"])
    last = shell.run(*FIND, program=PAID, PAID="paid")
    assert (last.reused, last.generated) == (stored.height, ROLLOUTS - stored.height)
    check_rollouts(shell.store, ROLLOUTS)
    assert before.items() <= files(shell.store / "rollouts").items()
    paid = read_books(shell)
    assert len(paid) == len(set(paid)) > 0
    assert leftovers(shell.store) == []


@pytest.mark.parametrize(("chunks", "after"), [(0, 0.0), (0, 0.5), (1, 0.0), (2, 0.2)])
def test_what_is_said_to_be_safe_is_safe(shell: Shell, chunks: int, after: float) -> None:
    run = interrupted(shell, chunks=chunks, after=after).end(status=130)
    [said] = re.findall(r"stopped: ([\d,]+) new rollouts are safe in store", run.err)
    assert int(said.replace(",", "")) == check_rollouts(shell.store, rollouts(shell.store).height).height
    assert "the same command goes on from there" in run.err
    assert rollouts(shell.store).height >= (1024 if chunks else 8)
    assert not (shell.store / "curated").exists()
    assert leftovers(shell.store) == []
    check_the_rest_is_paid_once(shell)


@pytest.mark.parametrize("pause", [0.0, 0.003, 0.01, 0.03, 0.1])
def test_a_second_ctrl_c_breaks_nothing(shell: Shell, pause: float) -> None:
    run = interrupted(shell, chunks=0, after=0.3)
    time.sleep(pause)
    run.send(signal.SIGINT)
    run.process.wait(60)
    assert run.process.returncode != 0
    check_the_rest_is_paid_once(shell)
    assert shell.run("ledger", "check", "--store", "store").err == ""


def test_ctrl_c_before_anything_is_paid(shell: Shell) -> None:
    run = shell.start(*FIND, "--engine-arg", "group_seconds=60")
    run.wait_for("Rolling out")
    run.send(signal.SIGINT)
    assert "stopped: 0 new rollouts are safe in store" in run.end(status=130).err
    assert leftovers(shell.store) == []
