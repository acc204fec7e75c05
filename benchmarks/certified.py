"""Are certified prompts truly in the band, and what did it cost to find them? On real completions.

Runs `find-learnable --form sonnet --want 20 --precision 0.9` on the bundled policy with vLLM, then draws 256 fresh completions of
every prompt it looked at: their mean is the truth. Reports the share of kept prompts that are truly in the band, with its 95 %
interval, and rollouts against a fixed group of 32 judged by its mean, with the recall of both.

    python -m benchmarks.certified [--form sonnet] [--want 20] [--precision 0.9] [--seed 0]
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import beta

from learnable.filters.effort import Effort
from learnable.flows.pipeline import run_pipeline
from learnable.flows.report import Report
from learnable.flows.settings import CurateSettings, PromptSettings

TRUTH = 256
FIXED = 32


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--form", default="sonnet")
    parser.add_argument("--want", type=int, default=20)
    parser.add_argument("--precision", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = CurateSettings(
            prompts=PromptSettings(forms=(asked.form,)),
            effort=Effort(want=asked.want, precision=asked.precision),
            seed=asked.seed,
            store=f"{folder}/store",
        )
        report = run_pipeline(settings)
        print(describe(settings, report), flush=True)


def describe(settings: CurateSettings, report: Report) -> str:
    """Draw the truth of every prompt that was looked at, and say how the decisions compare with it."""
    decided = read_groups(settings, report)
    truth = read_truth(settings, decided)
    joined = decided.join(truth, on="prompt_id")
    kept, inside = (joined["decision"] == "keep").to_numpy(), joined["inside"].to_numpy()
    fixed = joined["fixed"].to_numpy()
    right, count = int((kept & inside).sum()), int(kept.sum())
    low, high = beta.ppf([0.025, 0.975], [right or 1e-9, right + 1], [count - right + 1, count - right or 1e-9])
    rollouts, looked_at = report["totals"]["rollouts"], joined.height
    return "\n".join(
        [
            f"{count} kept of {looked_at} looked at, certified precision {report['certified_precision']:.3f}",
            f"truly in the band: {right} of {count} = {right / count:.3f}, 95% interval {low:.3f} to {high:.3f}",
            f"recall {_share(kept, inside):.3f}; fixed {FIXED}: precision {_share(inside, fixed):.3f}, recall {_share(fixed, inside):.3f}",
            f"rollouts {rollouts:,}, {rollouts / looked_at:.1f} a prompt: {rollouts / (FIXED * looked_at):.2f} of fixed {FIXED}",
        ]
    )


def read_groups(settings: CurateSettings, report: Report) -> pl.DataFrame:
    """Return the decided groups of a run."""
    return pl.read_parquet(Path(settings.store) / "groups" / f"{report['run_id']}.parquet")


def read_truth(settings: CurateSettings, decided: pl.DataFrame) -> pl.DataFrame:
    """Draw fresh completions of the prompts: `inside` by all of them, `fixed` by the first 32."""
    folder = Path(settings.store).parent
    columns = ["prompt", "verifier", "spec", "family", "form"]
    decided.select(columns).write_ndjson(folder / "looked_at.jsonl")
    fresh = replace(
        settings,
        prompts=PromptSettings(location=str(folder / "looked_at.jsonl")),
        effort=Effort("fixed"),
        group_size=TRUTH,
        seed=settings.seed + 1,
        store=f"{folder}/truth",
    )
    whole = read_groups(fresh, run_pipeline(fresh))
    few = replace(fresh, group_size=FIXED)
    some = read_groups(few, run_pipeline(few))
    band = settings.band
    good = pl.col("mean").is_between(band.low, band.high) & (pl.col("std") >= band.min_std)
    return whole.select("prompt_id", good.alias("inside")).join(
        some.select("prompt_id", good.alias("fixed")), on="prompt_id"
    )


def _share(of: np.ndarray, among: np.ndarray) -> float:
    return float((of & among).sum() / max(among.sum(), 1))


if __name__ == "__main__":
    main()
