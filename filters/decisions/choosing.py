"""Which prompts and completions make the curated set: the best, no family too many, none too few, a reserve."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
import polars as pl

from learnable.data.errors import LearnableError
from learnable.data.records import REWARDED_VERDICTS, Truncated
from learnable.filters.decisions.decide import REASONS, is_unanimous
from learnable.filters.decisions.presets import Preset


def choose(groups: pl.LazyFrame, preset: Preset) -> pl.LazyFrame:
    """Add `expected_within_variance`, and let `decision` be `keep` for exactly the prompts that `preset` chooses.

    1. Candidates are the kept prompts, or every scored one (`top_of`), best first by `rank_by`, ties by `prompt_id`.
       A family with fewer than `floor` adds its others that sometimes fail and sometimes pass, those of the highest
       `p_keep` first, up to the floor. A group whose rewards are all equal is never one.
    2. The set is the largest of at most `top` prompts in which every family has at most `quota` of what is chosen,
       with no rounding in its favour. Of the sets of that size it takes each family's first `floor` prompts before
       others, so that `top` does not undo the floor, and then the best. Where they quarrel, `quota` and `top` win.
    3. A kept prompt that is not chosen becomes `over_quota` (`zero_std` where its rewards are all equal); every other
       one keeps its reason.

    Args:
        groups: decided and certified groups: `prompt_id` (unique), `family`, `form`, `decision`, `n`, `mean`,
            `pass_rate`, `zero_std`, `alpha`, `beta`, `p_zero`, `p_one`, `variance_share`, `p_keep`.
        preset: the policy of choosing.

    Raises:
        LearnableError: no set but the empty one holds the quota, as with one family and a quota below 1.
    """
    rows = groups.with_columns(expected_within_variance().alias("expected_within_variance")).collect()
    chosen = _pick(_line_up(rows, preset), preset)
    taken = pl.col("prompt_id").is_in(chosen.implode())
    decision = (
        pl.when(taken)
        .then(pl.lit("keep"))
        .when((pl.col("decision") == "keep") & is_unanimous(preset.band.signal))
        .then(pl.lit("zero_std"))
        .when(pl.col("decision") == "keep")
        .then(pl.lit("over_quota"))
        .otherwise(pl.col("decision").cast(pl.String))
    )
    return rows.lazy().with_columns(decision.cast(pl.Enum(REASONS)).alias("decision"))


def pick_demonstrations(scores: pl.LazyFrame) -> pl.LazyFrame:
    """Pick each prompt's passed rollout of the highest reward; among equals the shortest, then the first drawn.

    Args:
        scores: one row a rollout: `prompt_id`, `rollout_id`, `rollout_index`, `reward`, `passed`, `verdict`,
            `num_tokens`.

    Returns:
        `prompt_id` and `rollout_id`, for prompts that have a finished and passed rollout.
    """
    passed = scores.filter((pl.col("verdict") == "scored") & pl.col("passed"))
    return _pick_end(passed, best=True).select("prompt_id", "rollout_id").sort("prompt_id")


def pick_pairs(scores: pl.LazyFrame, truncated: Truncated = "count") -> pl.LazyFrame:
    """Pick each prompt's rollouts of the highest and of the lowest reward, where these differ.

    Among equals it is the shortest, then the first drawn. The better one has ended by itself: whoever learns to prefer
    a text that was cut learns to stop there. The worse one may have been cut, where such rollouts count.

    Args:
        scores: as for `pick_demonstrations`.
        truncated: whether completions that ran out of tokens count, as for `group_stats`.

    Returns:
        `prompt_id`, `chosen` and `rejected` (ids of rollouts), `chosen_reward` and `rejected_reward`.
    """
    counting = REWARDED_VERDICTS if truncated == "count" else REWARDED_VERDICTS[:1]
    counted = scores.filter(pl.col("verdict").is_in(counting) & pl.col("reward").is_finite())
    ended = counted.filter(pl.col("verdict") == "scored")
    chosen = _pick_end(ended, best=True).select("prompt_id", chosen="rollout_id", chosen_reward="reward")
    rejected = _pick_end(counted, best=False).select("prompt_id", rejected="rollout_id", rejected_reward="reward")
    pairs = chosen.join(rejected, on="prompt_id").filter(pl.col("chosen_reward") > pl.col("rejected_reward"))
    return pairs.select("prompt_id", "chosen", "rejected", "chosen_reward", "rejected_reward").sort("prompt_id")


def expected_within_variance() -> pl.Expr:
    """Return the variance that is expected inside a group of the prompt: its learnability, all that GRPO learns from.

    A 0/1 reward of the mean m has the variance m (1 - m), whose expectation under the posterior is

        (1 - p_zero - p_one) * alpha * beta / ((alpha + beta) * (alpha + beta + 1))

    the product moment of a Beta distribution; what always fails or always passes adds nothing. A graded reward has
    `variance_share` of that, by the prompt's own variance drawn toward its family's (see
    `filters.posterior.variance_model`): sixteen rewards of .5 teach nothing, whatever their mean.
    """
    alpha, beta, total = pl.col("alpha"), pl.col("beta"), pl.col("alpha") + pl.col("beta")
    bernoulli = (1 - pl.col("p_zero") - pl.col("p_one")) * alpha * beta / (total * (total + 1))
    return pl.col("variance_share") * bernoulli


def is_in_reserve(preset: Preset) -> pl.Expr:
    """Say of each row of `choose` whether it is set aside: scored but not kept, with its mean inside `reserve`.

    Both ends are left out: with (0, 0.2) a prompt that always failed, where wrong labels hide, is not in reserve. Nor
    is one whose rewards are all equal, wherever: its group teaches nothing.
    """
    if preset.reserve is None:
        return pl.lit(False)
    low, high = preset.reserve
    inside = (_signal(preset) > low) & (_signal(preset) < high)
    varies = ~is_unanimous(preset.band.signal).fill_null(True)
    return _is_scored() & varies & (pl.col("decision") != "keep") & inside.fill_null(False)


def find_largest_size(counts: Sequence[int], share: float, limit: int) -> int:
    """Return how many prompts at most, and no more than `limit`, can be taken with no family over `share` of them.

    A set of N takes at most floor(share * N) of each family, g(N) in all; g does not fall as N grows. So no set that
    fits is larger than g of an upper bound, and cutting the bound to that until it stays ends at the largest that fits.

    >>> find_largest_size([100, 6, 4], share=0.5, limit=110)
    20
    """
    sizes, bound = np.asarray(counts, dtype=np.int64), min(int(sum(counts)), limit)
    while (filled := int(np.minimum(sizes, cap_share(share, bound)).sum())) < bound:
        bound = filled
    return bound


def cap_share(share: float, size: int) -> int:
    """Return the largest count that is at most `share` of `size`; 0.29 of 100 is 29, though floats say 28.999...

    >>> cap_share(0.29, 100)
    29
    """
    return int(share * size + 1e-9)


def _pick_end(scores: pl.LazyFrame, *, best: bool) -> pl.LazyFrame:
    """Return each prompt's row of the highest or the lowest reward; among equals the shortest, then the first drawn."""
    order = scores.sort("reward", "num_tokens", "rollout_index", descending=[best, False, False])
    return order.unique("prompt_id", keep="first", maintain_order=True)


def _line_up(rows: pl.DataFrame, preset: Preset) -> pl.DataFrame:
    """Return the candidates: `prompt_id`, their family, `rank_value` and their `place` in the family, 1 is first."""
    is_kept = pl.col("decision") == "keep"
    varies = ~is_unanimous(preset.band.signal).fill_null(True)
    ranked = varies & (_is_scored() if preset.top and preset.top_of == "scored" else is_kept)
    mixed = (_signal(preset) > 0) & (_signal(preset) < 1)
    value = "expected_within_variance" if preset.rank_by == "learnability" else "p_keep"
    eligible = rows.select(
        "prompt_id", *_family(preset), "p_keep", ranked=ranked, filler=_is_scored() & varies & mixed, rank_value=value
    ).filter(pl.col("ranked") | pl.col("filler"))
    within = pl.when(pl.col("ranked")).then("rank_value").otherwise("p_keep")
    order = eligible.sort("ranked", within, "prompt_id", descending=[True, True, False], nulls_last=True)
    placed = order.with_columns(place=pl.int_range(1, pl.len() + 1).over(_family(preset)))
    return placed.filter(pl.col("ranked") | (pl.col("place") <= preset.floor))


def _pick(candidates: pl.DataFrame, preset: Preset) -> pl.Series:
    """Return the ids of the largest set that holds `quota` and `top`; of the sets of that size, the best."""
    counts = candidates.group_by(_family(preset)).len()["len"].to_list()
    share = 1.0 if preset.quota is None else preset.quota
    limit = len(candidates) if preset.top is None else preset.top
    size = find_largest_size(counts, share, limit)
    if counts and not size:
        raise LearnableError(_explain_impossible(preset, share, len(counts), limit))
    allowed = candidates.filter(pl.col("place") <= cap_share(share, size))
    turn = pl.col("place").clip(upper_bound=preset.floor + 1)  # each family's first `floor` by turns, then all alike
    order = allowed.sort(turn, "rank_value", "prompt_id", descending=[False, True, False], nulls_last=True)
    return order["prompt_id"].head(size)


def _explain_impossible(preset: Preset, share: float, families: int, limit: int) -> str:
    parts = min(families, limit)
    smallest = ceil(1000 / parts) / 1000
    names = "families" if preset.quota_by == "family" else "forms"
    return (
        f"`quota` {share:g} leaves an empty set: with {names} to choose from: {families}, and prompts to take: {limit} "
        f"at most, one {preset.quota_by} has 1/{parts} of them or more; give {smallest:g} or more, or no quota"
    )


def _family(preset: Preset) -> list[str]:
    return ["family"] if preset.quota_by == "family" else ["family", "form"]


def _is_scored() -> pl.Expr:
    return ~pl.col("decision").cast(pl.String).is_in(("duplicate", "contaminated", "not_scored")) & (pl.col("n") > 0)


def _signal(preset: Preset) -> pl.Expr:
    return pl.col("mean" if preset.band.signal == "reward" else "pass_rate")
