"""Group statistics against a plain loop, under Hypothesis."""

from __future__ import annotations

import math
from itertools import combinations
from statistics import fmean, pstdev

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.filters.statistics.groups import group_stats, pass_at_k

REWARDS = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))
BROKEN = st.sampled_from([math.nan, math.inf, -math.inf])
VERDICTS = st.sampled_from(["scored", "truncated", "verifier_error", "engine_error"])
ROWS = st.lists(
    st.tuples(st.sampled_from("abc"), REWARDS | BROKEN, st.booleans(), VERDICTS, st.integers(0, 50)),
    min_size=1,
    max_size=40,
)
Row = tuple[str, float, bool, str, int]


def as_frame(rows: list[Row]) -> pl.LazyFrame:
    unscored = ("verifier_error", "engine_error")
    columns = ["prompt_id", "reward", "passed", "verdict", "num_tokens"]
    data = [(p, None if v in unscored else r, None if v in unscored else w, v, t) for p, r, w, v, t in rows]
    schema = dict(zip(columns, [pl.String, pl.Float64, pl.Boolean, pl.String, pl.Int64], strict=True))
    return pl.LazyFrame(data, schema=schema, orient="row")


@given(ROWS, st.sampled_from(["count", "exclude"]))
def test_statistics_equal_a_plain_loop(rows: list[Row], truncated: str) -> None:
    found = group_stats(as_frame(rows), truncated=truncated).collect()
    by_prompt = {row["prompt_id"]: row for row in found.to_dicts()}
    assert set(by_prompt) == {row[0] for row in rows}
    honest = {"scored", "truncated"} if truncated == "count" else {"scored"}
    for prompt_id, got in by_prompt.items():
        members = [row for row in rows if row[0] == prompt_id]
        counted = [row for row in members if row[3] in honest and math.isfinite(row[1])]
        broken = [row for row in members if row[3] in ("scored", "truncated") and not math.isfinite(row[1])]
        rewards = [r for _, r, *_ in counted]
        passes = sum(w for _, _, w, *_ in counted)
        assert got["rollouts"] == sum(verdict != "engine_error" for _, _, _, verdict, _ in members)
        assert got["n"] == len(rewards)
        assert got["passes"] == passes
        assert got["tokens"] == sum(t for *_, t in members)
        assert got["n_verifier_error"] == sum(verdict == "verifier_error" for *_, verdict, _ in members) + len(broken)
        assert got["n_scored"] == sum(row[3] == "scored" for row in members if row not in broken)
        assert got["n_truncated"] == sum(row[3] == "truncated" for row in members if row not in broken)
        assert (got["zeros"], got["ones"]) == (rewards.count(0.0), rewards.count(1.0))
        if not rewards:
            assert got["mean"] is got["std"] is got["pass_rate"] is got["zero_std"] is None
            continue
        assert got["mean"] == pytest.approx(fmean(rewards), abs=1e-12)
        assert got["std"] == pytest.approx(pstdev(rewards), abs=1e-9)
        assert got["pass_rate"] == pytest.approx(passes / len(rewards))
        assert got["pass_variance"] == pytest.approx(got["pass_rate"] * (1 - got["pass_rate"]))
        assert got["zero_std"] == (len(set(rewards)) == 1)


@given(ROWS, st.randoms())
def test_order_of_rows_does_not_matter(rows: list[Row], random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = (group_stats(as_frame(r)).sort("prompt_id").collect() for r in (rows, shuffled))
    assert first.equals(second)


@given(st.permutations([0.5] * 12 + [0.75] * 3))
def test_a_std_at_a_threshold_is_not_rounded_below_it(rewards: list[float]) -> None:
    row = group_stats(as_frame([("a", reward, True, "scored", 1) for reward in rewards])).collect().to_dicts()[0]
    assert row["std"] == 0.1
    assert row["mean"] == 0.55


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf])
def test_a_reward_that_is_no_number_is_an_error_and_never_a_zero(reward: float) -> None:
    rows = [("a", 1.0, True, "scored", 1), ("a", reward, True, "scored", 1), ("a", reward, True, "truncated", 1)]
    row = group_stats(as_frame(rows)).collect().to_dicts()[0]
    assert (row["n"], row["n_verifier_error"], row["n_scored"], row["n_truncated"]) == (1, 2, 1, 0)
    assert (row["mean"], row["std"], row["zeros"], row["passes"], row["rollouts"]) == (1.0, 0.0, 0, 1, 3)


@pytest.mark.parametrize("kind", [pl.Null, pl.Float64])
def test_a_family_without_any_reward_has_null_statistics(kind: type[pl.DataType]) -> None:
    scores = as_frame([("a", 0.0, False, "verifier_error", 1)] * 3).with_columns(
        pl.lit(None, kind).alias("reward"), pl.lit(None, pl.Null).alias("passed")
    )
    row = group_stats(scores).collect().to_dicts()[0]
    statistics = ("mean", "std", "min_reward", "max_reward", "pass_rate", "pass_at_1", "zero_std", "pass_variance")
    assert [row[name] for name in statistics] == [None] * len(statistics)
    assert (row["n"], row["zeros"], row["ones"], row["rollouts"]) == (0, 0, 0, 3)


@given(REWARDS, st.integers(2, 30))
def test_a_unanimous_group_has_exactly_no_std(reward: float, size: int) -> None:
    row = group_stats(as_frame([("a", reward, True, "scored", 1)] * size)).collect().to_dicts()[0]
    assert row["std"] == 0.0
    assert row["zero_std"]


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.integers(1, 9))
def test_pass_at_k_is_the_share_of_samples_with_a_pass(passed: list[bool], k: int) -> None:
    frame = pl.DataFrame({"n": [len(passed)], "passes": [sum(passed)]})
    got = frame.select(pass_at_k(k).alias("p"))["p"][0]
    if k > len(passed):
        assert got is None
    else:
        subsets = list(combinations(passed, k))
        assert got == pytest.approx(sum(map(any, subsets)) / len(subsets))
