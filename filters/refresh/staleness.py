"""What a new policy makes of a curated set: which prompts to sample again, and what holds of the others."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from learnable.data.band import Band
from learnable.data.curated.refreshed import Drift
from learnable.filters.arrays import Values
from learnable.filters.decisions.decide import expected_mean
from learnable.filters.posterior.belief import Belief
from learnable.filters.posterior.certificate import ZERO_STD_AT, describe_belief
from learnable.filters.refresh.drift import fit_drift, move_belief

CERTIFIED_BY = "certified_by"  # "rollouts" of the set's policy, or "moved" from those of an earlier one

Drifts = dict[tuple[str, bool], Drift]  # of a family's prompts, apart for those that were trained on


def chance_of_error() -> pl.Expr:
    """Return the chance that the likelier decision on a certified row is wrong."""
    return pl.min_horizontal("p_keep", 1 - pl.col("p_keep"))


def choose_anchors(groups: pl.DataFrame, count: int, band: Band) -> list[str]:
    """Choose prompts to be sampled again first: some of every family below, in and above the band.

    A stratum of m prompts gets a share of the anchors as sqrt(m), so that small families are heard too; in the band
    twice that. Which of its prompts those are follows from their ids, which are hashes.

    Args:
        groups: certified rows: `prompt_id`, `family`, `alpha`, `beta`, `p_zero`, `p_one`; null where nothing is known.
        count: how many, fewer where there are not so many.
        band: of the decisions that `groups` rest on.
    """
    inside = expected_mean().is_between(band.low, band.high)
    place = pl.when(inside).then(1).when(expected_mean() < band.low).then(0).otherwise(2)
    stratum = ("family", "_place")
    # Two anchors among the prompts that the set is made of, for each one elsewhere.
    return (
        groups.filter(pl.col("alpha").is_not_null())
        .with_columns(place.alias("_place"))
        .sort("prompt_id")
        .with_columns(
            ((pl.int_range(pl.len()) + 0.5) / pl.len().sqrt()).over(stratum).alias("_turn"),
            pl.when(pl.col("_place") == 1).then(2.0).otherwise(1.0).alias("_weight"),
        )
        .sort(pl.col("_turn") / pl.col("_weight"), "prompt_id")["prompt_id"]
        .head(count)
        .to_list()
    )


def fit_drifts(before: pl.DataFrame, after: pl.DataFrame) -> Drifts:
    """Fit the drift of each family to its prompts that were sampled again, apart for those that were trained on.

    What a policy was trained on moves further than the rest. Where few prompts tell of a family its drift is drawn
    toward that of all families, which it has where none do, and so is the drift of what was trained on toward that of
    everything.

    Args:
        before: certified rows of the old policy: `prompt_id`, `family`, `trained`, `alpha`, `beta`, `p_zero`, `p_one`.
        after: `prompt_id`, `n_eff` and `mean` (of the signal that is decided by) of those sampled again.
    """
    known = before.filter(pl.col("alpha").is_not_null())
    both = known.drop("n_eff", "mean", strict=False).join(after, on="prompt_id", maintain_order="left")
    everything = fit_drift(*read_evidence(both))
    drifts: Drifts = {}
    for trained in (False, True):
        alike = both.filter(pl.col("trained") == trained)
        others = fit_drift(*read_evidence(alike), others=everything)
        for family in known.filter(pl.col("trained") == trained)["family"].unique().sort():
            drifts[family, trained] = fit_drift(*read_evidence(alike.filter(pl.col("family") == family)), others=others)
    return drifts


def move_certificates(
    groups: pl.DataFrame, drifts: Drifts, graded: Mapping[str, bool], band: Band, group_size: int
) -> pl.DataFrame:
    """Return the rows with certificates as the new policy's: what holds of prompts that it was not sampled on.

    Of a graded family the columns about the standard deviation inside a group stay as they were.

    Args:
        groups: certified rows of the old policy with `trained`; those without a certificate stay without.
        drifts: as `fit_drifts` returns them.
        graded: whether a family's rewards are graded, not just pass and fail.
        band: what is kept.
        group_size: completions a prompt that training will draw, for `usable_at_g`.
    """
    parts = [
        _move_alike(
            members, drifts.get((str(family), bool(trained)), Drift()), graded.get(str(family), False), band, group_size
        )
        for (family, trained), members in groups.with_row_index("_row").group_by(
            "family", "trained", maintain_order=True
        )
    ]
    return pl.concat(parts).sort("_row").drop("_row") if parts else groups


def find_unsure(before: pl.DataFrame, moved: pl.DataFrame, worth: float = 7.0) -> list[str]:
    """Return the prompts whose decision may have flipped, the least sure first; those of which nothing is known lead.

    Sampling a prompt again is worth its rollouts where the move has raised the chance of a wrong decision by more than
    1 / `worth`: a wrong decision is worth as much as `worth` prompts sampled again. What was unsure before, and not
    worth more rollouts then, is no reason; but a row that was only moved before must have been as sure as the average
    one.

    Args:
        before: certified rows, `certified_by` among their columns where an earlier refresh made them.
        moved: the same prompts after `move_certificates`.
        worth: of one wrong decision, in prompts sampled again.
    """
    error = chance_of_error().alias("_error")
    old = before.select("prompt_id", error.alias("_before"), _was_moved(before).alias("_moved"))
    usual = old.filter(~pl.col("_moved"))["_before"].mean()
    allowed = pl.when(pl.col("_moved")).then(pl.min_horizontal("_before", pl.lit(usual))).otherwise("_before")
    risen = (
        moved.select("prompt_id", error)
        .join(old, on="prompt_id")
        .with_columns((pl.col("_error") - allowed).alias("_rise"))
    )
    unsure = risen.filter(pl.col("_rise").is_null() | (pl.col("_rise") > 1 / worth))
    return unsure.sort("_error", "prompt_id", descending=[True, False], nulls_last=False)["prompt_id"].to_list()


def read_evidence(groups: pl.DataFrame) -> tuple[Belief, Values, Values]:
    """Return what a drift is fitted to: posteriors, effective sizes and sums of new rewards, 0 where there are none."""
    n = groups["n_eff"].fill_null(0.0).to_numpy()
    return read_posterior(groups), n, n * groups["mean"].fill_null(0.0).to_numpy()


def read_posterior(groups: pl.DataFrame) -> Belief:
    """Return the posteriors of certified rows."""
    return Belief.of_moments(*(groups[name].to_numpy() for name in ("alpha", "beta", "p_zero", "p_one")))


def _move_alike(groups: pl.DataFrame, drift: Drift, graded: bool, band: Band, group_size: int) -> pl.DataFrame:
    known = groups.filter(pl.col("alpha").is_not_null())
    columns = describe_belief(move_belief(drift, read_posterior(known)), band, group_size)
    columns["n_eff"] = columns["alpha"] + columns["beta"]
    if graded:
        of_groups = {"p_min_std", "std_low", "std_high", "usable_at_g", *ZERO_STD_AT.values()}
        columns = {name: values for name, values in columns.items() if name not in of_groups}
    moved = known.with_columns(pl.Series(name, values) for name, values in columns.items())
    moved = moved.with_columns((pl.col("p_in_band") * pl.col("p_min_std")).alias("p_keep")).select(groups.columns)
    return pl.concat([moved, groups.filter(pl.col("alpha").is_null())])


def _was_moved(groups: pl.DataFrame) -> pl.Expr:
    if CERTIFIED_BY not in groups.columns:
        return pl.lit(False)
    return pl.col(CERTIFIED_BY) == "moved"
