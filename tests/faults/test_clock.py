"""A clock that jumps a year back, between runs or in the middle of one: nothing that counts rests on it."""

from __future__ import annotations

import json
import signal
from datetime import UTC, datetime
from pathlib import Path

from tests.faults.runs_for_tests import SIMULATED, Shell
from tests.faults.stores_for_tests import check_rollouts, check_scores, files, leftovers, parts

FIND = (*SIMULATED, "--limit", "200", "--group-size", "8")
ROLLOUTS = 1600

SLOW = (str(Path(__file__).with_name("slow_clock_for_tests.py")),)


def year_of(curated: Path) -> int:
    manifest = json.loads((curated / "manifest.json").read_text())
    return datetime.fromisoformat(manifest["created"]).year


def chunk_numbers(store: Path) -> list[int]:
    return sorted(int(path.name[:8]) for path in (store / "rollouts").rglob("*.parquet"))


def test_a_run_a_year_earlier_reuses_everything(shell: Shell) -> None:
    first = shell.run(*FIND).report
    again = shell.run(*FIND, program=SLOW, SLOW_FROM="/")
    assert (again.reused, again.started_an_engine) == (ROLLOUTS, False)
    assert again.report["curated"] == first["curated"]
    assert again.report["run_id"] < first["run_id"]


def test_versions_and_chunks_count_up_all_the_same(shell: Shell) -> None:
    first = shell.run(*FIND).report
    before, numbers = files(shell.store / "rollouts"), chunk_numbers(shell.store)
    grown = (*FIND[:-1], "16")
    second = shell.run(*grown, program=SLOW, SLOW_FROM="/")
    assert (second.reused, second.generated) == (ROLLOUTS, ROLLOUTS)
    curated = [shell.folder / report["curated"] for report in (first, second.report)]
    assert [path.name for path in curated] == ["v0001", "v0002"]
    assert year_of(curated[1]) == year_of(curated[0]) - 1
    after = chunk_numbers(shell.store)
    assert after == list(range(len(after))) > numbers
    assert before.items() <= files(shell.store / "rollouts").items()
    third = shell.run(*grown).report
    assert third["curated"] == second.report["curated"]
    check_scores(shell.store, 2 * ROLLOUTS)


def test_a_jump_in_mid_run_changes_nothing(shell: Shell) -> None:
    undisturbed = shell.run(*FIND, "--store", "calm").report
    run = shell.run(*FIND, program=SLOW, SLOW_FROM=str(shell.store / "rollouts"))
    assert (run.reused, run.generated) == (0, ROLLOUTS)
    curated = shell.folder / run.report["curated"]
    assert year_of(curated) == int(run.report["run_id"][:4]) - 1  # it did jump
    assert parts(curated) == parts(shell.folder / undisturbed["curated"])
    assert run.report["seconds"] < 300
    check_rollouts(shell.store, ROLLOUTS)
    assert leftovers(shell.store) == []


def test_who_holds_a_store_is_said_sensibly(shell: Shell) -> None:
    first = shell.start(*FIND, "--engine-arg", "group_seconds=0.01")
    first.wait_for("8/1,600 rollouts")
    first.send(signal.SIGSTOP)
    refused = shell.run(*FIND, "--no-wait", status=2, program=SLOW, SLOW_FROM="/")
    this_year = datetime.now(UTC).year
    assert f"in use by process {first.pid} on " in refused.err
    assert f" since {this_year}-" in refused.err  # of no age, for it begins in the future
    waiting = shell.start(*FIND, program=SLOW, SLOW_FROM="/")
    waiting.wait_for("waiting for it")
    first.send(signal.SIGCONT)
    first.end()
    assert waiting.end().reused == ROLLOUTS
