"""Families split by predicted rate: each stratum has a belief of its own, shrunk to the family's as far as it must."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from learnable.filters.arrays import Indices, Values
from learnable.filters.posterior.belief import Belief, log_likelihood
from learnable.filters.posterior.certificate import CERTIFIED_AT_ONCE
from learnable.filters.posterior.fitting import OWN_GROUPS, Counts, FittedBelief, fit_belief, fit_pool
from learnable.filters.prediction.features import PromptFeatures
from learnable.filters.prediction.regression import (
    MAX_REGRESSION_GROUPS,
    REGRESSION_FOLDS,
    deal_folds,
    fit_rates,
    predict,
)

MIN_GROUPS_TO_PREDICT = 32  # of a family, to predict from
STRATUM_GROUPS, MAX_STRATA = 16, 12


@dataclass(frozen=True, slots=True)
class Prediction:
    """Predicted rates of a family's prompts, and what they are made of.

    `rates` has one of each prompt; those of prompts that were sampled are by models that were fitted without them.
    `gain` is how much likelier groups are by the beliefs of strata that were fitted without them than by the family's,
    in nats, with its `standard_error`; `sources` and `known_rates` are as of `FeatureEncoder`.
    """

    rates: Values
    ends: Values
    deviance_explained: float
    gain: float
    standard_error: float
    groups: int
    sources: tuple[str, ...]
    known_rates: tuple[str, ...]

    @property
    def strata(self) -> Indices:
        """The stratum of each prompt: how many of the `ends` between strata its predicted rate reaches."""
        return find_strata(self.rates, self.ends)


class Predictor(Protocol):
    """Predicts the rates of a family's prompts from those of its groups that there are."""

    def predict(self, rows: Indices, sampled: Indices, groups: Counts, family: FittedBelief) -> Prediction | None:
        """Return the prediction for `rows` of the pool, None where it is not worth using.

        `sampled` are places in `rows`: prompts that were sampled, with their `groups`. `family` is what is believed of
        the family without a prediction.
        """


class TextPredictor:
    """A `Predictor` that reads columns, numbers and words of prompts (see `features`)."""

    def __init__(self, features: PromptFeatures) -> None:
        self.features = features

    def predict(self, rows: Indices, sampled: Indices, groups: Counts, family: FittedBelief) -> Prediction | None:
        """Return the prediction where it makes groups likelier by two standard errors or more, else None."""
        n, s = groups
        usable = np.flatnonzero(n > 0)
        usable = np.sort(np.random.default_rng(0).permutation(usable)[:MAX_REGRESSION_GROUPS])
        if len(usable) < MIN_GROUPS_TO_PREDICT:
            return None
        n, s, places = n[usable], s[usable], sampled[usable]
        encoder = self.features.encode(rows, rows[places])
        # Whether words, and others' rates, are read
        all_ways = ((False, False), (True, False), (False, True), (True, True))
        plain = 2  # of these: without the rates of others, which must be worth it
        ways = all_ways if encoder.others else all_ways[:plain]
        described = [encoder.transform(rows[places], words=words, others=others) for words, others in ways]
        fit = fit_rates(described, n, s, plain=plain)
        if fit is None:
            return None
        ends = cut(fit.held_out)
        gain, error = compare(find_strata(fit.held_out, ends), (n, s), family.belief)
        # A gain of fewer than 6 nats is worth nothing, however sure.
        if gain <= max(2 * error, 6.0):
            return None
        words, others = ways[fit.way]
        rates = np.concatenate(
            [
                predict(encoder.transform(part, words=words, others=others), fit.coefficients)
                for part in np.array_split(rows, len(rows) // CERTIFIED_AT_ONCE + 1)
            ]
        )
        rates[places] = fit.held_out
        sources, known = tuple(encoder.name_sources(words=words, others=others)), tuple(encoder.known_rates)
        return Prediction(rates, ends, fit.deviance_explained, gain, error, len(n), sources, known)


def cut(rates: Values) -> Values:
    """Return the ends between strata of about equally many groups, as many as those can carry; none for one stratum."""
    strata = min(len(rates) // STRATUM_GROUPS, MAX_STRATA)
    ends = np.unique(np.quantile(rates, np.arange(1, strata) / max(strata, 1), method="higher"))
    above: Values = ends[ends > rates.min()]
    return above


def find_strata(rates: Values, ends: Values) -> Indices:
    """Return the stratum of each rate: how many of the `ends` it reaches."""
    strata: Indices = np.searchsorted(ends, rates, side="right")
    return strata


def compare(strata: Indices, groups: Counts, family: Belief) -> tuple[float, float]:
    """Return how much likelier groups are by beliefs of strata that were fitted without them, and its standard error.

    Than by the family's belief, in nats. The strata's are tilts of it, by fewer than `OWN_GROUPS` groups each.
    """
    n, s = groups
    folds = deal_folds(len(n))
    usual = _log_evidence(family, n, s)
    gains = np.zeros(len(n))
    for stratum in np.unique(strata):
        members = strata == stratum
        for fold in range(REGRESSION_FOLDS):
            others = np.flatnonzero(members & (folds != fold))[: OWN_GROUPS - 1]
            out = np.flatnonzero(members & (folds == fold))
            # The width of the tilts of small families, in standard deviations.
            tilted = fit_belief(n[others], s[others], FittedBelief(family, len(n), 2.0)).belief
            gains[out] = _log_evidence(tilted, n[out], s[out]) - usual[out]
    return float(gains.sum()), float(gains.std(ddof=1) * np.sqrt(len(gains)))


def fit_strata(strata: Indices, count: int, groups: Counts, family: FittedBelief) -> list[FittedBelief]:
    """Return what is believed of each stratum, shrunk to the family as small families are to their pool.

    Args:
        strata: the stratum of each group.
        count: of the strata.
        groups: rewards of each group, which may be effective sizes, and their sums.
        family: what is believed of the family.
    """
    n, s = groups
    parts = [(n[members], s[members]) for members in (strata == stratum for stratum in range(count))]
    width = fit_pool(groups, parts).family_width
    pool = FittedBelief(family.belief, family.fitted_to, width)
    return [fit_belief(*part, pool) for part in parts]


def mix(beliefs: Sequence[Belief], shares: Values) -> Belief:
    """Return the belief of a family whose strata have these shares of its prompts."""
    weights = shares @ np.array([belief.weights for belief in beliefs])
    return Belief(weights / weights.sum())


def _log_evidence(belief: Belief, n: Values, s: Values) -> Values:
    log = log_likelihood(n, s)
    top = log.max(axis=-1, keepdims=True)
    evidence: Values = np.log(np.maximum(np.exp(log - top) @ belief.weights, 1e-300)) + top[:, 0]
    return evidence
