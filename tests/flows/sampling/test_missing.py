"""What is requested: exactly what is missing, in requests whose seeds fit."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.records import Prompt
from learnable.flows.sampling.missing import MissingRollouts, find_runs, redraw_seeds

PROMPT = Prompt("2 + 2 = ", "arithmetic", {"answer": 4}, family="arithmetic", form="Addition")
ROWS = {"question_id": pl.String, "rollout_index": pl.Int64, "seed": pl.Int64}


def rows(seeds: dict[int, int | None]) -> pl.DataFrame:
    return pl.DataFrame([(PROMPT.question_id, i, seed) for i, seed in seeds.items()], schema=ROWS, orient="row")


def find_missing(stored: set[int], redrawn: dict[int, int | None], size: int) -> list[tuple[int, int, int | None]]:
    missing = [index for index in range(size) if index not in stored]
    found = find_runs(PROMPT, missing, redraw_seeds(rows(redrawn)).get(PROMPT.question_id, {}))
    return [(o.first, o.count, o.redraw_seed) for o in found]


def test_a_new_prompt_misses_its_group() -> None:
    assert find_missing(set(), {}, 8) == [(0, 8, None)]


def test_a_group_that_grows_misses_the_rest() -> None:
    assert find_missing(set(range(8)), {}, 16) == [(8, 8, None)]
    assert find_missing(set(range(16)), {}, 16) == []
    assert find_missing(set(range(16)), {}, 8) == []


def test_holes_are_requested_one_by_one() -> None:
    assert find_missing({1, 2, 5}, {}, 8) == [(0, 1, None), (3, 2, None), (6, 2, None)]


def test_cut_rollouts_are_drawn_again_by_their_own_seeds() -> None:
    assert find_missing({0, 3}, {1: 71, 2: 72, 4: 74}, 6) == [(1, 2, 71), (4, 1, 74), (5, 1, None)]
    assert find_missing({0}, {1: 71, 2: 90}, 3) == [(1, 1, 71), (2, 1, 90)]  # seeds that do not count up
    assert find_missing(set(), {0: None}, 2) == [(0, 2, None)]  # the engine had taken no seed


def test_a_redraw_asks_for_the_same_seeds() -> None:
    request = MissingRollouts(PROMPT, 3, 2, redraw_seed=71).request(seed=5)
    assert (request.first_index, request.group_size, request.base_seed) == (3, 2, 71)
    assert (
        MissingRollouts(PROMPT, 3, 2).request(seed=5).base_seed
        != MissingRollouts(PROMPT, 3, 2).request(seed=6).base_seed
    )


@given(st.sets(st.integers(0, 15)), st.dictionaries(st.integers(0, 15), st.integers(0, 40)), st.integers(1, 16))
def test_every_missing_index_is_requested_once(stored: set[int], seeds: dict[int, int], size: int) -> None:
    redrawn = {index: seed for index, seed in seeds.items() if index not in stored}
    requested = [
        (first + offset, None if seed is None else seed + offset)
        for first, count, seed in find_missing(stored, dict(redrawn), size)
        for offset in range(count)
    ]
    assert requested == [(index, redrawn.get(index)) for index in range(size) if index not in stored]
