"""Which completion of a prompt is worth imitating: its best passed one."""

from __future__ import annotations

import polars as pl


def pick_demonstrations(scores: pl.LazyFrame) -> pl.LazyFrame:
    """Pick each prompt's passed rollout of the highest reward; among equals the shortest, then the first drawn.

    Args:
        scores: one row a rollout: `prompt_id`, `rollout_id`, `rollout_index`, `reward`, `passed`, `verdict`, `num_tokens`.

    Returns:
        `prompt_id` and `rollout_id`, for prompts that have a finished and passed rollout.
    """
    passed = scores.filter((pl.col("verdict") == "scored") & pl.col("passed"))
    order = ["reward", "num_tokens", "rollout_index"]
    best = passed.sort(order, descending=[True, False, False]).unique("prompt_id", keep="first", maintain_order=True)
    return best.select("prompt_id", "rollout_id").sort("prompt_id")
