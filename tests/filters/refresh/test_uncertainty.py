"""The share of a set that is still in the band: its interval holds the truth as often as it says."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from learnable.data.band import Band
from learnable.data.curated.refreshed import Drift, StillInBand
from learnable.filters.refresh.drift import measure_information, shift_figure
from learnable.filters.refresh.staleness import choose_anchors, fit_drifts, read_evidence
from learnable.filters.refresh.uncertainty import estimate_share_still_in_band
from tests.filters.refresh.drift_for_tests import Moved, simulate

BAND = Band()
REFRESHES = 20
KEPT = pl.col("p_keep") >= 0.5


def estimate(moved: Moved, anchors: int, members: pl.DataFrame | None = None) -> tuple[StillInBand, float]:
    """Return what is said of the prompts that the old policy's certificates keep, and the truth."""
    names = choose_anchors(moved.before, anchors, BAND)
    after = moved.after.filter(pl.col("prompt_id").is_in(names))
    drifts = fit_drifts(moved.before, after)
    kept = moved.before.filter(KEPT) if members is None else members
    found = estimate_share_still_in_band(moved.before, after, drifts, kept, BAND)
    assert found is not None
    truth = moved.before.with_columns(truth=pl.Series(moved.truth)).filter(pl.col("prompt_id").is_in(kept["prompt_id"]))
    return found, float(truth["truth"].mean())  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(("shift", "noise", "anchors"), [(0.0, 0.0, 40), (0.8, 0.4, 30)])
def test_the_interval_covers_the_truth_as_often_as_it_says(shift: float, noise: float, anchors: int) -> None:
    """At least 16 in 20 at 90 %, where prompts taken for independent come to about 12; and no wider than it must be."""
    found = [estimate(simulate(300, shift, noise, seed=100 + seed), anchors) for seed in range(REFRESHES)]
    assert sum(share.low <= truth <= share.high for share, truth in found) >= 16
    errors = [(share.share - truth) / ((share.high - share.low) / 2 / 1.645) for share, truth in found]
    assert np.sqrt(np.mean(np.square(errors))) > 0.45
    assert abs(np.mean([share.share - truth for share, truth in found])) < 0.03


def test_more_anchors_make_it_narrower() -> None:
    moved = simulate(2000, 0.8, 0.4, seed=1)
    few, many = (estimate(moved, anchors)[0] for anchors in (20, 600))
    assert many.high - many.low < 0.6 * (few.high - few.low)


def test_a_larger_set_does_not_make_the_drift_surer() -> None:
    """Of independent prompts the interval of 900 would be a third as wide as that of 100."""
    moved = simulate(3000, 0.0, 0.3, seed=2)
    kept = moved.before.filter(KEPT)
    small, large = (estimate(moved, 30, kept.head(count))[0] for count in (70, kept.height))
    assert kept.height > 600
    assert large.high - large.low > 0.5 * (small.high - small.low)


def test_prompts_with_rollouts_of_their_own_owe_little_to_the_drift() -> None:
    moved = simulate(300, 0.8, 0.4, seed=3)
    found, truth = estimate(moved, 300)
    deviation = np.sqrt(truth * (1 - truth) / moved.before.filter(KEPT).height)
    assert found.low <= truth <= found.high
    assert found.high - found.low < 2 * 1.645 * deviation


def test_families_without_anchors_are_less_sure() -> None:
    told, untold = simulate(300, 0.8, 0.3, family="a", seed=4), simulate(300, 0.8, 0.3, family="b", seed=5)
    before, after = pl.concat([told.before, untold.before]), told.after
    drifts = fit_drifts(before, after.head(150))
    shares = [
        estimate_share_still_in_band(before, after.head(150), drifts, part.before.filter(KEPT).head(60), BAND)
        for part in (told, untold)
    ]
    of_told, of_untold = (share.high - share.low for share in shares if share is not None)
    assert of_untold > 1.2 * of_told


def test_of_no_prompts_and_of_unknown_ones_there_is_none() -> None:
    moved = simulate(50, 0.0, 0.0, seed=6)
    drifts = fit_drifts(moved.before, moved.after)
    unknown = moved.before.with_columns(alpha=pl.lit(None, pl.Float64))
    for members in (moved.before.clear(), unknown):
        assert estimate_share_still_in_band(moved.before, moved.after, drifts, members, BAND) is None


@pytest.mark.slow
def test_information_is_the_curvature_of_the_likelihood_on_average() -> None:
    """Of the shift: the variance of its fit over many refreshes is about one over the information."""
    from learnable.filters.refresh.drift import fit_drift

    shifts, informations = [], []
    for seed in range(30):
        moved = simulate(120, 0.5, 0.5, seed=200 + seed)
        both = moved.before.drop("n_eff", "mean").join(moved.after.select("prompt_id", "n_eff", "mean"), on="prompt_id")
        drift = fit_drift(*read_evidence(both))
        shifts.append(drift.shift)
        informations.append(np.linalg.inv(measure_information(drift, *read_evidence(both)) + np.eye(5))[0, 0])
    assert np.std(shifts) == pytest.approx(np.sqrt(np.mean(informations)), rel=0.4)


def test_a_figure_is_shifted_alone() -> None:
    drift = Drift(0.5, 1.1, 0.4, 0.1, 0.2, 9)
    moved = shift_figure(drift, 0, 0.25)
    assert moved.shift == pytest.approx(0.75)
    assert (moved.slope, moved.noise, moved.fitted_to) == (pytest.approx(1.1), pytest.approx(0.4), 9)
