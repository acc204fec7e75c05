"""Numbers of any stated range become rewards, and nothing is cut off."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.errors import LearnableError
from learnable.verifiers.own.scale import USUAL_SCALE, RewardScale, declared_scale, read_scale

numbers = st.floats(-1e6, 1e6)


@given(numbers, numbers, numbers)
def test_the_ends_of_a_range_are_0_and_1_and_order_is_kept(one: float, other: float, value: float) -> None:
    lowest, highest = sorted((one, other))
    if lowest == highest:
        return
    scale = RewardScale(lowest, highest, highest)
    assert (scale.score(lowest).reward, scale.score(highest).reward) == (0.0, 1.0)
    found = scale.score(value)
    if lowest <= value <= highest:
        assert found.reward is not None
        assert 0.0 <= found.reward <= 1.0
        assert (found.passed, found.reason) == (value == highest, f"raw {value!r}")
    else:
        assert (found.verdict, found.reward) == ("verifier_error", None)
        assert str(value) in found.reason


def test_a_usual_reward_is_as_it_is() -> None:
    assert USUAL_SCALE.score(0.3) == RewardScale(0, 1, 1).score(0.3)
    assert (USUAL_SCALE.score(0.3).reward, USUAL_SCALE.score(0.3).reason) == (0.3, "")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_is_no_reward(value: float) -> None:
    found = RewardScale(-2, 2, 0).score(value)
    assert found.verdict == "verifier_error"
    assert f"reward {value} is outside [-2, 2]" in found.reason


@pytest.mark.parametrize(
    ("text", "passes", "scale"),
    [
        ("0..2", None, RewardScale(0, 2, 2)),
        ("-1..1", "0", RewardScale(-1, 1, 0)),
        (" -.5..+1e2 ", "-0.25", RewardScale(-0.5, 100, -0.25)),
        ("0...5", None, RewardScale(0, 0.5, 0.5)),
        (None, "0.5", RewardScale(0, 1, 0.5)),
        (None, None, USUAL_SCALE),
    ],
)
def test_texts_say_a_scale(text: str | None, passes: str | None, scale: RewardScale) -> None:
    assert read_scale(text, passes) == scale


@pytest.mark.parametrize(
    ("text", "passes", "message"),
    [
        ("2", None, "`verifier_range` '2' is no range of rewards: write LOW..HIGH"),
        ("2..0", None, "the range of rewards 2..0 is none"),
        ("1..1", None, "the range of rewards 1..1 is none"),
        ("0..1e999", None, "the range of rewards 0..inf is none"),
        ("nan..1", None, "is no range of rewards"),
        ("0..2", "3", "a reward of 3 is to pass, which is outside 0..2"),
        ("0..2", "much", "`verifier_pass` 'much' is no number"),
        ("0..2", "nan", "a reward of nan is to pass"),
    ],
)
def test_texts_that_say_none_are_named(text: str, passes: str | None, message: str) -> None:
    with pytest.raises(LearnableError) as error:
        read_scale(text, passes)
    assert message in str(error.value)


def test_a_judge_declares_its_scale() -> None:
    class Judge:
        reward_range: object = (-1, 3)
        passes_at: object = None

    judge = Judge()
    assert declared_scale(judge) == RewardScale(-1, 3, 3)
    judge.passes_at = 2
    assert declared_scale(judge) == RewardScale(-1, 3, 2)
    assert declared_scale(object(), RewardScale(-1, 0, 0)) == RewardScale(-1, 0, 0)
    judge.reward_range = 5
    with pytest.raises(LearnableError, match=r"reward_range is 5 and passes_at 2: give numbers"):
        declared_scale(judge)
