"""Reward shapes: what is no shape is named with its fix; the sum keeps within 0 and 1 and never moves who passes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.verifiers.answers.rewards.parts import judge_distance
from learnable.verifiers.protocol import SpecError
from learnable.verifiers.registry import find_verifier
from learnable.verifiers.reward_parts import DISTANCES

TAGS = {"kind": "tags"}
PARTS = {
    "right": {"kind": "correct"},
    "read": {"kind": "read"},
    "graded": {"kind": "graded"},
    "near": {"kind": "distance"},
    "form": {"kind": "format"},
    "loose": {"kind": "format", "strict": False},
    "tags": TAGS,
    "polite": {"kind": "pattern", "pattern": "Please"},
    "long": {"kind": "length", "from": 2, "to": 9},
}


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("trinary", "'reward' is 'trinary': use one of binary, distance"),
        ({}, 'give "binary"'),
        (3, 'give "binary"'),
        ({"a": {"kind": "form"}}, "'reward.a' is .*one of correct"),
        ({"a": "correct"}, "'reward.a' is"),
        ({"a": {**TAGS, "weight": 0}}, "'reward.a.weight' is 0"),
        ({"a": {**TAGS, "weight": float("nan")}}, "'reward.a.weight' is nan"),
        ({"a": {**TAGS, "weight": -1}}, "at least one part a weight above 0"),
        ({"a": {**TAGS, "tag": ["x"]}}, "'reward.a.tag' is .*no such option"),
        ({"a": {**TAGS, "tags": "think"}}, "'reward.a.tags' is 'think': give a list"),
        ({"a": {"kind": "format", "strict": 1}}, "'reward.a.strict' is 1: give true or false"),
        ({"a": {"kind": "pattern"}}, "it needs 'pattern'"),
        ({"a": {"kind": "pattern", "pattern": "(a+)+"}}, "'reward.a.pattern' is .*years"),
        ({"a": {"kind": "length", "from": 9, "to": 9}}, "'from' must be below 'to'"),
        ({"a": {"kind": "length", "from": -1, "to": 9}}, "'reward.a.from' is -1"),
        ({"a": {"kind": "distance", "near": 2}}, "'reward.a.near' is 2: give a number from 0 to 1"),
    ],
)
def test_what_is_no_shape_is_named_with_its_fix(shape: object, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        find_verifier("number").check_spec({"answer": 1, "reward": shape})


@pytest.mark.parametrize("name", ["text", "choice", "json", "regex", "mathematics"])
@pytest.mark.parametrize("shape", ["distance", {"near": {"kind": "distance"}}])
def test_only_numbers_have_a_distance(name: str, shape: object) -> None:
    key = "pattern" if name == "regex" else "answer"
    with pytest.raises(SpecError, match="'reward"):
        find_verifier(name).check_spec({key: "1", "reward": shape})


@given(
    weights=st.dictionaries(st.sampled_from(sorted(PARTS)), st.sampled_from([-2.0, -0.5, 0.25, 1.0, 3.0]), min_size=1),
    completion=st.text(max_size=20) | st.sampled_from(["7", "8", "<answer>7</answer>", "Please, 7"]),
)
def test_a_weighted_sum_keeps_within_its_bounds(weights: dict[str, float], completion: str) -> None:
    shape: dict[str, Any] = {name: {**PARTS[name], "weight": weight} for name, weight in weights.items()}
    if max(weights.values()) < 0:
        shape["right"] = PARTS["right"]
    spec, judge = {"answer": 7, "reward": shape}, find_verifier("number")
    judge.check_spec(spec)
    score, plain = (judge.score(completion, prompt="", spec=one) for one in (spec, {"answer": 7}))
    assert score.reward is not None
    assert 0 <= score.reward <= 1
    assert set(score.components) == set(shape)
    assert (score.passed, score.reason) == (plain.passed, plain.reason)


@given(
    number=st.integers(-30, 30),
    wanted=st.integers(-30, 30),
    prompt=st.sampled_from(["Work out 6 + 3", "7*2", "Hm", ""]),
)
def test_a_nearer_answer_is_never_worth_less(number: int, wanted: int, prompt: str) -> None:
    value = judge_distance(Fraction(number), Fraction(wanted), prompt)
    off = abs(number - wanted)
    assert value in DISTANCES.values()
    assert (value == DISTANCES["exact"]) is (off == 0)
    assert (value == DISTANCES["off_by_one"]) is (off == 1)
    assert (value == DISTANCES["near"]) is (2 <= off <= 5)


@pytest.mark.parametrize(
    ("prompt", "result", "is_other"),
    [("Work out 12 / 4.", 16, True), ("12 divided by 4?", 48, True), ("12/4", 8, True), ("1 + 2 + 3", 6, False)],
)
def test_another_operation_is_one_of_the_prompts_two_numbers(prompt: str, result: int, is_other: bool) -> None:
    assert judge_distance(Fraction(result), Fraction(-99), prompt) == (0.1 if is_other else 0.0)
