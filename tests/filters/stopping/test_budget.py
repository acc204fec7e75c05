"""What cannot work is refused, in terms of the flag."""

from __future__ import annotations

from typing import Any

import pytest

from learnable.data.errors import LearnableError
from learnable.filters.stopping.budget import SamplingBudget


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sampling": "optimum"}, "`sampling` 'optimum' is not known: choose one of optimal, fixed"),
        ({"max_group": 1}, "`max_group` 1"),
        ({"blocks": ()}, "blocks"),
        ({"blocks": (4, 0)}, "blocks"),
        ({"pilot_prompts": 0}, "`pilot_prompts`"),
        ({"pilot_rollouts": 1}, "`pilot_rollouts`"),
        ({"precision": 1.0}, "`precision` 1"),
        ({"precision": 0.3}, "`precision` 0.3"),
        ({"want": 0}, "`want` 0"),
        ({"retest": -0.1}, "`retest` -0.1"),
        ({"sampling": "fixed", "want": 3}, "leave out `sampling` fixed"),
        ({"sampling": "fixed", "precision": 0.9}, "leave out `sampling` fixed"),
    ],
)
def test_what_cannot_work_is_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        SamplingBudget(**wrong)


def test_a_retest_has_room_beyond_the_largest_group() -> None:
    assert SamplingBudget(max_group=48, blocks=(4, 2)).count_max_rollouts(16) == 50
    assert SamplingBudget(max_group=8, blocks=(4,)).count_max_rollouts(16) == 16
    assert SamplingBudget("fixed").count_max_rollouts(12) == 12
