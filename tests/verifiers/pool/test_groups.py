"""Completions of one prompt are judged in one call; one that makes a function hang or die costs itself alone."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from learnable.data.records import Score
from learnable.verifiers.own.trust import trust
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool
from tests.verifiers.pool.waits_for_tests import BOUND, has_ended, wait_for

HOSTILE = """
import asyncio, os, sys, time

CALLS = []


async def wait(completions):
    await asyncio.sleep(600)


def act(completion, completions, pids):
    with open(pids, "a") as file:
        print(os.getpid(), file=file)
    if completion == "print":
        print("noise", flush=True)
        print("noise", file=sys.stderr, flush=True)
        os.write(1, b"noise on the descriptor")
    elif completion == "hang":
        time.sleep(600)
    elif completion == "await":
        asyncio.run(wait(completions))
    elif completion == "leave":
        os._exit(0)
    elif completion == "exit":
        sys.exit(3)
    elif completion == "eat":
        bytearray(1 << 40)
    elif completion == "raise":
        raise RuntimeError("out of ink")
    return float("nan") if completion == "nan" else 1.0 / len(completions)


def score(completions, pids):
    CALLS.append(len(completions))
    return [act(completion, completions, pids[0]) for completion in completions]


score.time_limit = 3.0
score.memory_limit = 1 << 30


def short(completions):
    return [1.0]


def state(completions):
    CALLS.append(completions)
    return [len(CALLS) / 10] * len(completions)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "hostile.py"
    path.write_text(HOSTILE)
    return path


def jobs(file: Path, completions: Sequence[str], name: str = "score") -> list[ScoreJob]:
    spec = json.dumps({"pids": str(file.with_name("pids"))})
    trust(f"{file}:{name}")
    return [ScoreJob(f"{file}:{name}", completion, "one prompt", spec) for completion in completions]


def rewards(scores: Sequence[Score]) -> list[float | None]:
    return [score.reward for score in scores]


def test_a_group_is_one_call_and_prompts_are_apart(file: Path) -> None:
    other = [ScoreJob(job.verifier, job.completion, "another prompt", job.spec_json) for job in jobs(file, "abc")]
    with ScoringPool(1) as pool:
        scores = pool.submit([*jobs(file, "abcd"), *other]).result(BOUND)
    assert rewards(scores) == [0.25] * 4 + [1 / 3] * 3


def test_what_a_function_keeps_is_its_process_own(file: Path) -> None:
    with ScoringPool(1) as pool:
        first, second = (pool.submit(jobs(file, "ab", "state")).result(BOUND) for _ in range(2))
    with ScoringPool(1) as pool:
        fresh = pool.submit(jobs(file, "ab", "state")).result(BOUND)
    assert [rewards(scores) for scores in (first, second, fresh)] == [[0.1] * 2, [0.2] * 2, [0.1] * 2]


def test_a_hostile_completion_costs_itself_and_leaves_no_process(file: Path) -> None:
    faults = {
        "hang": "time limit: no score within 3 s",
        "await": "time limit: no score within 3 s",
        "leave": "the scoring process exited with status 0 twice on this completion",
        "exit": "RuntimeError: the reward function raised SystemExit(3)",
        "eat": "MemoryError",
        "raise": "RuntimeError: out of ink (hostile.py, line ",
        "nan": "reward nan is outside [0, 1]",
    }
    texts = ["fine", "print", *faults, "fine", "fine"]
    with ScoringPool(1) as pool:
        scores = dict(enumerate(pool.submit(jobs(file, texts)).result(BOUND)))
        short = pool.submit(jobs(file, "ab", "short")).result(BOUND)
    for index, text in enumerate(texts):
        score = scores[index]
        assert (score.reward, score.verdict) == ((None, "verifier_error") if text in faults else (1.0, "scored"))
        assert score.reason.startswith(faults.get(text, ""))
    assert [score.reason for score in short] == ["the reward function returned 1 rewards for 2 completions"] * 2
    pids = {int(line) for line in file.with_name("pids").read_text().split()}
    assert len(pids) > 3
    wait_for(lambda: all(has_ended(pid) for pid in pids))
    assert os.getpid() not in pids


def test_a_group_that_hung_is_judged_one_by_one_from_then_on(file: Path) -> None:
    with ScoringPool(1) as pool:
        hung = pool.submit(jobs(file, ["a", "hang", "b"])).result(BOUND)
        later = pool.submit(jobs(file, "ab")).result(BOUND)
    assert (rewards(hung), rewards(later)) == ([1.0, None, 1.0], [1.0, 1.0])


def test_in_the_callers_thread_a_group_is_one_call_too(file: Path) -> None:
    seen: list[str] = []
    with ScoringPool(0, on_score=lambda job, _: seen.append(job.completion)) as pool:
        scores = pool.submit(jobs(file, ["a", "b", "exit", "nan"])).result()
        assert rewards(scores) == [1.0, 1.0, None, None]
        assert rewards(pool.submit(jobs(file, ["a", "b"])).result()) == [0.5, 0.5]
    assert seen == ["a", "b", "exit", "nan", "a", "b"]
