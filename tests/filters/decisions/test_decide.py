from __future__ import annotations

import polars as pl
import pytest

from learnable.data.band import Band, Signal
from learnable.data.errors import LearnableError
from learnable.filters.decisions.decide import decide, decide_certified, is_unanimous
from learnable.filters.statistics.forms import count_decisions, summarise
from learnable.filters.statistics.groups import group_stats


def decided(rewards: dict[str, list[float | None]], band: Band) -> dict[str, str]:
    rows = [
        (
            prompt_id,
            reward,
            None if reward is None else reward >= 0.9,
            "verifier_error" if reward is None else "scored",
            1,
        )
        for prompt_id, group in rewards.items()
        for reward in group
    ]
    schema = {
        "prompt_id": pl.String,
        "reward": pl.Float64,
        "passed": pl.Boolean,
        "verdict": pl.String,
        "num_tokens": pl.Int64,
    }
    frame = decide(group_stats(pl.LazyFrame(rows, schema=schema, orient="row")), band).collect()
    return dict(zip(frame["prompt_id"], frame["decision"].cast(pl.String), strict=True))


def test_every_reject_says_why() -> None:
    rewards: dict[str, list[float | None]] = {
        "solved": [1, 1, 1, 1],
        "hopeless": [0, 0, 0, 0],
        "nearly": [1, 1, 1, 0.5],
        "half": [0, 1, 0, 1],
        "agreed": [0.5, 0.5, 0.5, 0.5],
        "narrow": [0.5, 0.52, 0.5, 0.52],
        "broken": [None, None],
    }
    assert decided(rewards, Band()) == {
        "solved": "too_easy",
        "hopeless": "too_hard",
        "nearly": "too_easy",
        "half": "keep",
        "agreed": "zero_std",
        "narrow": "low_std",
        "broken": "not_scored",
    }


def test_band_edges_are_inside() -> None:
    assert decided({"low": [1, 0, 0, 0, 0], "high": [1, 1, 1, 1, 0]}, Band()) == {"low": "keep", "high": "keep"}


@pytest.mark.parametrize(("min_std", "decision"), [(0.25, "keep"), (0.2501, "low_std")])
def test_the_least_std_is_inside(min_std: float, decision: str) -> None:
    assert decided({"spread": [0.25, 0.75] * 2}, Band(min_std=min_std)) == {"spread": decision}


@pytest.mark.parametrize(
    ("row", "signal", "decision"),
    [
        ({}, "reward", "keep"),
        ({"zero_std": True}, "reward", "zero_std"),
        ({"pass_rate": 1.0}, "reward", "keep"),
        ({"pass_rate": 1.0}, "pass", "zero_std"),
        ({"zero_std": True}, "pass", "zero_std"),
        ({"p_in_band": 0.1, "p_keep": 0.1, "zero_std": True}, "reward", "too_hard"),
        ({"p_keep": 0.1}, "reward", "low_std"),
        ({"stopped": False, "zero_std": True}, "reward", "undecided"),
    ],
)
def test_however_sure_a_unanimous_group_is_not_kept(row: dict[str, object], signal: Signal, decision: str) -> None:
    sure = {"p_keep": 0.99, "p_in_band": 0.99, "threshold": 0.5, "stopped": True, "zero_std": False, "pass_rate": 0.5}
    mean = {"alpha": 4.0, "beta": 5.0, "p_zero": 0.0, "p_one": 0.0}
    [decided_row] = decide_certified(pl.LazyFrame([sure | mean | row]), Band(signal=signal)).collect().to_dicts()
    assert decided_row["decision"] == decision


def test_a_group_of_one_is_unanimous_and_one_of_none_is_not_known() -> None:
    scores = pl.LazyFrame(
        {
            "prompt_id": ["a", "b", "c", "c"],
            "reward": [0.4, None, 0.5, 0.5],
            "passed": [False, None, True, False],
            "verdict": ["scored", "verifier_error", "scored", "scored"],
            "num_tokens": [1, 1, 1, 1],
        }
    )
    groups = group_stats(scores).sort("prompt_id").collect()
    assert groups.select(x=is_unanimous("reward"))["x"].to_list() == [True, None, True]
    assert groups.select(x=is_unanimous("pass"))["x"].to_list() == [True, None, True]


def test_an_error_is_not_a_zero() -> None:
    assert decided({"p": [1, 1, 0, None, None, None, None, None]}, Band())["p"] == "keep"


def test_the_pass_signal_looks_at_passes() -> None:
    graded: dict[str, list[float | None]] = {"p": [0.5, 0.6, 0.7, 0.6]}
    assert decided(graded, Band(min_std=0.0)) == {"p": "keep"}
    assert decided(graded, Band(signal="pass")) == {"p": "too_hard"}


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ({"low": 0.8, "high": 0.2}, "`band` 0.8 0.2"),
        ({"low": 0.5, "high": 0.5}, "`band` 0.5 0.5"),
        ({"low": -0.1}, "`band` -0.1"),
        ({"high": 1.5}, "`band` 0.2 1.5"),
        ({"min_std": 0.6}, "`min_std` 0.6"),
        ({"signal": "vibes"}, "`signal` 'vibes'"),
    ],
)
def test_impossible_bands_say_what_is_wrong(values: dict[str, float], names: str) -> None:
    with pytest.raises(LearnableError, match=names):
        Band(**values)  # type: ignore[arg-type]


def test_summary_counts_prompts_and_leaves_errors_out_of_means() -> None:
    rows = [("a", 1.0, True, "scored"), ("a", 0.0, False, "scored"), ("b", None, None, "engine_error")]
    schema = {"prompt_id": pl.String, "reward": pl.Float64, "passed": pl.Boolean, "verdict": pl.String}
    scores = pl.LazyFrame(rows, schema=schema, orient="row").with_columns(num_tokens=pl.lit(2))
    constants = {"family": pl.lit("f"), "form": pl.lit("F"), "expected_within_variance": pl.lit(0.2)}
    groups = decide(group_stats(scores), Band()).with_columns(**constants)
    [row] = summarise(groups).collect().to_dicts()
    assert (row["prompts"], row["kept"], row["errors"], row["tokens"]) == (2, 1, 1, 6)
    assert row["mean"] == 0.5
    assert row["zero_std_share"] == 0.0
    assert count_decisions(groups) == {"keep": 1, "not_scored": 1}
