"""Hand-judged completions: each line of `tests/golden/<verifier>.jsonl` says what the score must be, and why."""

from __future__ import annotations

import json
from typing import Any

import pytest

from learnable.verifiers.domains import VERIFIERS
from learnable.verifiers.registry import find_verifier
from tests.support.paths import GOLDEN


def lines_of(name: str) -> list[str]:
    """Return the lines for a verifier; those of answers have a folder and a test of their own."""
    if (GOLDEN / "answers" / f"{name}.jsonl").exists() and not (GOLDEN / f"{name}.jsonl").exists():
        return []
    return (GOLDEN / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()


def golden_cases() -> list[Any]:
    cases = []
    for name in VERIFIERS:
        for line in lines_of(name):
            case = json.loads(line)
            cases.append(pytest.param(name, case, id=f"{name}: {case['why']}"))
    return cases


@pytest.mark.parametrize(("name", "case"), golden_cases())
def test_golden(name: str, case: dict[str, Any]) -> None:
    verifier = find_verifier(name)
    verifier.check_spec(case["spec"])
    score = verifier.score(case["completion"], prompt="", spec=case["spec"])
    assert score.verdict == "scored"
    assert score.passed is case["passed"], score
    low, high = (case["low"], case["high"]) if "low" in case else (float(case["passed"]),) * 2
    assert score.reward is not None
    assert low - 1e-9 <= score.reward <= high + 1e-9, score
    assert case.get("reason", "") in score.reason
