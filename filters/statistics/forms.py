"""One row a form: what a person wants to see before training on it, and which parts of its reward vary."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from learnable.data.records import REWARDED_VERDICTS, Truncated
from learnable.filters.statistics.groups import exact_mean, exact_sum
from learnable.filters.statistics.variance import OPENING, split_variance


def summarise(decided: pl.LazyFrame, by: Sequence[str] = ("family", "form")) -> pl.LazyFrame:
    """Summarise decided groups per `by`, in the order of their names.

    Returns `by`, `prompts`, `kept`, `rollouts`, `tokens`, `mean` (of prompts' mean rewards), `pass_at_1`,
    `zero_std_share` (of prompts with a score), `errors` (rollouts without an honest score), and the columns
    of `split_variance`. `expected_within_variance` is the mean of the prompts' own, by which forms are ranked, and
    `learnable` says whether the form as a whole would do: mean strictly within .2 to .8 and groups with a standard
    deviation of more than .1. Equal rows give equal bits, whatever their order.
    """
    counts = decided.group_by(by, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("prompts"),
        (pl.col("decision") == "keep").sum().cast(pl.Int64).alias("kept"),
        pl.col("rollouts").sum(),
        pl.col("tokens").sum(),
        exact_mean(pl.col("mean")).alias("mean"),
        exact_mean(pl.col("pass_rate")).alias("pass_at_1"),
        exact_mean(pl.col("expected_within_variance")).alias("expected_within_variance"),
        pl.col("zero_std").mean().alias("zero_std_share"),
        (pl.col("n_verifier_error") + pl.col("n_engine_error")).sum().alias("errors"),
    )
    split = split_variance(decided, by)
    # A form is learnable as a whole where its mean is middling and its groups vary.
    middling = (pl.col("mean") > 0.2) & (pl.col("mean") < 0.8)
    learnable = (middling & (pl.col("within_std") > 0.1)).fill_null(False)
    return counts.join(split, on=list(by), how="left").with_columns(learnable.alias("learnable")).sort(by)


def count_decisions(decided: pl.LazyFrame) -> dict[str, int]:
    """Return how many prompts each decision took, most common first, only those that occur."""
    counts = decided.group_by("decision").len().sort("len", "decision", descending=[True, False]).collect()
    return {row["decision"]: row["len"] for row in counts.to_dicts()}


def component_stats(
    scores: pl.LazyFrame, by: Sequence[str] = ("family", "form"), *, truncated: Truncated = "count"
) -> pl.LazyFrame:
    """Reduce the components of scored rollouts to one row per `by` and component.

    Args:
        scores: one row a rollout: `prompt_id`, `reward`, `verdict`, `components`, and the columns in `by`; where groups
            stop at will also `opening`, whether the prompt got it before any of its rewards were known.
        by: columns to group by.
        truncated: whether completions that ran out of tokens count, as for `group_stats`.

    Returns:
        In the order of their names, `by`, `component`, `prompts` and `rollouts` that have it, `mean` (of prompts'
        means), `share_zero` and `share_one` (of rollouts where it is exactly 0 and 1), `within_std`,
        `between_std` and `intraclass` as in `split_variance`, and `explained`: the share of the reward's
        variance within groups that goes along with the component, the square of their correlation there. All four rest
        on the openings alone, so that they tell of the prompts and not of the sampler. Components
        move together, so these shares may add up to more than 1. Null where the component or the reward never
        differs within a group.
    """
    return summarise_components(prompt_components(scores, by, truncated=truncated), by)


def summarise_components(prompts: pl.LazyFrame, by: Sequence[str] = ("family", "form")) -> pl.LazyFrame:
    """Summarise the rows of `prompt_components`, those of a whole pool, as `component_stats` does."""
    keys = [*by, "component"]
    sums = prompts.group_by(keys).agg(
        pl.len().cast(pl.Int64).alias("prompts"),
        pl.col("n").sum().alias("rollouts"),
        exact_mean(pl.col("mean")).alias("mean"),
        (pl.col("zeros").sum() / pl.col("n").sum()).alias("share_zero"),
        (pl.col("ones").sum() / pl.col("n").sum()).alias("share_one"),
        *(exact_sum(pl.col(name)) for name in ("ss", "ss_reward", "products")),
    )
    openings = prompts.select(*keys, *(pl.col(name).alias(name.removeprefix("opening_")) for name in OPENING))
    split = split_variance(openings, keys).select(*keys, "within_std", "between_std", "intraclass")
    joined = sums.join(split, on=keys, how="left").with_columns(_explained().alias("explained"))
    return joined.drop("ss", "ss_reward", "products").sort(keys)


def prompt_components(
    scores: pl.LazyFrame, by: Sequence[str] = ("family", "form"), *, truncated: Truncated = "count"
) -> pl.LazyFrame:
    """Return one row per prompt and component, with sums of squares and products around the prompt's means.

    The arguments are those of `component_stats`. Every rollout of a prompt must be there.
    """
    honest = REWARDED_VERDICTS if truncated == "count" else REWARDED_VERDICTS[:1]
    if "opening" not in scores.collect_schema().names():
        scores = scores.with_columns(opening=pl.lit(value=True))
    rows = (
        scores.filter(pl.col("verdict").is_in(honest) & pl.col("reward").is_not_null())
        .select(*by, "prompt_id", "reward", "components", "opening")
        .explode("components")
        .with_columns(
            pl.col("components").struct.field("key").alias("component"),
            pl.col("components").struct.field("value").alias("value"),
        )
        .filter(pl.col("value").is_not_null())
    )
    value = pl.col("value")
    first, first_reward = (pl.col(name).filter("opening") for name in ("value", "reward"))
    off, reward_off = first - exact_mean(first), first_reward - exact_mean(first_reward)
    return (
        rows.group_by(*by, "prompt_id", "component")
        .agg(
            pl.len().cast(pl.Int64).alias("n"),
            exact_mean(value).alias("mean"),
            (value == 0).sum().cast(pl.Int64).alias("zeros"),
            (value == 1).sum().cast(pl.Int64).alias("ones"),
            exact_sum(off**2).alias("ss"),
            exact_sum(reward_off**2).alias("ss_reward"),
            exact_sum(off * reward_off).alias("products"),
            first.count().cast(pl.Int64).alias("opening_n"),
            exact_mean(first).alias("opening_mean"),
        )
        .with_columns((pl.col("ss") / pl.col("opening_n")).sqrt().alias("opening_std"))
    )


def _explained() -> pl.Expr:
    """Squared pooled correlation within groups, by the sums of squares and products; at most 1 after rounding."""
    both = pl.col("ss") * pl.col("ss_reward")
    return pl.when(both > 0).then((pl.col("products") ** 2 / both).clip(upper_bound=1.0))
