"""The certificate of each prompt: what its rollouts say of its mean reward, and how surely it is in the band.

A certificate is a posterior distribution under a fitted prior, not a proof: "0.9 likely in the band" means that about
nine in ten such prompts are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from scipy.special import betaln

from learnable.data.records import JsonObject
from learnable.filters.arrays import Indices, Values
from learnable.filters.band import Band, Signal
from learnable.filters.posterior.belief import Belief, Moments
from learnable.filters.posterior.fitting import Counts, FittedBelief, fit_belief, fit_pool
from learnable.filters.posterior.value_fit import fit_value_model
from learnable.filters.posterior.value_model import Rewards, ValueModel
from learnable.filters.posterior.value_posterior import ValuePosterior
from learnable.filters.posterior.variance_model import VarianceModel, fit_variance_model

ZERO_STD_AT = {size: f"zero_std_at_{size}" for size in (2, 4, 8, 16, 32, 64)}  # columns of a certificate
CERTIFICATE = (
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
)
COLUMNS = (*CERTIFICATE, *ZERO_STD_AT.values())  # the latter are missing in sets of earlier versions
COVERAGE = 0.9
PROMPTS_AT_ONCE = 4_000  # some 2.5 KB each while their values are looked at, up to eight times that for kinds

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
        listed = rewards() if callable(rewards) else rewards
        values = fit_value_model(listed, len(n), variance_model.ess_per_rollout)
    pool = (pools or {}).get(variance_model.graded)
    return FamilyPrior(fit_belief(sizes, sizes * mean, pool), variance_model, values)


def fit_pools(families: Sequence[Values]) -> Pools:
    """Fit what is believed of a pool's families, apart for passes and fails and for graded rewards.

    `families` are rollouts, mean reward and population variance of each one's groups, shape (3, groups).
    """
    counted: dict[bool, list[Counts]] = {}
    for n, mean, variance in families:
        model = fit_variance_model(n, mean, variance)
        sizes = model.effective(n, mean, variance)
        counted.setdefault(model.graded, []).append((sizes, sizes * mean))
    wholes = {graded: np.concatenate(alike, axis=1) for graded, alike in counted.items()}
    return {graded: fit_pool((wholes[graded][0], wholes[graded][1]), alike) for graded, alike in counted.items()}


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

    `n_eff` are effective sample sizes, in 0/1 rewards. `p_in_band` is the chance that the true mean is in the band, and
    `p_min_std` the chance that the true standard deviation of such a prompt is large enough. `by_value` is what the
    values of the rewards say, where the family has a `value_model`: of the groups to come, and where that is `exact` of
    all else too.
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

    @property
    def exact(self) -> ValuePosterior | None:
        """What the values say, where all else follows from them."""
        return self.by_value if self.by_value is not None and self.by_value.model.exact else None

    def interval(self, coverage: float = COVERAGE) -> tuple[Values, Values]:
        """Return the ends of the interval that holds the mean reward with this chance."""
        return (self.exact or self.belief).interval(coverage)

    def to_moments(self) -> Moments:
        """Return masses at 0 and 1, and the Beta distribution that has the mean and variance of the rest."""
        return (self.exact or self.belief).to_moments()


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
            return Assessment(n_eff, belief, inside, _given(varying, inside), by_value)
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
    """Add the columns `COLUMNS` to decided or undecided groups; null where no rollout counts.

    Args:
        groups: rows of `group_stats`, joined with `family`.
        family_priors: one for each family; a family without one gets Beta(.5, .5).
        band: what is kept, and of which signal.
        group_size: completions a prompt that training will draw, for `usable_at_g`.
        rewards: `prompt_id` and `reward` of the rollouts that count, as `filters.statistics.groups.list_rewards` lists
            them. Without them the forecast of graded rewards knows of no ties but those on 0 and on 1.

    Returns:
        The rows, in their order, with `n_eff` (effective sample size), `variance_share` (n / n_eff: the variance inside
        a group as a share of what a 0/1 reward of the same mean has), `alpha`, `beta`, `p_zero`, `p_one` (the
        posterior), `p_in_band`, `p_min_std` (chance that the standard deviation is `min_std` or more), `p_keep` (their
        product), `ci_low`, `ci_high` (90 % interval of the mean), `std_low`, `std_high` (of the standard deviation),
        `usable_at_g` (chance that a group of `group_size` is not zero-std), `zero_std_at_<G>` (that one of G is).
    """
    numbered = groups.with_row_index("_row")
    placed = _place(numbered, rewards)
    parts = [
        _certify_family(part, family_priors.get(str(family), FamilyPrior()), band, group_size, placed)
        for (family,), members in numbered.group_by("family", maintain_order=True)
        for part in members.iter_slices(PROMPTS_AT_ONCE)
    ]
    if not parts:
        return groups.with_columns(pl.lit(None, pl.Float64).alias(name) for name in COLUMNS)
    return pl.concat(parts).sort("_row").drop("_row")


def _place(numbered: pl.DataFrame, rewards: pl.DataFrame | None) -> Rewards | None:
    """Return the rewards and the row that each is of, in the order of the rows."""
    if rewards is None:
        return None
    placed = rewards.join(numbered.select("prompt_id", "_row"), on="prompt_id").sort("_row", "reward")
    return placed["_row"].cast(pl.Int64).to_numpy(), placed["reward"].to_numpy()


def _take(placed: Rewards, rows: Indices) -> Rewards:
    """Return the rewards of some rows, given in order, and which of them each is of."""
    first, after = (np.searchsorted(placed[0], rows, side=side) for side in ("left", "right"))
    counts = after - first
    start = np.repeat(first - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    return np.repeat(np.arange(len(rows)), counts), placed[1][start + np.arange(counts.sum())]


def _certify_family(
    groups: pl.DataFrame, family_prior: FamilyPrior, band: Band, group_size: int, placed: Rewards | None
) -> pl.DataFrame:
    n, mean, variance = read_signal(groups, band.signal)
    rewards = None if placed is None else _take(placed, groups["_row"].cast(pl.Int64).to_numpy())
    found = assess(family_prior, band, n, np.nan_to_num(mean), variance, rewards)
    share = np.divide(n, found.n_eff, out=np.ones_like(n), where=n > 0)
    columns = {"n_eff": found.n_eff, "variance_share": share, "p_min_std": found.p_min_std, "p_keep": found.p_keep}
    columns |= _describe_mean(found.to_moments(), found.p_in_band, found.interval())
    if found.exact is not None:
        columns |= _describe_std(found.exact.std_interval(COVERAGE))
    elif family_prior.graded:
        columns |= _describe_std(family_prior.variance_model.interval(n, mean, variance, COVERAGE))
    if family_prior.graded:
        columns |= _describe_groups(found, groups, group_size)
    else:
        columns |= _describe_bernoulli(found.belief, group_size)
    counted = pl.col("n") > 0
    return groups.with_columns(pl.when(counted).then(pl.Series(columns[name])).alias(name) for name in COLUMNS)


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


def describe_belief(belief: Belief, band: Band, group_size: int) -> dict[str, Values]:
    """Return the columns of `CERTIFICATE` and `ZERO_STD_AT` that a belief of 0/1 rewards tells, by name."""
    columns = _describe_mean(belief.to_moments(), belief.in_band(band), belief.interval(COVERAGE))
    return columns | {"p_min_std": bernoulli_p_min_std(belief, band)} | _describe_bernoulli(belief, group_size)


def bernoulli_p_min_std(belief: Belief, band: Band) -> Values:
    """Return the chance that a 0/1 reward whose mean is in the band has a standard deviation of `band.min_std` or more.

    It follows from the mean p, as sqrt(p (1 - p)). 1 where the mean is in the band with no chance.
    """
    return _given(belief.in_band(band.with_min_std), belief.in_band(band))


def _describe_groups(found: Assessment, groups: pl.DataFrame, group_size: int) -> dict[str, Values]:
    """Return the columns about groups of graded rewards to come, by name."""

    def agree(size: int) -> Values:
        return zero_std_graded(groups, size) if found.by_value is None else found.by_value.zero_std_share(size)

    return {"usable_at_g": 1 - agree(group_size)} | {name: agree(size) for size, name in ZERO_STD_AT.items()}


def _describe_mean(moments: Moments, p_in_band: Values, interval: tuple[Values, Values]) -> dict[str, Values]:
    """Return the columns that say where the mean reward is, by name."""
    low, high = interval
    names = ("alpha", "beta", "p_zero", "p_one")
    return dict(zip(names, moments, strict=True)) | {"p_in_band": p_in_band, "ci_low": low, "ci_high": high}


def _describe_std(interval: tuple[Values, Values]) -> dict[str, Values]:
    low, high = interval
    return {"std_low": low, "std_high": np.minimum(high, 0.5)}


def _describe_bernoulli(belief: Belief, group_size: int) -> dict[str, Values]:
    """Return the columns about variation inside a group of 0/1 rewards, by name: sqrt(p (1 - p)) from the ends of p."""
    low, high = belief.interval(COVERAGE)
    at_low, at_high = np.sqrt(low * (1 - low)), np.sqrt(high * (1 - high))
    largest = np.where((low <= 0.5) & (high >= 0.5), 0.5, np.maximum(at_low, at_high))
    agree = {name: belief.zero_std_share(size) for size, name in ZERO_STD_AT.items()}
    usable = {"usable_at_g": 1 - belief.zero_std_share(group_size)}
    return _describe_std((np.minimum(at_low, at_high), largest)) | usable | agree


def _given(both: Values, one: Values) -> Values:
    """Return the chance of both, given the one; 1 where that has no chance."""
    return np.divide(both, one, out=np.ones_like(one), where=one > 0)
