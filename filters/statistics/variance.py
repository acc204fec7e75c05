"""Where rewards vary: within the groups of one prompt, which GRPO learns from, or between prompts, which it cannot.

Every prompt counts alike, and by its opening alone: the rollouts that it got before any of its rewards were known.
Optional stopping gives middling prompts more rollouts, so what is pooled over rollouts tells of the sampler; and a
group that stops when its mean looks extreme has a mean that is too extreme and a variance that is too small. Weights
of one over the chance to go on, the usual cure (Horvitz and Thompson, 1952, "A Generalization of Sampling Without
Replacement From a Finite Universe"), are not to be had: given its rewards a group goes on for certain or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from learnable.data.records import Truncated
from learnable.filters.arrays import Values
from learnable.filters.statistics.groups import exact_mean, exact_sum, group_stats

OPENING = ("opening_n", "opening_mean", "opening_std")


def opening_stats(scores: pl.LazyFrame, truncated: Truncated = "count") -> pl.LazyFrame:
    """Return `prompt_id` and the columns `OPENING`: `n`, `mean` and `std` of each prompt's opening alone.

    `scores` as for `group_stats`, with `opening`: whether the rollout is one of those.
    """
    stats = group_stats(scores.filter("opening"), ks=(), truncated=truncated)
    return stats.select("prompt_id", *(pl.col(name.removeprefix("opening_")).alias(name) for name in OPENING))


def split_variance(groups: pl.LazyFrame, by: Sequence[str] = ("family", "form")) -> pl.LazyFrame:
    """Split the variance of rewards into its within-prompt and between-prompt parts, per `by`.

    Of each of k prompts with n rollouts, the unbiased variance s^2 of its rewards and their mean:

        within variance  = average of s^2            noise = average of s^2 / n
        between variance = max(0, sample variance of the means - noise)

    Neither depends on which prompts have how many rollouts, nor on variances being equal (Hedges and Olkin, 1985,
    "Statistical Methods for Meta-Analysis", section 9.3). Where every prompt has the same n it is the one-way analysis
    of variance with random effects (Searle, Casella and McCulloch, 1992, "Variance Components", section 3.6). The
    between part is what prompts truly differ by: the variance that sampling noise gives their means is taken out.
    `f_ratio` is the variance of the means over the noise, about 1 where prompts differ by no more than that.

    Args:
        groups: rows with `n`, `mean` and `std` (population) of each prompt, and the columns in `by`. Where a row has
            the columns `OPENING`, those are taken.
        by: columns to split by.

    Returns:
        `by`, `within_std`, `between_std`, `f_ratio`, `intraclass` (share of variance that lies between prompts).
        Null where there are too few prompts or rollouts to tell.
    """
    own, mean = _own_variance(), pl.col("mean")
    sums = (
        _openings(groups)
        .group_by(by, maintain_order=True)
        .agg(
            exact_mean(own).alias("within"),
            exact_mean(own.fill_null(exact_mean(own)) / pl.col("n")).alias("noise"),
            (exact_sum((mean - exact_mean(mean)) ** 2) / _positive(pl.len() - 1)).alias("of_means"),
        )
    )
    within, noise, of_means = pl.col("within"), pl.col("noise"), pl.col("of_means")
    between = (of_means - noise).clip(lower_bound=0)
    return sums.select(
        *by,
        within.sqrt().alias("within_std"),
        between.sqrt().alias("between_std"),
        pl.when(noise > 0).then(of_means / noise).alias("f_ratio"),
        pl.when(between + within > 0).then(between / (between + within)).alias("intraclass"),
    )


@dataclass(frozen=True, slots=True)
class VarianceShares:
    """Where a pool's variance of rewards lies, as shares that sum to 1.

    `between_forms`: forms differ in their mean; `between_prompts`: prompts of one form do; `within`: completions of
    one prompt do, the only part GRPO learns from. Null where there are too few prompts or rollouts to tell, or
    where no reward differs.
    """

    forms: int
    prompts: int
    rollouts: int
    between_forms: float | None = None
    between_prompts: float | None = None
    within: float | None = None

    @property
    def intraclass(self) -> float | None:
        """The correlation of two rewards of one prompt: the share of variance that lies between prompts of any form."""
        return None if self.within is None else 1.0 - self.within


def split_pool_variance(groups: pl.LazyFrame, by: Sequence[str] = ("family", "form")) -> VarianceShares:
    """Split the variance of a whole pool's rewards three ways: forms, prompts in them, rollouts of a prompt.

    A nested random-effects analysis of variance of the prompts' means, each of which has the noise e = s^2 / n in it:
    mean squares are set equal to their expectations, and negative variances become 0 (Searle, Casella and McCulloch,
    1992, "Variance Components", chapter 5). With a forms, b prompts, b_i in form i, and e_i the average of e there:

        within variance       = average of s^2 over prompts
        E(MS prompts in form) = P + sum((b_i - 1) e_i) / (b - a)
        E(MS forms)           = P + sum((1 - b_i / b) e_i) / (a - 1) + k F    k = (b - sum(b_i^2) / b) / (a - 1)

    A pool of one form has nothing between forms. `groups` and `by`, the columns that name a form, as for
    `split_variance`.
    """
    own, mean = _own_variance(), pl.col("mean")
    prompts = (
        _openings(groups)
        .with_columns(own=own)
        .with_columns(noise=pl.col("own").fill_null(exact_mean(pl.col("own"))) / pl.col("n"))
    )
    forms = prompts.group_by(by).agg(
        pl.len().cast(pl.Int64).alias("prompts"),
        pl.col("rollouts").sum(),
        exact_mean(mean).alias("mean"),
        exact_sum((mean - exact_mean(mean)) ** 2).alias("ss_prompts"),
        exact_mean(pl.col("noise")).alias("noise"),
        exact_sum(pl.col("own")).alias("own"),
        pl.col("own").count().cast(pl.Int64).alias("known"),
    )
    size, total, noise = pl.col("prompts"), pl.col("prompts").sum(), pl.col("noise")
    grand_mean = exact_sum(size * pl.col("mean")) / total
    pool = forms.select(
        pl.len().alias("forms"),
        total,
        pl.col("rollouts").sum(),
        (exact_sum(pl.col("own")) / _positive(pl.col("known").sum())).alias("within"),
        exact_sum(pl.col("ss_prompts")),
        exact_sum((size - 1) * noise).alias("noise_prompts"),
        exact_sum(size * (pl.col("mean") - grand_mean) ** 2).alias("ss_forms"),
        exact_sum((1 - size / total) * noise).alias("noise_forms"),
        (total - (size**2).sum() / total).alias("k_times_df"),
    )
    return _shares(pool.collect().row(0, named=True))


def _shares(pool: dict[str, float]) -> VarianceShares:
    a, b, within = pool["forms"], pool["prompts"], pool["within"]
    counts = VarianceShares(int(a), int(b), int(pool["rollouts"]))
    if b <= a or within is None:
        return counts
    prompts = max(0.0, (pool["ss_prompts"] - pool["noise_prompts"]) / (b - a))
    forms = 0.0
    if a > 1:
        forms = max(0.0, (pool["ss_forms"] - pool["noise_forms"] - (a - 1) * prompts) / pool["k_times_df"])
    if (everything := forms + prompts + within) <= 0:
        return counts
    return replace(
        counts, between_forms=forms / everything, between_prompts=prompts / everything, within=within / everything
    )


def read_openings(groups: pl.DataFrame) -> tuple[Values, Values, Values]:
    """Return rollouts, mean and population variance of the openings of the scored groups, shape (prompts,)."""
    known = _openings(groups.lazy()).select("n", "mean", "std").collect()
    n, mean, std = (known[name].cast(pl.Float64).to_numpy() for name in ("n", "mean", "std"))
    return n, mean, std**2


def _openings(groups: pl.LazyFrame) -> pl.LazyFrame:
    """Return the scored groups with `n`, `mean` and `std` of their openings where those are known, and `rollouts`."""
    scored = groups.filter(pl.col("n") > 0).with_columns(rollouts=pl.col("n"))
    if OPENING[0] not in groups.collect_schema().names():
        return scored
    known = pl.col(OPENING[0]) > 0
    columns = ((name.removeprefix("opening_"), name) for name in OPENING)
    return scored.with_columns(pl.when(known).then(name).otherwise(column).alias(column) for column, name in columns)


def _own_variance() -> pl.Expr:
    """Return the unbiased variance of a group's rewards; null of a single one."""
    n = pl.col("n")
    return pl.when(n > 1).then(n * pl.col("std") ** 2 / (n - 1))


def _positive(count: pl.Expr) -> pl.Expr:
    return pl.when(count > 0).then(count)
