"""Where rewards spread: within the groups of one prompt, which GRPO learns from, or between prompts, which it cannot."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def variance_split(groups: pl.LazyFrame, by: Sequence[str] = ("family", "form")) -> pl.LazyFrame:
    """Split the variance of rewards into its within-prompt and between-prompt parts, per `by`.

    A one-way random-effects analysis of variance with prompts as groups of unequal size (Searle, Casella
    and McCulloch, 1992, "Variance Components", section 3.6):

        MSW = SSW / (N - k)    MSB = SSB / (k - 1)    n0 = (N - sum(n_i^2) / N) / (k - 1)
        within variance = MSW    between variance = max(0, (MSB - MSW) / n0)

    The between part is what prompts truly differ by: the spread that sampling noise gives their means is
    taken out. `f_ratio` is MSB / MSW, about 1 where prompts differ by no more than that noise.

    Args:
        groups: rows with `n`, `mean` and `std` (population) of each prompt, and the columns in `by`.
        by: columns to split by.

    Returns:
        `by`, `within_std`, `between_std`, `f_ratio`, `intraclass` (share of variance that lies between prompts).
        Null where there are too few prompts or rollouts to tell.
    """
    scored = groups.filter(pl.col("n") > 0)
    n, mean = pl.col("n").cast(pl.Float64), pl.col("mean")
    total, prompts = n.sum(), pl.len().cast(pl.Float64)
    grand_mean = (n * mean).sum() / total
    sums = scored.group_by(by, maintain_order=True).agg(
        (n * pl.col("std") ** 2).sum().alias("ssw"),
        (n * (mean - grand_mean) ** 2).sum().alias("ssb"),
        _positive(total - prompts).alias("df_within"),
        _positive(prompts - 1).alias("df_between"),
        (total - (n**2).sum() / total).alias("spread_of_sizes"),
    )
    msw, msb = pl.col("ssw") / pl.col("df_within"), pl.col("ssb") / pl.col("df_between")
    between = ((msb - msw) / (pl.col("spread_of_sizes") / pl.col("df_between"))).clip(lower_bound=0)
    return sums.select(
        *by,
        msw.sqrt().alias("within_std"),
        between.sqrt().alias("between_std"),
        pl.when(msw > 0).then(msb / msw).alias("f_ratio"),
        pl.when(between + msw > 0).then(between / (between + msw)).alias("intraclass"),
    )


def _positive(count: pl.Expr) -> pl.Expr:
    return pl.when(count > 0).then(count)
