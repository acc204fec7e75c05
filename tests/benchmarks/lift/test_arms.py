"""Equal tokens: which batch and how many steps each arm takes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.lift import arms
from benchmarks.lift.arms import ARMS, BASELINE, plan_arm, plan_steps

LENGTHS = {"pool": 4.0, "train": 3.0, "reviewed": 3.25, "control": 5.0}


@pytest.fixture
def _known_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set whose parts have completions of known lengths, and whose fitted batch is 48."""
    monkeypatch.setattr(arms, "measure_length", lambda curated, part: LENGTHS[part])
    monkeypatch.setattr(arms, "choose_fitted_batch", lambda curated: 48)
    monkeypatch.setattr(arms, "measure_usable_share", lambda curated: 0.25)


@pytest.mark.usefixtures("_known_set")
def test_all_arms_are_planned_for_the_same_tokens() -> None:
    curated: Any = SimpleNamespace()
    plans = {name: plan_arm(arm, curated, 120) for name, arm in ARMS.items()}

    assert plans[BASELINE.name].steps == 120
    assert {name: plan.batch_size for name, plan in plans.items() if plan.batch_size != 128} == dict.fromkeys(
        (
            *("pool-fitted", "curated-fitted", "reviewed", "pool-live", "curated-live", "pool-blind"),
            *("predicted", "stored", "one-job"),
        ),
        48,
    )
    assert plans["curated"].steps == 160  # its completions are shorter
    assert plans["pool-live"].steps == plans["curated-live"].steps == 427
    assert plans["predicted"].steps == plans["one-job"].steps == 427
    assert plans["pool-blind"].steps == 320  # it has to try the pool first
    assert plans["dapo"].steps == 40  # of four groups that it generates one is trained on
    for name, plan in plans.items():
        step = plan.batch_size * LENGTHS[ARMS[name].drawn_part] / (0.25 if ARMS[name].refills else 1)
        assert plan.tokens == plan.steps * step
        assert abs(plan.tokens - 120 * 128 * 4.0) <= step / 2, name


def test_a_plan_takes_a_step_at_least() -> None:
    assert plan_steps(10, 128, 4.0).steps == 1
