"""The band decision: which prompts are kept, and why each other one is not."""

from __future__ import annotations

import polars as pl

from learnable.data.band import Band, Signal

REASONS = (
    "keep",
    "too_easy",
    "too_hard",
    "zero_std",
    "low_std",
    "undecided",
    "over_quota",
    "predicted_too_easy",
    "predicted_too_hard",
    "unasked",
    "duplicate",
    "contaminated",
    "not_scored",
)
PREDICTED = ("predicted_too_easy", "predicted_too_hard")  # by a prediction alone, without rollouts
UNASKED = "unasked"  # not sampled, since enough others were found


def decide(groups: pl.LazyFrame, band: Band) -> pl.LazyFrame:
    """Add `decision`, one of `REASONS`, to the rows of `filters.statistics.groups.group_stats`.

    A mean outside the band is named before a missing variance: a prompt that always passes is `too_easy`.
    `zero_std` is left for groups that agree on a middling reward.
    """
    p = pl.col("mean" if band.signal == "reward" else "pass_rate")
    std = pl.col("std") if band.signal == "reward" else pl.col("pass_variance").sqrt()
    return groups.with_columns(
        pl.when(p.is_null())
        .then(pl.lit("not_scored"))
        .when(p > band.high)
        .then(pl.lit("too_easy"))
        .when(p < band.low)
        .then(pl.lit("too_hard"))
        .when(is_unanimous(band.signal))
        .then(pl.lit("zero_std"))
        .when(std < band.min_std)
        .then(pl.lit("low_std"))
        .otherwise(pl.lit("keep"))
        .cast(pl.Enum(REASONS))
        .alias("decision")
    )


def decide_certified(groups: pl.LazyFrame, band: Band) -> pl.LazyFrame:
    """Add `decision` to certified groups: keep a prompt that belongs in the set as surely as its `threshold` demands.

    However sure a prompt is, a group whose rewards are all equal is not kept.

    Args:
        groups: rows of `filters.posterior.certificate.certify` with `stopped` (whether the group is done) and
            `threshold`.
        band: its middle says whether a rejected prompt is too easy or too hard, by the mean that is expected of it.
    """
    above, unanimous = expected_mean() > (band.low + band.high) / 2, is_unanimous(band.signal)
    return groups.with_columns(
        pl.when(pl.col("p_keep").is_null())
        .then(pl.lit("not_scored"))
        .when(~pl.col("stopped"))
        .then(pl.lit("undecided"))
        .when((pl.col("p_keep") >= pl.col("threshold")) & ~unanimous)
        .then(pl.lit("keep"))
        .when(pl.col("p_in_band") < pl.col("threshold"))
        .then(pl.when(above).then(pl.lit("too_easy")).otherwise(pl.lit("too_hard")))
        .when(unanimous)
        .then(pl.lit("zero_std"))
        .otherwise(pl.lit("low_std"))
        .cast(pl.Enum(REASONS))
        .alias("decision")
    )


def is_unanimous(signal: Signal) -> pl.Expr:
    """Return whether a group's rewards are all equal, or, where passes are decided by, whether all or none passed.

    No gradient comes of such a group, whatever its certificate says. It holds of a group of one rollout too.
    """
    equal = pl.col("zero_std")
    return equal if signal == "reward" else equal | pl.col("pass_rate").is_in([0.0, 1.0])


def expected_mean() -> pl.Expr:
    """Return the mean reward that a certified row expects: p_one + (1 - p_zero - p_one) alpha / (alpha + beta)."""
    beta_weight = 1 - pl.col("p_zero") - pl.col("p_one")
    return pl.col("p_one") + beta_weight * pl.col("alpha") / (pl.col("alpha") + pl.col("beta"))


def decide_predicted(rows: pl.LazyFrame, band: Band) -> pl.LazyFrame:
    """Add `decision` to certified rows of prompts without rollouts: `rejected` by their predicted rate, or unasked."""
    above = expected_mean() > (band.low + band.high) / 2
    easy, hard = (pl.lit(f"predicted_{name}") for name in ("too_easy", "too_hard"))
    decision = pl.when(~pl.col("rejected")).then(pl.lit(UNASKED)).when(above).then(easy).otherwise(hard)
    return rows.with_columns(decision.cast(pl.Enum(REASONS)).alias("decision")).drop("rejected")


def trim_to_precision(groups: pl.LazyFrame, precision: float) -> pl.LazyFrame:
    """Make the least sure of the kept prompts `undecided`, until the others' average `p_keep` is `precision`."""
    is_kept = pl.col("decision") == "keep"
    surest_first = groups.filter(is_kept).sort("p_keep", "prompt_id", descending=[True, False])
    sure = surest_first.with_columns(
        (pl.col("p_keep").cum_sum() / pl.int_range(1, pl.len() + 1)).alias("_average")
    ).filter(pl.col("_average") >= precision)
    marked = groups.join(
        sure.select("prompt_id", pl.lit(True).alias("_sure")), on="prompt_id", how="left", maintain_order="left"
    )
    unsure = is_kept & pl.col("_sure").is_null()
    return marked.with_columns(
        pl.when(unsure).then(pl.lit("undecided", pl.Enum(REASONS))).otherwise("decision").alias("decision")
    ).drop("_sure")
