"""The variance split against a textbook one-way analysis of variance."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean, pstdev

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import f_oneway

from learnable.filters.arrays import Values
from learnable.filters.statistics.groups import group_stats
from learnable.filters.statistics.variance import VarianceShares, split_pool_variance, split_variance
from tests.filters.stopped_pools_for_tests import sample_adaptively

GROUPS = st.lists(st.lists(st.floats(0, 1).map(lambda r: round(r, 3)), min_size=2, max_size=8), min_size=2, max_size=6)


def split_of(groups: list[list[float]]) -> dict[str, float]:
    rows = [
        (f"p{i}", float(reward), bool(reward > 0.5), "scored", 1) for i, group in enumerate(groups) for reward in group
    ]
    scores = pl.LazyFrame(rows, schema=["prompt_id", "reward", "passed", "verdict", "num_tokens"], orient="row")
    stats = group_stats(scores).with_columns(family=pl.lit("f"), form=pl.lit("F"))
    return split_variance(stats).collect().to_dicts()[0]


def unbiased(group: list[float]) -> float:
    return pstdev(group) ** 2 * len(group) / (len(group) - 1)


@given(GROUPS)
def test_split_counts_every_prompt_alike(groups: list[list[float]]) -> None:
    within = fmean(unbiased(group) for group in groups)
    noise = fmean(unbiased(group) / len(group) for group in groups)
    of_means = unbiased([fmean(group) for group in groups])
    got = split_of(groups)
    assert got["within_std"] == pytest.approx(within**0.5, abs=1e-9)
    assert got["between_std"] ** 2 == pytest.approx(max(0.0, of_means - noise), abs=1e-12)
    assume(noise > 1e-6)
    assert got["f_ratio"] == pytest.approx(of_means / noise, rel=1e-6, abs=1e-9)


@given(GROUPS, st.integers(2, 8))
def test_split_of_equal_sizes_equals_the_textbook(groups: list[list[float]], size: int) -> None:
    equal = [(group * size)[:size] for group in groups]
    assume(all(len(set(group)) > 1 for group in equal))
    msw = fmean(unbiased(group) for group in equal)
    msb = size * unbiased([fmean(group) for group in equal])
    got = split_of(equal)
    assert got["within_std"] == pytest.approx(msw**0.5, abs=1e-9)
    assert got["between_std"] ** 2 == pytest.approx(max(0.0, (msb - msw) / size), abs=1e-12)
    assert got["f_ratio"] == pytest.approx(f_oneway(*equal).statistic, rel=1e-6, abs=1e-9)


def test_openings_are_taken_where_they_are_known() -> None:
    rows = [("a", 9, 0.9, 0.1), ("b", 9, 0.7, 0.2), ("c", 9, 0.5, 0.3)]
    groups = pl.LazyFrame(rows, schema=["prompt_id", "n", "mean", "std"], orient="row").with_columns(
        opening_n=pl.Series([4, 4, None]),
        opening_mean=pl.Series([0.8, 0.4, None]),
        opening_std=pl.Series([0.3, 0.4, None]),
        form=pl.lit("F"),
    )
    own = [0.09 * 4 / 3, 0.16 * 4 / 3, 0.09 * 9 / 8]
    [got] = split_variance(groups, ["form"]).collect().to_dicts()
    assert got["within_std"] == pytest.approx(fmean(own) ** 0.5)
    noise = fmean([own[0] / 4, own[1] / 4, own[2] / 9])
    assert got["f_ratio"] == pytest.approx(unbiased([0.8, 0.4, 0.5]) / noise)
    assert split_pool_variance(groups, ["form"]).rollouts == 27


def mixture(rng: np.random.Generator) -> Values:
    return np.where(rng.random(POOL) < 0.7, 1.0, rng.random(POOL))


POOL = 700
POPULATIONS: dict[str, tuple[Callable[[np.random.Generator], Values], float | None]] = {
    "70 % solved": (mixture, None),
    "Beta(.2, 1)": (lambda rng: rng.beta(0.2, 1, POOL), None),
    "Beta(2, 2)": (lambda rng: rng.beta(2, 2, POOL), None),
    "graded": (lambda rng: rng.beta(2, 2, POOL), 0.2),
    "graded, 70 % solved": (mixture, 0.2),
}


@pytest.mark.slow
@pytest.mark.parametrize("population", POPULATIONS)
def test_the_split_is_the_pools_and_not_the_samplers(population: str) -> None:
    """Rollouts pooled: within .310 for .224 and .331 for .277 of the first two, between .340 for .283."""
    draw, std = POPULATIONS[population]
    rng, errors = np.random.default_rng(21), []
    for _ in range(6):
        means = draw(rng)
        inside = means * (1 - means) * (1.0 if std is None else 4 * std**2)
        groups = sample_adaptively(rng, means, std).with_columns(form=pl.lit("F"))
        [got] = split_variance(groups.lazy(), ["form"]).collect().to_dicts()
        shares = split_pool_variance(groups.lazy(), ["form"])
        assert shares.intraclass == pytest.approx(got["intraclass"], abs=1e-9)
        errors.append((got["within_std"] - inside.mean() ** 0.5, got["between_std"] - means.std()))
    assert np.abs(np.mean(errors, axis=0)).max() < 0.01


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
    """Return the variances within, between prompts and between forms, every prompt counted alike."""
    own = [unbiased(g) for form in forms for g in form if len(g) > 1]
    within, a, b = fmean(own), len(forms), sum(map(len, forms))
    noise = [[(unbiased(g) if len(g) > 1 else within) / len(g) for g in form] for form in forms]
    means = [[fmean(g) for g in form] for form in forms]
    ss_prompts = sum((m - fmean(form)) ** 2 for form in means for m in form)
    lost = sum(e * (1 - 1 / len(form)) for form in noise for e in form)
    prompts = max(0.0, (ss_prompts - lost) / (b - a))
    if a == 1:
        return within, prompts, 0.0
    grand = fmean(m for form in means for m in form)
    ss_forms = sum(len(form) * (fmean(form) - grand) ** 2 for form in means)
    noise_forms = sum((1 - len(form) / b) * fmean(form) for form in noise)
    k = b - sum(len(form) ** 2 for form in forms) / b
    return within, prompts, max(0.0, (ss_forms - noise_forms - (a - 1) * prompts) / k)


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


@pytest.mark.slow
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
