"""The certificate of each prompt: what is known of its mean reward, and how surely it is in the band."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from learnable.filters.decisions.band import Band, Signal
from learnable.filters.decisions.forecast import zero_std_graded, zero_std_share
from learnable.filters.posterior.posterior import Posterior
from learnable.filters.posterior.prior import FALLBACK, Prior, fit_prior
from learnable.filters.posterior.variance_model import VarianceModel, fit_variance_model

Values = NDArray[np.float64]

CERTIFICATE = (
    "n_eff",
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
COVERAGE = 0.9


@dataclass(frozen=True, slots=True)
class FamilyPrior:
    """What is believed of a family before a prompt is asked: its prior, and how much its rewards spread."""

    prior: Prior = FALLBACK
    spread: VarianceModel = field(default_factory=VarianceModel)

    def as_dict(self) -> dict[str, Any]:
        """Return the figures, for a manifest."""
        spread = self.spread
        tilted = {"tilt": spread.tilt, "centre": spread.centre, "draws": spread.draws}
        return {**self.prior.as_dict(), "flips_per_rollout": round(spread.flips, 4), "spread": tilted}


def fit_family_prior(n: Values, mean: Values, variance: Values) -> FamilyPrior:
    """Fit a family's belief to its groups: rollouts, mean reward and population variance of each.

    Falls back to Beta(.5, .5) where there are too few groups to fit (`prior.fitted_to` is 0 then).
    """
    spread = fit_variance_model(n, mean, variance)
    sizes = spread.effective(n, mean, variance)
    return FamilyPrior(fit_prior(sizes, sizes * mean), spread)


def fit_family_priors(groups: pl.DataFrame, by: Signal = "reward") -> dict[str, FamilyPrior]:
    """Fit each family's belief to the rows of `filters.statistics.groups.group_stats`, joined with `family`."""
    beliefs = {}
    for (family,), members in groups.group_by("family", maintain_order=True):
        scored = members.filter(pl.col("n") > 0)
        beliefs[str(family)] = fit_family_prior(*read_signal(scored, by))
    return beliefs


def read_signal(groups: pl.DataFrame, by: Signal = "reward") -> tuple[Values, Values, Values]:
    """Return rollouts, mean and population variance of each group: of its rewards, or of pass and fail."""
    n = groups["n"].cast(pl.Float64).fill_null(0.0).to_numpy()
    if by == "pass":
        rate = groups["pass_rate"].cast(pl.Float64).to_numpy()
        return n, rate, rate * (1 - rate)
    return n, groups["mean"].cast(pl.Float64).to_numpy(), groups["std"].cast(pl.Float64).to_numpy() ** 2


@dataclass(frozen=True, slots=True)
class Assessment:
    """What is known of many groups of one family: arrays of one shape."""

    size: Values
    posterior: Posterior
    in_band: Values
    spread: Values

    @property
    def keep(self) -> Values:
        """The chance that a prompt belongs in the set: in the band, and with enough spread."""
        return self.in_band * self.spread


def assess(belief: FamilyPrior, band: Band, n: Values, mean: Values, variance: Values) -> Assessment:
    """Assess groups of one family: rollouts that count, mean reward (0 where there are none), population variance."""
    size = belief.spread.effective(n, mean, variance)
    posterior = Posterior.update(belief.prior, size, size * mean)
    inside = posterior.in_band(band)
    if family_prior.graded:
        return Assessment(size, posterior, inside, belief.spread.at_least(band.min_std, n, mean, variance))
    spreading = posterior.in_band(band.with_min_std)  # what a coin spreads by follows from its mean
    return Assessment(size, posterior, inside, np.divide(spreading, inside, out=np.ones_like(inside), where=inside > 0))


def certify(
    groups: pl.DataFrame, family_priors: Mapping[str, FamilyPrior], band: Band, group_size: int = 16
) -> pl.DataFrame:
    """Add the columns `CERTIFICATE` to decided or undecided groups; null where no rollout counts.

    Args:
        groups: rows of `group_stats`, joined with `family`.
        beliefs: one for each family; a family without one gets Beta(.5, .5).
        band: what is kept, and of which signal.
        group_size: completions a prompt that training will draw, for `usable_at_g`.

    Returns:
        The rows, in their order, with `n_eff` (effective sample size), `alpha`, `beta`, `p_zero`, `p_one` (the posterior),
        `p_in_band`, `p_min_std` (chance that the spread is `min_std` or more), `p_keep` (their product), `ci_low`, `ci_high`
        (central 90 % interval of the mean), `std_low`, `std_high` (of the spread), `usable_at_g` (chance that a
        group of `group_size` is not zero-std).
    """
    numbered = groups.with_row_index("_row")
    parts = [
        _certify_family(members, beliefs.get(str(family), FamilyPrior()), band, group_size)
        for (family,), members in numbered.group_by("family", maintain_order=True)
    ]
    if not parts:
        return groups.with_columns(pl.lit(None, pl.Float64).alias(name) for name in CERTIFICATE)
    return pl.concat(parts).sort("_row").drop("_row")


def _certify_family(groups: pl.DataFrame, belief: FamilyPrior, band: Band, group_size: int) -> pl.DataFrame:
    n, mean, variance = read_signal(groups, band.signal)
    spread, found = belief.spread, assess(belief, band, n, np.nan_to_num(mean), variance)
    posterior = found.posterior
    ends = posterior.interval(COVERAGE)
    if spread.graded:
        std_ends = spread.interval(n, mean, variance, COVERAGE)
        dead = zero_std_graded(groups, group_size)
    else:
        std_ends = bernoulli_std(*ends)
        dead = zero_std_share(posterior, group_size)
    columns = (
        found.size,
        posterior.alpha,
        posterior.beta,
        posterior.zero,
        posterior.one,
        found.in_band,
        found.spread,
        found.keep,
        *ends,
        *std_ends,
        1 - dead,
    )
    counted = pl.col("n") > 0
    return groups.with_columns(
        pl.when(counted).then(pl.Series(values)).alias(name) for name, values in zip(CERTIFICATE, columns, strict=True)
    )


def bernoulli_std(low: Values, high: Values) -> tuple[Values, Values]:
    """Return the ends of the interval of a coin's standard deviation, sqrt(p (1 - p)), from those of p."""
    at_low, at_high = np.sqrt(low * (1 - low)), np.sqrt(high * (1 - high))
    return np.minimum(at_low, at_high), np.where((low <= 0.5) & (high >= 0.5), 0.5, np.maximum(at_low, at_high))
