"""The real engine, killed while it runs: what was durable stays, and only what is missing is generated."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest

from tests.faults.runs_for_tests import Run, Shell
from tests.faults.stores_for_tests import (
    check_rollouts,
    check_scores,
    files,
    group_files,
    leftovers,
    parts,
    rollouts,
)
from tests.support.warm_starts import Starter

pytestmark = pytest.mark.e2e

PROMPTS, GROUP_SIZE, CHUNK = 224, 8, 256  # seven chunks
ROLLOUTS = PROMPTS * GROUP_SIZE
FIND = (
    "find", "--sampling", "fixed", "--family", "arithmetic", "--family", "comparison", "--limit", str(PROMPTS),
    "--group-size", str(GROUP_SIZE), "--no-prefect", "--json",
)  # fmt: skip
ADAPTIVE = ("find", "--family", "arithmetic", "--family", "comparison", "--limit", "96", "--no-prefect", "--json")
SMALL_CHUNKS = f"""
from learnable.cli.app import main
from learnable.flows.sampling import chunk_writer

chunk_writer.CHUNK_ROLLOUTS = {CHUNK}
main()
"""
Moment = Callable[[Run, Path], bool]
RNG = random.Random(20)


@pytest.fixture
def shell(tmp_path: Path, starter: Starter) -> Iterator[Shell]:
    """A folder to run commands in; whatever still runs at the end is killed."""
    started = Shell(tmp_path, starter)
    yield started
    started.kill_all()


def says(text: str) -> Moment:
    return lambda run, _: text in run.err


def another(pattern: str) -> Moment:
    """When there is one file more than when the run began."""
    seen: dict[int, int] = {}

    def holds(run: Run, store: Path) -> bool:
        count = len(list(store.glob(pattern)))
        return count > seen.setdefault(run.pid, count)

    return holds


# When, and at most how many seconds later.
KILLS: list[tuple[Moment, float]] = [
    (says("Starting the engine"), 2.0),
    (says("Rolling out"), 0.5),
    *[(another("rollouts/*/*/[!.]*.parquet"), late) for late in (0.0, 0.2, 0.6)],
    (another("scores/*/*/*/[!.]*.parquet"), 0.1),
    (another("rollouts/*/*/.*.partial"), 0.0),
    (says("Scoring the last rollouts"), 0.02),
    (another("groups/*"), 0.01),
    (another("curated/*/.staging-*"), 0.01),
]


def kill_at(shell: Shell, moment: Moment, late: float) -> bool:
    """Run and kill; return whether the run was still going on."""
    stored, before = stored_in(shell.store), files(shell.store / "rollouts")
    run = shell.start(*FIND, "--store", "store", program=("-c", SMALL_CHUNKS))
    if run.wait_until(lambda: moment(run, shell.store)):
        time.sleep(RNG.uniform(0, late))
    alive = run.process.poll() is None
    run.kill()
    assert alive or run.process.returncode == 0, run.err
    check_run(run, stored)
    assert before.items() <= files(shell.store / "rollouts").items()
    return alive


def check_run(run: Run, stored: Mapping[str, str]) -> None:
    """See that it reused what was `stored` before it, and asked for the rest alone."""
    if run.started_an_engine:
        assert run.reused == len(stored)
    if run.generated:
        assert run.generated == ROLLOUTS - len(stored)


def stored_in(store: Path) -> dict[str, str]:
    rows = rollouts(store)
    return dict(zip(rows["rollout_id"], rows["completion"], strict=True))


def test_ten_kills_lose_nothing_that_was_durable(shell: Shell) -> None:
    killed = []
    for moment, late in KILLS:
        stored = stored_in(shell.store)
        killed.append(kill_at(shell, moment, late))
        assert stored.items() <= stored_in(shell.store).items()
    assert sum(killed) >= 8
    stored = stored_in(shell.store)
    last = shell.run(*FIND, "--store", "store", program=("-c", SMALL_CHUNKS))
    check_run(last, stored)
    check_rollouts(shell.store, ROLLOUTS)
    check_scores(shell.store, ROLLOUTS)
    assert leftovers(shell.store) == []
    assert shell.run("ledger", "check", "--store", "store").err == ""
    check_against_an_undisturbed_run(shell, last)


def test_kills_in_the_default_mode_change_no_decision(shell: Shell) -> None:
    for place in ("rollouts/*/*", "ahead/*/*"):
        run = shell.start(*ADAPTIVE, "--store", "store", program=("-c", SMALL_CHUNKS))
        run.wait_until(partial(another(f"{place}/[!.]*.parquet"), run, shell.store))
        stored = stored_in(shell.store)
        run.kill()
        assert stored.items() <= stored_in(shell.store).items()
    last = shell.run(*ADAPTIVE, "--store", "store", program=("-c", SMALL_CHUNKS))
    assert last.reused > 0 < last.report["totals"]["generated"]
    made = len(stored_in(shell.store))
    check_scores(shell.store, made)
    check_against_an_undisturbed_run(shell, last, ADAPTIVE)
    again = shell.run(*ADAPTIVE, "--store", "store")
    assert not again.started_an_engine
    assert len(check_rollouts(shell.store, made)) == made


def check_against_an_undisturbed_run(shell: Shell, last: Run, find: Sequence[str] = FIND) -> None:
    copy = shell.folder / "copy"
    for part in ("rollouts", "scores", "ahead"):
        if (shell.store / part).exists():
            shutil.copytree(shell.store / part, copy / part)
    shutil.copy(shell.store / "format.json", copy)
    undisturbed = shell.run(*find, "--store", "copy")
    assert not undisturbed.started_an_engine
    curated = [Path(shell.folder / run.report["curated"]) for run in (last, undisturbed)]
    assert parts(curated[0]) == parts(curated[1])
    assert group_files(shell.store) == group_files(copy)
    assert len(list((shell.store / "curated").glob("*/*"))) == 1
