"""What training will see: zero-std groups and advantages at each group size, from posteriors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, lgamma, pi, sqrt

import numpy as np
import polars as pl

from learnable.data.curated.manifest import Forecast
from learnable.filters.arrays import Values
from learnable.filters.posterior.belief import Belief
from learnable.filters.posterior.certificate import ZERO_STD_AT

POSTERIOR = ("alpha", "beta", "p_zero", "p_one")


def read_zero_std(groups: pl.DataFrame, group_size: int) -> Values:
    """Return the chance that a group agrees by the columns `ZERO_STD_AT` of certified rows.

    Between the sizes of those columns, and beyond them, on straight lines in the logarithms of chance and size.
    """
    sizes = np.array(list(ZERO_STD_AT))
    after = int(np.clip(np.searchsorted(sizes, group_size), 1, len(sizes) - 1))
    low, high = sizes[after - 1 : after + 1].tolist()
    # 1e-12: the logarithm of a chance of 0 has no end.
    at_low, at_high = (
        np.log(np.maximum(groups[ZERO_STD_AT[size]].cast(pl.Float64).to_numpy(), 1e-12)) for size in (low, high)
    )
    share = np.log(group_size / low) / np.log(high / low)
    chances: Values = np.minimum(np.exp(at_low + (at_high - at_low) * share), 1.0)
    return chances


def graded_advantage(group_size: int) -> float:
    """Return the expected mean absolute advantage of a group of normally distributed rewards.

    sqrt(2 / pi) sqrt((G - 1) / G) / c4(G), since deviation and sample standard deviation are independent after scaling;
    c4(G) is the expected sample standard deviation of G normal values over the true one, as in control charts. Where
    rewards have a few values alone it is a rough figure.
    """
    size = float(group_size)
    c4 = sqrt(2 / (size - 1)) * exp(lgamma(size / 2) - lgamma((size - 1) / 2))
    return sqrt(2 / pi) * sqrt((size - 1) / size) / c4


def forecast(
    groups: pl.DataFrame,
    graded: Mapping[str, bool],
    sizes: Sequence[int] = (4, 8, 16, 32, 64),
    weights: Values | None = None,
) -> list[Forecast]:
    """Forecast what training on these prompts will see at each group size; nothing where none has a score.

    Args:
        groups: certified rows (`filters.posterior.certificate.certify`) with `family`; of graded families the
            columns `ZERO_STD_AT` tell.
        graded: whether a family's rewards are graded, not just pass and fail.
        sizes: group sizes (TRL: `num_generations`).
        weights: how often each prompt is trained on, relative to the others, of the length of `groups`; None for alike.
    """
    needed = groups.select("family", *POSTERIOR, *(name for name in ZERO_STD_AT.values() if name in groups.columns))
    drawn = needed.with_columns(weight=pl.lit(1.0) if weights is None else pl.Series(weights, dtype=pl.Float64))
    known = drawn.filter(pl.col("alpha").is_not_null())
    total = float(known["weight"].sum())
    if not total:
        return []
    is_graded = known["family"].replace_strict(dict(graded), default=False, return_dtype=pl.Boolean)
    others = known.filter(is_graded)
    often = others["weight"].to_numpy()
    beliefs, counts = _distinct(known.filter(~is_graded))
    forecasts = []
    for size in sizes:
        dead = float(counts @ beliefs.zero_std_share(size))
        taught = float(counts @ beliefs.mean_abs_advantage(size))
        dead_graded = read_zero_std(others, size) if len(others) else np.zeros(0)
        taught += float(often @ (1 - dead_graded)) * graded_advantage(size)
        share = (dead + float(often @ dead_graded)) / total
        forecasts.append(Forecast(size, share, 1 - share, taught / total))
    return forecasts


def advise(forecasts: Sequence[Forecast]) -> str:
    """Say in a sentence which group size pays, from the forecasts of one set; empty where there are none."""
    if not forecasts:
        return ""
    smallest = forecasts[0]
    # So small a share of zero-std groups is worth no more rollouts.
    enough = next((f for f in forecasts if f.zero_std_share <= 0.1), forecasts[-1])
    text = f"at G = {smallest.group_size}, {smallest.zero_std_share:.0%} of the groups teach nothing"
    if enough is not smallest:
        text += f"; G = {enough.group_size}: {enough.zero_std_share:.0%}"
    return text


def _distinct(groups: pl.DataFrame) -> tuple[Belief, Values]:
    """Return the distinct posteriors, and how often prompts that share each are drawn."""
    posteriors = groups.group_by(POSTERIOR).agg(pl.col("weight").sum()).sort(POSTERIOR)
    return Belief.of_moments(*(posteriors[name].to_numpy() for name in POSTERIOR)), posteriors["weight"].to_numpy()
