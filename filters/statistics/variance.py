"""Where rewards vary: within the groups of one prompt, which GRPO learns from, or between prompts, which it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from learnable.filters.statistics.groups import exact_sum


def split_variance(groups: pl.LazyFrame, by: Sequence[str] = ("family", "form")) -> pl.LazyFrame:
    """Split the variance of rewards into its within-prompt and between-prompt parts, per `by`.

    A one-way random-effects analysis of variance with prompts as groups of unequal size (Searle, Casella
    and McCulloch, 1992, "Variance Components", section 3.6):

        MSW = SSW / (N - k)    MSB = SSB / (k - 1)    n0 = (N - sum(n_i^2) / N) / (k - 1)
        within variance = MSW    between variance = max(0, (MSB - MSW) / n0)

    The between part is what prompts truly differ by: the variance that sampling noise gives their means is
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
    grand_mean = exact_sum(n * mean) / total
    sums = scored.group_by(by, maintain_order=True).agg(
        exact_sum(n * pl.col("std") ** 2).alias("ssw"),
        exact_sum(n * (mean - grand_mean) ** 2).alias("ssb"),
        _positive(total - prompts).alias("df_within"),
        _positive(prompts - 1).alias("df_between"),
        (total - (n**2).sum() / total).alias("n0_times_df"),
    )
    msw, msb = pl.col("ssw") / pl.col("df_within"), pl.col("ssb") / pl.col("df_between")
    between = ((msb - msw) / (pl.col("n0_times_df") / pl.col("df_between"))).clip(lower_bound=0)
    return sums.select(
        *by,
        msw.sqrt().alias("within_std"),
        between.sqrt().alias("between_std"),
        pl.when(msw > 0).then(msb / msw).alias("f_ratio"),
        pl.when(between + msw > 0).then(between / (between + msw)).alias("intraclass"),
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

    A nested random-effects analysis of variance with unequal sizes: each mean square is set equal to its
    expectation, and negative variances become 0 (Searle, Casella and McCulloch, 1992, "Variance Components",
    chapter 5). With a forms, b prompts and N rollouts, n_ij of prompt j and n_i of form i:

        E(MS within)          = w
        E(MS prompts in form) = w + k1 P    k1 = (N - sum(n_ij^2 / n_i)) / (b - a)
        E(MS forms)           = w + k2 P + k3 F
        k2 = (sum(n_ij^2 / n_i) - sum(n_ij^2) / N) / (a - 1)    k3 = (N - sum(n_i^2) / N) / (a - 1)

    A pool of one form has nothing between forms. `groups` and `by`, the columns that name a form, as for
    `split_variance`.
    """
    scored = groups.filter(pl.col("n") > 0)
    n, mean = pl.col("n").cast(pl.Float64), pl.col("mean")
    form_mean = exact_sum(n * mean) / n.sum()
    forms = scored.group_by(by).agg(
        n.sum().alias("size"),
        pl.len().alias("prompts"),
        form_mean.alias("mean"),
        exact_sum(n * pl.col("std") ** 2).alias("ss_within"),
        exact_sum(n * (mean - form_mean) ** 2).alias("ss_prompts"),
        (n**2).sum().alias("squares"),
    )
    size, squares = pl.col("size"), pl.col("squares")
    pool = forms.select(
        pl.len().alias("forms"),
        pl.col("prompts").sum(),
        size.sum().alias("rollouts"),
        exact_sum(pl.col("ss_within")),
        exact_sum(pl.col("ss_prompts")),
        exact_sum(size * (mean - exact_sum(size * mean) / size.sum()) ** 2).alias("ss_forms"),
        exact_sum(squares / size).alias("squares_by_form"),
        squares.sum().alias("squares"),
        (size**2).sum().alias("form_squares"),
    )
    return _shares(pool.collect().row(0, named=True))


def _shares(pool: dict[str, float]) -> VarianceShares:
    a, b, total = pool["forms"], pool["prompts"], pool["rollouts"]
    counts = VarianceShares(int(a), int(b), int(total))
    if b <= a or total <= b:
        return counts
    within = pool["ss_within"] / (total - b)
    k1 = (total - pool["squares_by_form"]) / (b - a)
    prompts = max(0.0, (pool["ss_prompts"] / (b - a) - within) / k1)
    forms = 0.0
    if a > 1:
        k2 = (pool["squares_by_form"] - pool["squares"] / total) / (a - 1)
        k3 = (total - pool["form_squares"] / total) / (a - 1)
        forms = max(0.0, (pool["ss_forms"] / (a - 1) - within - k2 * prompts) / k3)
    if (everything := forms + prompts + within) <= 0:
        return counts
    return replace(
        counts, between_forms=forms / everything, between_prompts=prompts / everything, within=within / everything
    )


def _positive(count: pl.Expr) -> pl.Expr:
    return pl.when(count > 0).then(count)
