"""What is kept of a part of a pool is small: the part itself is not kept."""

from __future__ import annotations

from dataclasses import fields

import polars as pl

from learnable.data.band import Band
from learnable.filters.decisions.evidence import Evidence, gather_evidence
from tests.support.rows import count_text_bytes

PROMPTS, ROLLOUTS = 40, 64


def part() -> pl.DataFrame:
    """Return scored rollouts, half of each prompt's passed: or none, of every fourth prompt."""
    passed = [bool(index % 2 and number % 4) for number in range(PROMPTS) for index in range(ROLLOUTS)]
    names = [f"prompt {number:030d}" for number in range(PROMPTS) for _ in range(ROLLOUTS)]
    return pl.DataFrame(
        {
            "prompt_id": names,
            "rollout_id": [f"rollout {number:030d}" for number in range(len(names))],
            "rollout_index": [*range(ROLLOUTS)] * PROMPTS,
            "num_tokens": [8] * len(names),
            "reward": [float(it) for it in passed],
            "passed": passed,
            "verdict": ["scored"] * len(names),
            "reason": [f"a reason with the number {number:030d}" for number in range(len(names))],
            "components": [[{"key": "a component's name", "value": 1.0}] for _ in names],
            "family": ["a family's long name"] * len(names),
            "form": ["a form's long name"] * len(names),
            "opening": [True] * len(names),
        }
    )


def frames_of(evidence: Evidence) -> list[pl.DataFrame]:
    attempts = evidence.attempts
    own = [getattr(evidence, field.name) for field in fields(evidence) if field.name != "attempts"]
    return [*own, attempts.unsolved, attempts.read, attempts.given]


def test_evidence_keeps_no_text_of_the_rollouts_it_was_gathered_from() -> None:
    scores = part()
    kept = frames_of(gather_evidence([scores], {}, Band()))
    assert sum(frame.height for frame in kept) > PROMPTS
    assert sum(count_text_bytes(frame) for frame in kept) < count_text_bytes(scores) / 10
