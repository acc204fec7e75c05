"""What training will see: zero-std groups and advantages at each group size, from posteriors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, lgamma, pi, sqrt

import numpy as np
import polars as pl
from scipy.special import betaln, gammaln

from learnable.filters.arrays import Values
from learnable.filters.posterior.posterior import Posterior
from learnable.filters.posterior.predictive import read_zero_std, zero_std_share

GROUP_SIZES = (4, 8, 16, 32, 64)
FEW_DEAD = 0.1  # a share of zero-std groups that is worth no more rollouts


@dataclass(frozen=True, slots=True)
class Forecast:
    """What groups of one size will be like, on average over prompts.

    `zero_std_share`: groups whose rewards are all equal, which teach nothing; `usable_rate`: the others;
    `mean_abs_advantage`: of `(reward - mean) / std` with the sample standard deviation, as TRL computes it, zero-std
    groups counted as 0.
    """

    group_size: int
    zero_std_share: float
    usable_rate: float
    mean_abs_advantage: float


def mean_abs_advantage(posterior: Posterior, group_size: int) -> Values:
    """Return the expected mean absolute advantage of a group of 0/1 rewards, of the shape of `posterior`.

    The advantage is GRPO's, (reward - mean) / std (Shao et al., 2024, "DeepSeekMath"). With k passes of G and q = k /
    G it is 2 sqrt(q (1 - q)) sqrt((G - 1) / G) under the sample standard deviation; k is Beta-binomial.
    """
    k = np.arange(group_size + 1.0)
    size = float(group_size)
    advantage = 2 * np.sqrt(k * (size - k)) / size * sqrt((size - 1) / size)
    ways = gammaln(size + 1) - gammaln(k + 1) - gammaln(size - k + 1)
    a, b = posterior.alpha[..., None], posterior.beta[..., None]
    chances = np.exp(ways + betaln(a + k, b + size - k) - betaln(a, b))
    expected: Values = posterior.beta_weight * (chances @ advantage)
    return expected


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
    sizes: Sequence[int] = GROUP_SIZES,
    weights: Values | None = None,
) -> list[Forecast]:
    """Forecast what training on these prompts will see at each group size; nothing where none has a score.

    Args:
        groups: certified rows (`filters.posterior.certificate.certify`) with `family`, `zeros` and `ones`; the columns
            `ZERO_STD_AT` tell of graded families, where the version that certified them wrote those.
        graded: whether a family's rewards are graded, not just pass and fail.
        sizes: group sizes (TRL: `num_generations`).
        weights: how often each prompt is trained on, relative to the others, of the length of `groups`; None for alike.
    """
    drawn = groups.with_columns(weight=pl.lit(1.0) if weights is None else pl.Series(weights, dtype=pl.Float64))
    known = drawn.filter(pl.col("alpha").is_not_null())
    total = float(known["weight"].sum())
    if not total:
        return []
    is_graded = known["family"].replace_strict(dict(graded), default=False, return_dtype=pl.Boolean)
    others = known.filter(is_graded)
    often = others["weight"].to_numpy()
    posteriors, counts = _distinct(known.filter(~is_graded))
    forecasts = []
    for size in sizes:
        dead = float(counts @ zero_std_share(posteriors, size))
        taught = float(counts @ mean_abs_advantage(posteriors, size))
        dead_graded = read_zero_std(others, size)
        taught += float(often @ (1 - dead_graded)) * graded_advantage(size)
        share = (dead + float(often @ dead_graded)) / total
        forecasts.append(Forecast(size, share, 1 - share, taught / total))
    return forecasts


def advise(forecasts: Sequence[Forecast]) -> str:
    """Say in a sentence which group size pays, from the forecasts of one set; empty where there are none."""
    if not forecasts:
        return ""
    smallest = forecasts[0]
    enough = next((f for f in forecasts if f.zero_std_share <= FEW_DEAD), forecasts[-1])
    text = f"at G = {smallest.group_size}, {smallest.zero_std_share:.0%} of the groups teach nothing"
    if enough is not smallest:
        text += f"; G = {enough.group_size}: {enough.zero_std_share:.0%}"
    return text


def _distinct(groups: pl.DataFrame) -> tuple[Posterior, Values]:
    """Return the distinct posteriors, and how often prompts that share each are drawn."""
    columns = ["alpha", "beta", "p_zero", "p_one"]
    counted = groups.group_by(columns).agg(pl.col("weight").sum()).sort(columns)
    arrays = (counted[name].to_numpy() for name in columns)
    return Posterior(*arrays), counted["weight"].to_numpy()
