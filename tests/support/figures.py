"""Reports and manifests that are to say what they said."""

from __future__ import annotations

from typing import Any

import pytest

# Priors are fitted to the end today; before, the fit stopped up to 2e-5 short of it, as the processor's kernels had it.
FIT_TOLERANCE = 1e-4
ESTIMATED_COUNTS = ("low", "expected", "high")  # of prompts, rollouts and tokens, in plans
COUNT_TOLERANCE = 0.01  # they jump where it takes one prompt more


def check_same_figures(now: Any, before: Any, tolerance: float = FIT_TOLERANCE, where: str = "") -> None:
    """See that keys, their order and what they hold are the same, and fractions to what the fit of a prior leaves."""
    if isinstance(before, dict):
        assert list(now) == list(before), where
        for key in before:
            check_same_figures(now[key], before[key], tolerance, f"{where}.{key}")
    elif isinstance(before, list):
        assert len(now) == len(before), where
        for number, (one, other) in enumerate(zip(now, before, strict=True)):
            check_same_figures(one, other, tolerance, f"{where}[{number}]")
    else:
        assert type(now) is type(before), where
        if isinstance(before, float):
            assert now == pytest.approx(before, rel=tolerance, abs=tolerance), where
        elif where.rpartition(".")[2] in ESTIMATED_COUNTS:
            assert now == pytest.approx(before, rel=COUNT_TOLERANCE), where
        else:
            assert now == before, where
