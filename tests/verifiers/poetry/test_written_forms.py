"""Poems written by hand in difficult forms: each passes, and fails when one line breaks the rule of its form."""

from __future__ import annotations

import json

import pytest

from learnable.data.records import Score
from learnable.verifiers.registry import find_verifier
from tests.support.paths import GOLDEN

EXAMPLES = GOLDEN / "poetry_forms.jsonl"
CASES = [json.loads(line) for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]
BROKEN = [(case["form"], case["poem"], broken) for case in CASES for broken in case["broken"]]


def judged(form: str, poem: str) -> Score:
    return find_verifier("poetry").score(poem, prompt="", spec={"form": form})


def reward_of(score: Score) -> float:
    assert score.reward is not None
    return score.reward


@pytest.mark.parametrize("case", CASES, ids=[case["form"] for case in CASES])
def test_a_poem_that_keeps_its_form_passes(case: dict[str, str]) -> None:
    score = judged(case["form"], case["poem"])
    assert score.passed, score.reason
    assert reward_of(score) > 0.8


@pytest.mark.parametrize(("form", "poem", "broken"), BROKEN, ids=[form for form, _, _ in BROKEN])
def test_breaking_the_rule_that_makes_the_form_fails(form: str, poem: str, broken: str) -> None:
    score = judged(form, broken)
    assert not score.passed
    assert reward_of(score) < reward_of(judged(form, poem))


@pytest.mark.parametrize("case", CASES, ids=[case["form"] for case in CASES])
def test_one_line_throughout_is_no_poem(case: dict[str, str]) -> None:
    lines = case["poem"].split("\n")
    score = judged(case["form"], "\n".join([next(filter(None, lines))] * len([line for line in lines if line])))
    assert not score.passed or len(lines) == 1
