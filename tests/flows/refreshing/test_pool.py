"""What a refresh takes over from the manifest of the set that it refreshes."""

from __future__ import annotations

import json

import polars as pl

from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.refreshing.pool import count_shared_problems, read_settings
from tests.support.paths import ROOT

EARLIER = ROOT / "tests" / "filters" / "manifest_of_an_earlier_version.json"


def test_the_budget_of_an_earlier_manifest_is_read_and_written_the_same() -> None:
    earlier = json.loads(EARLIER.read_text())["efforts"]
    for values in earlier.values():
        assert json.dumps(read_settings(SamplingBudget, values).to_json()) == json.dumps(values)
    goal = SamplingBudget(max_group=64, blocks=(4, 8), precision=0.95, want=200, top_up=True, retest=0.1)
    assert read_settings(SamplingBudget, earlier["goal"]) == goal
    assert read_settings(SamplingBudget, earlier["usual"] | {"of a later version": 1}) == SamplingBudget()
    assert read_settings(SamplingBudget, {"sampling": "fixed"}) == SamplingBudget("fixed")


def test_held_out_prompts_whose_problem_is_in_train_are_counted() -> None:
    """Earlier versions split by the text: other words for one problem were on both sides."""
    sides = ["train", "train", "test", "test", "test", "test"]
    rows = pl.DataFrame({"problem_id": ["a", "b", "a", "a", "b", "c"], "split": sides, "decision": "keep"})
    assert count_shared_problems(rows) == (3, 4)
    rejected = rows.with_columns(decision=pl.Series(["keep", "too_hard", "keep", "too_easy", "keep", "keep"]))
    assert count_shared_problems(rejected) == (1, 3)
