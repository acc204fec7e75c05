"""Group statistics against a plain loop, under Hypothesis."""

from __future__ import annotations

from itertools import combinations
from statistics import fmean, pstdev

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.filters.groups import group_stats, pass_at_k

REWARDS = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))
VERDICTS = st.sampled_from(["scored", "truncated", "verifier_error", "engine_error"])
ROWS = st.lists(
    st.tuples(st.sampled_from("abc"), REWARDS, st.booleans(), VERDICTS, st.integers(0, 50)), min_size=1, max_size=40
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
        rewards = [r for _, r, _, verdict, _ in members if verdict in honest]
        passes = sum(w for _, _, w, verdict, _ in members if verdict in honest)
        assert got["rollouts"] == sum(verdict != "engine_error" for _, _, _, verdict, _ in members)
        assert got["n"] == len(rewards)
        assert got["passes"] == passes
        assert got["tokens"] == sum(t for *_, t in members)
        assert got["n_verifier_error"] == sum(verdict == "verifier_error" for *_, verdict, _ in members)
        if not rewards:
            assert got["mean"] is got["std"] is got["pass_rate"] is got["zero_std"] is None
            continue
        assert got["mean"] == pytest.approx(fmean(rewards), abs=1e-12)
        assert got["std"] == pytest.approx(pstdev(rewards), abs=1e-9)
        assert got["pass_rate"] == pytest.approx(passes / len(rewards))
        assert got["learnability"] == pytest.approx(got["pass_rate"] * (1 - got["pass_rate"]))
        assert got["zero_std"] == (len(set(rewards)) == 1)


@given(ROWS, st.randoms())
def test_order_of_rows_does_not_matter(rows: list[Row], random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    exact = ["prompt_id", "n", "passes", "tokens", "zero_std", "min_reward", "max_reward"]
    first, second = (group_stats(as_frame(r)).sort("prompt_id").collect().select(exact) for r in (rows, shuffled))
    assert first.equals(second)


@given(REWARDS, st.integers(2, 30))
def test_a_unanimous_group_has_exactly_no_spread(reward: float, size: int) -> None:
    row = group_stats(as_frame([("a", reward, True, "scored", 1)] * size)).collect().to_dicts()[0]
    assert row["std"] == 0.0
    assert row["zero_std"]


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.integers(1, 9))
def test_pass_at_k_is_the_share_of_draws_with_a_pass(passed: list[bool], k: int) -> None:
    frame = pl.DataFrame({"n": [len(passed)], "passes": [sum(passed)]})
    got = frame.select(pass_at_k(k).alias("p"))["p"][0]
    if k > len(passed):
        assert got is None
    else:
        draws = list(combinations(passed, k))
        assert got == pytest.approx(sum(any(draw) for draw in draws) / len(draws))
