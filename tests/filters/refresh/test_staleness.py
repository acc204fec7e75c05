"""Which prompts a new policy is sampled on again, and what is said of the others."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.band import Band
from learnable.data.curated.refreshed import Drift
from learnable.filters.refresh.staleness import (
    choose_anchors,
    expected_mean,
    find_unsure,
    fit_drifts,
    move_certificates,
)
from tests.filters.refresh.drift_for_tests import Moved, simulate

BAND = Band()


def unsure_after(moved: Moved, anchors: int = 100) -> tuple[list[str], pl.DataFrame]:
    names = choose_anchors(moved.before, anchors, BAND)
    drifts = fit_drifts(moved.before, moved.after.filter(pl.col("prompt_id").is_in(names)))
    rest = moved.before.filter(~pl.col("prompt_id").is_in(names))
    aged = move_certificates(rest, drifts, {}, BAND, 16)
    return find_unsure(rest, aged), aged


def test_anchors_come_from_every_family_in_and_out_of_the_band() -> None:
    groups = pl.concat([simulate(600, 0, 0, family="a").before, simulate(60, 0, 0, family="b", seed=1).before])
    names = choose_anchors(groups, 100, BAND)
    chosen = groups.filter(pl.col("prompt_id").is_in(names))
    inside = expected_mean().is_between(BAND.low, BAND.high)
    counts = chosen.group_by("family", inside.alias("inside")).len().sort("family", "inside")
    assert counts.drop("len").rows() == [("a", False), ("a", True), ("b", False), ("b", True)]
    assert len(names) == len(set(names)) == 100
    assert 15 < chosen.filter(pl.col("family") == "b").height < 35


@given(st.integers(0, 10_000), st.integers(1, 90))
def test_anchors_do_not_depend_on_the_order_of_rows(seed: int, count: int) -> None:
    groups = simulate(60, 0, 0, seed=2).before
    names = choose_anchors(groups, count, BAND)
    assert choose_anchors(groups.sample(fraction=1, shuffle=True, seed=seed), count, BAND) == names
    assert choose_anchors(groups, count + 1, BAND)[: len(names)] == names
    assert len(names) == min(count, 60)


def test_prompts_without_a_certificate_are_no_anchors_and_are_sampled_first() -> None:
    groups = simulate(50, 0, 0, seed=3).before
    unknown = groups["prompt_id"][7]
    blank = groups.with_columns(
        pl.when(pl.col("prompt_id") != unknown).then(pl.col(name)).alias(name)
        for name in ("alpha", "beta", "p_zero", "p_one", "p_in_band", "p_min_std", "p_keep")
    )
    assert unknown not in choose_anchors(blank, 50, BAND)
    aged = move_certificates(blank, {("a", False): Drift(noise=2.0)}, {}, BAND, 16)
    assert aged["prompt_id"].to_list().count(unknown) == 1
    assert find_unsure(blank, aged)[0] == unknown


def test_without_drift_almost_nothing_is_sampled_again() -> None:
    unsure, aged = unsure_after(simulate(1000, 0, 0, seed=4))
    assert len(unsure) < 0.06 * aged.height


def test_after_a_huge_drift_nearly_everything_is() -> None:
    unsure, aged = unsure_after(simulate(1000, 0, 2.5, seed=5))
    assert len(unsure) > 0.8 * aged.height


def test_the_least_sure_comes_first() -> None:
    unsure, aged = unsure_after(simulate(1000, 0.8, 0.5, seed=6))
    chances = dict(zip(aged["prompt_id"], aged["p_keep"], strict=True))
    errors = [min(chances[name], 1 - chances[name]) for name in unsure]
    assert errors == sorted(errors, reverse=True)
    assert 0 < len(unsure) < aged.height


def test_families_drift_apart() -> None:
    """One family of two moves: its prompts are sampled again, and the other's are left alone."""
    still, gone = simulate(500, 0, 0, family="a", seed=7), simulate(500, 1.5, 1.0, family="b", seed=8)
    both = Moved(pl.concat([still.before, gone.before]), pl.concat([still.after, gone.after]), np.zeros(0))
    names = choose_anchors(both.before, 200, BAND)
    drifts = fit_drifts(both.before, both.after.filter(pl.col("prompt_id").is_in(names)))
    assert abs(drifts["a", False].shift) < 0.35
    assert drifts["b", False].shift == pytest.approx(1.5, abs=0.5)
    unsure, _ = unsure_after(both, anchors=200)
    from_b = sum(name.startswith("b") for name in unsure)
    assert from_b > 3 * (len(unsure) - from_b)


def test_a_family_without_anchors_drifts_as_the_others_do() -> None:
    """It used to be taken for one that has not moved."""
    told, untold = simulate(300, 1.5, 0.3, family="a", seed=14), simulate(100, 1.5, 0.3, family="b", seed=15)
    drifts = fit_drifts(pl.concat([told.before, untold.before]), told.after)
    assert drifts["b", False].shift == pytest.approx(drifts["a", False].shift, abs=0.3)
    assert drifts["b", False].fitted_to == 0


def test_what_was_trained_on_moves_apart_from_the_rest() -> None:
    """In every family the prompts that were trained on gain 1.5, the others nothing; five anchors a cell are enough."""
    parts = []
    for number, (family, trained) in enumerate((f, t) for f in "abcd" for t in (False, True)):
        part = simulate(100, 1.5 if trained else 0.0, 0.3, family=f"{family}{int(trained)}", seed=20 + number)
        cell = pl.col("family").str.head(1), pl.lit(trained).alias("trained")
        parts.append((part.before.with_columns(cell), part.after.head(5)))
    drifts = fit_drifts(pl.concat(p[0] for p in parts), pl.concat(p[1] for p in parts))
    assert {family for family, _ in drifts} == set("abcd")
    others, trained = (
        np.mean([drift.shift for (_, t), drift in drifts.items() if t == kind]) for kind in (False, True)
    )
    assert others < 0.45
    assert trained > 0.9


def test_a_row_that_was_moved_before_must_be_as_sure_as_the_average() -> None:
    groups = simulate(400, 0, 0, seed=9).before
    aged = move_certificates(groups, {("a", False): Drift(noise=0.8)}, {}, BAND, 16)
    measured = groups.with_columns(certified_by=pl.lit("rollouts"))
    shaky = pl.min_horizontal("p_keep", 1 - pl.col("p_keep")) > 0.35
    once = measured.with_columns(certified_by=pl.when(shaky).then(pl.lit("moved")).otherwise("certified_by"))
    first, second = set(find_unsure(measured, aged)), set(find_unsure(once, aged))
    assert first < second
    assert second - first <= set(groups.filter(shaky)["prompt_id"])


def test_moved_certificates_hang_together() -> None:
    groups = simulate(300, 0, 0, seed=10).before
    aged = move_certificates(groups, {("a", False): Drift(shift=0.7, noise=0.4)}, {}, BAND, 16)
    assert aged["prompt_id"].to_list() == groups["prompt_id"].to_list()
    assert aged.columns == groups.columns
    product = aged["p_in_band"] * aged["p_min_std"]
    assert (product - aged["p_keep"]).abs().max() < 1e-12
    assert (aged.select(expected_mean().alias("m"))["m"] >= groups.select(expected_mean().alias("m"))["m"] - 0.01).all()
    assert (aged["ci_low"] <= aged["ci_high"]).all()


def test_of_a_graded_family_the_variance_stays() -> None:
    groups = simulate(50, 0, 0, seed=11).before.with_columns(p_min_std=pl.lit(0.7), std_low=pl.lit(0.1))
    aged = move_certificates(groups, {("a", False): Drift(shift=1.0, noise=0.5)}, {"a": True}, BAND, 16)
    kept = ("p_min_std", "std_low", "std_high", "usable_at_g")
    assert aged.select(kept).equals(groups.select(kept))
    assert (aged["p_keep"] - 0.7 * aged["p_in_band"]).abs().max() < 1e-12
    assert not aged["p_in_band"].equals(groups["p_in_band"])
