"""Certificates: each row by hand, and chances that come true over simulated populations."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.filters.decisions.band import Band
from learnable.filters.decisions.forecast import zero_std_graded, zero_std_share
from learnable.filters.posterior.certificate import (
    CERTIFICATE,
    FamilyPrior,
    assess,
    bernoulli_std,
    certify,
    fit_family_prior,
    fit_family_priors,
)
from learnable.filters.posterior.posterior import Posterior
from learnable.filters.posterior.prior import FALLBACK, Prior
from learnable.filters.posterior.variance_model import BERNOULLI, VarianceModel
from learnable.filters.stopping.operating_point import match_fixed
from learnable.filters.stopping.table import CONTINUE, list_block_ends
from tests.filters.populations_for_tests import Population, Values, coins, graded, partly_zero, statistics

MAX_GROUP = 48
PILOTS, PROMPTS = 8, 1500
SLACK = 0.03
FEWEST = 10  # prompts of a pilot in a decile that say something of it
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


def follow_the_rule(belief: FamilyPrior, band: Band, rewards: Values, rng: np.random.Generator) -> Sampled:
    """Rollouts, means and variances of groups that stop when the rule says so."""
    rule = match_fixed(belief.prior, band, max_group=MAX_GROUP, ess_per_rollout=belief.spread.flips)
    sums, lots = np.cumsum(rewards, axis=1), rng.random(len(rewards))
    n, going = np.zeros(len(rewards), np.int64), np.ones(len(rewards), np.bool_)
    for end in list_block_ends((4, 2, 2, 4), MAX_GROUP):
        n[going] = end
        going[going] = rule.decide(lots[going], n[going], sums[going, end - 1]) == CONTINUE
    assert not going.any()
    drawn = np.arange(MAX_GROUP) < n[:, None]
    mean = np.where(drawn, rewards, 0).sum(axis=1) / n
    return n.astype(np.float64), mean, np.where(drawn, (rewards - mean[:, None]) ** 2, 0).sum(axis=1) / n


def chances_and_truths(population: Population) -> tuple[dict[str, Values], Values]:
    """Certified chances by way of sampling, and what was true, each (pilots, prompts); a pilot is 64 groups of 8."""
    rng, band = np.random.default_rng(73), Band()
    chances: dict[str, list[Values]] = {"8": [], "16": [], "rule": []}
    truths = []
    for _ in range(PILOTS):
        belief = fit_family_prior(*statistics(population.rewards(rng, population.prompts(rng, 64), 8)))
        p = population.prompts(rng, PROMPTS)
        truths.append((p >= band.low) & (p <= band.high))
        rewards = population.rewards(rng, p, MAX_GROUP)
        for how, found in chances.items():
            fixed = None if how == "rule" else statistics(rewards[:, : int(how)])
            groups = fixed or follow_the_rule(belief, band, rewards, rng)
            found.append(assess(belief, band, *groups).in_band)
    return {how: np.array(found) for how, found in chances.items()}, np.array(truths)


@pytest.mark.parametrize("name", POPULATIONS)
def test_chances_come_true(name: str) -> None:
    """Of prompts certified at 80 to 90 %, about 85 % are in the band; likewise for every other decile.

    Whether groups are of a fixed size or stop by the rule. A decile that few pilots reach says nothing.
    """
    by_way, truths = chances_and_truths(POPULATIONS[name])
    checked = 0
    for how, chances in by_way.items():
        for decile in range(10):
            members = np.minimum(np.floor(10 * chances), 9) == decile
            if (members.sum(axis=1) >= FEWEST).sum() > PILOTS / 2:
                deviation, noise = deviation_and_noise(chances, truths, members)
                assert abs(deviation) < SLACK + 3 * noise, f"groups by {how}, decile {decile}: {members.sum()} prompts"
                checked += 1
    assert checked >= 12


def deviation_and_noise(chances: Values, truths: Values, members: Values) -> tuple[float, float]:
    """How much more often it was true than certified, and its standard error: prompts differ, and so do pilots."""
    off, count = np.where(members, truths - chances, 0.0), members.sum()
    deviation = off.sum() / count
    by_pilot = off.sum(axis=1) - deviation * members.sum(axis=1)
    binomial = (chances * (1 - chances))[members].sum()
    return float(deviation), float(np.sqrt(max((by_pilot**2).sum(), binomial)) / count)


ROWS = [
    # family, n, mean, std, passes, zeros, ones
    ("coins", 8, 0.25, 0.4330127018922193, 2, 6, 2),
    ("poems", 8, 0.55, 0.12, 0, 0, 0),
    ("coins", 0, None, None, 0, 0, 0),
    ("poems", 5, 0.0, 0.0, 0, 5, 0),
    ("new", 4, 1.0, 0.0, 4, 0, 4),
    ("coins", 16, 0.0, 0.0, 0, 16, 0),
    ("poems", 1, 0.3, 0.0, 0, 0, 0),
]
BELIEFS = {
    "coins": FamilyPrior(Prior(0.4, 0.9, 0.2, 0.1)),
    "poems": FamilyPrior(Prior(2, 2, 0.05), VarianceModel(8.65, 0.1, 0.4)),
}


def grouped() -> pl.DataFrame:
    names = ["family", "n", "mean", "std", "passes", "zeros", "ones"]
    rate = pl.when(pl.col("n") > 0).then(pl.col("passes") / pl.col("n")).alias("pass_rate")
    return pl.DataFrame(ROWS, schema=names, orient="row").with_columns(rate).with_row_index("number")


def test_certificates_equal_rows_taken_one_by_one() -> None:
    band, found = Band(min_std=0.15), certify(grouped(), BELIEFS, Band(min_std=0.15), 16)
    assert found["number"].to_list() == list(range(len(ROWS)))
    for row in found.to_dicts():
        if not row["n"]:
            assert all(row[name] is None for name in CERTIFICATE)
            continue
        belief, group = BELIEFS.get(row["family"], FamilyPrior()), (row["n"], row["mean"], row["std"] ** 2)
        size = float(belief.spread.effective(*group))
        alone = Posterior.update(belief.prior, size, size * row["mean"])
        assert row["n_eff"] == pytest.approx(size)
        shape = (row["alpha"], row["beta"], row["p_zero"], row["p_one"])
        assert shape == pytest.approx((alone.alpha, alone.beta, alone.zero, alone.one))
        assert row["p_in_band"] == pytest.approx(float(alone.in_band(band)))
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(map(float, alone.interval())))
        if row["family"] == "poems":
            assert row["p_min_std"] == pytest.approx(float(belief.spread.at_least(0.15, *group)))
            assert (row["std_low"], row["std_high"]) == pytest.approx(tuple(map(float, belief.spread.interval(*group))))
            [dead] = zero_std_graded(pl.DataFrame([row]), 16)
        else:
            assert row["p_keep"] == pytest.approx(float(alone.in_band(band.with_min_std)))
            dead = float(zero_std_share(alone, 16))
        assert row["p_keep"] == pytest.approx(row["p_in_band"] * row["p_min_std"])
        assert row["usable_at_g"] == pytest.approx(1 - dead)


def test_passes_are_coins_whatever_the_rewards() -> None:
    found = certify(grouped(), {"poems": FamilyPrior(Prior(1, 1))}, Band(signal="pass"))
    poem = found.row(1, named=True)
    assert (poem["n_eff"], poem["alpha"], poem["beta"]) == (8, 1, 9)


def test_no_groups_have_empty_certificates() -> None:
    found = certify(grouped().clear(), BELIEFS, Band())
    assert found.is_empty()
    assert set(CERTIFICATE) <= set(found.columns)


@given(st.floats(0, 0.5), st.floats(0.5, 1), st.floats(0, 0.5))
def test_the_band_with_spread_is_where_a_coin_spreads_enough(low: float, high: float, min_std: float) -> None:
    band = Band(low, max(high, low + 0.01), min_std)
    narrow = band.with_min_std
    for p in np.linspace(0, 1, 201):
        inside, spreads = band.low <= p <= band.high, p * (1 - p) - min_std**2
        if abs(spreads) > 1e-9 and min(abs(p - band.low), abs(p - band.high)) > 1e-9:
            assert (narrow.low <= p <= narrow.high) == (inside and spreads > 0)


def test_a_band_in_which_no_coin_spreads_enough_holds_next_to_nothing() -> None:
    narrow = Band(0.95, 1.0, min_std=0.3).with_min_std
    assert narrow.high - narrow.low < 1e-8
    assert float(Posterior.update(Prior(1, 1), 0, 0).in_band(narrow)) < 1e-8


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_coins_std_is_that_of_the_rates_between(one: float, other: float) -> None:
    low, high = sorted((one, other))
    between = np.append(np.linspace(low, high, 2001), 0.5 if low <= 0.5 <= high else low)
    stds = np.sqrt(between * (1 - between))
    found = bernoulli_std(np.array([low]), np.array([high]))
    assert [float(end[0]) for end in found] == pytest.approx([stds.min(), stds.max()], abs=1e-12)


def test_each_family_has_its_own_belief() -> None:
    rng = np.random.default_rng(79)
    frames, expected = [], {}
    for family, rewards in (("coins", coins(rng, rng.random(40), 8)), ("poems", graded(0.17)(rng, rng.random(40), 8))):
        n, mean, variance = statistics(rewards)
        frames.append(pl.DataFrame({"family": family, "n": n, "mean": mean, "std": np.sqrt(variance)}))
        expected[family] = fit_family_prior(n, mean, variance)
    unscored = pl.DataFrame({"family": "new", "n": 0.0, "mean": None, "std": None}, schema=frames[0].schema)
    found = fit_family_priors(pl.concat([*frames, unscored]).sample(fraction=1.0, shuffle=True, seed=5))
    assert found["new"] == FamilyPrior(FALLBACK, BERNOULLI)
    assert found["coins"].prior == expected["coins"].prior
    assert found["coins"].spread == BERNOULLI
    assert found["poems"].spread.flips == pytest.approx(expected["poems"].spread.flips)
    assert found["poems"].prior.alpha == pytest.approx(expected["poems"].prior.alpha, rel=1e-2)
    assert found["poems"].as_dict()["flips_per_rollout"] == round(found["poems"].spread.flips, 4)
