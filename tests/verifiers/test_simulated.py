from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.verifiers.domains import VERIFIERS
from learnable.verifiers.pool.jobs import ScoreJob, score_one
from learnable.verifiers.protocol import SpecError, verifier_notice
from learnable.verifiers.registry import find_verifier

BERNOULLI: dict[str, Any] = {"rate": 0.3}
GRADED: dict[str, Any] = {"rate": 0.3, "spread": 0.2}
CASES: dict[str, Any] = {"rate": 0.3, "cases": 3, "partial_credit": 0.5}
VERIFIER = find_verifier("simulated")


@pytest.mark.parametrize(
    ("completion", "spec", "reward", "passed"),
    [
        ("pass", BERNOULLI, 1.0, True),
        ("fail", BERNOULLI, 0.0, False),
        ("0.731000", GRADED, 0.731, True),
        ("0.5", GRADED, 0.5, True),
        ("0.499999", GRADED, 0.499999, False),
        ("0", GRADED, 0.0, False),
        ("3/3", CASES, 1.0, True),
        ("2/3", CASES, 1 / 3, False),
        ("0/3", CASES, 0.0, False),
    ],
)
def test_the_drawn_outcome_is_the_score(completion: str, spec: dict[str, Any], reward: float, passed: bool) -> None:
    score = VERIFIER.score(completion, prompt="", spec=spec)
    assert (score.verdict, score.reward, score.passed) == ("scored", reward, passed)


@given(st.text().filter(lambda text: text not in ("pass", "fail")))
def test_any_other_text_is_not_scored(text: str) -> None:
    score = VERIFIER.score(text, prompt="", spec=BERNOULLI)
    assert (score.verdict, score.reward, score.passed) == ("verifier_error", None, None)
    assert "not simulated" in score.reason


@pytest.mark.parametrize("completion", ["pass", "", "1.01", "-0.1", "nan", "inf", "0.5.1"])
def test_what_is_no_reward_is_not_scored(completion: str) -> None:
    assert VERIFIER.score(completion, prompt="", spec=GRADED).reward is None


@pytest.mark.parametrize("completion", ["pass", "", "4/3", "2/4", "-1/3", "2", "2/3/3", "1.5/3", "\u00b2/3"])
def test_what_does_not_say_how_many_cases_passed_is_not_scored(completion: str) -> None:
    score = VERIFIER.score(completion, prompt="", spec=CASES)
    assert score.reward is None
    assert "how many of 3 cases passed" in score.reason


def test_a_completion_out_of_tokens_keeps_its_draw() -> None:
    score = score_one(ScoreJob("simulated", "pass", "", '{"rate":0.3}', "length"))
    assert (score.verdict, score.reward) == ("truncated", 1.0)


@pytest.mark.parametrize("spec", [BERNOULLI, GRADED, CASES, {"rate": 0}, {"rate": 1.0, "form": "Mine"}])
def test_sound_specs_are_accepted(spec: dict[str, Any]) -> None:
    VERIFIER.check_spec(spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, "'rate' is missing"),
        ({"rate": 1.2}, "'rate' is 1.2: give the chance of a pass, a number from 0 to 1"),
        ({"rate": "0.5"}, "'rate' is '0.5'"),
        ({"rate": True}, "'rate' is True"),
        ({"rate": float("nan")}, "'rate' is nan"),
        ({"rate": 0.5, "spread": 0}, "'spread' is 0: give a standard deviation over 0"),
        ({"rate": 0.5, "spread": float("inf")}, "'spread' is inf"),
        ({"rate": 0.5, "spread": 0.5}, "'spread' is 0.5: give less than 0.5, the most that a mean of 0.5"),
        ({"rate": 0.1, "spread": 0.4}, "give less than 0.3"),
        ({"rate": 1, "spread": 0.1}, "leave it out: a mean of 1 allows no spread"),
        ({"rate": 0.5, "cases": 3}, "'partial_credit' is None: give what the share of passed cases is multiplied by"),
        ({"rate": 0.5, "partial_credit": 0.5}, "'cases' is None: give how many cases there are, a whole number"),
        ({"rate": 0.5, "cases": 0, "partial_credit": 0.5}, "'cases' is 0"),
        ({"rate": 0.5, "cases": 2.0, "partial_credit": 0.5}, "'cases' is 2.0"),
        ({"rate": 0.5, "cases": True, "partial_credit": 0.5}, "'cases' is True"),
        ({"rate": 0.5, "cases": 3, "partial_credit": 1.5}, "'partial_credit' is 1.5"),
        ({"rate": 0.5, "cases": 3, "partial_credit": 0.5, "spread": 0.1}, "'spread' is 0.1: leave it out"),
        ({"rate": 1.5, "cases": 3, "partial_credit": 0.5}, "'rate' is 1.5"),
        ({"rate": 0.5, "spred": 0.1}, "did you mean 'spread'"),
    ],
)
def test_bad_specs_name_key_value_and_fix(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        VERIFIER.check_spec(spec)


def test_users_are_told_that_no_model_answered_and_no_list_of_judges_offers_it() -> None:
    assert "no model answered" in verifier_notice(VERIFIER)
    assert "simulated" not in VERIFIERS
