"""Group statistics: one row a prompt, from its scored rollouts, added up exactly."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from learnable.data.records import REWARDED_VERDICTS, VERDICTS, Truncated

GROUP_STATS_COLUMNS = ("prompt_id", "reward", "passed", "verdict", "num_tokens")

_GRAIN = 2.0**-40  # of rewards, where their deviation is computed


def group_stats(scores: pl.LazyFrame, *, ks: Sequence[int] = (1, 4, 8), truncated: Truncated = "count") -> pl.LazyFrame:
    """Reduce scored rollouts to one row per prompt: the same bits, however the rows are ordered or shared out.

    Args:
        scores: a row a rollout, with `GROUP_STATS_COLUMNS`: `reward` in [0, 1] and `passed` are null where not scored.
        ks: the k of each `pass_at_k` column.
        truncated: whether completions that ran out of tokens count, as they do in training, or are left out.

    Returns:
        `prompt_id`, `rollouts` (that exist: not those the engine failed on), a count `n_<verdict>` each, `n` (rollouts
        that count), `mean` and `std` of their rewards (population, ddof 0; TRL's own is the sample one, larger by
        sqrt(n / (n - 1))), `passes`, `min_reward`, `max_reward`, `zeros` and `ones` (rewards of exactly 0 and 1),
        `tokens`, `pass_rate`, `pass_at_<k>`, `zero_std`, `pass_variance`. A prompt none of whose rollouts count has
        null statistics, never zeros.

    A reward that is NaN or infinite says that the verifier failed: the rollout counts as a `verifier_error`.
    `std` is right to 1e-12. `pass_variance` is p * (1 - p) with p the pass rate: zero where all or none passed.

    >>> scores = pl.LazyFrame({"prompt_id": ["a", "a", "b", "b"], "reward": [0.0, 1.0, 1.0, 1.0],
    ...     "passed": [False, True, True, True], "verdict": ["scored"] * 4, "num_tokens": [3] * 4})
    >>> group_stats(scores).sort("prompt_id").collect()["pass_variance"].to_list()
    [0.25, 0.0]
    """
    n = pl.col("n")
    return (
        _counted(scores, truncated)
        .group_by("prompt_id")
        .agg(_sums())
        .with_columns(
            pl.col("rollouts") - pl.col("n_engine_error"),
            pl.when(n > 0).then(pl.col("reward_sum") / n).alias("mean"),
            _std().alias("std"),
            pl.when(n > 0).then(pl.col("passes") / n).alias("pass_rate"),
            *(pass_at_k(k).alias(f"pass_at_{k}") for k in ks),
            (pl.col("min_reward") == pl.col("max_reward")).alias("zero_std"),
        )
        .with_columns((pl.col("pass_rate") * (1 - pl.col("pass_rate"))).alias("pass_variance"))
        .select(
            *("prompt_id", "rollouts", *(f"n_{name}" for name in VERDICTS), "n", "mean", "std"),
            *("passes", "min_reward", "max_reward", "zeros", "ones", "tokens", "pass_rate"),
            *(*(f"pass_at_{k}" for k in ks), "zero_std", "pass_variance"),
        )
    )


def list_rewards(scores: pl.LazyFrame, truncated: Truncated = "count") -> pl.LazyFrame:
    """Return `prompt_id` and `reward` of the rollouts that `group_stats` counts, one row each."""
    return _counted(scores, truncated).select("prompt_id", "reward").filter(pl.col("reward").is_not_null())


def pass_at_k(k: int) -> pl.Expr:
    """Return the unbiased estimate of passing at least once in `k` rollouts, from columns `n` and `passes`.

    1 - C(n - c, k) / C(n, k), as in Chen et al., 2021, "Evaluating Large Language Models Trained on Code"; null where
    n < k.
    """
    n, failures = pl.col("n"), pl.col("n") - pl.col("passes")
    all_fail = pl.lit(1.0)
    for drawn in range(k):
        all_fail = all_fail * ((failures - drawn).clip(lower_bound=0) / (n - drawn))
    return pl.when(n >= k).then(1.0 - all_fail)


def exact_sum(values: pl.Expr) -> pl.Expr:
    """Return the sum, rounded once: the same bits however the rows are ordered, chunked or shared among threads.

    Polars adds floats in parts, and which part comes first is up to its threads. Whole numbers do not care, so
    this counts in units of 2^-80. Sums may reach 10^14; polars raises `InvalidOperationError` for infinities.

    >>> pl.DataFrame({"x": [0.1] * 10}).select(exact_sum(pl.col("x")), plain=pl.col("x").cum_sum().last()).row(0)
    (1.0, 0.9999999999999999)
    """
    unit = 2.0**-80  # of what is added up exactly
    return (values / unit).round().cast(pl.Int128).sum().cast(pl.Float64) * unit


def exact_mean(values: pl.Expr) -> pl.Expr:
    """Return the mean of the values that are not null, from `exact_sum`; null where there are none."""
    return pl.when(values.count() > 0).then(exact_sum(values) / values.count())


def _counted(scores: pl.LazyFrame, truncated: Truncated) -> pl.LazyFrame:
    """Take `reward` and `passed` from the rollouts that do not count, and call a reward that is no number an error."""
    reward = pl.col("reward").cast(pl.Float64)
    broken = pl.col("verdict").is_in(REWARDED_VERDICTS) & ~reward.is_finite()
    counts = (
        pl.col("verdict").is_in(REWARDED_VERDICTS if truncated == "count" else REWARDED_VERDICTS[:1])
        & reward.is_finite()
    )
    return scores.select(
        "prompt_id",
        pl.when(counts).then(reward).alias("reward"),
        (counts & pl.col("passed").cast(pl.Boolean)).alias("passed"),
        pl.when(broken).then(pl.lit("verifier_error")).otherwise("verdict").alias("verdict"),
        "num_tokens",
    )


def _sums() -> list[pl.Expr]:
    """Return what is added up over a group: counts, sums, and the smallest and largest reward."""
    verdict, reward = pl.col("verdict"), pl.col("reward")
    grains = (reward / _GRAIN).round().cast(pl.Int64)  # whole numbers: their sums do not depend on the order of rows
    return [
        pl.len().cast(pl.Int64).alias("rollouts"),
        *(_count(verdict == name).alias(f"n_{name}") for name in VERDICTS),
        reward.count().cast(pl.Int64).alias("n"),
        exact_sum(reward).alias("reward_sum"),
        grains.sum().alias("grain_sum"),
        (grains.cast(pl.Int128) * grains.cast(pl.Int128)).sum().alias("grain_squares"),
        _count(pl.col("passed")).alias("passes"),
        reward.min().alias("min_reward"),
        reward.max().alias("max_reward"),
        _count(reward == 0).alias("zeros"),
        _count(reward == 1).alias("ones"),
        pl.col("num_tokens").sum().cast(pl.Int64).alias("tokens"),
    ]


def _count(condition: pl.Expr) -> pl.Expr:
    return condition.sum().cast(pl.Int64)


def _std() -> pl.Expr:
    """Return sqrt(n * squares - sum^2) / n. Its radicand is whole, and exactly 0 where all rewards are equal."""
    n, total = pl.col("n"), pl.col("grain_sum").cast(pl.Int128)
    radicand = n.cast(pl.Int128) * pl.col("grain_squares") - total * total
    return pl.when(n > 0).then(radicand.cast(pl.Float64).sqrt() * _GRAIN / n)
