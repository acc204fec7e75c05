"""A verifier that hangs costs the completion it hangs on, and no more."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.data.records import Failure, FailureKind, Score
from learnable.verifiers.own.trust import trust
from learnable.verifiers.pool import supervisor, worker
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool, score_one
from learnable.verifiers.programs.sandbox.process import SANDBOX_GRACE_SECONDS
from learnable.verifiers.programs.spec import MAX_CPU_SECONDS
from learnable.verifiers.protocol import verifier_time_limit
from learnable.verifiers.registry import find_verifier, trust_verifier
from tests.verifiers.pool.waits_for_tests import BOUND, has_ended, wait_for


@pytest.fixture(autouse=True)
def judges_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))


def job(completion: str, prompt: object = "", judge: str = "Misbehaving") -> ScoreJob:
    trust(f"judges_for_tests:{judge}")
    return ScoreJob(f"judges_for_tests:{judge}", completion, str(prompt), "{}")


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (job("hang", judge="Impatient"), "time limit: no score within 1 s"),
        (job("die"), "the scoring process was killed by signal 9 twice on this completion (out of memory?)"),
    ],
)
def test_neighbours_keep_their_scores_and_are_scored_once(
    one_worker: ScoringPool, wrong: ScoreJob, reason: str, tmp_path: Path
) -> None:
    trust(wrong.verifier)
    marks = [tmp_path / str(index) for index in range(5)]
    jobs = [job("mark", path) for path in marks]
    scores = one_worker.submit([*jobs[:2], wrong, *jobs[2:]]).result(BOUND)
    lost = scores.pop(2)
    assert (lost.reward, lost.verdict, lost.reason) == (None, "verifier_error", reason)
    assert [score.reward for score in scores] == [1.0] * 5
    assert [path.read_text(encoding="utf-8") for path in marks] == ["x"] * 5


def test_the_pools_limit_replaces_the_verifiers() -> None:
    with ScoringPool(1, time_limit=1.5) as pool:
        scores = pool.submit([job("hang"), job("0.5"), job("hang", judge="Impatient"), job("hang")]).result(BOUND)
    late = "time limit: no score within 1.5 s"
    assert [score.reason for score in scores] == [late, "", late, late]
    assert scores[0].failure == Failure(FailureKind.TIME_LIMIT, "no score within 1.5 s")
    assert [score.verdict for score in scores] == ["verifier_error", "scored", "verifier_error", "verifier_error"]
    with pytest.raises(ValueError, match="time_limit is 0"):
        ScoringPool(1, time_limit=0)


def test_children_of_a_hanging_verifier_go_with_it(one_worker: ScoringPool, tmp_path: Path) -> None:
    (score,) = one_worker.submit([job("hang with child", tmp_path / "pid", "Impatient")]).result(BOUND)
    child = int((tmp_path / "pid").read_text(encoding="utf-8"))
    wait_for(lambda: has_ended(child))
    assert score.reason.startswith("time limit")


def test_limits_are_declared_and_checked() -> None:
    assert verifier_time_limit(find_verifier("arithmetic")) == 30.0
    assert verifier_time_limit(trust_verifier("judges_for_tests:Impatient")) == 1.0
    with pytest.raises(LearnableError, match="time_limit is nan: give seconds, more than 0"):
        trust_verifier("judges_for_tests:NoLimit")
    assert "time_limit is nan" in score_one(job("1.0", judge="NoLimit")).reason


def test_a_program_may_take_both_tries_of_its_sandbox() -> None:
    tries = 2 * (2 * MAX_CPU_SECONDS + 1 + SANDBOX_GRACE_SECONDS)
    assert verifier_time_limit(find_verifier("programs")) > tries


def test_loading_is_no_part_of_a_completions_time(one_worker: ScoringPool) -> None:
    (score,) = one_worker.submit([job("0.5", judge="SlowToLoad")]).result(BOUND)
    assert score.reward == 0.5


def test_a_verifier_that_never_loads_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScoringPool(1) as pool:
        assert pool.submit([job("0.5")]).result(BOUND)[0].reward == 0.5
        monkeypatch.setattr(worker, "LOAD_SECONDS", 0.5)
        (lost,) = pool.submit([job("1.0", judge="NeverLoads")]).result(BOUND)
        monkeypatch.setattr(worker, "LOAD_SECONDS", 4 * BOUND)  # another try would not be back in time
        *again, kept = pool.submit([job("1.0", judge="NeverLoads"), job("1.0", judge="NeverLoads"), job("0.5")]).result(
            BOUND
        )
    why = "judges_for_tests:NeverLoads cannot be loaded: the scoring process did not load it within 0.5 s twice"
    assert lost == Score.unscored(why)
    assert again == [lost, lost]
    assert kept.reward == 0.5


def test_a_verifier_that_could_not_be_loaded_is_loaded_later(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOADABLE", str(tmp_path / "loadable"))
    monkeypatch.setattr(supervisor, "RELOAD_SECONDS", 0.0)
    trust("judges_for_tests:DiesLoading")
    with ScoringPool(1) as pool:
        pool.warm_up(["judges_for_tests:DiesLoading"])
        lost, kept = pool.submit([job("1.0", judge="DiesLoading"), job("0.5")]).result(BOUND)
        (tmp_path / "loadable").touch()
        (found,) = pool.submit([job("1.0", judge="DiesLoading")]).result(BOUND)
    assert lost.reason.endswith("DiesLoading cannot be loaded: the scoring process exited with status 4 twice")
    assert (kept.reward, found.reward) == (0.5, 1.0)


def test_leaving_by_an_exception_waits_for_no_hanging_verifier(tmp_path: Path) -> None:
    futures: list[Future[list[Score]]] = []

    def leave() -> None:
        with suppress(InterruptedError), ScoringPool(1, time_limit=4 * BOUND) as pool:
            futures.extend(pool.submit([job("hang", tmp_path / "pid"), job("hang")]) for _ in range(2))
            wait_for((tmp_path / "pid").exists)
            raise InterruptedError

    thread = threading.Thread(target=leave, daemon=True)
    thread.start()
    thread.join(BOUND)
    assert not thread.is_alive()
    assert [future.cancelled() for future in futures] == [True, True]


def test_a_worker_that_takes_no_questions_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    more_than_a_pipe_holds = job("0." + "5" * 300_000)
    with ScoringPool(1) as pool:
        (first,) = pool.submit([job("pid")]).result(BOUND)
        os.kill(int(first.reason), signal.SIGSTOP)
        monkeypatch.setattr(worker, "LOAD_SECONDS", 5.0)
        (score,) = pool.submit([more_than_a_pipe_holds]).result(BOUND)
    assert score.verdict == "scored"


def test_closing_waits_for_no_thread_of_a_verifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "END_SECONDS", 1.0)
    with ScoringPool(1) as pool:
        pid, _ = pool.submit([job("pid"), job("linger")]).result(BOUND)
    assert has_ended(int(pid.reason))


def test_a_worker_outlives_the_thread_that_wants_it() -> None:
    """The kernel ends a worker with the thread that started it: that must not be a caller's."""
    pids: list[str] = []

    def ask() -> None:
        pids.append(pool.submit([job("pid")]).result(BOUND)[0].reason)

    with ScoringPool(1) as pool:
        for _ in range(2):
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join(BOUND)
        time.sleep(0.2)  # the signal would come after the thread is joined
        ask()
    assert len(pids) == 3
    assert len(set(pids)) == 1
