"""Runs as a comparison reads them, without any training."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.lift.runs import Look, Run


def make_run(
    arm: str = "pool",
    seed: int = 1,
    rewards: Sequence[float] = (0.5, 0.6, 0.7),
    *,
    rate: float = 1e-4,
    per_look: float = 100.0,
    alarms: Sequence[tuple[str, str]] = (),
) -> Run:
    """Return a run whose looks are `per_look` tokens and half as many seconds apart."""
    looks = tuple(
        Look(
            step=10 * place,
            tokens=per_look * place,
            seconds=per_look * place / 2,
            reward=reward,
            greedy=reward + 0.1,
            pass_at_8=0.9,
            kept=reward,
            rejected=0.5,
            completions=1280.0 * place,
            trained=per_look * place,
        )
        for place, reward in enumerate(rewards)
    )
    return Run(arm, rate, seed, 10 * (len(rewards) - 1), 128, looks, 0.1, 0.15, 0.2, tuple(alarms), 5.0)
