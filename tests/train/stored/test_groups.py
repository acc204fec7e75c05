"""Stored rollouts are dealt into groups and batches, each used once; tokens are those that were drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.ledger.ledger import Draw
from learnable.data.policies import find_policy
from learnable.data.records import Sampling
from learnable.data.store import Store
from learnable.train.stored.groups import UNUSABLE, add_tokens, deal_groups, plan_batches, read_scored
from learnable.train.stored.plan import read_groups
from learnable.verifiers.registry import find_verifier


def make_rows(rewards: list[list[float]], found: list[int] | None = None) -> pl.DataFrame:
    """Return the scored rollouts of prompts a, b, ..., of which `found` are stored."""
    return pl.DataFrame(
        [
            {
                "prompt_id": "abcdefghij"[prompt],
                "rollout_id": f"{prompt}-{place}",
                "reward": reward,
                "passed": reward >= 0.5,
                "found": found[prompt] if found else len(group),
            }
            for prompt, group in enumerate(rewards)
            for place, reward in enumerate(group)
        ],
        schema={
            "prompt_id": pl.String,
            "rollout_id": pl.String,
            "reward": pl.Float64,
            "passed": pl.Boolean,
            "found": pl.Int64,
        },
    )


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.25, 1.0]), max_size=13), max_size=6),
    st.integers(2, 5),
    st.sampled_from(["reward", "pass"]),
    st.integers(0, 9),
)
def test_groups_are_disjoint_and_their_rewards_differ(
    rewards: list[list[float]], size: int, signal: Any, seed: int
) -> None:
    rows = make_rows(rewards)
    groups = deal_groups(rows, size, signal, seed)
    what = "reward" if signal == "reward" else "passed"

    assert groups["rollout_id"].is_unique().all()
    for group in groups.partition_by("group"):
        assert group.height == size
        assert group["prompt_id"].n_unique() == 1
        assert group[what].n_unique() > 1
    assert groups["group"].to_list() == sorted(groups["group"].to_list())
    assert deal_groups(rows.reverse(), size, signal, seed).equals(groups)  # whatever the order of files


def test_another_seed_deals_others() -> None:
    rows = make_rows([[float(number % 2) for number in range(12)]] * 3)
    first, second = (deal_groups(rows, 4, "reward", seed)["rollout_id"].to_list() for seed in (0, 1))
    assert first != second


def test_a_prompt_of_which_many_rollouts_cannot_be_used_is_left_out() -> None:
    mixed = [0.0, 1.0] * 9
    stored = [18, round(18 / (1 - UNUSABLE)), 24]
    assert deal_groups(make_rows([mixed] * 3, stored), 4, "reward", 0)["prompt_id"].unique().sort().to_list() == [
        "a",
        "b",
    ]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=9), st.integers(1, 4), st.integers(0, 30), st.integers(0, 99))
def test_a_batch_has_different_prompts_and_no_group_comes_twice(
    counts: list[int], prompts: int, most: int, seed: int
) -> None:
    owners = np.repeat(np.arange(len(counts)), counts)
    chances = np.linspace(0, 1, len(counts))
    batches = plan_batches(owners, chances, prompts, most, seed)
    used = [group for batch in batches for group in batch]

    assert len(set(used)) == len(used)
    assert all(len({owners[group] for group in batch}) == prompts for batch in batches)
    left = len({owners[group] for group in set(range(len(owners))) - set(used)})
    assert len(batches) == most or left < prompts
    assert plan_batches(owners, chances, prompts, most, seed) == batches


def test_prompts_that_the_sampler_would_take_come_first() -> None:
    owners, chances = np.arange(40), np.repeat([0.01, 1.0], 20)
    first = [group for batch in plan_batches(owners, chances, 4, 5, 0) for group in batch]
    assert sum(group >= 20 for group in first) >= 18


@pytest.mark.parametrize("tokens", [True, False])
def test_tokens_are_those_that_were_drawn(
    tiny_policy: Path, fill_store: Any, prompts_of_ones: Callable[..., Any], tokens: bool
) -> None:
    from transformers import AutoTokenizer

    prompts = prompts_of_ones(4)
    ledger = Store(fill_store(prompts, tokens=tokens)).ledger
    draw = Draw(find_policy(str(tiny_policy)).policy_id, Sampling(max_tokens=3))
    tokenizer = AutoTokenizer.from_pretrained(tiny_policy)
    rows = read_scored(ledger, draw, prompts, {"arithmetic": find_verifier("arithmetic").version})
    found = add_tokens(ledger, draw, prompts, rows, tokenizer)
    texts = pl.concat(ledger.read_completions(draw, rows))

    assert found.height == rows.height == 4 * 16
    for row in found.join(texts, on="rollout_id").iter_rows(named=True):
        assert tokenizer.decode(row["token_ids"], skip_special_tokens=True) == row["completion"]
        assert (row["token_ids"][-1] == tokenizer.eos_token_id) == (row["finish_reason"] == "stop")
        assert len(row["token_ids"]) == row["num_tokens"]
    assert found["reward"].to_list() == rows["reward"].to_list()


def test_a_text_that_other_tokens_may_have_made_is_not_used(
    tiny_policy: Path, fill_store: Any, prompts_of_ones: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import AutoTokenizer

    prompts = prompts_of_ones(2)
    ledger = Store(fill_store(prompts, tokens=False)).ledger
    draw = Draw(find_policy(str(tiny_policy)).policy_id, Sampling(max_tokens=3))
    tokenizer = AutoTokenizer.from_pretrained(tiny_policy)
    groups = read_groups(ledger, draw, prompts, 4, "reward", 0, tokenizer)
    decode = type(tokenizer).batch_decode
    monkeypatch.setattr(type(tokenizer), "batch_decode", lambda self, *a, **o: [f"{t} " for t in decode(self, *a, **o)])

    assert groups.height
    assert not read_groups(ledger, draw, prompts, 4, "reward", 0, tokenizer).height


def test_another_policy_or_sampling_has_none(
    tiny_policy: Path, fill_store: Any, prompts_of_ones: Callable[..., Any]
) -> None:
    prompts = prompts_of_ones(4)
    ledger, own = Store(fill_store(prompts)).ledger, find_policy(str(tiny_policy)).policy_id
    wanted = {
        "as drawn": Draw(own, Sampling(max_tokens=3)),
        "another policy": Draw("tiny@0123", Sampling(max_tokens=3)),
        "another temperature": Draw(own, Sampling(max_tokens=3, temperature=0.7)),
        "another cap": Draw(own, Sampling(max_tokens=2)),  # a third of the completions would have been cut
    }
    found = {name: read_groups(ledger, draw, prompts, 4, "reward", 0).height for name, draw in wanted.items()}
    assert found.pop("as drawn") > 0
    assert found == dict.fromkeys(found, 0)
