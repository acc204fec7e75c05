"""Certificates: each row by hand, and chances that come true over simulated populations."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.filters.band import Band
from learnable.filters.certificate import CERTIFICATE, Belief, assess, certify, coin_std, fit_belief, fit_beliefs
from learnable.filters.effective import COIN, Spread
from learnable.filters.forecast import zero_std_graded, zero_std_share
from learnable.filters.operating_point import match_fixed
from learnable.filters.posterior import Posterior
from learnable.filters.prior import FALLBACK, Prior
from learnable.filters.stopping import CONTINUE, block_ends
from tests.filters.populations_for_tests import Population, Values, coins, graded, partly_zero, statistics

MAX_GROUP = 48
PILOTS, PROMPTS = 12, 1000
POPULATIONS = {
    "steep coins": Population(Prior(0.2, 1), coins),
    "two-sided coins": Population(Prior(0.3, 0.3), coins),
    "mostly solved coins": Population(Prior(1, 1, 0.0, 0.7), coins),
    "partly hopeless coins": Population(Prior(2, 2, 0.3), coins),
    "poems": Population(Prior(2, 2), graded(0.17)),
    "hard poems": Population(Prior(0.8, 2), graded(0.17)),
    "rough grades": Population(Prior(2, 2), graded(0.3)),
    "hard rough grades": Population(Prior(0.8, 2), graded(0.3)),
    "zeros and grades": Population(Prior(2, 2), partly_zero(0.25, 12), top=0.75),
}
Sampled = tuple[Values, Values, Values]


def follow_the_rule(belief: Belief, band: Band, rewards: Values, rng: np.random.Generator) -> Sampled:
    """Rollouts, means and variances of groups that stop when the rule says so."""
    rule = match_fixed(belief.prior, band, max_group=MAX_GROUP, draws_per_rollout=belief.spread.flips)
    sums, lots = np.cumsum(rewards, axis=1), rng.random(len(rewards))
    n, going = np.zeros(len(rewards), np.int64), np.ones(len(rewards), np.bool_)
    for end in block_ends((4, 2, 2, 4), MAX_GROUP):
        n[going] = end
        going[going] = rule.decide(lots[going], n[going], sums[going, end - 1]) == CONTINUE
    assert not going.any()
    drawn = np.arange(MAX_GROUP) < n[:, None]
    mean = np.where(drawn, rewards, 0).sum(axis=1) / n
    return n.astype(np.float64), mean, np.where(drawn, (rewards - mean[:, None]) ** 2, 0).sum(axis=1) / n


def certified_and_true(population: Population, how: str) -> tuple[Values, Values]:
    """The certified chances and what was true, shape (pilots, prompts); each pilot is 64 groups of 8."""
    rng, band = np.random.default_rng(73), Band()
    chances, truths = [], []
    for _ in range(PILOTS):
        belief = fit_belief(*statistics(population.rewards(rng, population.prompts(rng, 64), 8)))
        p = population.prompts(rng, PROMPTS)
        rewards = population.rewards(rng, p, MAX_GROUP)
        if how == "rule":
            found = follow_the_rule(belief, band, rewards, rng)
        else:
            found = statistics(rewards[:, : int(how)])
        chances.append(assess(belief, band, *found).in_band)
        truths.append((p >= band.low) & (p <= band.high))
    return np.array(chances), np.array(truths)


@pytest.mark.parametrize("how", ["8", "16", "rule"])
@pytest.mark.parametrize("name", POPULATIONS)
def test_chances_come_true(name: str, how: str) -> None:
    """Of prompts certified at 80 to 90 %, about 85 % are in the band; likewise for every other decile.

    Pilots differ, so the noise is that of the average over pilots.
    """
    chances, truths = certified_and_true(POPULATIONS[name], how)
    out = []
    for decile in np.arange(10) / 10:
        members = (chances >= decile) & (chances < decile + 0.1 + (decile > 0.85))
        if members.sum() < 0.01 * chances.size:
            continue
        off = np.where(members, truths - chances, 0.0)
        deviation = off.sum() / members.sum()
        by_pilot = off.sum(axis=1) - deviation * members.sum(axis=1)
        noise = np.sqrt((by_pilot**2).sum()) / members.sum()
        out.append(f"{decile:.1f}:{100*deviation:+.0f}±{100*noise:.0f}({members.sum()})")
    print("CAL", name, how, *out)
