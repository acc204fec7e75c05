"""What `--json` prints: the pinned keys and figures, in their order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from learnable.filters.decisions.presets import find_preset
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation.cost import plan_curation
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.settings import SimulatedSettings
from tests.support.figures import check_same_figures

NEW_KEYS = ("extraction_failed_share", "usable_groups_per_rollout")
BEFORE = Path(__file__).parent / "compatibility"
CHANGING = {"run_id", "seconds", "tokens_per_second", "cost"}


def simulate(limit: int | None, **more: Any) -> CurateSettings:
    prompts = PromptSettings(families=("simulated",), limit=limit)
    return CurateSettings(prompts=prompts, engine=SimulatedSettings(), store="store", workers=0, **more)


def settled(value: Any) -> Any:
    """Return what does not change from run to run, under the keys of then."""
    if isinstance(value, dict):
        return {key: settled(item) for key, item in value.items() if key not in CHANGING and key not in NEW_KEYS}
    return [settled(item) for item in value] if isinstance(value, list) else value


def assert_same(now: Any, before: Any) -> None:
    check_same_figures(settled(now), settled(before))


def test_a_curation_says_what_it_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = simulate(20, budget=SamplingBudget("fixed"), group_size=4, preset=find_preset("hard-biased"))
    report = json.loads(json.dumps(run_curation(settings).to_json()))
    assert_same(report, json.loads((BEFORE / "find_report.json").read_text()))


def test_a_dry_run_says_what_it_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    report = plan_curation(simulate(None, budget=SamplingBudget(want=30)), gpu_hour_price=2.0)
    assert_same(json.loads(json.dumps(report.to_json())), json.loads((BEFORE / "dry_run_report.json").read_text()))
