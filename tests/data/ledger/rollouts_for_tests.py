"""Rollouts of one draw, with what a test cares about."""

from __future__ import annotations

from dataclasses import replace

from learnable.data.ledger.ledger import Draw
from learnable.data.records import FinishReason, Rollout, Sampling

DRAW = Draw("org/policy@abc", Sampling(max_tokens=64))
_ROLLOUT = Rollout("p0", DRAW.policy_id, DRAW.sampling.sampling_id, 64, 0, "", "stop", 2, seed=100)


def rollout(index: int = 0, prompt: str = "p0", end: FinishReason = "stop", tokens: int = 2, cap: int = 64) -> Rollout:
    return replace(
        _ROLLOUT,
        prompt_id=prompt,
        rollout_index=index,
        finish_reason=end,
        num_tokens=tokens,
        max_tokens=cap,
        seed=100 + index,
        completion=f"{prompt}/{index}/{cap}",
    )


def under(cap: int) -> Draw:
    """The same draw with another cap on tokens."""
    return replace(DRAW, sampling=replace(DRAW.sampling, max_tokens=cap))
