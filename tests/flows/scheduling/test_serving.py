"""Schedules as a user types them: the command alone, and the script of the docs beside a Prefect server."""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.flows.scheduling.prefect_processes_for_tests import Command, still_alive
from tests.project.documents_for_tests import ROOT, read_blocks

pytestmark = pytest.mark.e2e

Start = Callable[..., Command]
SIMULATED = ("--engine", "simulated", "--family", "simulated", "--limit", "16", "--store", "store")
FIND = ("-m", "learnable", "find", *SIMULATED, "--every", "3")
CRON = "0 3 * * *"
PAGE = ROOT / "docs" / "how-to" / "run-on-a-schedule.md"
TYPED = {block.language: block.text for block in read_blocks(PAGE) if CRON in block.text}


def check_runs(served: Command, store: Path, *, runs: int = 2) -> None:
    """Wait until so many runs are through, and see that they went one after the other and wrote the store."""
    served.listen(lambda: len(ends_of(served)) >= runs)
    events = re.findall(r"Flow run '.*?' - (Beginning|Finished in state \w+)", served.said)
    assert events[: 2 * runs] == ["Beginning", "Finished in state Completed"] * runs, served.said
    assert len(re.findall(r"\d+ of \d+ prompts kept: .*/curated/", served.said)) >= runs, served.said
    assert len(list((store / "groups").glob("*.parquet"))) >= runs
    assert len(list((store / "curated").glob("*/v*"))) >= 1


def ends_of(served: Command) -> list[str]:
    return re.findall(r"Flow run '.*?' - Finished in state \w+", served.said)


def check_stops(served: Command, number: signal.Signals, status: int | None = 0) -> None:
    """Stop it, and see that nothing is left behind."""
    family = served.family()
    served.process.send_signal(number)
    served.listen(lambda: False)
    assert still_alive(family) == []
    assert status is None or served.process.wait(60) == status, served.said


def test_a_command_with_a_period_runs_again_and_again(start: Start, tmp_path: Path) -> None:
    served = start(*FIND, cold=True)  # and all that it starts, as a user's
    check_runs(served, tmp_path / "store")
    check_stops(served, signal.SIGTERM)

    again = start(*FIND)  # the schedule, paused by the stop, goes on
    check_runs(again, tmp_path / "store", runs=1)
    check_stops(again, signal.SIGINT)


def test_times_that_pass_during_a_run_are_not_made_up_for(start: Start) -> None:
    served = start(*FIND, "--engine-arg", "group_seconds=0.5", "--sampling", "fixed", "--group-size", "2")
    served.wait_for("earlier times were missed and are not made up for")  # by the run after the one that generates
    check_stops(served, signal.SIGTERM)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_under_way_stops_with_its_schedule(start: Start, number: signal.Signals) -> None:
    served = start(*FIND, "--engine-arg", "group_seconds=600")
    served.wait_for("Rolling out")
    check_stops(served, number, status=None if number == signal.SIGKILL else 0)


def test_the_schedules_of_the_docs_run_again_and_again(start: Start, prefect_url: str, tmp_path: Path) -> None:
    """The script beside a server, then the command alone: both curate into one store, so the engine starts once."""
    typed = TYPED["python"].replace(f'cron="{CRON}"', "interval=3")
    assert "interval" in typed
    (tmp_path / "nightly.py").write_text(typed)
    served = start("nightly.py", PREFECT_API_URL=prefect_url)
    check_runs(served, tmp_path / "nightly-store")
    check_stops(served, signal.SIGINT)

    program, *words = shlex.split(TYPED["sh"].replace(f'--cron "{CRON}"', "--every 3"), comments=True)
    assert program == "find-learnable"
    assert "--every" in words
    served = start("-m", "learnable", "find", *words)
    check_runs(served, tmp_path / "nightly-store")
    check_stops(served, signal.SIGTERM)


def test_a_command_uses_the_configured_server(start: Start, prefect_url: str, tmp_path: Path) -> None:
    served = start(*FIND, PREFECT_API_URL=prefect_url)
    check_runs(served, tmp_path / "store")
    assert f"on the Prefect server at {prefect_url}" in served.said
    check_stops(served, signal.SIGTERM)
