"""Reports and manifests that are to say what they said."""

from __future__ import annotations

from typing import Any

import pytest

# What hangs on a fitted prior. The fit of the pinned figures stopped early, by up to 4e-5 in what is recorded of it.
FITTED = {
    *("alpha", "beta", "zero", "one", "tilt", "centre", "p_zero", "p_one", "n_eff", "ci_low", "ci_high"),
    *("std_low", "std_high", "p_in_band", "p_keep", "usable_at_g", "expected_within_variance", "learnability"),
    *("certified_precision", "expected_false_keeps", "zero_std_share", "usable_rate", "mean_abs_advantage"),
}
FIT_TOLERANCE = 1e-4
TOLERANCE = 1e-9  # of other fractions: the order of additions


def check_same_figures(now: Any, before: Any, fit_tolerance: float = FIT_TOLERANCE, where: str = "") -> None:
    """See that keys, their order and what they hold are the same, and what is fitted to what the early stop left."""
    if isinstance(before, dict):
        assert list(now) == list(before), where
        for key in before:
            check_same_figures(now[key], before[key], fit_tolerance, f"{where}.{key}")
    elif isinstance(before, list):
        assert len(now) == len(before), where
        for number, (one, other) in enumerate(zip(now, before, strict=True)):
            check_same_figures(one, other, fit_tolerance, f"{where}[{number}]")
    else:
        assert type(now) is type(before), where
        if isinstance(before, float):
            tolerance = fit_tolerance if where.rpartition(".")[2] in FITTED else TOLERANCE
            assert now == pytest.approx(before, rel=TOLERANCE, abs=tolerance), where
        else:
            assert now == before, where


def check_same_keys(now: Any, before: Any, where: str = "") -> None:
    """See that keys and their order are the same, where figures follow from another belief than then."""
    if isinstance(before, dict) and isinstance(now, dict):
        if not {"keep", "too_hard", "too_easy"} & {*before, *now}:  # counts of decisions, whichever there are
            assert list(now) == list(before), where
        for key in set(before) & set(now):
            check_same_keys(now[key], before[key], f"{where}.{key}")
    elif isinstance(before, list) and isinstance(now, list) and before and now:
        check_same_keys(now[0], before[0], f"{where}[0]")
