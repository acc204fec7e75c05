"""A scoring process may be killed at any time, and never outlives its caller."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learnable.data.records import Score
from learnable.verifiers.own.trust import trust
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool, score_one
from tests.verifiers.pool.waits_for_tests import BOUND, has_ended, wait_for

HERE = str(Path(__file__).parents[1])
SIGNAL_9 = "the scoring process was killed by signal 9 twice on this completion (out of memory?)"
STATUS_3 = "the scoring process exited with status 3 twice on this completion"
JUDGES = Path(HERE, "judges_for_tests.py").read_text(encoding="utf-8").splitlines()
[ASKS] = [number for number, line in enumerate(JUDGES, start=1) if "lambda prompt: input()" in line]
NO_INPUT = f"EOFError: EOF when reading a line (judges_for_tests.py, line {ASKS})"
MEMORY_LIMIT = 96 << 20


@pytest.fixture(autouse=True)
def judges_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(HERE)


def job(completion: str, prompt: object = "") -> ScoreJob:
    trust("judges_for_tests:Misbehaving")
    return ScoreJob("judges_for_tests:Misbehaving", completion, str(prompt), "{}")


@given(st.lists(st.sampled_from(["0.5", "raise", "die", "exit", "0.25", "input"]), max_size=8))
@settings(max_examples=8)
def test_scores_stay_in_order_whoever_dies(two_workers: ScoringPool, completions: list[str]) -> None:
    ends = {"die": Score.unscored(SIGNAL_9), "exit": Score.unscored(STATUS_3), "input": Score.unscored(NO_INPUT)}
    scores = two_workers.submit([job(completion) for completion in completions]).result(BOUND)
    assert scores == [ends.get(completion) or score_one(job(completion)) for completion in completions]


def test_two_ends_are_both_told(one_worker: ScoringPool, tmp_path: Path) -> None:
    (score,) = one_worker.submit([job("die then exit", tmp_path / "mark")]).result(BOUND)
    assert score.reason == ("the scoring process was killed by signal 9, then exited with status 3, on this completion")


def test_a_child_that_holds_the_pipes_hides_no_death(one_worker: ScoringPool, tmp_path: Path) -> None:
    scores = one_worker.submit([job("fork and die", tmp_path / "pid"), job("0.5")]).result(BOUND)
    assert [score.reason for score in scores] == [SIGNAL_9, ""]
    child = int((tmp_path / "pid").read_text(encoding="utf-8"))
    wait_for(lambda: has_ended(child))


def test_messages_may_be_larger_than_a_pipe(one_worker: ScoringPool) -> None:
    jobs = [job("long"), *[job(f"0.{'1' * 300_000}{index}") for index in range(8)], job("long")]
    assert one_worker.submit(jobs).result(BOUND) == [score_one(job) for job in jobs]


def test_signals_that_a_verifier_wants_cut_no_message_short() -> None:
    with ScoringPool(1) as pool:
        scores = pool.submit([job("alarms"), *[job("long")] * 20]).result(BOUND)
    assert scores[1:] == [score_one(job("long"))] * 20


def test_an_end_between_two_batches_counts_against_no_completion(one_worker: ScoringPool, tmp_path: Path) -> None:
    pid = int(one_worker.submit([job("pid")]).result(BOUND)[0].reason)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: has_ended(pid))
    (score,) = one_worker.submit([job("die once", tmp_path / "mark")]).result(BOUND)
    assert score.reward == 1.0


@pytest.mark.skipif(not Path("/proc/self/oom_score_adj").exists(), reason="only Linux ranks what to kill first")
def test_where_memory_runs_out_the_worker_goes_before_its_caller(one_worker: ScoringPool) -> None:
    before = score_one(job("oom_score_adj")).reason
    (score,) = one_worker.submit([job("oom_score_adj")]).result(BOUND)
    assert score.reason == "1000"
    assert score_one(job("oom_score_adj")).reason == before != "1000"


CALLER = """
import sys
from learnable.verifiers.own.trust import trust
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool
sys.path.append(sys.argv[1])
trust("judges_for_tests:Misbehaving")
jobs = [ScoreJob("judges_for_tests:Misbehaving", "hang", sys.argv[2], "{}")]
with ScoringPool(1, time_limit=600.0) as pool:
    pool.submit(jobs).result()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a hanging worker does not hear that its caller ended")
def test_a_hanging_worker_ends_with_its_caller(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    command = [sys.executable, "-c", CALLER, HERE, str(told)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as caller:
        try:
            wait_for(told.exists)
            caller.kill()
            caller.communicate(timeout=BOUND)  # standard error is at its end when the worker has let go of it too
        except BaseException:
            for pid in (caller.pid, int(told.read_text(encoding="utf-8"))):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            raise


@pytest.fixture
def small_group() -> Iterator[Path]:
    """A control group whose processes may use `MEMORY_LIMIT` bytes together."""
    group = new_group("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", MEMORY_LIMIT)
    group = group or new_group("/sys/fs/cgroup", "memory.max", "memory.swap.max", 0)
    if group is None:
        pytest.skip("no control group for memory can be made here: it takes root and a writable /sys/fs/cgroup")
    yield group
    wait_for(lambda: removed(group))


def test_out_of_memory_is_no_zero_and_costs_no_neighbour(small_group: Path, tmp_path: Path) -> None:
    with ScoringPool(1) as pool:
        scores = pool.submit([job("mark", tmp_path / "mark"), job("eat", small_group), job("0.75")]).result(BOUND)
    assert scores[1] == Score.unscored(SIGNAL_9)
    assert [score.reward for score in scores] == [1.0, None, 0.75]
    assert (tmp_path / "mark").read_text(encoding="utf-8") == "x"


def new_group(parent: str, limit: str, swap_limit: str, swap: int) -> Path | None:
    """Make a control group with the named limits of version 1 or 2 of the interface, if this system has them."""
    group = Path(parent, f"learnable-test-{os.getpid()}")
    try:
        group.mkdir()
        set_limit(group / limit, MEMORY_LIMIT)
    except OSError:
        removed(group)
        return None
    with suppress(OSError):  # a system without swap need not have it
        set_limit(group / swap_limit, swap)
    return group


def set_limit(file: Path, value: int) -> None:
    with file.open("r+", encoding="ascii") as stream:  # makes no file: a folder of another kind must not pass
        stream.write(str(value))


def removed(group: Path) -> bool:
    with suppress(OSError):  # busy until the kernel has buried its last process
        group.rmdir()
    return not group.exists()
