"""Certificates: each row by hand, and chances that come true over simulated populations."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.band import Band
from learnable.data.curated.manifest import FamilyPriorRecord
from learnable.filters.posterior.certificate import (
    CERTIFICATE_COLUMNS,
    Assessment,
    FamilyPrior,
    assess,
    certify,
    fit_family_prior,
)
from learnable.filters.posterior.fitting import FittedBelief
from learnable.filters.posterior.variance_model import BERNOULLI, VarianceModel
from learnable.filters.stopping.budget import SamplingBudget
from learnable.filters.stopping.operating_point import match_fixed
from learnable.filters.stopping.schedule import Schedule
from learnable.filters.stopping.table import CONTINUE, list_block_ends
from tests.filters.populations_for_tests import (
    Population,
    Prior,
    Values,
    bernoulli,
    graded,
    partial_credit,
    partly_zero,
    rounded,
    statistics,
    three_levels,
    with_floor,
)

MAX_GROUP = 48
PILOTS, PROMPTS = 8, 1500
SLACK = 0.03
# Where a mean and a variance say little of rewards: docs/explanation/certificates.md.
ROUGH = {"zeros and grades": 0.04}
MIN_MEMBERS = 10  # prompts of a pilot in a decile that say something of it
POPULATIONS = {
    "steep coins": Population(Prior(0.2, 1), bernoulli),
    "two-sided coins": Population(Prior(0.3, 0.3), bernoulli),
    "mostly solved coins": Population(Prior(1, 1, 0.0, 0.7), bernoulli),
    "partly hopeless coins": Population(Prior(2, 2, 0.3), bernoulli),
    "poems": Population(Prior(2, 2), graded(0.17)),
    "hard poems": Population(Prior(0.8, 2), graded(0.17)),
    "rough grades": Population(Prior(2, 2), graded(0.3)),
    "hard rough grades": Population(Prior(0.8, 2), graded(0.3)),
    "zeros and grades": Population(Prior(2, 2), partly_zero(0.25, 12), top=0.75),
}
TIED = {
    "3 cases": partial_credit(Prior(1, 1), 3, 0.5),
    "5 cases": partial_credit(Prior(0.3, 0.3), 5, 0.5),
    "10 cases": partial_credit(Prior(4, 1), 10, 0.2),
    "three levels": three_levels(Prior(1, 1)),
    "a floor": with_floor(Prior(1, 1), 0.2, bernoulli),
    "heavy ties": Population(Prior(0.8, 2), rounded(0.25, 10)),
}
Sampled = tuple[Values, Values, Values]


def follow_the_rule(family_prior: FamilyPrior, band: Band, rewards: Values, rng: np.random.Generator) -> Sampled:
    """Rollouts, means and variances of groups that stop when the rule says so."""
    rule = match_fixed(
        family_prior.belief, band, max_group=MAX_GROUP, ess_per_rollout=family_prior.variance_model.ess_per_rollout
    )
    sums, uniforms = np.cumsum(rewards, axis=1), rng.random(len(rewards))
    n, going = np.zeros(len(rewards), np.int64), np.ones(len(rewards), np.bool_)
    for end in list_block_ends((4, 2, 2, 4), MAX_GROUP):
        n[going] = end
        going[going] = rule.decide(uniforms[going], n[going], sums[going, end - 1]) == CONTINUE
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
        family_prior = fit_family_prior(*statistics(population.rewards(rng, population.prompts(rng, 64), 8)))
        p = population.prompts(rng, PROMPTS)
        truths.append((p >= band.low) & (p <= band.high))
        rewards = population.rewards(rng, p, MAX_GROUP)
        for how, found in chances.items():
            fixed = None if how == "rule" else statistics(rewards[:, : int(how)])
            groups = fixed or follow_the_rule(family_prior, band, rewards, rng)
            found.append(assess(family_prior, band, *groups).p_in_band)
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
            if (members.sum(axis=1) >= MIN_MEMBERS).sum() > PILOTS / 2:
                deviation, noise = deviation_and_noise(chances, truths, members)
                assert abs(deviation) < ROUGH.get(name, SLACK) + 3 * noise, (
                    f"groups by {how}, decile {decile}: {members.sum()} prompts"
                )
                checked += 1
    assert checked >= 12


@pytest.fixture(scope="module", params=TIED)
def tied(request: pytest.FixtureRequest) -> tuple[Assessment, Values]:
    """A pool under the default sampling, with the model that it ends with, and the true means."""
    population, rng = TIED[request.param], np.random.default_rng(79)
    p = population.prompts(rng, 1500)
    schedule = Schedule(["f"] * len(p), rng.random(len(p)), Band(), SamplingBudget(max_group=MAX_GROUP))
    rewards = population.rewards(rng, p, schedule.rewards.shape[1])
    request_ = schedule.request_pilot()
    while len(request_):
        schedule.rewards[request_.prompts] = rewards[request_.prompts]
        request_ = schedule.request_next_round()
    everything = np.arange(len(p))
    measured = (*schedule.measure(everything), schedule.list_rewards(everything))
    return assess(schedule.family_priors["f"], Band(), *measured), population.means(p)


def test_chances_of_rewards_that_repeat_come_true(tied: tuple[Assessment, Values]) -> None:
    chances, truths = tied[0].p_in_band, (tied[1] >= Band().low) & (tied[1] <= Band().high)
    checked = 0
    for decile in range(10):
        members = (np.minimum(np.floor(10 * chances), 9) == decile)[None, :]
        if members.sum() >= 3 * MIN_MEMBERS:
            deviation, noise = deviation_and_noise(chances[None, :], truths[None, :], members)
            assert abs(deviation) < SLACK + 3 * noise, f"decile {decile}: {members.sum()} prompts"
            checked += 1
    assert checked >= 3


def test_intervals_of_means_of_rewards_that_repeat_cover(tied: tuple[Assessment, Values]) -> None:
    found, means = tied
    assert found.by_value is not None
    assert found.by_value.model.exact
    low, high = found.belief.interval(0.9)
    assert ((means >= low) & (means <= high)).mean() == pytest.approx(0.9, abs=0.03 + 0.01)


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
FAMILY_PRIORS = {
    "coins": FamilyPrior(FittedBelief(Prior(0.4, 0.9, 0.2, 0.1).belief)),
    "poems": FamilyPrior(FittedBelief(Prior(2, 2, 0.05).belief), VarianceModel(8.65, 0.1, 0.4)),
}


def grouped() -> pl.DataFrame:
    names = ["family", "n", "mean", "std", "passes", "zeros", "ones"]
    rate = pl.when(pl.col("n") > 0).then(pl.col("passes") / pl.col("n")).alias("pass_rate")
    return pl.DataFrame(ROWS, schema=names, orient="row").with_columns(rate).with_row_index("number")


def test_certificates_equal_rows_taken_one_by_one() -> None:
    band, found = Band(min_std=0.15), certify(grouped(), FAMILY_PRIORS, Band(min_std=0.15), 16)
    assert found["number"].to_list() == list(range(len(ROWS)))
    for row in found.to_dicts():
        if not row["n"]:
            assert all(row[name] is None for name in CERTIFICATE_COLUMNS)
            continue
        family_prior, group = FAMILY_PRIORS.get(row["family"], FamilyPrior()), (row["n"], row["mean"], row["std"] ** 2)
        size = float(family_prior.variance_model.effective(*group))
        alone = family_prior.belief.update(size, size * row["mean"])
        assert row["n_eff"] == pytest.approx(size)
        shape = (row["alpha"], row["beta"], row["p_zero"], row["p_one"])
        assert shape == pytest.approx(tuple(map(float, alone.to_moments())))
        assert row["p_in_band"] == pytest.approx(float(alone.in_band(band)))
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(map(float, alone.interval())))
        if row["family"] == "poems":
            assert row["p_min_std"] == pytest.approx(float(family_prior.variance_model.at_least(0.15, *group)))
            assert (row["std_low"], row["std_high"]) == pytest.approx(
                tuple(map(float, family_prior.variance_model.interval(*group)))
            )
        else:
            assert row["p_keep"] == pytest.approx(float(alone.in_band(band.with_min_std)))
        assert row["p_keep"] == pytest.approx(row["p_in_band"] * row["p_min_std"])
        assert row["usable_at_g"] == pytest.approx(1 - float(alone.zero_std_share(16)))


def test_certificates_of_rewards_that_repeat_follow_from_their_values() -> None:
    """Row by row as `assess` says of all of them, whatever the order of rows and rewards, and however many at once."""
    rng, population = np.random.default_rng(83), partial_credit(Prior(1, 1), 4, 0.5)
    rewards = population.rewards(rng, population.prompts(rng, 60), 8)
    names = [f"p{number:02}" for number in range(60)]
    listed = pl.DataFrame({"prompt_id": np.repeat(names, 8), "reward": rewards.reshape(-1)})
    n, mean, variance = statistics(rewards)
    rows = pl.DataFrame({"prompt_id": names, "n": n, "mean": mean, "std": np.sqrt(variance)}).with_columns(
        pl.lit("code").alias("family"),
        pl.Series("zeros", (rewards == 0).sum(1)),
        pl.Series("ones", (rewards == 1).sum(1)),
    )
    by_row = (np.repeat(np.arange(60), 8), rewards.reshape(-1))
    priors = {"code": fit_family_prior(n, mean, variance, by_row)}
    found = assess(priors["code"], Band(), n, mean, variance, by_row)
    assert found.by_value is not None
    mixed = rows.sample(fraction=1.0, shuffle=True, seed=3)
    told = certify(mixed, priors, Band(), 8, listed.sample(fraction=1.0, shuffle=True, seed=4)).sort("prompt_id")
    assert told["p_in_band"].to_numpy() == pytest.approx(found.p_in_band)
    assert told["p_keep"].to_numpy() == pytest.approx(found.p_keep)
    assert told["usable_at_g"].to_numpy() == pytest.approx(1 - found.by_value.zero_std_share(8))
    assert told["zero_std_at_4"].to_numpy() == pytest.approx(found.by_value.zero_std_share(4))
    assert told["ci_low"].to_numpy() == pytest.approx(found.belief.interval()[0])


def test_passes_are_bernoulli_whatever_the_rewards() -> None:
    found = certify(grouped(), {"poems": FamilyPrior(FittedBelief(Prior(1, 1).belief))}, Band(signal="pass"))
    poem = found.row(1, named=True)
    assert (poem["n_eff"], poem["alpha"], poem["beta"]) == (8, pytest.approx(1, rel=0.02), pytest.approx(9, rel=0.02))


def test_no_groups_have_empty_certificates() -> None:
    found = certify(grouped().clear(), FAMILY_PRIORS, Band())
    assert found.is_empty()
    assert set(CERTIFICATE_COLUMNS) <= set(found.columns)


@given(st.floats(0, 0.5), st.floats(0.5, 1), st.floats(0, 0.5))
def test_the_band_with_min_std_is_where_a_bernoulli_reward_has_it(low: float, high: float, min_std: float) -> None:
    band = Band(low, max(high, low + 0.01), min_std)
    narrow = band.with_min_std
    for p in np.linspace(0, 1, 201):
        inside, excess = band.low <= p <= band.high, p * (1 - p) - min_std**2
        if abs(excess) > 1e-9 and min(abs(p - band.low), abs(p - band.high)) > 1e-9:
            assert (narrow.low <= p <= narrow.high) == (inside and excess > 0)


def test_a_band_in_which_no_bernoulli_reward_has_min_std_is_next_to_nothing() -> None:
    narrow = Band(0.95, 1.0, min_std=0.3).with_min_std
    assert narrow.high - narrow.low < 1e-8
    assert float(Prior(1, 1).belief.update(0, 0).in_band(narrow)) < 1e-8


def test_passes_are_bernoulli_and_graded_rewards_are_not() -> None:
    rng = np.random.default_rng(79)
    passes = fit_family_prior(*statistics(bernoulli(rng, rng.random(40), 8)))
    poems = fit_family_prior(*statistics(graded(0.17)(rng, rng.random(40), 8)))
    assert passes.variance_model == BERNOULLI
    assert poems.variance_model.ess_per_rollout > 1
    assert poems.to_json()["flips_per_rollout"] == round(poems.variance_model.ess_per_rollout, 4)


def test_a_family_without_scores_has_the_usual_prior() -> None:
    nothing = np.zeros(0)
    assert fit_family_prior(nothing, nothing, nothing) == FamilyPrior(variance_model=BERNOULLI)


PINNED = json.loads((Path(__file__).parent.parent / "manifest_figures.json").read_text())


@pytest.mark.parametrize("family", PINNED["beliefs"])
def test_the_priors_of_a_manifest_are_read_and_written_the_same(family: str) -> None:
    values = PINNED["beliefs"][family]
    found = FamilyPriorRecord.from_json(values)
    assert json.dumps(found.to_json()) == json.dumps(values)
    assert found.is_graded == (values["flips_per_rollout"] > 1)
    assert found.fitted_to == values["fitted_to"]
    assert found.variance_model is not None
    assert found.variance_model.prior_df == values["spread"]["draws"]
