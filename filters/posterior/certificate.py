"""The certificate of each prompt: what its rollouts say of its mean reward, and how surely it is in the band.

A certificate is a posterior distribution under a fitted prior, not a proof: "0.9 likely in the band" means that about
nine in ten such prompts are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from learnable.data.band import Band, Signal
from learnable.data.records import JsonObject
from learnable.filters.arrays import Values
from learnable.filters.posterior.belief import Belief
from learnable.filters.posterior.fitting import Counts, FittedBelief, fit_belief, fit_pool
from learnable.filters.posterior.value_fit import fit_value_model
from learnable.filters.posterior.value_model import Rewards, ValueModel
from learnable.filters.posterior.value_posterior import ValuePosterior
from learnable.filters.posterior.variance_model import VarianceModel, fit_variance_model

ZERO_STD_AT = {size: f"zero_std_at_{size}" for size in (2, 4, 8, 16, 32, 64)}  # columns of a certificate
CERTIFICATE_COLUMNS = (
    "n_eff",
    "variance_share",
    "alpha",
    "beta",
    "p_zero",
    "p_one",
    "p_in_band",
    "p_min_std",
    "p_keep",
    "ci_low",
    "ci_high",
    "std_low",
    "std_high",
    "usable_at_g",
    *ZERO_STD_AT.values(),
)
COVERAGE = 0.9  # of every interval: 5 % on either side
CERTIFIED_AT_ONCE = 4_000  # some 2.5 KB each while their values are looked at, up to eight times that for kinds

Pools = Mapping[bool, FittedBelief]
"""What is believed of the families of a pool whose rewards are graded, and of the others."""


@dataclass(frozen=True, slots=True)
class FamilyPrior:
    """What is known of a family's prompts before their first rollout: of their mean rewards, and of how those vary.

    `value_model` says which values graded rewards take. It is not part of a manifest: what it tells of a prompt is in
    the prompt's certificate.
    """

    fitted: FittedBelief = field(default_factory=FittedBelief, compare=False)
    variance_model: VarianceModel = field(default_factory=VarianceModel)
    value_model: ValueModel | None = field(default=None, compare=False, repr=False)

    @property
    def belief(self) -> Belief:
        """What is believed of their mean rewards."""
        return self.fitted.belief

    @property
    def graded(self) -> bool:
        """Whether rewards tell more than pass and fail do."""
        return self.variance_model.graded

    def to_json(self) -> JsonObject:
        """Return the figures under the keys of a manifest's `beliefs`: the moments of the belief among them."""
        moments = self.belief.to_moments()._asdict()
        figures: JsonObject = {key: round(float(value), 6) for key, value in moments.items()}
        return figures | {"fitted_to": self.fitted.fitted_to} | self.variance_model.to_json()


def fit_family_prior(
    n: Values,
    mean: Values,
    variance: Values,
    rewards: Rewards | Callable[[], Rewards] | None = None,
    pools: Pools | None = None,
) -> FamilyPrior:
    """Fit a family's prior to its groups: rollouts, mean reward and population variance of each, shape (groups,).

    With the rewards themselves, where they are graded, also to the values that they take; a function that lists them is
    called only there. `pools` is what is believed of the family's pool. Without it, falls back to Beta(.5, .5) where
    there are too few groups to fit (`fitted.fitted_to` is 0 then).
    """
    variance_model = fit_variance_model(n, mean, variance)
    sizes = variance_model.effective(n, mean, variance)
    values = None
    if rewards is not None and variance_model.graded:
        own_rewards = rewards() if callable(rewards) else rewards
        values = fit_value_model(own_rewards, len(n), variance_model.ess_per_rollout)
    pool = (pools or {}).get(variance_model.graded)
    return FamilyPrior(fit_belief(sizes, sizes * mean, pool), variance_model, values)


def fit_pools(families: Sequence[Values]) -> Pools:
    """Fit what is believed of a pool's families, apart for passes and fails and for graded rewards.

    `families` are rollouts, mean reward and population variance of each one's groups, shape (3, groups).
    """
    groups: dict[bool, list[Counts]] = {}
    for n, mean, variance in families:
        model = fit_variance_model(n, mean, variance)
        sizes = model.effective(n, mean, variance)
        groups.setdefault(model.graded, []).append((sizes, sizes * mean))
    wholes = {graded: np.concatenate(alike, axis=1) for graded, alike in groups.items()}
    return {graded: fit_pool((wholes[graded][0], wholes[graded][1]), alike) for graded, alike in groups.items()}


def read_signal(groups: pl.DataFrame, by: Signal = "reward") -> tuple[Values, Values, Values]:
    """Return rollouts, mean and population variance of each group: of its rewards, or of pass and fail."""
    n = groups["n"].cast(pl.Float64).fill_null(0.0).to_numpy()
    if by == "pass":
        rate = groups["pass_rate"].cast(pl.Float64).to_numpy()
        return n, rate, rate * (1 - rate)
    return n, groups["mean"].cast(pl.Float64).to_numpy(), groups["std"].cast(pl.Float64).to_numpy() ** 2


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the rollouts of many groups of one family say: arrays of one shape.

    `n_eff` are effective sample sizes, in 0/1 rewards. `belief` is of the true mean, `p_in_band` the chance that it is
    in the band, and `p_min_std` the chance that the true standard deviation of such a prompt is large enough.
    `by_value` is what the values of the rewards say, where the family has a `value_model`: of the groups to come, and
    where that is `exact` of all else too.
    """

    n_eff: Values
    belief: Belief
    p_in_band: Values
    p_min_std: Values
    by_value: ValuePosterior | None = None

    @property
    def p_keep(self) -> Values:
        """The chance that a prompt belongs in the set: in the band, and with a large enough standard deviation."""
        return self.p_in_band * self.p_min_std

    def zero_std_share(self, group_size: int) -> Values:
        """Return the chance that a group of so many rewards agrees; without `by_value` as if they were 0 and 1."""
        return (self.by_value or self.belief).zero_std_share(group_size)


def assess(
    family_prior: FamilyPrior,
    band: Band,
    n: Values,
    mean: Values,
    variance: Values,
    rewards: Rewards | None = None,
) -> Assessment:
    """Assess groups of one family: rollouts that count, mean reward (0 where there are none), population variance.

    `rewards` are those rollouts' own; without them values are not looked at.
    """
    model, by_value = family_prior.variance_model, None
    n_eff = model.effective(n, mean, variance)
    belief = family_prior.belief.update(n_eff, n_eff * mean)
    if family_prior.value_model is not None and rewards is not None:
        by_value = ValuePosterior.of(family_prior.value_model, rewards, len(n))
        if family_prior.value_model.exact:
            inside, varying = by_value.in_band(band), by_value.in_band(band, band.min_std)
            return Assessment(n_eff, by_value.belief, inside, _given(varying, inside), by_value)
    if model.graded:
        p_min_std = model.at_least(band.min_std, n, mean, variance)
        return Assessment(n_eff, belief, belief.in_band(band), p_min_std, by_value)
    return Assessment(n_eff, belief, belief.in_band(band), bernoulli_p_min_std(belief, band))


def certify(
    groups: pl.DataFrame,
    family_priors: Mapping[str, FamilyPrior],
    band: Band,
    group_size: int = 16,
    rewards: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Add `CERTIFICATE_COLUMNS` to decided or undecided groups; null where no rollout counts.

    Args:
        groups: rows of `group_stats`, joined with `family`.
        family_priors: one for each family; a family without one gets Beta(.5, .5).
        band: what is kept, and of which signal.
        group_size: completions a prompt that training will draw, for `usable_at_g`.
        rewards: `prompt_id` and `reward` of the rollouts that count, as `filters.statistics.groups.list_rewards` lists
            them. Without them groups of graded rewards are forecast as if they were 0 and 1.

    Returns:
        The rows, in their order, with `n_eff` (effective sample size), `variance_share` (n / n_eff: the variance inside
        a group as a share of what a 0/1 reward of the same mean has), `alpha`, `beta`, `p_zero`, `p_one` (the
        posterior), `p_in_band`, `p_min_std` (chance that the standard deviation is `min_std` or more), `p_keep` (their
        product), `ci_low`, `ci_high` (90 % interval of the mean), `std_low`, `std_high` (of the standard deviation),
        `usable_at_g` (chance that a group of `group_size` is not zero-std), `zero_std_at_<G>` (that one of G is).
    """
    numbered = groups.with_row_index("_row")
    if rewards is not None:
        by_prompt = rewards.group_by("prompt_id").agg(pl.col("reward").alias("_rewards"))
        numbered = numbered.join(by_prompt, on="prompt_id", how="left", maintain_order="left")
    columns = {name: np.zeros(len(groups)) for name in CERTIFICATE_COLUMNS}
    for (family,), members in numbered.group_by("family", maintain_order=True):
        for part in members.iter_slices(CERTIFIED_AT_ONCE):
            certificates = _certify_family(part, family_priors.get(str(family), FamilyPrior()), band, group_size)
            rows = part["_row"].to_numpy()
            for name, values in columns.items():
                values[rows] = certificates[name]
    is_judged = pl.col("n") > 0
    return groups.with_columns(
        pl.when(is_judged).then(pl.Series(columns[name])).alias(name) for name in CERTIFICATE_COLUMNS
    )


def _certify_family(groups: pl.DataFrame, family_prior: FamilyPrior, band: Band, group_size: int) -> dict[str, Values]:
    n, mean, variance = read_signal(groups, band.signal)
    rewards = None
    if "_rewards" in groups.columns:
        counts = groups["_rewards"].list.len().fill_null(0).to_numpy()
        rewards = np.repeat(np.arange(len(n)), counts), groups["_rewards"].explode().drop_nulls().to_numpy()
    assessment = assess(family_prior, band, n, np.nan_to_num(mean), variance, rewards)
    share = np.divide(n, assessment.n_eff, out=np.ones_like(n), where=n > 0)
    columns = {
        "n_eff": assessment.n_eff,
        "variance_share": share,
        "p_min_std": assessment.p_min_std,
        "p_keep": assessment.p_keep,
    }
    columns |= _describe(assessment.belief, assessment.p_in_band, assessment, group_size)
    if assessment.by_value is not None and assessment.by_value.model.exact:
        columns["std_low"], columns["std_high"] = assessment.by_value.std_interval(COVERAGE)
    elif family_prior.graded:
        columns["std_low"], columns["std_high"] = family_prior.variance_model.interval(n, mean, variance, COVERAGE)
    return columns


def describe_belief(belief: Belief, band: Band, group_size: int) -> dict[str, Values]:
    """Return those of `CERTIFICATE_COLUMNS` that a belief of 0/1 rewards tells, by name."""
    columns = _describe(belief, belief.in_band(band), belief, group_size)
    return columns | {"p_min_std": bernoulli_p_min_std(belief, band)}


def bernoulli_p_min_std(belief: Belief, band: Band) -> Values:
    """Return the chance that a 0/1 reward whose mean is in the band has a standard deviation of `band.min_std` or more.

    It follows from the mean p, as sqrt(p (1 - p)). 1 where the mean is in the band with no chance.
    """
    return _given(belief.in_band(band.with_min_std), belief.in_band(band))


def _describe(belief: Belief, p_in_band: Values, groups: Belief | Assessment, group_size: int) -> dict[str, Values]:
    """Return the columns about the mean, the standard deviation as of 0/1 rewards, and groups to come, by name."""
    low, high = belief.interval(COVERAGE)
    columns = dict(zip(("alpha", "beta", "p_zero", "p_one"), belief.to_moments(), strict=True))
    columns |= {"p_in_band": p_in_band, "ci_low": low, "ci_high": high}
    columns |= {"usable_at_g": 1 - groups.zero_std_share(group_size)}
    columns |= {name: groups.zero_std_share(size) for size, name in ZERO_STD_AT.items()}
    at_low, at_high = np.sqrt(low * (1 - low)), np.sqrt(high * (1 - high))
    largest = np.where((low <= 0.5) & (high >= 0.5), 0.5, np.maximum(at_low, at_high))
    return columns | {"std_low": np.minimum(at_low, at_high), "std_high": largest}


def _given(both: Values, one: Values) -> Values:
    """Return the chance of both, given the one; 1 where that has no chance."""
    return np.divide(both, one, out=np.ones_like(one), where=one > 0)
