"""Which tokens a policy sees, what vLLM is told of a sampling, and where a policy's thoughts end."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from learnable.data.dialogue.chats import as_chat
from learnable.data.errors import LearnableError
from learnable.data.policies import Policy
from learnable.data.records import Prompt, Rollout, Sampling
from learnable.rollouts import vllm_engine
from learnable.rollouts.policy_tokens import count_tokens, encode_prompt, read_tokenizer, tell_thoughts_apart
from learnable.rollouts.vllm_engine import VLLMEngine, make_adapter_options, name_for_vllm
from learnable.train.policy.instruct import make_instruct_policy

CHAT = as_chat(Prompt("Calculate: 2 + 3 = ", "arithmetic", {"answer": 5}, family="f", form="F"))


def wrote(text: str) -> Rollout:
    return Rollout("q", "p@w", "s", 256, 0, text, "stop", 50)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return read_tokenizer(str(make_instruct_policy(tmp_path_factory.mktemp("instruct"))))


def test_a_thought_that_the_template_opens_ends_at_its_tag(tokenizer: Any) -> None:
    opened = encode_prompt(tokenizer, CHAT, {"enable_thinking": True})
    plain = encode_prompt(tokenizer, CHAT)
    [ended, cut] = tell_thoughts_apart(tokenizer, [wrote("hmm</think>5"), wrote("hmm")], opened, "")
    assert (ended.reasoning, ended.completion) == ("hmm</think>", "5")
    assert ended.reasoning_tokens == count_tokens(tokenizer, "hmm</think>") < 50
    assert (cut.reasoning, cut.completion, cut.reasoning_tokens) == ("hmm", "", 50)
    [answered] = tell_thoughts_apart(tokenizer, [wrote("hmm")], plain, "")
    assert (answered.reasoning, answered.completion) == ("", "hmm")
    [whole] = tell_thoughts_apart(tokenizer, [wrote("hmm</think>5")], opened, "none")
    assert whole == wrote("hmm</think>5")


def test_vllm_is_told_what_is_given_and_keeps_what_ended_a_completion() -> None:
    usual = {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 256}
    assert name_for_vllm(Sampling()) == usual
    given = Sampling(min_p=0.1, repetition_penalty=1.2, stop=("END",), template_args={"a": 1}, think_tags="none")
    more = {"min_p": 0.1, "repetition_penalty": 1.2, "stop": ["END"], "include_stop_str_in_output": True}
    assert name_for_vllm(given) == usual | more


def test_an_adapter_gets_the_next_rank_that_vllm_takes(tmp_path: Path) -> None:
    def options(rank: int) -> dict[str, object]:
        told = {"peft_type": "LORA", "base_model_name_or_path": "b", "r": rank}
        (tmp_path / "adapter_config.json").write_text(json.dumps(told))
        return make_adapter_options(Policy("b", "a@w+v", adapter=str(tmp_path)))

    assert make_adapter_options(Policy("b", "b@w")) == {}
    assert options(4) == {"enable_lora": True, "max_lora_rank": 8, "max_loras": 1}
    assert options(64)["max_lora_rank"] == 64
    with pytest.raises(LearnableError, match="is of rank 513"):
        options(513)


def test_tokens_of_the_latest_prompts_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_engine, "ENCODED_PROMPTS", 2)
    seen: list[str] = []

    def tokenizer(text: str, **_: object) -> SimpleNamespace:
        seen.append(text)
        return SimpleNamespace(input_ids=[ord(letter) for letter in text])

    engine, encoded = object.__new__(VLLMEngine), dict[str, list[int]]()
    engine._tokenizer = tokenizer
    prompts = {text: Prompt(text, "choice", {"answer": "x"}, family="f", form="F") for text in "abc"}
    for text in "aabbcbac":
        ids = engine._encode(prompts[text], Sampling(), encoded)
        assert ids == [ord(text)]
        ids.append(0)  # whoever is given them may change them
    assert "".join(seen) == "abca"
    assert len(encoded) == 2
