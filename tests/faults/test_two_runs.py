"""Two runs on one store: one writes, the other waits and then finds the first one's rollouts."""

from __future__ import annotations

import signal

from tests.faults.runs_for_tests import SIMULATED, Run, Shell
from tests.faults.stores_for_tests import check_rollouts, leftovers

FIND = (*SIMULATED, "--limit", "40", "--group-size", "8")
SLOW = (*FIND, "--engine-arg", "group_seconds=0.05")


def holding(shell: Shell) -> Run:
    """A run that has rolled out a little, and stands still while it holds the store."""
    first = shell.start(*SLOW)
    first.wait_for("8/320 rollouts")
    first.send(signal.SIGSTOP)
    return first


def test_two_equal_commands_pay_once(shell: Shell) -> None:
    runs = [shell.start(*SLOW), shell.start(*SLOW)]
    reports = [run.end().report for run in runs]
    check_rollouts(shell.store, 320)
    assert sorted(run.generated for run in runs) == [0, 320]
    assert reports[0]["curated"] == reports[1]["curated"]
    assert leftovers(shell.store) == []


def test_the_second_says_whom_it_waits_for(shell: Shell) -> None:
    first = holding(shell)
    second = shell.start(*FIND)
    second.wait_for(f"store 'store' is in use by process {first.pid} on ")
    first.send(signal.SIGCONT)
    first.end()
    second.end()
    assert second.err.count("waiting for it") == 1
    assert "(learnable find --engine simulated" in second.err
    assert (second.reused, second.generated) == (320, 0)
    check_rollouts(shell.store, 320)


def test_who_will_not_wait_stops_and_names_the_other(shell: Shell) -> None:
    first = holding(shell)
    second = shell.run(*FIND, "--no-wait", status=2)
    assert f"is in use by process {first.pid} on " in second.err
    assert "wait for it, or give another --store" in second.err
    first.send(signal.SIGCONT)
    first.end()
    check_rollouts(shell.store, 320)


def test_other_prompts_share_the_store(shell: Shell) -> None:
    runs = [shell.start(*SLOW, "--seed", seed, "--name", f"set-{seed}") for seed in ("0", "1")]
    for run in runs:
        assert run.end().generated == 320
    rows = check_rollouts(shell.store, 640)
    assert rows["question_id"].n_unique() == 80
    assert leftovers(shell.store) == []


def test_a_killed_holder_lets_the_other_go_on(shell: Shell) -> None:
    first = holding(shell)
    second = shell.start(*FIND)
    second.wait_for(f"process {first.pid} ")
    first.kill()
    second.end()
    check_rollouts(shell.store, 320)
    assert leftovers(shell.store) == []


def test_the_ledger_commands_wait_too(shell: Shell) -> None:
    first = holding(shell)
    for command in ("check", "compact"):
        refused = shell.run("ledger", command, "--store", "store", "--no-wait", status=2)
        assert f"in use by process {first.pid} " in refused.err
    compact = shell.start("ledger", "compact", "--store", "store", "--json")
    compact.wait_for("waiting for it")
    first.send(signal.SIGCONT)
    first.end()
    assert compact.end().report["files_after"] == 2
    check_rollouts(shell.store, 320)
