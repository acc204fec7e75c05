"""Prompts with known rates, sampled by an old policy and by a new one whose log-odds have moved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl
from scipy.special import expit, logit

from learnable.data.band import Band
from learnable.filters.arrays import Values
from learnable.filters.posterior.certificate import certify, fit_family_prior, read_signal


@dataclass(frozen=True)
class Moved:
    """One row a prompt: certified rows of the old policy, statistics of the new one, and the true new rates."""

    before: pl.DataFrame
    after: pl.DataFrame
    rates: Values

    @property
    def truth(self) -> Values:
        return (self.rates >= 0.2) & (self.rates <= 0.8)


@cache
def simulate(
    prompts: int,
    shift: float,
    noise: float,
    *,
    slope: float = 1.0,
    family: str = "a",
    rollouts: int = 12,
    seed: int = 0,
) -> Moved:
    """Draw old rates from Beta(.3, .3), move their log-odds, and sample both policies `rollouts` times a prompt."""
    rng = np.random.default_rng(seed)
    old = np.clip(rng.beta(0.3, 0.3, prompts), 1e-9, 1 - 1e-9)
    new = expit(shift + slope * logit(old) + noise * rng.normal(size=prompts))
    ids = [f"{family}-{number:05d}" for number in rng.permutation(prompts)]
    stats = bernoulli_groups(ids, family, old, rollouts, rng)
    return Moved(
        certify(stats, {family: fit_family_prior(*read_signal(stats))}, Band()).with_columns(
            n_eff=pl.col("n").cast(pl.Float64), trained=pl.lit(False)
        ),
        bernoulli_groups(ids, family, new, rollouts, rng).with_columns(n_eff=pl.col("n").cast(pl.Float64)),
        new,
    )


def bernoulli_groups(
    ids: list[str], family: str, rates: Values, rollouts: int, rng: np.random.Generator
) -> pl.DataFrame:
    """Draw each prompt's passes, and return what `group_stats` would say of them."""
    passes = rng.binomial(rollouts, rates)
    mean = passes / rollouts
    columns = {"prompt_id": ids, "n": [rollouts] * len(ids), "mean": mean, "std": np.sqrt(mean * (1 - mean))}
    more = {"pass_rate": mean, "zeros": rollouts - passes, "ones": passes, "zero_std": (mean == 0) | (mean == 1)}
    return pl.DataFrame({**columns, **more}).with_columns(family=pl.lit(family))
