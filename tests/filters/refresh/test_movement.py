"""What moved between two pools, and the reason that is given for it."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from learnable.filters.refresh.movement import CAUSES, explain_moves, match_rows

ROW = {
    "prompt_id": "a",
    "prompt": "Q?",
    "family": "f",
    "form": "f",
    "decision": "keep",
    "verifier": "number",
    "n": 8,
    "mean": 0.5,
    "ci_low": 0.3,
    "ci_high": 0.7,
    "alpha": 4.0,
    "beta": 4.0,
    "p_zero": 0.0,
    "p_one": 0.0,
    "n_eff": 8.0,
}
GONE = {"decision": "too_easy", "mean": 0.8}


def pool(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame([{**ROW, **row} for row in rows])


def explain(before: dict[str, Any], after: dict[str, Any], **same: Any) -> dict[str, Any]:
    rules = {"same_policy": True, "same_rules": True} | same
    [row] = explain_moves(match_rows(pool(before), pool(after)), **rules).to_dicts()
    return row


@pytest.mark.parametrize(
    ("after", "same", "cause"),
    [
        (GONE | {"ci_low": 0.75, "ci_high": 0.95}, {"same_policy": False}, "rate"),
        (GONE | {"ci_low": 0.75, "ci_high": 0.95}, {"same_rules": False}, "rate"),
        (GONE | {"ci_low": 0.6, "ci_high": 0.9}, {"same_policy": False}, "noise"),
        (GONE | {"ci_low": 0.6, "ci_high": 0.9, "n": 16}, {}, "rollouts"),
        (GONE | {"ci_low": 0.6, "ci_high": 0.9, "n": 16}, {"same_policy": False}, "noise"),
        (GONE | {"n": 16}, {"same_rules": False}, "rules"),
        (GONE | {"verifier": "text", "ci_low": 0.75, "ci_high": 0.95}, {}, "judge"),
        (GONE, {"changed_judges": frozenset({"number"})}, "judge"),
    ],
)
def test_a_prompt_that_left_has_its_likeliest_reason(after: dict[str, Any], same: dict[str, Any], cause: str) -> None:
    row = explain({}, after, **same)
    assert (row["move"], row["cause"]) == ("left", cause)
    back = explain(after, {}, **same | {"changed_judges": same.get("changed_judges", frozenset())})
    assert (back["move"], back["cause"]) == ("joined", cause)
    assert cause in CAUSES


def test_what_stays_has_no_reason_and_what_is_alone_is_absent() -> None:
    rows = explain_moves(
        match_rows(pool({}, {"prompt_id": "b", "prompt": "B?"}), pool({}, {"prompt_id": "c", "prompt": "C?", **GONE})),
        same_policy=True,
        same_rules=True,
    ).sort("prompt_id")
    assert rows.select("prompt_id", "move", "cause").rows() == [
        ("a", "kept", None),
        ("b", "left", "absent"),
        ("c", "rejected", None),
    ]


def test_prompts_of_other_judges_are_matched_by_what_they_ask() -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Q?"}]
    before = pool({"prompt_id": "a", "prompt": chat})
    after = pool({"prompt_id": "z", "prompt": chat, "verifier": "text"})
    [row] = match_rows(before, after).to_dicts()
    assert (row["key"], row["verifier"], row["verifier_after"]) == ("Be brief.\nQ?", "number", "text")
