"""Group statistics: one row a prompt, from its scored rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

VERDICTS = ("scored", "truncated", "verifier_error", "engine_error")
Truncated = Literal["count", "exclude"]


def group_stats(scores: pl.LazyFrame, *, ks: Sequence[int] = (1, 4, 8), truncated: Truncated = "count") -> pl.LazyFrame:
    """Reduce scored rollouts to one row per prompt.

    Args:
        scores: one row a rollout: `prompt_id`, `reward` (null where not scored), `passed`, `verdict`, `num_tokens`.
        ks: the k of each `pass_at_k` column.
        truncated: whether completions that ran out of tokens count, as they do in training, or are left out.

    Returns:
        `prompt_id`, `rollouts` (that exist: not those the engine failed on), a count `n_<verdict>` each, `n` (rollouts that count), `mean` and `std` of their
        rewards (population, ddof 0; TRL's own is the sample one, larger by sqrt(n / (n - 1))), `passes`,
        `pass_rate`, `pass_at_<k>`, `min_reward`, `max_reward`, `zero_std`, `learnability`, `tokens`. A prompt none
        of whose rollouts count has null statistics, never zeros.

    `learnability` is p * (1 - p) with p the pass rate: it is zero where every rollout agrees.

    >>> scores = pl.LazyFrame({"prompt_id": ["a", "a", "b", "b"], "reward": [0.0, 1.0, 1.0, 1.0],
    ...     "passed": [False, True, True, True], "verdict": ["scored"] * 4, "num_tokens": [3] * 4})
    >>> group_stats(scores).sort("prompt_id").collect()["learnability"].to_list()
    [0.25, 0.0]
    """
    honest = ["scored", "truncated"] if truncated == "count" else ["scored"]
    counts = pl.col("verdict").is_in(honest) & pl.col("reward").is_not_null()
    reward = pl.col("reward").filter(counts)
    passes = (pl.col("passed") & counts).sum().cast(pl.Int64)
    grouped = scores.group_by("prompt_id").agg(
        (pl.col("verdict") != "engine_error").sum().cast(pl.Int64).alias("rollouts"),
        *((pl.col("verdict") == verdict).sum().cast(pl.Int64).alias(f"n_{verdict}") for verdict in VERDICTS),
        counts.sum().cast(pl.Int64).alias("n"),
        reward.mean().alias("mean"),
        # Rounding can leave 1e-17 where all rewards are equal, and zero must mean zero.
        pl.when(reward.min() == reward.max()).then(0.0 * reward.min()).otherwise(reward.std(ddof=0)).alias("std"),
        passes.alias("passes"),
        reward.min().alias("min_reward"),
        reward.max().alias("max_reward"),
        pl.col("num_tokens").sum().cast(pl.Int64).alias("tokens"),
    )
    return grouped.with_columns(
        pl.when(pl.col("n") > 0).then(pl.col("passes") / pl.col("n")).alias("pass_rate"),
        *(pass_at_k(k).alias(f"pass_at_{k}") for k in ks),
        (pl.col("min_reward") == pl.col("max_reward")).alias("zero_std"),
    ).with_columns((pl.col("pass_rate") * (1 - pl.col("pass_rate"))).alias("learnability"))


def pass_at_k(k: int) -> pl.Expr:
    """Return the unbiased estimate of passing at least once in `k` draws, from columns `n` and `passes`.

    1 - C(n - c, k) / C(n, k), as in Chen et al., 2021, "Evaluating Large Language Models Trained on Code"; null where n < k.
    """
    n, failures = pl.col("n"), pl.col("n") - pl.col("passes")
    all_fail = pl.lit(1.0)
    for draw in range(k):
        all_fail = all_fail * ((failures - draw).clip(lower_bound=0) / (n - draw))
    return pl.when(n >= k).then(1.0 - all_fail)
