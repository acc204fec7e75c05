"""The variance split against a textbook one-way analysis of variance."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import f_oneway

from learnable.filters.groups import group_stats
from learnable.filters.variance import variance_split

GROUPS = st.lists(st.lists(st.floats(0, 1).map(lambda r: round(r, 3)), min_size=2, max_size=8), min_size=2, max_size=6)


def split_of(groups: list[list[float]]) -> dict[str, float]:
    rows = [
        (f"p{i}", float(reward), bool(reward > 0.5), "scored", 1) for i, group in enumerate(groups) for reward in group
    ]
    scores = pl.LazyFrame(rows, schema=["prompt_id", "reward", "passed", "verdict", "num_tokens"], orient="row")
    stats = group_stats(scores).with_columns(family=pl.lit("f"), form=pl.lit("F"))
    return variance_split(stats).collect().to_dicts()[0]


@given(GROUPS)
def test_split_equals_the_textbook(groups: list[list[float]]) -> None:
    n, k = sum(map(len, groups)), len(groups)
    grand = fmean(reward for group in groups for reward in group)
    msw = sum((r - fmean(g)) ** 2 for g in groups for r in g) / (n - k)
    msb = sum(len(g) * (fmean(g) - grand) ** 2 for g in groups) / (k - 1)
    n0 = (n - sum(len(g) ** 2 for g in groups) / n) / (k - 1)
    got = split_of(groups)
    assert got["within_std"] == pytest.approx(msw**0.5, abs=1e-9)
    assert got["between_std"] == pytest.approx(max(0.0, (msb - msw) / n0) ** 0.5, abs=1e-6)


@given(GROUPS)
def test_f_ratio_equals_scipy(groups: list[list[float]]) -> None:
    assume(all(len(set(group)) > 1 for group in groups))
    assert split_of(groups)["f_ratio"] == pytest.approx(f_oneway(*groups).statistic, rel=1e-6, abs=1e-9)


def test_known_variances_are_recovered() -> None:
    rng = np.random.default_rng(7)
    means = rng.normal(0.5, 0.1, size=4000)
    groups = [list(rng.normal(mean, 0.2, size=6)) for mean in means]
    got = split_of(groups)
    assert got["within_std"] == pytest.approx(0.2, rel=0.02)
    assert got["between_std"] == pytest.approx(0.1, rel=0.05)
    assert got["intraclass"] == pytest.approx(0.2, rel=0.08)


def test_one_prompt_has_no_between() -> None:
    got = split_of([[0.0, 1.0, 1.0]])
    assert got["between_std"] is None
    assert got["within_std"] == pytest.approx((2 / 3 / 2) ** 0.5)
