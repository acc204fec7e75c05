"""Scores come back in order and honest, whatever happens to a verifier or to a worker."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import weakref
from concurrent.futures import CancelledError, Future
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learnable.data.records import Failure, FailureKind, FinishReason, Score
from learnable.verifiers.own.trust import trust
from learnable.verifiers.pool.scoring import MAX_SHARD, ScoreJob, ScoringPool, score_one
from learnable.verifiers.registry import trust_verifier
from tests.verifiers.pool.waits_for_tests import BOUND

JUDGE = "judges_for_tests:Misbehaving"


@pytest.fixture(autouse=True)
def judges_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))


def judge(completion: str, prompt: str = "", finish_reason: FinishReason = "stop") -> ScoreJob:
    trust(JUDGE)
    return ScoreJob(JUDGE, completion, prompt, "{}", finish_reason)


def sums(answers: list[int]) -> list[ScoreJob]:
    return [ScoreJob("arithmetic", str(answer), "", '{"answer":3}') for answer in answers]


@pytest.mark.parametrize(
    ("completion", "reason"),
    [
        ("raise", "RuntimeError: out of ink"),
        ("nan", "reward nan is outside"),
        ("inf", "reward inf is outside"),
        ("1.01", "reward 1.01 is outside"),
        ("-0.1", "reward -0.1 is outside"),
        ("None", "the judge returned None"),
        ("text", "TypeError: reward '0.5' is no number"),
        ("object", "TypeError: float()"),
        ("verdict", "the verdict 'great', which is none of scored,"),
        ("blank", "gave no reward"),
    ],
)
def test_a_faulty_verifier_is_no_zero(completion: str, reason: str) -> None:
    score = score_one(judge(completion))
    assert (score.verdict, score.reward, score.passed) == ("verifier_error", None, None)
    assert reason in score.reason


def test_a_spec_that_is_no_json_and_an_unknown_verifier_are_no_zeros() -> None:
    assert score_one(ScoreJob("arithmetic", "3", "", "{")).verdict == "verifier_error"
    assert "did you mean 'arithmetic'" in score_one(ScoreJob("arithmetics", "3", "", "{}")).reason


@pytest.mark.parametrize(
    ("finish_reason", "completion", "verdict", "reward"),
    [
        ("stop", "0.5", "scored", 0.5),
        ("length", "0.5", "truncated", 0.5),
        ("length", "raise", "verifier_error", None),
    ],
)
def test_the_finish_reason_makes_the_verdict(
    finish_reason: FinishReason, completion: str, verdict: str, reward: float | None
) -> None:
    score = score_one(judge(completion, finish_reason=finish_reason))
    assert (score.verdict, score.reward) == (verdict, reward)


@given(answers=st.lists(st.integers(0, 5), max_size=3 * MAX_SHARD))
@settings(max_examples=15)
def test_workers_score_as_the_caller_would(two_workers: ScoringPool, answers: list[int]) -> None:
    jobs = sums(answers)
    assert two_workers.submit(jobs).result() == [score_one(job) for job in jobs]


def test_a_failure_keeps_its_kind_on_the_way(one_worker: ScoringPool) -> None:
    job = ScoreJob("arithmetic", "I cannot say", "", '{"answer":3}')
    (score,) = one_worker.submit([job]).result(BOUND)
    assert score == score_one(job)
    assert score.failure == Failure(FailureKind.UNREAD, "no number found")
    assert score.reason == "extraction_failed: no number found"


def test_batches_may_overlap() -> None:
    with ScoringPool(2) as pool:
        futures = [pool.submit(sums([answer] * 40)) for answer in range(6)]
    assert [sum(score.reward or 0 for score in future.result()) for future in futures] == [0, 0, 0, 40, 0, 0]


def test_no_workers_means_this_process() -> None:
    with ScoringPool(0) as pool:
        pool.warm_up(["arithmetic"])
        (score,) = pool.submit([judge("pid")]).result()
    assert score.reason == str(os.getpid())
    with pytest.raises(ValueError, match="workers is -1"):
        ScoringPool(-1)


def test_a_closed_pool_takes_no_jobs() -> None:
    with ScoringPool(1) as pool:
        pass
    with pytest.raises(RuntimeError, match="closed"):
        pool.submit(sums([3]))


def test_workers_import_neither_tensors_nor_frames() -> None:
    names = ["arithmetic", "poetry", "programs"]
    with ScoringPool(1) as pool:
        pool.warm_up(names)
        (score,) = pool.submit([judge("modules")]).result()
    loaded = {name.partition(".")[0] for name in score.reason.split()}
    assert "learnable.verifiers.poetry.sound.lexicon" in score.reason.split(), "warm_up loads dictionaries"
    assert not loaded & {"torch", "vllm", "polars", "pyarrow", "trl", "transformers", "numpy", "prefect", "pytest"}


def test_what_a_verifier_prints_disturbs_nothing(one_worker: ScoringPool) -> None:
    assert [score.reward for score in one_worker.submit([judge("print"), judge("0.25")]).result()] == [1.0, 0.25]


def test_a_worker_killed_from_outside_is_replaced(one_worker: ScoringPool) -> None:
    (first,) = one_worker.submit([judge("pid")]).result()
    os.kill(int(first.reason), signal.SIGKILL)
    (second,) = one_worker.submit([judge("pid")]).result()
    assert second.verdict == "scored"
    assert second.reason != first.reason


def test_a_job_that_fails_once_is_tried_again(one_worker: ScoringPool, tmp_path: Path) -> None:
    scores = one_worker.submit([judge("0.5"), judge("die once", prompt=str(tmp_path / "mark"))]).result()
    assert [score.reward for score in scores] == [0.5, 1.0]


@pytest.mark.parametrize(
    ("end", "how"), [("die", "was killed by signal 9 twice on this completion"), ("exit", "exited with status 3 twice")]
)
def test_a_completion_that_kills_its_judge_costs_only_itself(one_worker: ScoringPool, end: str, how: str) -> None:
    scores = one_worker.submit([judge("0.5"), judge(end), judge("0.75")]).result()
    assert [score.reward for score in scores] == [0.5, None, 0.75]
    assert scores[1].verdict == "verifier_error"
    assert how in scores[1].reason


def test_workers_ignore_ctrl_c(one_worker: ScoringPool) -> None:
    (first,) = one_worker.submit([judge("pid")]).result()
    os.kill(int(first.reason), signal.SIGINT)
    (second,) = one_worker.submit([judge("pid")]).result()
    assert second.reason == first.reason
    assert os.getpgid(0) != int(first.reason)


def test_leaving_by_an_exception_cancels_what_waits() -> None:
    futures: list[Future[list[Score]]] = []
    loop = "def f():\n    while True: pass\n# "
    spec = '{"cases":[[[],1]],"cpu_seconds":2,"entry":"f"}'

    def interrupted() -> None:
        with ScoringPool(1) as pool:
            futures.extend(pool.submit([ScoreJob("programs", f"{loop}{n}", "", spec)]) for n in range(50))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with pytest.raises(CancelledError):
        futures[-1].result(timeout=0)


@pytest.mark.parametrize("workers", [0, 2])
def test_each_score_is_seen_as_it_comes(workers: int) -> None:
    seen: list[tuple[str, float | None]] = []
    with ScoringPool(workers, on_score=lambda job, score: seen.append((job.completion, score.reward))) as pool:
        pool.submit([judge("0.5"), judge("raise"), judge("exit" if workers else "nan"), judge("0.25")]).result()
    assert sorted(reward for _, reward in seen if reward is not None) == [0.25, 0.5]
    assert len(seen) == 4


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_what_the_watcher_of_scores_raises_ends_the_scoring(workers: int) -> None:
    seen: list[str] = []

    def refuse(job: ScoreJob, score: Score) -> None:
        seen.append(job.completion)
        if len(seen) == 3:
            raise InterruptedError("enough")

    def score_on() -> None:
        with ScoringPool(workers, on_score=refuse) as pool:
            futures = [pool.submit([judge("0.5")] * 40) for _ in range(5)]
            for future in futures:
                with pytest.raises(InterruptedError, match="enough"):
                    future.result(BOUND)
            with pytest.raises(InterruptedError, match="enough"):
                pool.submit([judge("0.5")]).result(BOUND)
            raise InterruptedError

    with pytest.raises(InterruptedError):
        score_on()
    assert len(seen) == 3


def test_a_judge_that_was_edited_while_a_run_goes_on_scores_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "edited.py"
    source.write_text("def judge(completion):\n    return completion == 'a'\n")
    known = trust_verifier("edited.py:judge").version
    job = ScoreJob("edited.py:judge", "a", "", "{}")
    with ScoringPool(1) as pool:
        assert pool.submit([job]).result(BOUND)[0].reward == 1.0
    source.write_text("def judge(completion):\n    return completion == 'b'\n")
    with ScoringPool(1) as pool:
        (score,) = pool.submit([job]).result(BOUND)
    assert score.verdict == "verifier_error"
    assert "edited since the run began" in score.reason
    assert known in score.reason


SCRIPT = """
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool
with ScoringPool(2) as pool:
    pool.warm_up(["arithmetic"])
    print(sum(score.reward for score in pool.submit([ScoreJob("arithmetic", "3", "", '{"answer": 3}')] * 5).result()))
"""


@pytest.mark.parametrize("way", ["script", "module", "command"])
def test_any_kind_of_main_can_hold_a_pool(way: str, tmp_path: Path) -> None:
    """Not even a guard is needed: workers never import the caller's main module."""
    (tmp_path / "holder.py").write_text(SCRIPT, encoding="utf-8")
    arguments = {"script": ["holder.py"], "module": ["-m", "holder"], "command": ["-c", SCRIPT]}[way]
    run = subprocess.run([sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout == "5.0\n"
    assert run.stderr == ""


def test_scores_that_nobody_holds_wait_for_no_garbage_collection() -> None:
    gc.disable()
    try:
        with ScoringPool(workers=1) as pool:
            future = pool.submit(sums([3, 4]))
            future.result(BOUND)
            seen = weakref.ref(future)
            del future
            pool.submit(sums([5])).result(BOUND)  # the worker's thread has let go of the first one now
            assert seen() is None
    finally:
        gc.enable()
