"""The Ray engine's bookkeeping, on a stream that is scripted: no Ray, no policy."""

from __future__ import annotations

import random
from collections.abc import Iterator
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.errors import LearnableError
from learnable.data.progress import watched_by
from learnable.data.records import Prompt, Sampling
from learnable.rollouts.protocol import EngineError, GroupRequest, Refusal
from learnable.rollouts.ray.dataset import RequestRow
from learnable.rollouts.ray.engine import ROWS_A_REPLICA
from learnable.rollouts.ray.stream import LostNodesError
from tests.rollouts.ray.scripted_ray_for_tests import CONTEXT, STOP, Ray, Row, scripted


def request(index: int, size: int, first_index: int = 0) -> GroupRequest:
    prompt = Prompt(f"prompt {index}", "choice", {"answer": "x"}, family="f", form="F")
    return GroupRequest(prompt, size, first_index, seed=7)


@given(st.lists(st.integers(1, 40), max_size=30), st.integers(0, 100), st.integers(1, 4), st.integers(0, 2**32))
def test_each_group_comes_back_once_whole_and_in_order(
    sizes: list[int], first: int, replicas: int, chance: int
) -> None:
    requests = [request(index, size, first) for index, size in enumerate(sizes)]
    with scripted(Ray(random=random.Random(chance)), replicas) as engine:
        groups = [group for group in engine.generate(requests, Sampling()) if not isinstance(group, Refusal)]
    by_question = {each.prompt.question_id: each for each in requests}
    assert sorted(group[0].question_id for group in groups) == sorted(by_question)
    for group in groups:
        requested = by_question[group[0].question_id]
        assert [each.rollout_index for each in group] == [first + child for child in range(requested.group_size)]
        assert [each.seed for each in group] == [requested.base_seed + child for child in range(requested.group_size)]
        assert [each.completion for each in group] == [str(each.seed) for each in group]
        assert {each.question_id for each in group} == {requested.prompt.question_id}


def test_the_last_token_tells_how_a_completion_ended() -> None:
    ends = {
        0: {"last_token": STOP, "num_tokens": 8},
        1: {"last_token": 5, "num_tokens": 8},
        2: {"last_token": 5, "num_tokens": 7, "prompt_tokens": CONTEXT - 7},
    }
    with scripted(Ray(answer=lambda row: ends[row.child])) as engine:
        [group] = engine.generate([request(0, 3)], Sampling(max_tokens=8))
    assert not isinstance(group, Refusal)
    assert [each.finish_reason for each in group] == ["stop", "length", "length"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"failure": "ValueError: too long\nfor us"}, "vLLM: ValueError: too long"),
        ({"last_token": 5, "num_tokens": 3}, "neither"),
        ({"last_token": None, "num_tokens": 0}, "neither"),
    ],
)
def test_a_group_with_a_failed_row_is_refused_once(row: Row, reason: str) -> None:
    with scripted(Ray(answer=lambda sent: row if (sent.group, sent.child % 2) == (1, 1) else {})) as engine:
        answers = list(engine.generate([request(index, 6) for index in range(3)], Sampling()))
    [refusal] = [answer for answer in answers if isinstance(answer, Refusal)]
    assert refusal.request == request(1, 6)
    assert reason in refusal.reason
    assert len(answers) == 3


def test_requests_are_drawn_as_the_replicas_have_room() -> None:
    drawn = 0

    def endless() -> Iterator[GroupRequest]:
        nonlocal drawn
        while True:
            drawn += 16
            yield request(drawn, 16)

    ray = Ray()
    with scripted(ray) as engine:
        groups = engine.generate(endless(), Sampling())
        for done in range(200):
            next(groups)
            assert drawn <= 2 * ROWS_A_REPLICA + 16 * (done + 1) + 16
        groups.close()  # type: ignore[attr-defined]
    assert len(ray.streams) == 1


def test_every_replica_gets_a_share_of_a_small_call() -> None:
    ray = Ray()
    with scripted(ray, 4) as engine:
        list(engine.generate([request(0, 100)], Sampling()))
    assert [len(block) for block in ray.streams[0].blocks] == [25, 25, 25, 25]


def test_the_policy_stays_loaded_between_calls_and_is_loaded_again_after_a_break() -> None:
    ray = Ray()
    with scripted(ray) as engine:
        assert list(engine.generate([], Sampling())) == []
        assert ray.streams == []
        for _ in range(2):
            assert len(list(engine.generate([request(0, 4), request(1, 4)], Sampling()))) == 2
        assert [stream.closed for stream in ray.streams] == [False]
        broken = engine.generate([request(index, 4) for index in range(9)], Sampling())
        next(broken)
        broken.close()  # type: ignore[attr-defined]
        assert [stream.closed for stream in ray.streams] == [True]
        assert len(list(engine.generate([request(0, 4)], Sampling()))) == 1
    assert [stream.closed for stream in ray.streams] == [True, True]
    assert ray.closed


def test_a_stream_that_is_nearly_spent_is_emptied_and_replaced() -> None:
    ray = Ray(slots=600)
    with scripted(ray, 1) as engine:
        groups = list(engine.generate((request(index, 64) for index in range(400)), Sampling()))
    assert len(groups) == 400
    assert len(ray.streams) > 1
    assert all(stream.closed and not stream.waiting for stream in ray.streams)


def test_after_a_failure_asking_again_helps() -> None:
    def fail(row: RequestRow) -> Row:
        if len(ray.streams) == 1:
            raise EngineError("Ray failed")
        return {}

    ray = Ray(answer=fail)
    with scripted(ray) as engine:
        with pytest.raises(EngineError):
            list(engine.generate([request(0, 4)], Sampling()))
        assert len(list(engine.generate([request(0, 4)], Sampling()))) == 1


@given(st.integers(1, 3), st.integers(0, 2**32))
def test_where_nodes_are_lost_the_others_make_what_was_on_its_way_and_no_more(losses: int, chance: int) -> None:
    """Where no node is left, the run ends."""
    node = {"Alive": True, "Resources": {"CPU": 1.0}}
    answered: list[tuple[int, int]] = []

    def lose(row: RequestRow) -> Row:
        if len(answered) > 40 * len(ray.streams) and len(ray.streams) <= losses:
            ray.nodes = ray.nodes[1:]
            raise LostNodesError("Ray lost nodes")
        answered.append((row.group, row.child))
        return {}

    ray, watcher = Ray(nodes=[node] * 3, answer=lose, random=random.Random(chance)), mock.Mock()
    with scripted(ray, 3) as engine, watched_by(watcher):
        groups = engine.generate([request(index, 8) for index in range(60)], Sampling())
        if losses == 3:
            with pytest.raises(LostNodesError):
                list(groups)
        else:
            assert sorted(each.seed for group in groups if isinstance(group, list) for each in group) == sorted(
                request(index, 8).base_seed + child for index in range(60) for child in range(8)
            )
    left = range(2, 2 - min(losses, 2), -1)
    assert watcher.warn.mock_calls == [mock.call(f"Ray lost nodes; the run goes on with {count}") for count in left]
    assert [stream.replicas.count for stream in ray.streams] == [3, *left]
    assert all(stream.closed for stream in ray.streams)


def test_replicas_without_room_are_refused_and_the_cluster_is_left() -> None:
    ray = Ray()
    with pytest.raises(LearnableError, match="no room"), scripted(ray, 5):
        pass
    assert ray.closed


def test_options_go_to_vllm_and_a_gpu_needs_none_of_the_cpu_build() -> None:
    node = {"Alive": True, "Resources": {"CPU": 32.0, "GPU": 8.0}}
    ray = Ray(nodes=[node, node])
    with scripted(ray, 4, tensor_parallel_size=4, dtype="bfloat16") as engine:
        list(engine.generate([request(0, 4)], Sampling()))
    replicas = ray.streams[0].replicas
    assert replicas.options == {"tensor_parallel_size": 4, "dtype": "bfloat16", "max_model_len": CONTEXT}
    assert (replicas.footprint.bundle["GPU"], replicas.footprint.bundles) == (1, 4)
    with pytest.raises(LearnableError), scripted(ray, 5, tensor_parallel_size=4):
        pass


def test_on_cpu_the_options_of_the_cpu_build_yield_to_given_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "3")
    ray = Ray()
    with scripted(ray, dtype="bfloat16") as engine:
        list(engine.generate([request(0, 4)], Sampling()))
    replicas = ray.streams[0].replicas
    assert (replicas.options["dtype"], replicas.options["enforce_eager"]) == ("bfloat16", True)
    assert replicas.environment["VLLM_CPU_KVCACHE_SPACE"] == "3"
