"""How far a number may be off: the same on both sides of the answer, and of zero."""

from __future__ import annotations

import pytest

from learnable.verifiers.answers.kinds.number import NumberVerifier


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("allowed", [{"relative": 0.05}, {"tolerance": 5}])
@pytest.mark.parametrize(("off", "passes"), [(0, True), (4, True), (5, True), (-5, True), (6, False), (-6, False)])
def test_a_tolerance_is_as_wide_below_zero_as_above(
    sign: int, allowed: dict[str, float], off: int, passes: bool
) -> None:
    spec = {"answer": 100 * sign, **allowed}
    score = NumberVerifier().score(f"The answer is {100 * sign + off}.", prompt="", spec=spec)
    assert score.passed is passes


@pytest.mark.parametrize(("answer", "passes"), [("0.4", True), ("-0.4", True), ("0.6", False)])
def test_a_share_of_nothing_leaves_the_tolerance(answer: str, passes: bool) -> None:
    spec = {"answer": 0, "relative": 0.5, "tolerance": 0.5}
    assert NumberVerifier().score(f"The answer is {answer}.", prompt="", spec=spec).passed is passes
