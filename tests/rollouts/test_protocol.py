from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from learnable.data.records import Prompt, Sampling
from learnable.rollouts.protocol import GroupRequest
from learnable.rollouts.scripted import ScriptedEngine

PROMPT = Prompt("a b c", "choice", {"answer": "x"}, family="f", form="F")


@given(st.integers(0, 2**63), st.integers(0, 1000))
def test_seeds_fit_the_engine(seed: int, first_index: int) -> None:
    base = GroupRequest(PROMPT, 16, first_index, seed).base_seed
    assert 0 <= base < 2**31 - 2**16


def test_neighbouring_groups_share_no_seed() -> None:
    prompts = [Prompt(f"{i}", "choice", {"answer": "x"}, family="f", form="F") for i in range(200)]
    seeds = [GroupRequest(prompt, 16).base_seed + child for prompt in prompts for child in range(16)]
    assert len(set(seeds)) == len(seeds)


def test_a_group_that_grows_gets_new_seeds() -> None:
    assert GroupRequest(PROMPT, 8).base_seed != GroupRequest(PROMPT, 8, first_index=8).base_seed


def test_the_scripted_engine_truncates_and_counts() -> None:
    engine = ScriptedEngine({"a b c": ["one two three four"]})
    [[rollout]] = engine.generate([GroupRequest(PROMPT, 1, first_index=5)], Sampling(max_tokens=2))
    assert (rollout.completion, rollout.finish_reason, rollout.num_tokens) == ("one two", "length", 2)
    assert rollout.rollout_index == 5
    assert engine.count_tokens([PROMPT]) == [3]
