"""Graded rewards and variances under optional stopping: are they ranked, split and called alike as they truly are?"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.checks import Check, Figure, at_least


def dead_prompts_are_left_out(seed: int) -> Iterator[Figure]:
    """Measure nothing yet."""
    yield at_least("placeholder", seed, 0)


CHECKS: tuple[Check, ...] = (dead_prompts_are_left_out,)
