"""Cells of rewards read as an array of floats that was filled in the same way, however many rewards differ."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.filters.stopping import reward_cells
from learnable.filters.stopping.reward_cells import RewardCells

rewards = st.none() | st.sampled_from([0.0, 1.0, 0.1, -0.0]) | st.floats(0, 1)
fills = st.lists(
    st.tuples(st.lists(st.integers(0, 4), min_size=1, unique=True), st.integers(0, 6), rewards), max_size=30
)


@pytest.mark.parametrize("most", [2, 4, 1 << 16])
def test_cells_are_what_an_array_is(most: int) -> None:
    @given(fills)
    def check(steps: list[tuple[list[int], int, float | None]]) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reward_cells, "DISTINCT", most)
            cells, floats = RewardCells((5, 7)), np.full((5, 7), np.nan)
            for rows, column, reward in steps:
                for table in (cells, floats):
                    table[rows, column] = np.nan if reward is None else reward
                np.testing.assert_array_equal(np.asarray(cells), floats)
                np.testing.assert_array_equal(cells[np.array(rows)], floats[rows])

    check()


@pytest.mark.parametrize("distinct", [1, 255, 256, 300, 70_000])
def test_any_number_of_rewards_is_exact(distinct: int) -> None:
    values = np.random.default_rng(0).random((distinct, 2)) * 0.1
    cells = RewardCells(values.shape)
    for rows in np.array_split(np.arange(distinct), 7):
        cells[rows] = values[rows]
    np.testing.assert_array_equal(cells[:], values)


def test_a_row_is_a_copy() -> None:
    cells = RewardCells((2, 3))
    cells[:] = 1.0
    cells[np.array([0])][:] = 0.5
    assert np.asarray(cells).min() == 1.0
