"""An engine that fails now and then costs time; one that fails for good stops the run; nothing becomes "too hard"."""

from __future__ import annotations

import re

from tests.faults.runs_for_tests import PAID, SIMULATED, Run, Shell
from tests.faults.stores_for_tests import check_rollouts, check_scores, files, group_files, leftovers, rollouts, scores

FIND = (*SIMULATED, "--limit", "60", "--group-size", "8")
ROLLOUTS = 480


def find(shell: Shell, failures: float, *more: str, status: int = 0) -> Run:
    """Run with an engine that fails at a share of the groups, and without long pauses after that."""
    arguments = (*FIND, *more, "--engine-arg", f"failures={failures}")
    return shell.run(*arguments, status=status, program=PAID, PAID="paid", FIRST_DELAY="0.001")


def test_failures_now_and_then_change_no_decision(shell: Shell) -> None:
    failing = find(shell, 0.2)
    find(shell, 0.0, "--store", "calm")
    warnings = re.findall(r"warning: .*simulated failure at 'simulated prompt \d+', attempt 1", failing.err)
    assert len(warnings) >= 3
    rows, undisturbed = (check_rollouts(store, ROLLOUTS) for store in (shell.store, shell.folder / "calm"))
    key = ["rollout_id", "completion", "seed"]
    assert rows.select(key).sort(key).equals(undisturbed.select(key).sort(key))
    assert group_files(shell.store) == group_files(shell.folder / "calm")
    check_scores(shell.store, ROLLOUTS)
    paid = (shell.folder / "paid").read_text().split()
    assert len(paid) == 2 * len(set(paid)) == 2 * ROLLOUTS


def test_an_engine_that_never_answers_stops_the_run(shell: Shell) -> None:
    run = find(shell, 1.0, status=2)
    assert "error: the engine failed 4 times in a row, last with: simulated failure at 'simulated prompt" in run.err
    assert "0 rollouts of this run are in store; 480 are still missing and were not scored" in run.err
    assert "the same command goes on from there" in run.err
    assert set(files(shell.store)) == {"format.json"}
    assert leftovers(shell.store) == []
    assert find(shell, 0.0).generated == ROLLOUTS


def test_an_outage_in_mid_run_keeps_what_was_paid(shell: Shell) -> None:
    find(shell, 0.0, "--limit", "20")
    curated = files(shell.store / "curated")
    run = find(shell, 0.6, status=2)
    [[done, missing]] = re.findall(r"([\d,]+) rollouts of this run are in store; ([\d,]+) are still missing", run.err)
    stored = rollouts(shell.store).height
    assert int(done) > 0
    assert (stored, ROLLOUTS - stored) == (160 + int(done), int(missing))
    assert files(shell.store / "curated") == curated
    assert set(scores(shell.store)["verdict"]) == {"scored"}
    again = find(shell, 0.0)
    assert (again.reused, again.generated) == (stored, ROLLOUTS - stored)
    check_rollouts(shell.store, ROLLOUTS)
    check_scores(shell.store, ROLLOUTS)
    paid = (shell.folder / "paid").read_text().split()
    assert len(paid) == len(set(paid)) == ROLLOUTS
