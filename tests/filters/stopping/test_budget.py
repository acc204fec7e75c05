"""What cannot work is refused, in terms of the flag."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from learnable.data.errors import LearnableError
from learnable.filters.stopping.budget import SamplingBudget


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sampling": "optimum"}, "--sampling 'optimum': did you mean 'optimal'"),
        ({"max_group": 1}, "--max-group 1"),
        ({"blocks": ()}, "blocks"),
        ({"blocks": (4, 0)}, "blocks"),
        ({"pilot_prompts": 0}, "--pilot-prompts"),
        ({"pilot_rollouts": 1}, "--pilot-rollouts"),
        ({"precision": 1.0}, "--precision 1"),
        ({"precision": 0.3}, "--precision 0.3"),
        ({"want": 0}, "--want 0"),
        ({"retest": -0.1}, "--retest -0.1"),
        ({"sampling": "fixed", "want": 3}, "leave out --sampling fixed"),
        ({"sampling": "fixed", "precision": 0.9}, "leave out --sampling fixed"),
    ],
)
def test_what_cannot_work_is_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        SamplingBudget(**wrong)


def test_a_retest_has_room_beyond_the_largest_group() -> None:
    assert SamplingBudget(max_group=48, blocks=(4, 2)).count_max_rollouts(16) == 50
    assert SamplingBudget(max_group=8, blocks=(4,)).count_max_rollouts(16) == 16
    assert SamplingBudget("fixed").count_max_rollouts(12) == 12


def test_the_budget_of_an_earlier_manifest_is_read_and_written_the_same() -> None:
    earlier = json.loads((Path(__file__).parent.parent / "manifest_of_an_earlier_version.json").read_text())["efforts"]
    for values in earlier.values():
        assert json.dumps(SamplingBudget.from_json(values).to_json()) == json.dumps(values)
    goal = SamplingBudget(max_group=64, blocks=(4, 8), precision=0.95, want=200, top_up=True, retest=0.1)
    assert SamplingBudget.from_json(earlier["goal"]) == goal
    assert SamplingBudget.from_json(earlier["usual"] | {"of a later version": 1}) == SamplingBudget()
    assert SamplingBudget.from_json({"sampling": "fixed"}) == SamplingBudget("fixed")
