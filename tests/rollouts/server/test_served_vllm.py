"""The real vLLM server on the bundled policy, in a process group of its own that can be killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from learnable.data.policies import find_policy
from learnable.data.records import Message, Prompt, PromptText, Rollout, Sampling
from learnable.rollouts.protocol import Answer, GroupRequest, Refusal
from learnable.rollouts.server.engine import ServerEngine
from tests.flows.sampling.agreement_for_tests import Workplace, agree
from tests.rollouts.conftest import Watcher
from tests.rollouts.server.servers_for_tests import VLLMServer
from tests.support.warm_starts import Starter

pytestmark = pytest.mark.e2e

TEXTS = ["Calculate: 2 + 3 = ", "Calculate: 7 + 8 = ", "Write a haiku about rain."]


@pytest.fixture(scope="module")
def server(starter: Starter) -> Iterator[VLLMServer]:
    with VLLMServer(starter) as server:
        yield server


def request(prompt: PromptText, group_size: int = 4, seed: int = 0) -> GroupRequest:
    return GroupRequest(Prompt(prompt, "choice", {"answer": "x"}, family="f", form="F"), group_size, seed=seed)


def rollouts(answers: list[Answer]) -> list[Rollout]:
    assert not [answer for answer in answers if isinstance(answer, Refusal)]
    return [rollout for group in answers if not isinstance(group, Refusal) for rollout in group]


def test_groups_come_back_whole_with_their_tokens_counted(server: VLLMServer) -> None:
    from transformers import AutoTokenizer

    engine = ServerEngine([server.url])
    assert engine.policy_id == find_policy().policy_id  # the same policy as in this process
    assert engine.max_context == 512
    got = rollouts(list(engine.generate([request(text) for text in TEXTS], Sampling(max_tokens=12))))
    assert len({(rollout.question_id, rollout.rollout_index) for rollout in got}) == len(got) == 12
    assert {rollout.policy_id for rollout in got} == {engine.policy_id}
    assert {rollout.finish_reason for rollout in got} == {"stop", "length"}
    tokenizer = AutoTokenizer.from_pretrained(server.policy)
    for rollout in got:
        ended = int(rollout.finish_reason == "stop")  # the end token has no text
        words = tokenizer(rollout.completion, add_special_tokens=False).input_ids
        assert rollout.num_tokens == len(words) + ended, rollout
        assert rollout.token_ids == words + [tokenizer.eos_token_id] * ended


def test_a_chat_and_a_prompt_that_is_too_long(server: VLLMServer) -> None:
    requested = [request((Message("user", TEXTS[0]),)), request("rain " * 600)]
    answers = list(ServerEngine([server.url]).generate(requested, Sampling(max_tokens=4096)))
    [refusal] = [answer for answer in answers if isinstance(answer, Refusal)]
    assert refusal.request is requested[1]
    assert "512" in refusal.reason
    assert len(rollouts([answer for answer in answers if answer is not refusal])) == 4


def test_the_server_agrees_with_vllm_in_process(
    server: VLLMServer, drawn_in_process: pl.DataFrame, tmp_path: Path, starter: Starter
) -> None:
    assert agree(drawn_in_process, Workplace(tmp_path, starter).rewards("server", 2, "--base-url", server.url))


def test_every_group_arrives_once_though_the_server_is_killed(server: VLLMServer, watcher: Watcher) -> None:
    requested = [request(TEXTS[i % 3], group_size=8, seed=i) for i in range(120)]
    engine = ServerEngine([server.url], concurrency=8)
    answers = engine.generate(requested, Sampling(max_tokens=64))
    got = [next(answers) for _ in range(20)]
    server.kill()
    server.start()
    got += answers
    seeds = Counter(rollout.seed for rollout in rollouts(got))
    assert seeds == Counter(group.base_seed + i for group in requested for i in range(8))
    assert len(watcher.warnings) == 1
    assert len([note for note in watcher.notes if "answers again" in note]) == 1
