"""Rates that other policies have on a pool's prompts, and what of them is read as features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import logit

from learnable.filters.arrays import Flags, Indices, Values

MIN_SHARED = 32  # prompts that a policy must share with the pool, and half as many with the sampled ones


@dataclass(frozen=True, slots=True)
class OtherRates:
    """What each of some policies made of each prompt of a pool.

    `rates` are smoothed, of the shape (prompts, policies), NaN where a policy was not asked.
    """

    names: tuple[str, ...]
    rates: Values

    @classmethod
    def of(cls, counts: pl.DataFrame, prompt_ids: Sequence[str]) -> OtherRates:
        """Return the rates of the policies that share most prompts with a pool.

        Args:
            counts: rows of `prompt_id`, `policy`, `k` (rewards) and `passes` (their sum).
            prompt_ids: of the pool.
        """
        places = pl.DataFrame({"prompt_id": prompt_ids}).with_row_index("place")
        known = counts.filter(pl.col("k") > 0).join(places, on="prompt_id")
        known = known.group_by("place", "policy").agg(pl.col("k", "passes").sum())
        shared = known.group_by("policy").len().filter(pl.col("len") >= MIN_SHARED)
        # The eight policies that know most of the pool's prompts.
        names = shared.sort(["len", "policy"], descending=[True, False])["policy"].head(8).sort().to_list()
        rates = np.full((len(prompt_ids), len(names)), np.nan)
        for number, name in enumerate(names):
            members = known.filter(pl.col("policy") == name)
            # Half a pass and half a failure more, so that no rate is certain (Jeffreys).
            smoothed = (members["passes"].to_numpy() + 0.5) / (members["k"].to_numpy() + 1.0)
            rates[members["place"].to_numpy(), number] = smoothed
        return cls(tuple(names), rates)

    def encode(self, sampled: Indices) -> OtherEncoder:
        """Return what makes features of them on the scale of the `sampled` prompts."""
        return OtherEncoder(self, sampled)


class OtherEncoder:
    """Turns other policies' rates into features; `names` are the policies that enough of the sampled prompts have."""

    def __init__(self, others: OtherRates, sampled_rows: Indices) -> None:
        known: Flags = ~np.isnan(others.rates[sampled_rows])
        self._used = np.flatnonzero(known.sum(axis=0) >= MIN_SHARED // 2)
        self.names = [others.names[number] for number in self._used]
        self._rates = others.rates[:, self._used]
        self._usual = np.nanmean(logit(self._rates[sampled_rows]), axis=0) if self.names else np.zeros(0)
        sampled = self._measure(sampled_rows)
        self._mean, self._std = sampled.mean(axis=0), sampled.std(axis=0)

    def transform(self, rows: Indices) -> Values:
        """Return the log-odds of the rates, their squares about the usual ones, and which are missing."""
        varying = self._std > 1e-9
        features: Values = (self._measure(rows)[:, varying] - self._mean[varying]) / self._std[varying]
        return features

    def _measure(self, rows: Indices) -> Values:
        odds = logit(self._rates[rows])
        missing = np.isnan(odds)
        from_usual = np.where(missing, 0.0, odds - self._usual)
        return np.concatenate([from_usual, from_usual**2, missing], axis=1)
