"""Does the order of a file decide anything, and is what is held out held out? Both through the command line's steps."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from polars.exceptions import SchemaError, ShapeError

from benchmarks.checks import Check, Figure, at_least, at_most, between
from learnable.data.records import Prompt, canonical_json
from learnable.flows.curation.steps import read_prompts
from learnable.flows.settings import CurateSettings, PromptSettings

PROMPTS, WANT = 6000, 300
SMALL_POOLS = (1100, 1200, 1350)  # some 320, 350 and 390 prompts in the band
ROLLOUTS = 12_000  # 8,752 to 10,082 at five seeds; over 15,000 before beliefs were weights on a grid
ORDERS = ("up", "down", "shuffled")
MEASURED = ("seconds", "tokens_per_second", "cost")  # of a plan: by the clock
SHARE = 0.2  # held out by default
POOL = 512  # prompts of a family, as a run takes by default


def order_of_a_file_decides_nothing(seed: int) -> Iterator[Figure]:
    """Prompts of Beta(.3, .3) with a goal, sorted by rate up and down and shuffled: the same run, bit for bit."""
    rng = np.random.default_rng(seed)
    rates = np.clip(rng.beta(0.3, 0.3, PROMPTS), 0, 1).round(12).tolist()
    rows = [
        {"prompt": f"question {number}", "verifier": "simulated", "spec": {"rate": rate}}
        for number, rate in enumerate(rates)
    ]
    with tempfile.TemporaryDirectory() as folder:
        runs = [_run(Path(folder) / order, _arrange(rows, order, seed), seed) for order in ORDERS]
    reports, plans, limited, shards = (list(column) for column in zip(*runs, strict=True))
    for order, report in zip(ORDERS, reports, strict=True):
        totals = report["totals"]
        yield at_least(f"prompts certified, {order}", totals["kept"], WANT, f"{totals['rollouts']:,} rollouts")
        yield between(f"prompts looked at, {order}", totals["prompts"], 950, 1350, "1,142 in the order of a shuffle")
        yield at_most(f"rollouts for the goal, {order}", totals["rollouts"], ROLLOUTS)
    for order, later, plan, few in zip(ORDERS[1:], shards[1:], plans[1:], limited[1:], strict=True):
        others = sum(not _equal(later[name], shards[0][name]) for name in shards[0])
        yield at_most(f"parts of the set that differ, {order}", others, 0, "but for `source`, the line in the file")
        yield at_most(f"the plan differs, {order}", plan != plans[0], 0)
        yield at_most(f"prompts of --limit 200 that differ, {order}", len(few ^ limited[0]), 0)


def a_goal_is_reached_in_a_small_pool(seed: int) -> Iterator[Figure]:
    """Prompts of Beta(.3, .3), of which a goal takes most: as many as are wanted, as right, for fewer rollouts."""
    right = []
    for number, size in enumerate(SMALL_POOLS):
        rates = np.clip(np.random.default_rng([seed, number]).beta(0.3, 0.3, size), 0, 1).round(12).tolist()
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            rows = (
                {"prompt": f"question {x}", "verifier": "simulated", "spec": {"rate": r}} for x, r in enumerate(rates)
            )
            (folder / "q.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
            whole = find_learnable(folder, "--seed", str(seed), "--store", "whole")["totals"]
            report = find_learnable(folder, "--seed", str(seed), "--store", "goal", "--want", str(WANT))
            kept = [
                pl.read_parquet(path) for path in _shards(folder, report) if path.name.startswith(("train", "test"))
            ]
        for part in kept:
            right += part["spec"].str.json_path_match("$.rate").cast(pl.Float64).is_between(0.2, 0.8).to_list()
        totals, wanted = report["totals"], min(WANT, whole["kept"])
        yield at_least(
            f"kept of {WANT} wanted in {size:,} prompts",
            totals["kept"],
            0.98 * wanted,
            f"{whole['kept']} without a goal",
        )
        yield at_most(
            f"rollouts in {size:,} prompts",
            totals["rollouts"],
            1.05 * whole["rollouts"],
            "1.05 times a run without a goal",
        )
    yield at_least("precision of the kept prompts", float(np.mean(right)), 0.87, "a fixed group of 32 has .895")


def no_problem_is_on_both_sides(seed: int) -> Iterator[Figure]:
    """Held-out prompts whose very cases (of poems: whose spec) are in train."""
    for family, key in (("programs", "cases"), ("code", "cases"), ("poetry", None)):
        prompts = _read(family, seed)
        train = {_judged(prompt, key) for prompt in prompts if prompt.split == "train"}
        test = [_judged(prompt, key) for prompt in prompts if prompt.split == "test"]
        leaked = sum(name in train for name in test)
        yield at_most(f"held-out prompts whose problem is in train, {family}", leaked, 0, f"of {len(test)}")
        error = _share_error(prompts)
        off = abs(len(test) / len(prompts) - SHARE) / error
        note = f"{len(test)} of {len(prompts)}; a standard error is {error:.3f}: no problem is split"
        yield at_most(f"standard errors off the share held out, {family}", off, 4, note)


def no_example_is_a_judged_case(seed: int) -> Iterator[Figure]:
    """Prompts with an example that is among the cases that judge them."""
    for family in ("programs", "code"):
        shown = [prompt for prompt in _read(family, seed) if "For example" in prompt.text]
        judged = sum(
            f"{prompt.spec['entry']}({', '.join(map(repr, arguments))})" in prompt.text.split("For example")[1]
            for prompt in shown
            for arguments, _ in prompt.spec["cases"]
        )
        yield at_most(f"examples among the judged cases, {family}", judged, 0, f"of {len(shown)}")


def _read(family: str, seed: int) -> Sequence[Prompt]:
    settings = CurateSettings(prompts=PromptSettings(families=(family,), limit=POOL), seed=seed)
    return read_prompts(settings).prompts


def _share_error(prompts: Sequence[Prompt]) -> float:
    """Return the standard error of the share of prompts held out, where each problem is by an independent draw."""
    sizes = np.array(list(Counter(prompt.problem_id for prompt in prompts).values()))
    return float(np.sqrt(SHARE * (1 - SHARE) * (sizes**2).sum()) / sizes.sum())


def _judged(prompt: Prompt, key: str | None) -> str:
    return canonical_json(prompt.spec[key] if key else prompt.spec)


def _arrange(rows: Sequence[dict[str, Any]], order: str, seed: int) -> list[dict[str, Any]]:
    if order == "shuffled":
        return random.Random(seed).sample(rows, len(rows))
    return sorted(rows, key=lambda row: row["spec"]["rate"], reverse=order == "down")


def _run(
    folder: Path, rows: Sequence[dict[str, Any]], seed: int
) -> tuple[dict[str, Any], dict[str, Any], set[str], dict[str, pl.DataFrame]]:
    """Return a run's report and plan, the prompts of one with a limit, and the published parts without `source`."""
    folder.mkdir()
    (folder / "q.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    goal = ("--want", str(WANT), "--seed", str(seed))
    report = find_learnable(folder, *goal, "--store", "run")
    plan = {k: v for k, v in find_learnable(folder, *goal, "--store", "plan", "--dry-run").items() if k not in MEASURED}
    plan["figures"] = {k: v for k, v in plan.get("figures", {}).items() if k not in MEASURED}
    limited = find_learnable(folder, "--limit", "200", "--sampling", "fixed", "--seed", str(seed), "--store", "few")
    [groups] = (folder / "few" / "groups").glob(f"{limited['run_id']}*.parquet")
    few = set(pl.read_parquet(groups)["prompt_id"])
    shards = {path.name: pl.read_parquet(path).drop("source", strict=False) for path in _shards(folder, report)}
    return report, plan, few, shards


def _shards(folder: Path, report: dict[str, Any]) -> list[Path]:
    return sorted((folder / report["curated"]).glob("*.parquet"))


def find_learnable(folder: Path, *arguments: str) -> dict[str, Any]:
    """Return what `find-learnable --json` says of `q.jsonl` in this folder."""
    command = [sys.executable, "-m", "learnable", "find", "--prompts", "q.jsonl", "--engine", "simulated"]
    done = subprocess.run(
        [*command, "--no-prefect", "--workers", "0", "--quiet", "--json", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=folder,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _equal(left: pl.DataFrame, right: pl.DataFrame) -> bool:
    try:
        return left.equals(right)
    except (SchemaError, ShapeError):
        return False


CHECKS: tuple[Check, ...] = (
    order_of_a_file_decides_nothing,
    a_goal_is_reached_in_a_small_pool,
    no_problem_is_on_both_sides,
    no_example_is_a_judged_case,
)
