"""Are certified prompts truly in the band, and what did it cost to find them? On real completions.

Runs `find-learnable --form sonnet --want 20 --precision 0.9` on the bundled policy with vLLM, then draws 256 fresh
completions of each kept prompt: their mean is the truth. Reports the share of kept prompts that are truly in the band,
with its 95 % interval, and rollouts against a fixed group of 32.

With `--recall` the truth is drawn of every prompt that was looked at. The same prompts are then decided without a
goal, by optimal stopping and by the mean of a fixed group of 32, each with completions of its own: so both are
compared at nearly equal recall.

    python -m benchmarks.decisions.certified [--form sonnet] [--want 20] [--precision 0.9] [--seed 0] [--truth 256]
        [--recall]
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import beta

from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.report import CurationReport
from learnable.flows.settings import CurateSettings, PromptSettings

FIXED = 32


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--form", default="sonnet")
    parser.add_argument("--want", type=int, default=20)
    parser.add_argument("--precision", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--truth", type=int, default=256, help="fresh completions of a prompt")
    parser.add_argument("--recall", action="store_true", help="draw them of every prompt that was looked at")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = CurateSettings(
            prompts=PromptSettings(forms=(arguments.form,)),
            budget=SamplingBudget(want=arguments.want, precision=arguments.precision),
            seed=arguments.seed,
            store=f"{folder}/store",
        )
        report = run_curation(settings)
        decided = read_groups(settings, report)
        kept = decided.filter(pl.col("decision") == "keep")
        print(
            f"{kept.height} kept of {decided.height}, certified precision {report.certified_precision:.3f}",
            flush=True,
        )
        known = decided if arguments.recall else kept
        known.select("prompt", "verifier", "spec", "family", "form").write_ndjson(f"{folder}/known.jsonl")
        truth = draw_truth(settings, arguments.truth)
        print(describe("to the goal", truth, kept, report.totals.rollouts, decided.height), flush=True)
        if arguments.recall:
            for name, budget, size in (
                ("all decided", SamplingBudget(), 16),
                (f"fixed {FIXED}", SamplingBudget("fixed"), FIXED),
            ):
                again = replace(on_known(settings, name), budget=budget, group_size=size)
                report = run_curation(again)
                kept = read_groups(again, report).filter(pl.col("decision") == "keep")
                print(describe(name, truth, kept, report.totals.rollouts, decided.height), flush=True)


def describe(name: str, truth: pl.DataFrame, kept: pl.DataFrame, rollouts: int, looked_at: int) -> str:
    """Say how many of the prompts that one way kept are truly in the band, how many it missed, and what it cost."""
    chosen = truth["prompt_id"].is_in(kept["prompt_id"].implode()).to_numpy()
    inside = truth["inside"].to_numpy()
    right, count = int((chosen & inside).sum()), int(chosen.sum())
    ends = beta.ppf([0.025, 0.975], [right or 1e-9, right + 1], [count - right + 1, count - right or 1e-9])
    low, high = np.asarray(ends)
    precision = f"precision {right}/{count} = {right / max(count, 1):.3f} [{low:.3f}, {high:.3f}]"
    recall = (
        f"recall {right}/{inside.sum()} = {right / max(inside.sum(), 1):.3f}, " if truth.height == looked_at else ""
    )
    return (
        f"{name:12}  {precision}, {recall}rollouts {rollouts:,} = {rollouts / (FIXED * looked_at):.2f} of fixed {FIXED}"
    )


def on_known(settings: CurateSettings, store: str) -> CurateSettings:
    """Return settings for the prompts that are to be known: completions of another seed, a store of their own."""
    folder = Path(settings.store).parent
    prompts = PromptSettings(location=str(folder / "known.jsonl"))
    return replace(settings, prompts=prompts, seed=settings.seed + 1, store=str(folder / store.replace(" ", "-")))


def draw_truth(settings: CurateSettings, completions: int) -> pl.DataFrame:
    """Sample fresh completions of each prompt and say whether it is `inside` the band by all of them."""
    fresh = replace(
        on_known(settings, "truth"), budget=SamplingBudget("fixed"), group_size=completions, seed=settings.seed + 2
    )
    band = settings.band
    inside = pl.col("mean").is_between(band.low, band.high) & (pl.col("std") >= band.min_std)
    return read_groups(fresh, run_curation(fresh)).select("prompt_id", inside=inside)


def read_groups(settings: CurateSettings, report: CurationReport) -> pl.DataFrame:
    """Return the decided groups of a run."""
    return pl.read_parquet(Path(settings.store) / "groups" / f"{report.run_id}.parquet")


if __name__ == "__main__":
    main()
