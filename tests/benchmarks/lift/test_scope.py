"""The order of the runs, and what a budget leaves."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.lift import __main__ as lift
from benchmarks.lift.__main__ import Scope, choose_rates, make_plain, run_once
from benchmarks.lift.archive import Archive
from benchmarks.lift.arms import Plan
from tests.benchmarks.lift.runs_for_tests import make_run

SCOPE = Scope(arms=("pool", "curated"), rates=(1e-4, 2e-4), seeds=(1, 2), tuning_seed=0, steps=12)


def test_arms_tune_first_and_then_run_seed_by_seed() -> None:
    assert list(SCOPE.list_tuning()) == [
        ("pool", 1e-4, 0),
        ("curated", 1e-4, 0),
        ("pool", 2e-4, 0),
        ("curated", 2e-4, 0),
    ]
    assert list(SCOPE.list_reported({"pool": 1e-4, "curated": 2e-4})) == [
        ("pool", 1e-4, 1),
        ("curated", 2e-4, 1),
        ("pool", 1e-4, 2),
        ("curated", 2e-4, 2),
    ]


def test_an_arm_has_a_rate_once_all_are_tried() -> None:
    tuning = [make_run("pool", 0, (0.5, 0.6)), make_run("pool", 0, (0.5, 0.7), rate=2e-4), make_run("curated", 0)]
    assert choose_rates(SCOPE, tuning) == {"pool": 2e-4}
    one = Scope(arms=("pool",), rates=(3e-4,), seeds=(1,), tuning_seed=0, steps=12)
    assert list(one.list_tuning()) == []
    assert choose_rates(one, []) == {"pool": 3e-4}


def test_no_run_begins_after_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Path] = []
    monkeypatch.setattr(lift, "perform", lambda arm, plan, curated, folder, *rest: begun.append(folder))
    plan, curated, now = Plan(12, 128, 0.0), object(), time.monotonic()
    for ends_at in (now - 1, now + 1000, None):
        run_once("pool", plan, curated, Archive(tmp_path, None, "p", 12), 1e-4, 1, ends_at)  # type: ignore[arg-type]
    assert len(begun) == 2


def test_what_json_cannot_say_is_null() -> None:
    values: Any = {"ratio": float("inf"), "low": float("nan"), "run": make_run()}
    plain = make_plain(values)
    assert plain["ratio"] is None
    assert plain["low"] is None
    assert plain["run"]["looks"][0]["reward"] == 0.5
