"""One row a form: what a person wants to see before training on it."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from learnable.filters.statistics.groups import exact_mean
from learnable.filters.statistics.variance import split_variance

FORM_MEAN, FORM_STD = (0.2, 0.8), 0.1  # of a form that is learnable as a whole


def summarise(decided: pl.LazyFrame, by: Sequence[str] = ("family", "form")) -> pl.LazyFrame:
    """Summarise decided groups per `by`, in the order of their names.

    Returns `by`, `prompts`, `kept`, `rollouts`, `tokens`, `mean` (of prompts' mean rewards), `pass_at_1`,
    `zero_std_share` (of prompts with a score), `errors` (rollouts without an honest score), and the columns
    of `split_variance`. `learnability` is the mean of the prompts' expected p (1 - p), by which forms are ranked, and
    `learnable` says whether the form as a whole would do: mean strictly within .2 to .8 and groups that spread by more
    than .1. Equal rows give equal bits, whatever their order.
    """
    counts = decided.group_by(by, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("prompts"),
        (pl.col("decision") == "keep").sum().cast(pl.Int64).alias("kept"),
        pl.col("rollouts").sum(),
        pl.col("tokens").sum(),
        exact_mean(pl.col("mean")).alias("mean"),
        exact_mean(pl.col("pass_rate")).alias("pass_at_1"),
        exact_mean(pl.col("learnability_expected")).alias("learnability"),
        pl.col("zero_std").mean().alias("zero_std_share"),
        (pl.col("n_verifier_error") + pl.col("n_engine_error")).sum().alias("errors"),
    )
    split = split_variance(decided, by)
    middling = (pl.col("mean") > FORM_MEAN[0]) & (pl.col("mean") < FORM_MEAN[1])
    learnable = (middling & (pl.col("within_std") > FORM_STD)).fill_null(False)
    return counts.join(split, on=list(by), how="left").with_columns(learnable.alias("learnable")).sort(by)


def count_decisions(decided: pl.LazyFrame) -> dict[str, int]:
    """Return how many prompts each decision took, most common first, only those that occur."""
    counted = decided.group_by("decision").len().sort("len", "decision", descending=[True, False]).collect()
    return {row["decision"]: row["len"] for row in counted.to_dicts()}
