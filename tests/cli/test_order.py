"""The order of a file decides nothing: not the pilot, the goal, the limit, the plan, nor what is published."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.files_for_tests import Find, Run

SIMULATED = ("--engine", "simulated", "--no-prefect", "--workers", 0, "--quiet", "--json")
MEASURED = ("seconds", "tokens_per_second")
ORDERS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "up": lambda rows: sorted(rows, key=lambda row: row["spec"]["rate"]),
    "down": lambda rows: sorted(rows, key=lambda row: -row["spec"]["rate"]),
    "shuffled": lambda rows: random.Random(1).sample(rows, len(rows)),
}


def simulated(count: int) -> list[dict[str, Any]]:
    rng = random.Random(3)
    rates = [round(rng.betavariate(0.3, 0.3), 12) for _ in range(count)]
    return [{"prompt": f"q {n}", "verifier": "simulated", "spec": {"rate": rate}} for n, rate in enumerate(rates)]


def curate(run: Run, order: str, *arguments: object) -> dict[str, Any]:
    """Find prompts in a file with the rows in an order; each order has a folder and a store of its own."""
    folder = Path(order)
    folder.mkdir(exist_ok=True)
    rows = ORDERS[order](simulated(2000))
    (folder / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, out, err = run("find", "--prompts", folder / "q.jsonl", "--store", folder / "s", *SIMULATED, *arguments)
    assert status == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def parts(report: dict[str, Any]) -> dict[str, pl.DataFrame]:
    """Return the published parts, without the place in the file that each row came from."""
    return {p.name: pl.read_parquet(p).drop("source", strict=False) for p in Path(report["curated"]).glob("*.parquet")}


@pytest.mark.slow
def test_a_sorted_file_gives_the_very_set_that_a_shuffled_one_gives(run: Run) -> None:
    reports = {order: curate(run, order, "--want", 60) for order in ORDERS}
    shuffled = parts(reports["shuffled"])
    for order, report in reports.items():
        assert report["totals"]["kept"] >= 60, (order, report["goal"])
        assert 150 < report["totals"]["prompts"] < 450
        assert report["totals"]["decisions"] == reports["shuffled"]["totals"]["decisions"]
        published = parts(report)
        assert published.keys() == shuffled.keys()
        assert all(published[name].equals(shuffled[name]) for name in shuffled), order


@pytest.mark.slow
def test_a_plan_does_not_hang_on_the_order_of_the_file(run: Run) -> None:
    plans = []
    for order in ORDERS:
        plan = curate(run, order, "--want", 60, "--dry-run")
        figures = {name: figure for name, figure in plan["figures"].items() if name not in MEASURED}
        plans.append((figures, plan["chance"], plan["spent_rollouts"]))
    assert plans[0] == plans[1] == plans[2]


def test_a_limit_takes_from_the_whole_file_in_any_order(find: Find) -> None:
    drawn = []
    for step in (1, -1):
        rows = [{"prompt": f"{n:03}", "answer": n, "verifier": "arithmetic"} for n in range(200)][::step]
        Path("q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        drawn.append([prompt.text for prompt in find("q.jsonl", "--limit", 20).prompts])
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 20
    assert min(map(int, drawn[0])) < 100 <= max(map(int, drawn[0]))


def test_a_limit_takes_its_share_of_every_level(find: Find) -> None:
    rows = [{"prompt": f"{n:03}", "answer": n, "verifier": "arithmetic", "difficulty": 1 + n // 50} for n in range(250)]
    Path("q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    levels = [prompt.difficulty for prompt in find("q.jsonl", "--limit", 25).prompts]
    assert {level: levels.count(level) for level in set(levels)} == dict.fromkeys([1.0, 2.0, 3.0, 4.0, 5.0], 5)


def test_a_bad_row_behind_the_limit_is_found_before_anything_is_paid(find: Find) -> None:
    rows = [{"prompt": f"{n}", "answer": n, "verifier": "arithmetic"} for n in range(50)]
    Path("q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"prompt": ""}\n')
    found = find("q.jsonl", "--limit", 5)
    assert found.status == 2
    assert "line 51" in found.err
    assert not found.prompts


def test_a_column_to_split_by_needs_a_file(run: Run) -> None:
    status, _, err = run("find", "--family", "arithmetic", "--split-by", "group", "--no-prefect")
    assert status == 2
    assert "--split-by group names a column of --prompts" in err


def test_a_missing_column_to_split_by_is_named_with_the_nearest(find: Find) -> None:
    Path("q.jsonl").write_text('{"prompt": "a", "answer": 1, "verifier": "arithmetic", "group": 1}\n')
    found = find("q.jsonl", "--split-by", "grup")
    assert found.status == 2
    assert "name it with --split-by; did you mean 'group'?" in found.err
