"""Are certified prompts truly in the band, and what did it cost to find them? On real completions.

Runs `find-learnable --form sonnet --want 20 --precision 0.9` on the bundled policy with vLLM, then draws 256 fresh completions of
each kept prompt: their mean is the truth. Reports the share of kept prompts that are truly in the band, with its 95 %
interval, and rollouts against a fixed group of 32. With `--recall` the truth is drawn of every prompt that was looked at,
and the recall of both is compared, the fixed group judged by its mean.

    python -m benchmarks.certified [--form sonnet] [--want 20] [--precision 0.9] [--seed 0] [--truth 256] [--recall]
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
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = CurateSettings(
            prompts=PromptSettings(forms=(asked.form,)),
            effort=Effort(want=asked.want, precision=asked.precision),
            seed=asked.seed,
            store=f"{folder}/store",
        )
        report = run_pipeline(settings)
        decided = read_groups(settings, report)
        kept = decided.filter(pl.col("decision") == "keep")
        print(describe_cost(report, decided.height), flush=True)
        print(describe_precision(read_truth(settings, decided if asked.recall else kept, asked.truth)), flush=True)


def describe_cost(report: Report, looked_at: int) -> str:
    """Say what finding them cost."""
    rollouts = report["totals"]["rollouts"]
    return (
        f"{report['totals']['kept']} kept of {looked_at} looked at, certified precision {report['certified_precision']:.3f}\n"
        f"rollouts {rollouts:,}, {rollouts / looked_at:.1f} a prompt: {rollouts / (FIXED * looked_at):.2f} of fixed {FIXED}"
    )


def describe_precision(truth: pl.DataFrame) -> str:
    """Compare decisions with the truth, over the prompts whose truth was drawn."""
    kept, inside, fixed = (truth[name].to_numpy() for name in ("kept", "inside", "fixed"))
    right, count = int((kept & inside).sum()), int(kept.sum())
    low, high = beta.ppf([0.025, 0.975], [right or 1e-9, right + 1], [count - right + 1, count - right or 1e-9])
    text = f"truly in the band: {right} of {count} = {right / count:.3f}, 95% interval {low:.3f} to {high:.3f}"
    if kept.all():
        return text
    return (
        f"{text}; recall {_share(kept, inside):.3f}\n"
        f"fixed {FIXED}: precision {_share(inside, fixed):.3f}, recall {_share(fixed, inside):.3f}"
    )


def read_groups(settings: CurateSettings, report: Report) -> pl.DataFrame:
    """Return the decided groups of a run."""
    return pl.read_parquet(Path(settings.store) / "groups" / f"{report['run_id']}.parquet")


def read_truth(settings: CurateSettings, prompts: pl.DataFrame, draws: int) -> pl.DataFrame:
    """Draw fresh completions: `inside` by all of them, `fixed` by the first 32; `kept` is what was decided."""
    folder = Path(settings.store).parent
    prompts.select("prompt", "verifier", "spec", "family", "form").write_ndjson(folder / "looked_at.jsonl")
    fresh = replace(
        settings,
        prompts=PromptSettings(location=str(folder / "looked_at.jsonl")),
        effort=Effort("fixed"),
        group_size=draws,
        seed=settings.seed + 1,
        store=f"{folder}/truth",
    )
    few = replace(fresh, group_size=FIXED)
    whole, some = (read_groups(asked, run_pipeline(asked)) for asked in (fresh, few))
    band = settings.band
    good = pl.col("mean").is_between(band.low, band.high) & (pl.col("std") >= band.min_std)
    kept = prompts.select("prompt_id", (pl.col("decision") == "keep").alias("kept"))
    truth = kept.join(whole.select("prompt_id", good.alias("inside")), on="prompt_id")
    return truth.join(some.select("prompt_id", good.alias("fixed")), on="prompt_id")


def _share(of: np.ndarray, among: np.ndarray) -> float:
    return float((of & among).sum() / max(among.sum(), 1))


if __name__ == "__main__":
    main()
