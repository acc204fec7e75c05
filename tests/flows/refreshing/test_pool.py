"""What a refresh takes over from the manifest of the set that it refreshes."""

from __future__ import annotations

import json

from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.refreshing.pool import read_settings
from tests.support.paths import ROOT

FIGURES = ROOT / "tests" / "filters" / "manifest_figures.json"


def test_the_budget_of_a_manifest_is_read_and_written_the_same() -> None:
    budgets = json.loads(FIGURES.read_text())["efforts"]
    for values in budgets.values():
        assert json.dumps(read_settings(SamplingBudget, values).to_json()) == json.dumps(values)
    goal = SamplingBudget(max_group=64, blocks=(4, 8), precision=0.95, want=200, top_up=True, retest=0.1)
    assert read_settings(SamplingBudget, budgets["goal"]) == goal
    assert read_settings(SamplingBudget, budgets["usual"] | {"not known": 1}) == SamplingBudget()
    assert read_settings(SamplingBudget, {"sampling": "fixed"}) == SamplingBudget("fixed")
