from __future__ import annotations

import datetime
import json
import random
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.sources.code.inputs import (
    Draw,
    chosen,
    clock_times,
    dates,
    grids,
    lists,
    mapped,
    numbers,
    sentences,
    sorted_lists,
    texts,
    together,
    word_lists,
)

SEEDS = st.integers(0, 2**32)
INPUTS: list[Draw] = [
    numbers(-5, 5, 2),
    lists(0, 9, 4),
    sorted_lists(0, 9, 4),
    grids((0, 1), 3),
    texts("ab", 5),
    sentences(3),
    word_lists(3),
    chosen("x", 1),
    mapped(numbers(1, 3), str),
    dates(),
    clock_times(),
    together(numbers(0, 9), texts("()", 4)),
]


@pytest.mark.parametrize("draw", INPUTS)
@given(seed=SEEDS)
def test_drawn_inputs_are_json_and_fixed_by_the_seed(draw: Draw, seed: int) -> None:
    given_arguments = draw(random.Random(seed))
    assert json.loads(json.dumps(given_arguments)) == given_arguments == draw(random.Random(seed))


@given(seed=SEEDS, low=st.integers(-9, 0), high=st.integers(0, 9), shortest=st.integers(0, 3))
def test_numbers_and_lengths_stay_in_their_bounds(seed: int, low: int, high: int, shortest: int) -> None:
    rng = random.Random(seed)
    drawn: list[Any] = together(numbers(low, high, 3), lists(low, high, 5, shortest), texts("xyz", 5, shortest))(rng)
    *values, items, text = drawn
    assert len(values) == 3
    assert all(low <= value <= high for value in [*values, *items])
    assert shortest <= min(len(items), len(text)) <= max(len(items), len(text)) <= 5
    assert set(text) <= set("xyz")


@given(seed=SEEDS)
def test_sorted_lists_rise_and_grids_are_rectangles(seed: int) -> None:
    rng = random.Random(seed)
    [values] = sorted_lists(0, 50, 9)(rng)
    [rows] = grids(range(4), 5)(rng)
    assert values == sorted(values)
    assert len({len(row) for row in rows}) == 1


@given(seed=SEEDS)
def test_dates_exist_and_times_are_of_a_day(seed: int) -> None:
    [date, time] = together(dates(1999, 2001), clock_times())(random.Random(seed))
    assert 1999 <= datetime.date.fromisoformat(date).year <= 2001
    assert re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", time)
