"""The temporary Prefect server ends with its run, however the run ends, and keeps no pipe of the caller's open."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from tests.flows.scheduling.prefect_processes_for_tests import PATIENCE, Command, still_alive

FIND = (
    "-m",
    "learnable",
    "find",
    "--engine",
    "simulated",
    "--family",
    "simulated",
    "--limit",
    "32",
    "--store",
    "store",
)
SLOW = (*FIND, "--engine-arg", "group_seconds=600")
Start = Callable[..., Command]
ROLLING = "Rolling out"  # said by a task of the flow: the server answers


@pytest.mark.e2e
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGHUP])
def test_nothing_outlives_a_run_that_is_stopped(start: Start, number: signal.Signals) -> None:
    run = start(*SLOW)
    run.wait_for(ROLLING)
    family = run.family()
    assert len(family) > 1

    run.process.send_signal(number)
    run.process.wait(PATIENCE)

    assert still_alive(family) == []
    run.listen(lambda: False)  # to the end of the pipe
    assert run.ended


@pytest.mark.e2e
def test_nothing_outlives_a_run_that_is_killed_while_the_server_starts(start: Start) -> None:
    run = start(*SLOW)
    run.wait_for("Starting the Prefect server")
    assert run.listen(lambda: len(run.family()) > 1)
    family = run.family()

    run.process.kill()

    assert still_alive(family) == []
    run.listen(lambda: False)
    assert run.ended


@pytest.mark.e2e
def test_nothing_outlives_a_run_that_ends(start: Start) -> None:
    run = start(*FIND)
    run.wait_for(ROLLING)
    family = run.family()

    run.listen(lambda: False)

    assert run.process.wait(PATIENCE) == 0, run.said
    assert still_alive(family) == []


@pytest.mark.e2e
def test_a_server_that_cannot_start_is_one_message(start: Start) -> None:
    run = start(*FIND, PREFECT_API_DATABASE_CONNECTION_URL="sqlite+aiosqlite:////nowhere/at/all.db")

    run.listen(lambda: False)

    assert run.process.wait(PATIENCE) == 2, run.said
    assert "error: the Prefect server ended with status" in run.said
    assert "--no-prefect" in run.said
    assert "Traceback" not in run.said
