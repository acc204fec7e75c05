"""The summary's figures: the same bits for the same rows, and the exact sums they rest on."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.filters.statistics.forms import summarise
from learnable.filters.statistics.groups import exact_mean, exact_sum


def random_groups(prompts: int) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    form = rng.integers(0, 4, prompts)
    n = rng.integers(2, 40, prompts)
    return pl.DataFrame(
        {
            "family": [f"family {f % 2}" for f in form],
            "form": [f"form {f}" for f in form],
            "n": n,
            "mean": rng.random(prompts),
            "std": rng.random(prompts) / 2,
            "pass_rate": rng.random(prompts),
            "learnability_expected": rng.random(prompts) / 4,
            "zero_std": rng.random(prompts) < 0.3,
            "rollouts": n,
            "tokens": 7 * n,
            "n_verifier_error": 0 * n,
            "n_engine_error": 0 * n,
            "decision": rng.choice(["keep", "too_easy"], prompts),
        }
    )


def in_chunks(groups: pl.DataFrame, chunks: int) -> pl.DataFrame:
    edges = np.linspace(0, groups.height, chunks + 1).astype(int).tolist()
    return pl.concat([groups[a:b] for a, b in pairwise(edges)], rechunk=False)


@pytest.mark.parametrize("by", [("family", "form"), ("family",)])
def test_equal_rows_give_equal_bits(by: tuple[str, ...]) -> None:
    groups = random_groups(600)
    first = summarise(groups.lazy(), by).collect().rows()
    for seed in range(40):
        shuffled = groups.sample(fraction=1, shuffle=True, seed=seed)
        for chunks in (1, 2, 7, 40):
            for rows in (groups, shuffled):
                assert summarise(in_chunks(rows, chunks).lazy(), by).collect().rows() == first


def test_means_are_those_of_a_plain_loop() -> None:
    groups = random_groups(60)
    for row in summarise(groups.lazy()).collect().to_dicts():
        members = groups.filter(pl.col("form") == row["form"])
        assert row["mean"] == math.fsum(members["mean"]) / members.height
        assert row["pass_at_1"] == math.fsum(members["pass_rate"]) / members.height


@given(st.lists(st.none() | st.floats(-1e6, 1e6).map(lambda x: 0.0 if abs(x) < 1e-8 else x), max_size=40))
def test_an_exact_sum_is_rounded_once(values: list[float | None]) -> None:
    found = pl.DataFrame({"x": values}, schema={"x": pl.Float64}).select(
        exact_sum(pl.col("x")).alias("sum"), exact_mean(pl.col("x")).alias("mean")
    )
    present = [value for value in values if value is not None]
    assert found["sum"][0] == math.fsum(present)
    assert found["mean"][0] == (math.fsum(present) / len(present) if present else None)


def test_a_sum_out_of_range_is_an_error() -> None:
    with pytest.raises(pl.exceptions.InvalidOperationError):
        pl.DataFrame({"x": [math.inf]}).select(exact_sum(pl.col("x")))


@pytest.mark.parametrize(
    ("mean", "std", "learnable"), [(0.5, 0.3, True), (0.8, 0.3, False), (0.1, 0.2, False), (0.5, 0.05, False)]
)
def test_a_form_is_learnable_where_its_groups_spread_around_a_middling_mean(
    mean: float, std: float, learnable: bool
) -> None:
    groups = random_groups(60).with_columns(mean=pl.lit(mean), std=pl.lit(std))
    assert set(summarise(groups.lazy()).collect()["learnable"]) == {learnable}


def test_learnability_is_the_mean_of_the_prompts_own() -> None:
    groups = random_groups(60)
    for row in summarise(groups.lazy(), ("family",)).collect().to_dicts():
        members = groups.filter(pl.col("family") == row["family"])["learnability_expected"]
        assert row["learnability"] == pytest.approx(math.fsum(members) / len(members), rel=1e-15)
