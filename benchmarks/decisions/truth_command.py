"""The command line against a truth that is known: forecasts of partial credit, and graded prompts that teach nothing.

Files in any order go through it in `truth_order`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.checks import Check, Figure, at_least, at_most
from benchmarks.decisions.truth_forecast import (
    CREDIT,
    SIZES,
    measure_standard_errors,
    share_of_zero_std,
    write_cases,
)
from benchmarks.decisions.truth_graded import TOP, dead_among_others
from benchmarks.decisions.truth_order import find_learnable

MIXED = (1, 3, 5, 10)  # cases, in turn


def forecasts_of_the_command_line(seed: int) -> Iterator[Figure]:
    """What `find-learnable --json` forecasts of a file that mixes 1, 3, 5 and 10 cases, against drawn groups."""
    rng = np.random.default_rng([seed, 7])
    with tempfile.TemporaryDirectory() as folder:
        write_cases(Path(folder), MIXED, CREDIT, rng).rename(Path(folder) / "q.jsonl")
        report = find_learnable(Path(folder), "--seed", str(seed), "--store", "store")
        [groups] = (Path(folder) / "store" / "groups").glob("*.parquet")
        rows = pl.read_parquet(groups).filter(pl.col("n") > 0)
    kept, allowed = rows.filter(pl.col("decision") == "keep"), measure_standard_errors(MIXED, CREDIT, seed)
    for what, part in (("pool", rows), ("curated", kept)):
        for size in SIZES:
            [found] = [row["zero_std_share"] for row in report["forecast"][what] if row["group_size"] == size]
            truth = share_of_zero_std(part, size, rng)
            bound, twins = allowed[what, size]
            note = f"forecast {found:.4f}, truth {truth:.4f}; {twins}"
            yield at_most(f"forecast of the command line off, {what}, G = {size}", abs(found - truth), bound, note)


def the_command_line_keeps_no_dead_prompt(seed: int) -> Iterator[Figure]:
    """Dead graded prompts among others, with `--preset max-learnability --top 40`."""
    with tempfile.TemporaryDirectory() as folder:
        rows = ({"prompt": f"q {n}"} | row for n, row in enumerate(dead_among_others(np.random.default_rng([seed, 8]))))
        (Path(folder) / "q.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        ranked = ("--preset", "max-learnability", "--top", str(TOP))
        report = find_learnable(Path(folder), *ranked, "--seed", str(seed), "--store", "store")
    kept = {row["form"]: row["kept"] for row in report["forms"]}
    yield at_most("dead prompts kept by the command line", kept["Dead"], 0, f"of {sum(kept.values())} kept")
    yield at_least("prompts kept by the command line", sum(kept.values()), TOP)


CHECKS: tuple[Check, ...] = (forecasts_of_the_command_line, the_command_line_keeps_no_dead_prompt)
