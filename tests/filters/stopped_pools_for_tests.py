"""Pools whose groups stop at will: the default schedule over rewards of prompts whose true means are known."""

from __future__ import annotations

import numpy as np
import polars as pl

from learnable.data.band import Band
from learnable.filters.arrays import Values
from learnable.filters.stopping.budget import SamplingBudget
from learnable.filters.stopping.schedule import Schedule
from tests.filters.populations_for_tests import bernoulli, graded


def sample_adaptively(
    rng: np.random.Generator, means: Values, std: float | None = None, budget: SamplingBudget | None = None
) -> pl.DataFrame:
    """Return `n`, `mean`, `std` of each prompt and its `opening_n`, `opening_mean`, `opening_std`.

    Rewards are passes and fails, or graded with the standard deviation `std` at a mean of .5.
    """
    schedule = Schedule(["f"] * len(means), rng.random(len(means)), Band(), budget or SamplingBudget())
    most = schedule.rewards.shape[1]
    rewards = bernoulli(rng, means, most) if std is None else graded(std)(rng, means, most)
    round_ = schedule.request_pilot()
    while len(round_):
        requested = np.arange(most)[None, :] < schedule.requested[:, None]
        schedule.rewards[:] = np.where(requested, rewards, np.nan)
        round_ = schedule.request_next_round()
    n, mean, variance = schedule.measure(np.arange(len(means)))
    opening = np.arange(most)[None, :] < schedule.opening[:, None]
    first = np.where(opening, rewards, np.nan)
    return pl.DataFrame(
        {
            "n": n,
            "mean": mean,
            "std": np.sqrt(variance),
            "opening_n": opening.sum(axis=1).astype(float),
            "opening_mean": np.nanmean(first, axis=1),
            "opening_std": np.nanstd(first, axis=1),
        }
    )
