"""Hand-judged answers: each line of `tests/golden/answers/*.jsonl` says what a reader makes of a completion.

`judged` is "pass", "wrong" (an answer was given, and it is not right) or "unread" (there is no answer to judge). A line
may also have the `rule` that must fire, the `reward`, the `components`, and a part of the `reason`.
"""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest

from learnable.data.sources.gym.library import library_version
from learnable.verifiers.answers.kinds.mathematics import LIBRARY
from learnable.verifiers.registry import find_verifier
from tests.support.paths import GOLDEN, PUBLIC_DATA

FILES = sorted((GOLDEN / "answers").glob("*.jsonl"))
NO_MATHS = pytest.mark.skipif(importlib.util.find_spec(LIBRARY) is None, reason="math-verify is not installed")
NO_GYM = pytest.mark.skipif(not library_version(), reason="reasoning-gym is not installed")
JUDGED = PUBLIC_DATA / "answers" / "judged.jsonl"
MARKS = {"mathematics": [NO_MATHS], "reasoning-gym": [NO_GYM]}


def golden_cases() -> list[Any]:
    cases = []
    for path in FILES:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            case = json.loads(line)
            name = case.get("verifier", path.stem)
            place = f"{path.stem} {number}: {case['why']}"
            cases.append(pytest.param(name, case, id=place, marks=MARKS.get(name, [])))
    return cases


def test_there_are_enough_of_them() -> None:
    assert len(golden_cases()) >= 400


@pytest.mark.parametrize(("name", "case"), golden_cases())
def test_golden_answer(name: str, case: dict[str, Any]) -> None:
    verifier = find_verifier(name)
    verifier.check_spec(case["spec"])
    score = verifier.score(case["completion"], prompt=case.get("prompt", ""), spec=case["spec"])
    assert score.verdict == "scored"
    assert score.passed is (case["judged"] == "pass"), score
    assert score.reason.startswith("extraction_failed: ") is (case["judged"] == "unread"), score
    assert bool(score.reason) is (case["judged"] != "pass"), score
    assert case.get("reason", "") in score.reason
    assert score.reward == pytest.approx(case.get("reward", float(case["judged"] == "pass")))
    assert dict(score.components) == pytest.approx(case.get("components", dict(score.components)))
    if "rule" in case:
        assert verifier.read(case["completion"], spec=case["spec"]).rule == case["rule"]  # type: ignore[attr-defined]


@pytest.mark.skipif(not JUDGED.is_file(), reason="the judged completions are not on this machine")
@pytest.mark.parametrize("name", ["number", "choice", pytest.param("mathematics", marks=NO_MATHS)])
def test_answers_are_judged_as_a_person_judges_them(name: str) -> None:
    verifier = find_verifier(name)
    rows = [row for row in map(json.loads, JUDGED.read_text(encoding="utf-8").splitlines()) if row["verifier"] == name]
    specs: list[dict[str, Any]] = [{}, {"choices": [*"ABCD"]}] if name == "choice" else [{}]
    otherwise = [
        (row["completion"], more)
        for more in specs
        for row in rows
        if verifier.score(row["completion"], prompt="", spec={"answer": row["answer"], **more}).passed != row["passed"]
    ]
    assert rows
    assert not otherwise
