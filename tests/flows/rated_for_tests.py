"""Two policies that answer each question right with a chance of its own, and a run that asks the first of them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from learnable.data.policies import find_policy
from learnable.data.records import Prompt, Rollout, Sampling
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.protocol import Answer, GroupRequest


class RatedEngine:
    """Says `yes` to each prompt's text with the chance that `rates` has for it."""

    max_context = 512

    def __init__(self, policy: str, rates: Mapping[str, float], dies_after: int | None = None) -> None:
        self.policy_id = find_policy(policy).policy_id
        self.rates = rates
        self.dies_after = dies_after
        self.requests: list[GroupRequest] = []

    def count_tokens(self, prompts: Sequence[Prompt]) -> list[int]:
        return [1] * len(prompts)

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        for request in requests:
            if len(self.requests) == self.dies_after:
                raise KeyboardInterrupt
            self.requests.append(request)
            yield [self._rollout(request, request.first_index + index, sampling) for index in range(request.group_size)]

    def close(self) -> None:
        pass

    def _rollout(self, request: GroupRequest, index: int, sampling: Sampling) -> Rollout:
        prompt = request.prompt
        luck = random.Random(f"{self.policy_id}:{prompt.prompt_id}:{index}").random()
        return Rollout(
            question_id=prompt.question_id,
            policy_id=self.policy_id,
            sampling_id=sampling.sampling_id,
            max_tokens=sampling.max_tokens,
            rollout_index=index,
            completion="yes" if luck < self.rates[prompt.text] else "no",
            finish_reason="stop",
            num_tokens=1,
        )


def make_policy(folder: Path, name: str) -> str:
    """Make a folder that has weights of its own, and return its path."""
    policy = folder / name
    policy.mkdir()
    (policy / "config.json").write_text("{}")
    (policy / "model.safetensors").write_bytes(name.encode())
    return str(policy)


def ask_rated(folder: Path, texts: Sequence[str], policy: str) -> CurateSettings:
    """Return the settings of a run over `texts`, whose families are their first words."""
    rows = [{"prompt": t, "answer": "yes", "verifier": "choice", "family": t.split()[0], "form": "Any"} for t in texts]
    (folder / "q.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    return CurateSettings(
        prompts=PromptSettings(location=str(folder / "q.jsonl")),
        policy=policy,
        store=str(folder / "store"),
        name="q",
        workers=0,
    )


def drifted(rates: NDArray[np.float64], shift: float, noise: float, seed: int) -> NDArray[np.float64]:
    """Return rates whose log-odds have moved by `shift`, give or take `noise`."""
    moved: NDArray[np.float64] = expit(
        logit(rates) + shift + noise * np.random.default_rng(seed).normal(size=len(rates))
    )
    return moved
