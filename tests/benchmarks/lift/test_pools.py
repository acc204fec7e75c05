"""The recipe of the dead pool."""

from __future__ import annotations

import polars as pl
import pytest

from benchmarks.lift.pools import draw_dead_pool
from learnable.data.errors import LearnableError


@pytest.fixture
def survey() -> pl.DataFrame:
    """Forty kept prompts, sixty that are dead for certain, thirty of which that is not so certain."""
    return pl.DataFrame(
        {
            "prompt": [f"prompt {number}" for number in range(130)],
            "decision": ["keep"] * 40 + ["too_easy"] * 45 + ["too_hard"] * 45,
            "zero_std_at_16": [0.01] * 40 + [0.95] * 60 + [0.89] * 30,
        }
    )


def test_seventy_in_a_hundred_are_dead_for_certain_and_the_others_kept(survey: pl.DataFrame) -> None:
    pool = draw_dead_pool(survey, 50, 0.7, seed=3)

    assert pool["prompt"].n_unique() == 50
    assert pool.filter(pl.col("decision") == "keep").height == 15
    assert pool.filter(pl.col("decision") != "keep")["zero_std_at_16"].min() == 0.95
    assert set(pool.tail(35)["decision"]) == {"keep", "too_easy", "too_hard"}  # in no order


def test_a_pool_follows_from_its_seed(survey: pl.DataFrame) -> None:
    assert draw_dead_pool(survey, 50, 0.7, seed=3).equals(draw_dead_pool(survey, 50, 0.7, seed=3))
    assert not draw_dead_pool(survey, 50, 0.7, seed=3).equals(draw_dead_pool(survey, 50, 0.7, seed=4))


def test_too_few_prompts_are_told(survey: pl.DataFrame) -> None:
    with pytest.raises(LearnableError, match="takes 70 prompts that the survey rejected for certain, and there are 60"):
        draw_dead_pool(survey, 100, 0.7, seed=3)
