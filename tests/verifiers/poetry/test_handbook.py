"""Poems judged by handbooks and not by the declarations: each keeps its form, or breaks one rule that makes it.

`tests/golden/forms/*.jsonl` has a poem a line: `form`, `text`, `source`, `verdict` ("kept" or "broken") and, for the
broken ones, the `rule` in a handbook's words and the component that `fails`. They follow the poem of which they are
near misses. `known` names the component that misjudges a poem that keeps its form, as long as it does; `underrated`
the one that lets it pass for less than a near miss earns.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from learnable.data.records import Score
from learnable.verifiers.poetry.constraints import CONSTRAINTS
from learnable.verifiers.registry import find_verifier
from tests.support.paths import GOLDEN

ROWS = [
    json.loads(line)
    for file in sorted((GOLDEN / "forms").glob("*.jsonl"))
    for line in file.read_text(encoding="utf-8").splitlines()
]
KEPT = [row for row in ROWS if row["verdict"] == "kept"]
BROKEN = [row for row in ROWS if row["verdict"] == "broken"]
MIN_FORMS, MAX_MISJUDGED = 60, 7
MISJUDGED = ("known", "underrated")
# The hint that a rule of rhyme gives besides its share.
ALSO = {"rhyme": "rhymes with none", "lines": "lines, not"}


@cache
def judged(form: str, text: str) -> Score:
    return find_verifier("poetry").score(text, prompt="", spec={"form": form})


def reward_of(row: dict[str, Any]) -> float:
    reward = judged(row["form"], row["text"]).reward
    assert reward is not None
    return reward


def as_cases(rows: list[dict[str, Any]]) -> list[Any]:
    marks = [[pytest.mark.xfail(reason=row["known"], strict=True)] if "known" in row else [] for row in rows]
    return [
        pytest.param(row, id=f"{row['form']}: {row['rule'] or row['source']}", marks=mark)
        for row, mark in zip(rows, marks, strict=True)
    ]


@pytest.mark.parametrize("row", as_cases(KEPT))
def test_a_poem_that_handbooks_accept_passes(row: dict[str, Any]) -> None:
    score = judged(row["form"], row["text"])
    assert score.passed, score.reason


@pytest.mark.parametrize("row", as_cases(BROKEN))
def test_a_poem_that_breaks_a_rule_fails_by_that_rule(row: dict[str, Any]) -> None:
    score = judged(row["form"], row["text"])
    assert not score.passed
    assert row["fails"] in score.reason or ALSO.get(row["fails"], "-") in score.reason, score.reason


@pytest.mark.parametrize("row", as_cases(BROKEN))
def test_a_near_miss_earns_less_than_any_poem_of_its_form(row: dict[str, Any]) -> None:
    good = [reward_of(kept) for kept in KEPT if kept["form"] == row["form"] and kept.keys().isdisjoint(MISJUDGED)]
    assert reward_of(row) < min(good)


def test_every_form_has_a_poem_and_two_near_misses() -> None:
    forms = {row["form"] for row in ROWS}
    assert len(forms) >= MIN_FORMS
    for form in forms:
        assert any(row["form"] == form and "known" not in row for row in KEPT), form
        assert sum(row["form"] == form for row in BROKEN) >= 2, form


def test_the_rules_are_those_of_components_and_few_poems_are_misjudged() -> None:
    assert {row["fails"] for row in BROKEN} <= {"lines", *CONSTRAINTS}
    assert sum(not row.keys().isdisjoint(MISJUDGED) for row in KEPT) <= MAX_MISJUDGED
    assert all(row["source"] for row in ROWS)
