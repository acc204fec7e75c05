from __future__ import annotations

import polars as pl

from learnable.filters.decisions.choosing import pick_demonstrations

COLUMNS = ["prompt_id", "rollout_id", "rollout_index", "reward", "passed", "verdict", "num_tokens"]
ROWS = [
    ("a", "a0", 0, 0.9, True, "scored", 5),
    ("a", "a1", 1, 1.0, True, "scored", 9),
    ("a", "a2", 2, 1.0, True, "scored", 4),
    ("a", "a3", 3, 1.0, True, "scored", 4),
    ("a", "a4", 4, 1.0, True, "truncated", 1),
    ("b", "b0", 0, 0.95, False, "scored", 3),
    ("c", "c0", 0, None, None, "verifier_error", 3),
]


def test_the_best_passed_rollout_is_picked_whatever_the_order() -> None:
    for rows in (ROWS, ROWS[::-1]):
        scores = pl.LazyFrame(rows, schema=COLUMNS, orient="row")
        assert pick_demonstrations(scores).collect().rows() == [("a", "a2")]
