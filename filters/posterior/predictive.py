"""How often a new group of a prompt will agree, so that nothing is learned from it: posterior predictive chances."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.special import betaln

from learnable.filters.arrays import Values
from learnable.filters.posterior.posterior import Posterior

ZERO_STD_AT = {size: f"zero_std_at_{size}" for size in (2, 4, 8, 16, 32, 64)}  # columns of a certificate
TINY = 1e-12  # of a chance, in logarithms


def zero_std_share(posterior: Posterior, group_size: int) -> Values:
    """Return the chance that a group of G 0/1 rewards agrees, of the shape of `posterior`.

    B(a + G, b) / B(a, b) + B(a, b + G) / B(a, b) for the Beta part, by the beta-binomial distribution, and the masses.
    """
    a, b = posterior.alpha, posterior.beta
    agree = np.exp(betaln(a + group_size, b) - betaln(a, b)) + np.exp(betaln(a, b + group_size) - betaln(a, b))
    share: Values = posterior.zero + posterior.one + posterior.beta_weight * agree
    return share


def zero_std_graded(groups: pl.DataFrame, group_size: int) -> Values:
    """Return the chance that a group of graded rewards agrees on 0 or on 1, where no more is known of their values.

    From how many of `n` rewards were exactly 0 (`zeros`) and exactly 1 (`ones`), each a Beta-binomial with Jeffreys's
    prior.
    """
    n = groups["n"].cast(pl.Float64).fill_null(0.0).to_numpy()
    share = np.zeros(groups.height)
    for name in ("zeros", "ones"):
        alike = groups[name].cast(pl.Float64).fill_null(0.0).to_numpy() + 0.5
        other = n + 1 - alike
        share += np.exp(betaln(alike + group_size, other) - betaln(alike, other))
    return np.minimum(share, 1.0)


def read_zero_std(groups: pl.DataFrame, group_size: int) -> Values:
    """Return the chance that a group agrees by the columns `ZERO_STD_AT` of certified rows.

    Between the sizes of those columns, and beyond them, on straight lines in the logarithms of chance and size. Where a
    row or an earlier version's set has none, by `zero_std_graded`.
    """
    usual = zero_std_graded(groups, group_size)
    if not set(ZERO_STD_AT.values()) <= set(groups.columns):
        return usual
    sizes = np.array(list(ZERO_STD_AT))
    after = int(np.clip(np.searchsorted(sizes, group_size), 1, len(sizes) - 1))
    low, high = sizes[after - 1 : after + 1].tolist()
    at_low, at_high = (
        np.log(np.maximum(groups[ZERO_STD_AT[size]].cast(pl.Float64).to_numpy(), TINY)) for size in (low, high)
    )
    share = np.log(group_size / low) / np.log(high / low)
    found = np.minimum(np.exp(at_low + (at_high - at_low) * share), 1.0)
    return np.where(np.isnan(found), usual, found)
