"""The choice against plain loops and against every subset there is."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import beta as beta_law

from learnable.data.errors import LearnableError
from learnable.filters.decisions.choosing import (
    cap_share,
    choose,
    find_largest_size,
    is_in_reserve,
)
from learnable.filters.decisions.decide import REASONS
from learnable.filters.decisions.presets import Preset, find_preset, list_presets

Row = dict[str, Any]
FIGURES = ("mean", "pass_rate", "alpha", "beta", "p_zero", "p_one", "variance_share", "p_keep")
SCHEMA: dict[str, Any] = {
    "prompt_id": pl.String,
    "family": pl.String,
    "form": pl.String,
    "decision": pl.Enum(REASONS),
    "n": pl.Int64,
    "zero_std": pl.Boolean,
} | dict.fromkeys(FIGURES, pl.Float64)
# Few values of each, so that ties are common.
SHARES = st.sampled_from([0.1, 0.2, 0.25, 0.29, 0.3, 1 / 3, 0.4, 0.5, 0.6, 2 / 3, 0.75, 0.9, 1.0])
STATISTICS = st.fixed_dictionaries(
    {
        "family": st.sampled_from(["a", "b", "c", None]),
        "form": st.sampled_from(["x", "y"]),
        "decision": st.sampled_from([*REASONS, "keep", "keep", "keep"]),
        "n": st.just(8),
        "mean": st.sampled_from([0.0, 0.125, 0.5, 0.75, 1.0]),
        "zero_std": st.just(False),
        "variance_share": st.sampled_from([0.2, 1.0]),
        "pass_rate": st.sampled_from([0.0, 0.25, 0.5, 1.0]),
        "alpha": st.sampled_from([0.5, 2.0, 5.0]),
        "beta": st.sampled_from([0.5, 2.0, 7.0]),
        "p_zero": st.sampled_from([0.0, 0.3]),
        "p_one": st.sampled_from([0.0, 0.2]),
        "p_keep": st.sampled_from([0.0, 0.1, 0.6, 0.9]),
    }
)
UNSCORED = {"n": 0, "zero_std": None} | dict.fromkeys(FIGURES)
PRESETS = st.builds(
    Preset,
    name=st.just("any"),
    top=st.none() | st.integers(1, 12),
    top_of=st.sampled_from(["kept", "scored"]),
    rank_by=st.sampled_from(["learnability", "p_keep"]),
    quota=st.none() | SHARES,
    quota_by=st.sampled_from(["family", "form"]),
    floor=st.integers(0, 4),
)


def as_rows(statistics: list[Row]) -> list[Row]:
    """Number the rows; those not scored, and some of the undecided, have no rollout that counts."""
    unasked = [
        row["decision"] == "not_scored" or (row["decision"], row["form"]) == ("undecided", "y") for row in statistics
    ]
    rows = [row | UNSCORED if empty else row for row, empty in zip(statistics, unasked, strict=True)]
    return [row | {"prompt_id": f"p{number:02d}"} for number, row in enumerate(rows)]


ROWS = st.lists(STATISTICS, max_size=14).map(as_rows)


def kept_of(family: str, count: int) -> list[Row]:
    common = {"form": "x", "decision": "keep", "n": 8, "mean": 0.5, "pass_rate": 0.5, "p_zero": 0.0, "p_one": 0.0}
    common |= {"zero_std": False, "variance_share": 1.0}
    return [
        common | {"prompt_id": f"{family}{i:03d}", "family": family, "alpha": 1.0 + i, "beta": 1.0 + i, "p_keep": 0.9}
        for i in range(count)
    ]


def framed(rows: list[Row]) -> pl.LazyFrame:
    return pl.LazyFrame(rows, schema=SCHEMA)


def chosen(rows: list[Row], preset: Preset) -> list[str]:
    """Return the ids that the preset chooses; draws whose quota only the empty set holds are left out."""
    try:
        frame = choose(framed(rows), preset).collect()
    except LearnableError:
        assume(False)
    return frame.filter(pl.col("decision") == "keep")["prompt_id"].to_list()


def family_of(row: Row, preset: Preset) -> tuple[str, ...]:
    return (row["family"],) if preset.quota_by == "family" else (row["family"], row["form"])


def value_of(row: Row, preset: Preset) -> float:
    if preset.rank_by == "p_keep":
        return float(row["p_keep"])
    a, b = row["alpha"], row["beta"]
    # The mean of p less the mean of its square.
    of_passes = a / (a + b) - a * (a + 1) / ((a + b) * (a + b + 1))
    return float(row["variance_share"] * (1 - row["p_zero"] - row["p_one"]) * of_passes)


def best_first(rows: list[Row], preset: Preset) -> list[Row]:
    return sorted(rows, key=lambda row: (-round(value_of(row, preset), 12), row["prompt_id"]))


def is_scored(row: Row) -> bool:
    return row["decision"] not in ("duplicate", "contaminated", "not_scored") and row["n"] > 0


@pytest.mark.parametrize(
    ("alpha", "beta", "zero", "one"), [(2.0, 6.0, 0.1, 0.0), (0.7, 0.4, 0.0, 0.3), (5.0, 5.0, 0.2, 0.3)]
)
def test_expected_within_variance_is_the_integral(alpha: float, beta: float, zero: float, one: float) -> None:
    [row] = kept_of("a", 1)
    row |= {"alpha": alpha, "beta": beta, "p_zero": zero, "p_one": one}
    integral, _ = quad(lambda p: p * (1 - p) * beta_law(alpha, beta).pdf(p), 0, 1)
    frame = choose(framed([row]), Preset("plain")).collect()
    assert frame["expected_within_variance"].item() == pytest.approx((1 - zero - one) * integral, rel=1e-6)


@given(ROWS)
def test_the_band_preset_changes_no_decision(rows: list[Row]) -> None:
    frame = choose(framed(rows), find_preset("band")).collect()
    assert frame.drop("expected_within_variance").equals(framed(rows).collect())


@given(ROWS, PRESETS)
def test_only_kept_and_chosen_prompts_change(rows: list[Row], preset: Preset) -> None:
    picked = set(chosen(rows, preset))
    after = choose(framed(rows), preset).collect()
    assert after["prompt_id"].to_list() == [row["prompt_id"] for row in rows]
    for row, decision in zip(rows, after["decision"], strict=True):
        left_out = "over_quota" if row["decision"] == "keep" else row["decision"]
        assert decision == ("keep" if row["prompt_id"] in picked else left_out)
        assert row["prompt_id"] not in picked or is_scored(row)


@given(ROWS, PRESETS, st.randoms())
def test_the_order_of_rows_does_not_matter(rows: list[Row], preset: Preset, random: Any) -> None:
    shuffled = random.sample(rows, len(rows))
    assert sorted(chosen(rows, preset)) == sorted(chosen(shuffled, preset))


@given(ROWS, PRESETS)
def test_no_family_takes_more_than_its_share(rows: list[Row], preset: Preset) -> None:
    picked = set(chosen(rows, preset))
    counts = Counter(family_of(row, preset) for row in rows if row["prompt_id"] in picked)
    assert preset.top is None or len(picked) <= preset.top
    assert preset.quota is None or all(count <= preset.quota * len(picked) + 1e-9 for count in counts.values())


@given(ROWS, st.integers(1, 12), st.sampled_from(["kept", "scored"]), st.sampled_from(["learnability", "p_keep"]))
def test_top_takes_the_best(rows: list[Row], top: int, top_of: Any, rank_by: Any) -> None:
    preset = Preset("top", top=top, top_of=top_of, rank_by=rank_by)
    field = [row for row in rows if row["decision"] == "keep" or (top_of == "scored" and is_scored(row))]
    picked = set(chosen(rows, preset))
    values = sorted(value_of(row, preset) for row in field if row["prompt_id"] in picked)
    best = sorted(value_of(row, preset) for row in best_first(field, preset)[:top])
    assert values == pytest.approx(
        best, rel=0, abs=1e-12
    )  # of prompts whose values differ by rounding alone either may be taken
    assert len(picked) == len(best)


@given(st.lists(STATISTICS, max_size=8).map(as_rows), SHARES, st.none() | st.integers(1, 6))
def test_no_larger_or_better_set_holds_the_quota(rows: list[Row], quota: float, top: int | None) -> None:
    preset = Preset("quota", quota=quota, top=top)
    field = [row for row in rows if row["decision"] == "keep"]
    picked = chosen(rows, preset)
    sizes = range(min(top or 8, 8) + 1)
    fitting = [subset for size in sizes for subset in combinations(field, size) if fits(subset, quota)]
    best = max(fitting, key=lambda subset: (len(subset), round(sum(value_of(row, preset) for row in subset), 9)))
    assert len(picked) == len(best)
    value = sum(value_of(row, preset) for row in field if row["prompt_id"] in picked)
    assert value == pytest.approx(sum(value_of(row, preset) for row in best))


def fits(subset: tuple[Row, ...], quota: float) -> bool:
    counts = Counter(row["family"] for row in subset)
    return all(count <= quota * len(subset) + 1e-9 for count in counts.values())


@given(ROWS, st.integers(1, 5))
def test_a_floor_fills_a_family_with_the_likeliest(rows: list[Row], floor: int) -> None:
    picked = set(chosen(rows, Preset("floor", floor=floor)))
    for family in {row["family"] for row in rows}:
        members = [row for row in rows if row["family"] == family]
        kept = [row["prompt_id"] for row in members if row["decision"] == "keep"]
        others = [row for row in members if row["decision"] != "keep" and is_scored(row) and 0 < row["mean"] < 1]
        others.sort(key=lambda row: (-row["p_keep"], row["prompt_id"]))
        fill = [row["prompt_id"] for row in others[: max(0, floor - len(kept))]]
        assert picked & {row["prompt_id"] for row in members} == {*kept, *fill}


@pytest.mark.parametrize("change", [UNSCORED, {"decision": "duplicate"}, {"decision": "contaminated"}])
@pytest.mark.parametrize("preset", [Preset("t", top=9, top_of="scored"), Preset("f", floor=9)], ids=["top", "floor"])
def test_what_is_barred_is_never_chosen(change: Row, preset: Preset) -> None:
    first, second = kept_of("a", 2)
    assert chosen([first, second | {"decision": "undecided"}], preset) == ["a000", "a001"]
    assert chosen([first, second | {"decision": "undecided"} | change], preset) == ["a000"]


@given(ROWS, PRESETS, st.sets(st.integers(0, 13)))
def test_a_group_of_equal_rewards_is_never_chosen(rows: list[Row], preset: Preset, equal: set[int]) -> None:
    rows = [row | {"zero_std": True} if i in equal and row["n"] else row for i, row in enumerate(rows)]
    dead = {row["prompt_id"] for row in rows if row["zero_std"]}
    assert dead.isdisjoint(chosen(rows, preset))
    after = choose(framed(rows), preset).filter(pl.col("prompt_id").is_in(dead)).collect()
    before = {row["prompt_id"]: row["decision"] for row in rows}
    for prompt_id, decision in after.select("prompt_id", "decision").iter_rows():
        assert decision == ("zero_std" if before[prompt_id] == "keep" else before[prompt_id])


def test_graded_rewards_are_ranked_by_their_own_variance() -> None:
    flat, vivid = kept_of("a", 2)  # of the mean .5 both: the first one varies by a twentieth of pass and fail
    flat |= {"alpha": 500.0, "beta": 500.0, "variance_share": 0.05}
    vivid |= {"alpha": 5.0, "beta": 5.0, "variance_share": 0.5}
    assert chosen([flat, vivid], Preset("best", top=1, top_of="scored")) == [vivid["prompt_id"]]


def test_a_floor_by_passes_looks_at_the_pass_rate() -> None:
    [row] = kept_of("a", 1)
    row |= {"decision": "too_hard", "mean": 0.3, "pass_rate": 0.0}
    preset = Preset("floor", floor=1)
    assert chosen([row], preset) == ["a000"]
    assert chosen([row], preset.override(by="pass")) == []


def test_top_does_not_undo_the_floor() -> None:
    rows = kept_of("a", 3) + kept_of("b", 10)  # b's last ones are the best of all
    assert Counter(id[0] for id in chosen(rows, Preset("t", top=5))) == {"b": 5}
    assert Counter(id[0] for id in chosen(rows, Preset("t", top=5, floor=2))) == {"a": 2, "b": 3}
    assert Counter(id[0] for id in chosen(rows, Preset("t", top=4, floor=9))) == {"a": 2, "b": 2}


def test_a_quota_leaves_the_best_of_the_family_that_dominates() -> None:
    rows = kept_of("a", 100) + kept_of("b", 6) + kept_of("c", 4)
    picked = chosen(rows, Preset("q", quota=0.5))
    assert picked == [f"a{i:03d}" for i in range(90, 100)] + [row["prompt_id"] for row in rows[100:]]


def test_a_quota_by_form_counts_forms() -> None:
    rows = [row | {"form": f"x{number % 2}"} for number, row in enumerate(kept_of("a", 7))]
    assert len(chosen(rows, Preset("q", quota=0.5, quota_by="form"))) == 6


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), SHARES, st.integers(1, 120))
def test_the_size_is_the_largest_of_all(counts: list[int], share: float, limit: int) -> None:
    sizes = range(min(sum(counts), limit) + 1)
    assert find_largest_size(counts, share, limit) == max(
        size for size in sizes if sum(min(count, cap_share(share, size)) for count in counts) >= size
    )


@given(st.integers(1, 100), st.integers(0, 10_000))
@example(29, 100)  # 0.29 * 100 is less than 29 in floats
def test_most_of_a_size_is_that_of_exact_fractions(percent: int, size: int) -> None:
    assert cap_share(percent / 100, size) == percent * size // 100


@given(st.integers(1, 12), st.none() | st.integers(1, 12))
def test_an_impossible_quota_names_the_least_that_works(families: int, top: int | None) -> None:
    rows = [row for family in "abcdefghijkl"[:families] for row in kept_of(family, 2)]
    smallest = 1 / min(families, top or families)
    assert chosen(rows, Preset("q", quota=smallest, top=top))
    with pytest.raises(LearnableError, match=r"`quota` \S+ leaves an empty set") as error:
        choose(framed(rows), Preset("q", quota=smallest - 0.01, top=top))
    offered = float(str(error.value).split("give ")[1].split()[0])
    assert smallest <= offered < smallest + 0.001
    assert chosen(rows, Preset("q", quota=offered, top=top))


def test_a_quota_of_no_prompts_is_no_error() -> None:
    assert chosen([], Preset("q", quota=0.1)) == []
    assert chosen([kept_of("a", 1)[0] | {"decision": "too_easy"}], Preset("q", quota=0.1)) == []


@pytest.mark.parametrize("name", list_presets())
def test_shipped_presets_choose_and_reserve_as_they_say(name: str) -> None:
    preset = find_preset(name)
    rng = np.random.default_rng(5)
    means = rng.integers(0, 33, size=600) / 32
    low, high = preset.band.low, preset.band.high
    rows = [
        {
            **kept_of("a", 1)[0],
            "prompt_id": f"p{i:03d}",
            "mean": mean,
            "alpha": 0.5 + 16 * mean,
            "beta": 16.5 - 16 * mean,
        }
        | {"decision": "keep" if low <= mean <= high else "too_hard" if mean < low else "too_easy"}
        for i, mean in enumerate(map(float, means))
    ]
    after = choose(framed(rows), preset).collect()
    taken = after.filter(pl.col("decision") == "keep")
    if name == "max-learnability":
        left = after.filter(pl.col("decision") != "keep")
        assert len(taken) == 256
        assert taken["expected_within_variance"].min() >= left["expected_within_variance"].max()  # type: ignore[operator]
    else:
        assert taken["mean"].to_list() == [mean for mean in means if low <= mean <= high]
    reserved = sorted(set(after.filter(is_in_reserve(preset))["mean"]))
    assert reserved == ([1 / 32] if name == "hard-biased" else [])


@given(ROWS, st.sampled_from(["reward", "pass"]))
def test_the_reserve_is_scored_not_kept_and_inside(rows: list[Row], by: str) -> None:
    preset = Preset("aside").override(reserve=(0.0, 0.5), by=by)
    reserved = set(framed(rows).filter(is_in_reserve(preset)).collect()["prompt_id"])
    p = "mean" if by == "reward" else "pass_rate"
    assert reserved == {
        row["prompt_id"]
        for row in rows
        if is_scored(row) and row["decision"] != "keep" and 0 < row[p] < 0.5 and not row["zero_std"]
    }


def test_graded_prompts_that_always_score_alike_are_not_in_reserve() -> None:
    """Sixteen rewards of .1 are inside (0, .2) and teach nothing."""
    varying = kept_of("a", 1)[0] | {"mean": 0.1, "pass_rate": 0.0, "decision": "too_hard"}
    equal = varying | {"prompt_id": "equal", "zero_std": True}
    preset = Preset("aside").override(reserve=(0.0, 0.2))
    after = framed([varying, equal]).filter(is_in_reserve(preset)).collect()
    assert after["prompt_id"].to_list() == [varying["prompt_id"]]


@given(ROWS)
def test_without_a_reserve_nothing_is_in_it(rows: list[Row]) -> None:
    assert framed(rows).filter(is_in_reserve(find_preset("band"))).collect().is_empty()
