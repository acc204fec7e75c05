"""Rollouts of one draw, with what a test cares about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from learnable.data.ledger.ledger import Draw, ScoreRow
from learnable.data.records import FinishReason, Prompt, Rollout, Sampling, Score

DRAW = Draw("org/policy@abc", Sampling(max_tokens=64))


def prompt(text: str = "p0", verifier: str = "poetry", answer: int = 1) -> Prompt:
    return Prompt(text, verifier, {"answer": answer}, "family", "form")


def rollout(index: int = 0, text: str = "p0", end: FinishReason = "stop", tokens: int = 2, cap: int = 64) -> Rollout:
    return Rollout(
        prompt(text).question_id,
        DRAW.policy_id,
        DRAW.sampling.sampling_id,
        max_tokens=cap,
        rollout_index=index,
        completion=f"{text}/{index}/{cap}",
        finish_reason=end,
        num_tokens=tokens,
        seed=100 + index,
    )


def scored(rollouts: Iterable[Rollout], score: Score, of: Prompt | None = None) -> list[ScoreRow]:
    """One score for each of these rollouts, as answers to one prompt."""
    return [(one, of or prompt(), score) for one in rollouts]


def under(cap: int) -> Draw:
    """The same draw with another cap on tokens."""
    return replace(DRAW, sampling=replace(DRAW.sampling, max_tokens=cap))
