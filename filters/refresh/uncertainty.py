"""How much of a refreshed set is still in the band, and how surely: prompts that were not sampled again share drifts.

Few anchors leave a drift uncertain, and where it is off every moved certificate is off the same way. So the chances of
moved prompts are not independent, as those of prompts with rollouts of their own are.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
from scipy.special import betaincinv

from learnable.data.band import Band
from learnable.data.curated.refreshed import Drift, StillInBand
from learnable.filters.arrays import Values
from learnable.filters.posterior.certificate import COVERAGE
from learnable.filters.refresh.drift import (
    FAMILY_WIDTHS,
    USUAL_DRIFT,
    USUAL_WIDTHS,
    measure_information,
    move_belief,
    shift_figure,
)
from learnable.filters.refresh.staleness import Drifts, read_evidence


def estimate_share_still_in_band(
    before: pl.DataFrame,
    after: pl.DataFrame,
    drifts: Drifts,
    members: pl.DataFrame,
    band: Band,
    coverage: float = COVERAGE,
) -> StillInBand | None:
    """Return how much of a set is still in the band; None where nothing is known of any of its prompts.

    A prompt's chance is that of its moved certificate, updated with its new rollouts where it has some. (Those of its
    new certificate would not do: the prior of that one is fitted to all prompts that were sampled again, and the ones
    that the set is made of are in the band more often.) The number in the band is a sum of 0/1 variables that are
    independent but for the drifts, whose errors make all of them larger or smaller together; the latter by the delta
    method: the derivatives of the sum by each figure of each drift, each over a standard deviation to both sides, and
    the covariance of those figures. The interval is that of the Beta distribution with the share's mean and variance.

    Args:
        before: as for `fit_drifts`.
        after: as for `fit_drifts`.
        drifts: what it returned.
        members: rows of `before`, those of the set.
        band: what is kept.
        coverage: of the central interval.
    """
    known = members.filter(pl.col("alpha").is_not_null())
    if not known.height:
        return None
    evidence = _join(known, after, how="left")
    covariance = _covariance(_join(before, after), drifts)
    slopes, mean, variance = np.zeros(len(covariance)), 0.0, 0.0
    for number, ((family, trained), drift) in enumerate(drifts.items()):
        prompts = evidence.filter((pl.col("family") == family) & (pl.col("trained") == trained))
        if prompts.height:
            figures = slice(number * len(USUAL_DRIFT), (number + 1) * len(USUAL_DRIFT))
            chances = _chances(drift, prompts, band)
            mean, variance = mean + float(chances.sum()), variance + float((chances * (1 - chances)).sum())
            slopes[figures] = _slopes(drift, prompts, np.sqrt(np.diag(covariance)[figures]), band)
    shared = float(slopes @ covariance @ slopes)
    return _as_beta(mean / evidence.height, (variance + shared) / evidence.height**2, coverage)


def _as_beta(mean: float, variance: float, coverage: float) -> StillInBand:
    if variance <= 0:
        return StillInBand(mean, mean, mean)
    # No share varies by more than one of 0 and 1.
    size = max(mean * (1 - mean) / variance - 1, 1e-2)
    low, high = (betaincinv(mean * size, (1 - mean) * size, tail) for tail in ((1 - coverage) / 2, (1 + coverage) / 2))
    return StillInBand(mean, float(low), float(high))


def _chances(drift: Drift, members: pl.DataFrame, band: Band) -> Values:
    before, n, s = read_evidence(members)
    return move_belief(drift, before).update(n, s).in_band(band)


def _slopes(drift: Drift, members: pl.DataFrame, deviations: Values, band: Band) -> Values:
    """Return the derivative of the expected number in the band by each figure of the drift, shape (5,)."""

    def count(number: int, by: float) -> float:
        return float(_chances(shift_figure(drift, number, by), members, band).sum())

    return np.array([(count(number, by) - count(number, -by)) / 2 / by for number, by in enumerate(deviations)])


def _join(before: pl.DataFrame, after: pl.DataFrame, how: Literal["inner", "left"] = "inner") -> pl.DataFrame:
    """Return old certificates with `n_eff` and `mean` of the new policy's rewards, of those with a certificate."""
    rows = before.filter(pl.col("alpha").is_not_null()).drop("n_eff", "mean", strict=False)
    return rows.join(after.select("prompt_id", "n_eff", "mean"), on="prompt_id", how=how, maintain_order="left")


def _covariance(both: pl.DataFrame, drifts: Drifts) -> Values:
    """Return the covariance of the fitted figures of all drifts, in their order, shape (drifts x 5, drifts x 5).

    Drifts are drawn toward those of all families, apart for what was trained on, and these toward everything. So their
    precision is that of a tree of normal distributions with the information of the prompts at its leaves (Gelman et
    al., 2013, "Bayesian Data Analysis", section 5.4); the covariance is that of the leaves.
    """
    leaves = len(drifts)
    root, kinds = leaves, {False: leaves + 1, True: leaves + 2}
    figures = len(USUAL_DRIFT)
    precision = np.zeros((leaves + 3, figures, leaves + 3, figures))
    precision[root, :, root, :] += np.diag(USUAL_WIDTHS**-2.0)
    for kind in kinds.values():
        _tie(precision, kind, root)
    for number, ((family, trained), drift) in enumerate(drifts.items()):
        prompts = both.filter((pl.col("family") == family) & (pl.col("trained") == trained))
        precision[number, :, number, :] += measure_information(drift, *read_evidence(prompts))
        _tie(precision, number, kinds[trained])
    size = (leaves + 3) * figures
    covariance: Values = np.asarray(np.linalg.inv(precision.reshape(size, size)), dtype=np.float64)
    return covariance[: leaves * figures, : leaves * figures]


def _tie(precision: Values, node: int, parent: int) -> None:
    """Add that a node's figures are normally distributed around its parent's."""
    tie = np.diag(FAMILY_WIDTHS**-2.0)
    for one, other, sign in ((node, node, 1), (parent, parent, 1), (node, parent, -1), (parent, node, -1)):
        precision[one, :, other, :] += sign * tie
