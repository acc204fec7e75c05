"""Summaries and component statistics of forms: plain loops, SciPy, the same bits for the same rows."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from itertools import pairwise
from statistics import fmean, variance
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr

from learnable.filters.statistics.forms import component_stats, summarise
from learnable.filters.statistics.groups import exact_mean, exact_sum

SCHEMA = {
    "family": pl.String,
    "form": pl.String,
    "prompt_id": pl.String,
    "reward": pl.Float64,
    "verdict": pl.String,
    "components": pl.List(pl.Struct({"key": pl.String, "value": pl.Float64})),
}
Row = tuple[str, float | None, str, dict[str, float] | None]

VALUES = st.one_of(st.sampled_from([0.0, 1.0, 0.1]), st.floats(0, 1).map(lambda v: round(v, 3)))
COMPONENTS = st.none() | st.dictionaries(st.sampled_from(["rhyme", "lines"]), VALUES)
VERDICTS = st.sampled_from(["scored", "scored", "truncated", "verifier_error"])
ROWS = st.lists(st.tuples(st.sampled_from("abc"), VALUES, VERDICTS, COMPONENTS), min_size=1, max_size=30)


def as_frame(rows: list[Row], form: str = "F") -> pl.LazyFrame:
    data = [
        (
            "f",
            form,
            prompt,
            reward,
            verdict,
            None if parts is None else [{"key": k, "value": v} for k, v in parts.items()],
        )
        for prompt, reward, verdict, parts in rows
    ]
    return pl.LazyFrame(data, schema=SCHEMA, orient="row")


def stats_of(rows: list[Row], **options: Any) -> dict[str, dict[str, Any]]:
    found = component_stats(as_frame(rows), **options).collect()
    return {row["component"]: row for row in found.to_dicts()}


@given(ROWS, st.sampled_from(["count", "exclude"]))
def test_statistics_equal_a_plain_loop(rows: list[Row], truncated: str) -> None:
    honest = {"scored", "truncated"} if truncated == "count" else {"scored"}
    groups: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for prompt, reward, verdict, parts in rows:
        if verdict in honest and reward is not None:
            for name, value in (parts or {}).items():
                groups[name][prompt].append((value, reward))
    found = stats_of(rows, truncated=truncated)
    assert list(found) == sorted(groups)
    for name, row in found.items():
        members = groups[name].values()
        pairs = [pair for member in members for pair in member]
        assert (row["prompts"], row["rollouts"]) == (len(members), len(pairs))
        assert row["mean"] == pytest.approx(fmean(fmean(v for v, _ in member) for member in members))
        assert row["share_zero"] == pytest.approx(fmean(v == 0 for v, _ in pairs))
        assert row["share_one"] == pytest.approx(fmean(v == 1 for v, _ in pairs))
        centred = [
            (v - fmean(x for x, _ in member), r - fmean(y for _, y in member)) for member in members for v, r in member
        ]
        if own := [variance(value for value, _ in member) for member in members if len(member) > 1]:
            assert row["within_std"] ** 2 == pytest.approx(fmean(own), abs=1e-12)
        if row["explained"] is not None:
            xs, ys = zip(*centred, strict=True)
            assert row["explained"] == pytest.approx(pearsonr(xs, ys).statistic ** 2, abs=1e-6)


def test_where_components_vary_rests_on_the_openings() -> None:
    rng = np.random.default_rng(4)
    first: list[Row] = [
        (f"p{i % 40}", float(reward), "scored", {"lines": float(reward)}) for i, reward in enumerate(rng.random(160))
    ]
    later: list[Row] = [("p0", 0.5, "scored", {"lines": 0.5}) for _ in range(500)]
    both = pl.concat([as_frame(first).with_columns(opening=True), as_frame(later).with_columns(opening=False)])
    [alone], [row] = (component_stats(rows).collect().to_dicts() for rows in (as_frame(first), both))
    split = ("within_std", "between_std", "intraclass", "explained")
    assert [row[name] for name in split] == [alone[name] for name in split]
    assert (row["rollouts"], alone["rollouts"]) == (660, 160)


@given(ROWS, st.randoms(use_true_random=False))
def test_order_of_rows_changes_no_bit(rows: list[Row], shuffler: random.Random) -> None:
    shuffled = list(rows)
    shuffler.shuffle(shuffled)
    assert stats_of(rows) == stats_of(shuffled)


def test_the_part_of_each_component_is_recovered() -> None:
    rng = np.random.default_rng(3)
    rows: list[Row] = []
    for prompt in range(400):
        lines, rhyme = rng.normal(0.5, 0.15, 8), rng.normal(rng.random(), 0.05, 8)
        rows += [
            (f"p{prompt}", (a + b) / 2, "scored", {"lines": a, "rhyme": b, "title": 1.0})
            for a, b in zip(lines.tolist(), rhyme.tolist(), strict=True)
        ]
    found = stats_of(rows)
    # Independent parts: the shares are those of the variances, .15^2 and .05^2.
    assert found["lines"]["explained"] == pytest.approx(0.9, abs=0.02)
    assert found["rhyme"]["explained"] == pytest.approx(0.1, abs=0.02)
    assert found["rhyme"]["intraclass"] > 0.9
    assert found["lines"]["intraclass"] < 0.05
    title = found["title"]
    assert (title["share_one"], title["within_std"], title["explained"]) == (1.0, 0.0, None)


def test_an_always_equal_component_has_exactly_no_std() -> None:
    row = stats_of([(p, r, "scored", {"lines": 0.1}) for p in "ab" for r in (0.0, 0.3, 0.7)])["lines"]
    assert (row["within_std"], row["between_std"], row["explained"]) == (0.0, 0.0, None)


def test_forms_stay_apart() -> None:
    frames = [as_frame([("a", value, "scored", {"lines": value})], form) for form, value in (("G", 1.0), ("F", 0.0))]
    found = component_stats(pl.concat(frames)).collect()
    assert found.select("form", "share_zero", "share_one").rows() == [("F", 1.0, 0.0), ("G", 0.0, 1.0)]


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
            "expected_within_variance": rng.random(prompts) / 4,
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


@pytest.mark.slow
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
def test_a_form_is_learnable_where_its_groups_vary_around_a_middling_mean(
    mean: float, std: float, learnable: bool
) -> None:
    groups = random_groups(60).with_columns(mean=pl.lit(mean), std=pl.lit(std))
    assert set(summarise(groups.lazy()).collect()["learnable"]) == {learnable}


def test_expected_within_variance_is_the_mean_of_the_prompts_own() -> None:
    groups = random_groups(60)
    for row in summarise(groups.lazy(), ("family",)).collect().to_dicts():
        members = groups.filter(pl.col("family") == row["family"])["expected_within_variance"]
        assert row["expected_within_variance"] == pytest.approx(math.fsum(members) / len(members), rel=1e-15)
