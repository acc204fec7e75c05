"""Forecasts of zero-std groups through the command line, from a file of prompts with cases and partial credit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.files_for_tests import Run

PROMPTS, GROUPS, SIZE = 1600, 100_000, 16
QUIET = ("--no-prefect", "--workers", 0, "--quiet", "--json")


def write_mixed_cases(file: Path) -> None:
    """Write prompts of 1, 3, 5 and 10 cases in one family."""
    rates = np.random.default_rng(41).random(PROMPTS).round(6).tolist()
    specs = ({"rate": p, "cases": (1, 3, 5, 10)[n % 4], "partial_credit": 0.5} for n, p in enumerate(rates))
    rows = ({"prompt": f"p{n}", "verifier": "simulated", "spec": spec} for n, spec in enumerate(specs))
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def drawn_share(rows: pl.DataFrame, group_size: int) -> float:
    """Draw groups of these prompts, and return the share whose completions all pass as many cases."""
    rate, cases = (
        rows["spec"].str.json_path_match(path).cast(pl.Float64).to_numpy()[np.arange(GROUPS) % rows.height, None]
        for path in ("$.rate", "$.cases")
    )
    passed = np.random.default_rng(42).binomial(cases.astype(int), rate, (GROUPS, group_size))
    return float((passed.min(axis=1) == passed.max(axis=1)).mean())


def test_a_file_that_mixes_numbers_of_cases_is_forecast_as_it_is_drawn(run: Run, tmp_path: Path) -> None:
    """One set of values for all of them said .03 to .06 more zero-std groups than there are."""
    write_mixed_cases(tmp_path / "q.jsonl")
    status, out, err = run("find", "--engine", "simulated", "--prompts", "q.jsonl", "--store", "s", *QUIET)
    assert status == 0, err
    forecast = json.loads(out)["forecast"]
    [groups] = (tmp_path / "s" / "groups").glob("*.parquet")
    rows = pl.read_parquet(groups)
    for what, part in (("pool", rows), ("curated", rows.filter(pl.col("decision") == "keep"))):
        [found] = [row["zero_std_share"] for row in forecast[what] if row["group_size"] == SIZE]
        assert found == pytest.approx(drawn_share(part, SIZE), abs=0.02), what
