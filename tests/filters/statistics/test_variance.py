"""The variance split against a textbook one-way analysis of variance."""

from __future__ import annotations

from statistics import fmean, pstdev

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import f_oneway

from learnable.filters.statistics.groups import group_stats
from learnable.filters.statistics.variance import VarianceShares, split_pool_variance, split_variance

GROUPS = st.lists(st.lists(st.floats(0, 1).map(lambda r: round(r, 3)), min_size=2, max_size=8), min_size=2, max_size=6)


def split_of(groups: list[list[float]]) -> dict[str, float]:
    rows = [
        (f"p{i}", float(reward), bool(reward > 0.5), "scored", 1) for i, group in enumerate(groups) for reward in group
    ]
    scores = pl.LazyFrame(rows, schema=["prompt_id", "reward", "passed", "verdict", "num_tokens"], orient="row")
    stats = group_stats(scores).with_columns(family=pl.lit("f"), form=pl.lit("F"))
    return split_variance(stats).collect().to_dicts()[0]


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


Forms = list[list[list[float]]]
FORMS = st.lists(
    st.lists(
        st.lists(st.floats(0, 1).map(lambda r: round(r, 3)), min_size=1, max_size=5),
        min_size=1,
        max_size=4,
    ),
    min_size=1,
    max_size=4,
)


def nested_of(forms: Forms) -> VarianceShares:
    rows = [
        {"family": "f", "form": f"F{i}", "n": len(group), "mean": fmean(group), "std": pstdev(group)}
        for i, form in enumerate(forms)
        for group in form
    ]
    return split_pool_variance(pl.LazyFrame(rows))


def nested_variances(forms: Forms) -> tuple[float, float, float]:
    """Return the variances within, between prompts and between forms, from every reward and the ANOVA formulas."""
    every = [r for form in forms for group in form for r in group]
    total, a, b = len(every), len(forms), sum(map(len, forms))
    pooled = [[r for group in form for r in group] for form in forms]
    within = sum((r - fmean(g)) ** 2 for form in forms for g in form for r in g) / (total - b)
    ss_prompts = sum(
        len(g) * (fmean(g) - fmean(all_of)) ** 2 for form, all_of in zip(forms, pooled, strict=True) for g in form
    )
    shared = sum(len(g) ** 2 / len(p) for form, p in zip(forms, pooled, strict=True) for g in form)
    prompts = max(0.0, (ss_prompts / (b - a) - within) / ((total - shared) / (b - a)))
    if a == 1:
        return within, prompts, 0.0
    ss_forms = sum(len(p) * (fmean(p) - fmean(every)) ** 2 for p in pooled)
    k2 = (shared - sum(len(g) ** 2 for form in forms for g in form) / total) / (a - 1)
    k3 = (total - sum(len(p) ** 2 for p in pooled) / total) / (a - 1)
    return within, prompts, max(0.0, (ss_forms / (a - 1) - within - k2 * prompts) / k3)


@given(FORMS)
def test_nested_split_equals_the_formulas(forms: Forms) -> None:
    got = nested_of(forms)
    prompts, total = sum(map(len, forms)), sum(len(group) for form in forms for group in form)
    assert (got.forms, got.prompts, got.rollouts) == (len(forms), prompts, total)
    if prompts == len(forms) or total == prompts:
        assert got.within is got.between_prompts is got.between_forms is got.intraclass is None
        return
    parts = nested_variances(forms)
    assume(sum(parts) == 0 or sum(parts) > 1e-9)
    if sum(parts) == 0:
        assert got.within is None
        return
    shares = [part / sum(parts) for part in parts]
    assert [got.within, got.between_prompts, got.between_forms] == pytest.approx(shares, abs=1e-6)
    assert got.intraclass == pytest.approx(1 - shares[0], abs=1e-6)


def simulated_forms(rng: np.random.Generator, forms: int, stds: tuple[float, float, float]) -> Forms:
    """Forms of 2 to 20 prompts of 2 to 16 rollouts; `stds` between forms, between prompts, within."""
    drawn: Forms = []
    for form_mean in rng.normal(0.5, stds[0], forms):
        means = rng.normal(form_mean, stds[1], rng.integers(2, 20))
        drawn.append([rng.normal(mean, stds[2], rng.integers(2, 16)).tolist() for mean in means])
    return drawn


def test_nested_split_recovers_known_shares() -> None:
    got = nested_of(simulated_forms(np.random.default_rng(11), 1500, (0.2, 0.1, 0.2)))
    assert got.between_forms == pytest.approx(0.04 / 0.09, abs=0.02)
    assert got.between_prompts == pytest.approx(0.01 / 0.09, abs=0.01)
    assert got.within == pytest.approx(0.04 / 0.09, abs=0.02)


def test_nested_estimates_are_unbiased_over_small_pools() -> None:
    rng = np.random.default_rng(12)
    drawn = [nested_variances(simulated_forms(rng, 6, (0.3, 0.2, 0.1))) for _ in range(400)]
    within, prompts, forms = np.mean(drawn, axis=0)
    assert within == pytest.approx(0.01, rel=0.03)
    assert prompts == pytest.approx(0.04, rel=0.05)
    assert forms == pytest.approx(0.09, rel=0.12)


def test_one_form_splits_as_prompts_alone_do() -> None:
    [form] = simulated_forms(np.random.default_rng(13), 1, (0.0, 0.1, 0.2))
    got = nested_of([form])
    assert got.between_forms == 0.0
    assert got.intraclass == pytest.approx(split_of(form)["intraclass"])
