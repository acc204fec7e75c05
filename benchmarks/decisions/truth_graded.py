"""Graded rewards and variances under optional stopping: are they ranked, split and called alike as they truly are?

Every pool goes through the whole pipeline with the simulated engine, from a file of prompts whose truth is known.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.checks import Check, Figure, at_least, at_most
from learnable.filters.decisions.presets import find_preset
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation.pipeline import run_pipeline
from learnable.flows.curation.report import CurationReport
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.flows.settings.engines import SimulatedSettings

Row = dict[str, Any]
DEAD, POEMS, SUMS = 20, 44, 40
TOP = 40
EXACT = 1e-9  # a standard deviation that six digits do not show: all rewards of a prompt are equal


def dead_prompts_are_left_out(seed: int) -> Iterator[Figure]:
    """Twenty prompts whose rewards are all .5, among 44 poems and 40 sums: how many of the best 40 they are."""
    rng = np.random.default_rng(seed)
    for sampling in ("fixed", "optimal"):
        budget = SamplingBudget(sampling)
        for name in ("band", "hard-biased", "max-learnability"):
            preset = find_preset(name).override(top=TOP)
            report, decided = curate(dead_among_others(rng), preset=preset, budget=budget, seed=seed)
            kept = decided.filter(pl.col("decision") == "keep")
            label = f"{name}, {sampling}"
            yield at_most(f"zero-std prompts kept, {label}", int(kept["zero_std"].sum()), 0, f"of {kept.height} kept")
        yield at_least(f"rank of the dead form, {sampling}", rank_of("Dead", report), 3, "of 3 forms, 1 is the best")


def dead_among_others(rng: np.random.Generator) -> list[Row]:
    """Return rows of prompts that always get .5, of poems (std .2 at a mean of .5), and of sums that pass or fail."""
    dead = [simulated(0.5, "poetry", "Dead", EXACT) for _ in range(DEAD)]
    poems = [simulated(rate, "poetry", "Poem", 2 * 0.2 * (rate * (1 - rate)) ** 0.5) for rate in rng.beta(4, 4, POEMS)]
    return dead + poems + [simulated(rate, "sums", "Sum") for rate in rng.beta(1, 1, SUMS)]


def rank_of(form: str, report: CurationReport) -> int:
    """Return the place of a form in the table, 1 is the first."""
    ranked = sorted(report.forms, key=lambda row: -(row.expected_within_variance or 0.0))
    return 1 + [row.form for row in ranked].index(form)


def simulated(rate: float, family: str = "simulated", form: str = "Simulated", std: float | None = None) -> Row:
    """Return a row of a file of prompts: pass or fail, or graded with this standard deviation inside a group."""
    spec = {"rate": round(float(rate), 9)} | ({} if std is None else {"spread": float(std)})
    return {"verifier": "simulated", "family": family, "form": form, "spec": spec}


def curate(rows: Sequence[Row], seed: int, **settings: Any) -> tuple[CurationReport, pl.DataFrame]:
    """Curate rows with the simulated engine, and return the report and the decided groups."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prompts.jsonl"
        numbered = ({"prompt": f"prompt {number} of pool {seed}"} | row for number, row in enumerate(rows))
        file.write_text("".join(f"{json.dumps(row)}\n" for row in numbered), encoding="utf-8")
        report = run_pipeline(
            CurateSettings(
                prompts=PromptSettings(location=str(file)),
                engine=SimulatedSettings(),
                seed=seed,
                store=str(Path(folder) / "store"),
                workers=0,
                **settings,
            )
        )
        [groups] = (Path(folder) / "store" / "groups").glob("*.parquet")
        return report, pl.read_parquet(groups)


CHECKS: tuple[Check, ...] = (dead_prompts_are_left_out,)
