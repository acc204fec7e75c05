"""A store with rollouts of the tiny policy, around the curated set that a test makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from learnable.data.ledger.ledger import Draw
from learnable.data.policies import find_policy
from learnable.data.records import Prompt, Rollout, Sampling, Score, Verdict
from learnable.data.store import Store
from learnable.train import rewards
from learnable.verifiers.registry import find_verifier

END, ONE, TWO = 2, 5, 6  # tokens of the tiny policy
CAP = 3  # tokens
FillStore = Callable[..., Path]


def draw_rollouts(prompt: Prompt, policy_id: str, sampling: Sampling, count: int, *, tokens: bool) -> list[Rollout]:
    """Return completions of one or two digits with their end, or of three without."""
    rng = np.random.default_rng([int(prompt.question_id[:8], 16), count])
    drawn = [[int(token) for token in rng.choice([ONE, TWO], rng.integers(1, CAP + 1))] for _ in range(count)]
    return [
        Rollout(
            question_id=prompt.question_id,
            policy_id=policy_id,
            sampling_id=sampling.sampling_id,
            max_tokens=sampling.max_tokens,
            rollout_index=index,
            completion="".join("1" if token == ONE else "2" for token in digits),
            finish_reason="length" if len(digits) == CAP else "stop",
            num_tokens=min(len(digits) + 1, CAP),
            seed=index,
            token_ids=(digits if len(digits) == CAP else [*digits, END]) if tokens else None,
        )
        for index, digits in enumerate(drawn)
    ]


def judge(rollout: Rollout) -> Score:
    """Return the score of a prompt whose answer is 1."""
    right = rollout.completion == "1"
    verdict: Verdict = "scored" if rollout.finish_reason == "stop" else "truncated"
    return Score(float(right), right, {"correct": float(right)}, verdict)


@pytest.fixture
def fill_store(tmp_path: Path, tiny_policy: Path) -> FillStore:
    """Return a function that gives `tmp_path`, where the curated set lies, the rollouts of a store."""

    def fill(prompts: Sequence[Prompt], count: int = 16, *, tokens: bool = True, score: Any = judge) -> Path:
        policy_id, sampling = find_policy(str(tiny_policy)).policy_id, Sampling(max_tokens=CAP)
        draw, store = Draw(policy_id, sampling), Store(tmp_path)
        made = [(prompt, draw_rollouts(prompt, policy_id, sampling, count, tokens=tokens)) for prompt in prompts]
        versions = {name: find_verifier(name).version for name in {prompt.verifier for prompt in prompts}}
        with store.hold(wait=0, on_wait=print):
            store.ledger.append_rollouts(draw, [one for _, rollouts in made for one in rollouts])
            rows = [(one, prompt, score(one)) for prompt, rollouts in made for one in rollouts]
            store.ledger.append_scores(draw, versions, rows)
        return tmp_path

    return fill


@pytest.fixture
def _closed_pool() -> Iterator[None]:
    yield
    if rewards.open_scoring_pool.cache_info().currsize:
        rewards.open_scoring_pool().__exit__(None, None, None)
        rewards.open_scoring_pool.cache_clear()
