"""Which completions of a prompt are shown to imitate, and which pairs to prefer one by."""

from __future__ import annotations

from typing import Any

import polars as pl

from learnable.filters.decisions.choosing import pick_demonstrations, pick_pairs

SCORE_COLUMNS = ["prompt_id", "rollout_id", "rollout_index", "reward", "passed", "verdict", "num_tokens"]
ROLLOUTS = [
    ("a", "a0", 0, 0.9, True, "scored", 5),
    ("a", "a1", 1, 1.0, True, "scored", 9),
    ("a", "a2", 2, 1.0, True, "scored", 4),
    ("a", "a3", 3, 1.0, True, "scored", 4),
    ("a", "a4", 4, 1.0, True, "truncated", 1),
    ("b", "b0", 0, 0.95, False, "scored", 3),
    ("c", "c0", 0, None, None, "verifier_error", 3),
]


def test_the_best_passed_rollout_is_picked_whatever_the_order() -> None:
    for rows in (ROLLOUTS, ROLLOUTS[::-1]):
        scores = pl.LazyFrame(rows, schema=SCORE_COLUMNS, orient="row")
        assert pick_demonstrations(scores).collect().rows() == [("a", "a2")]


def pairs_of(*rows: tuple[object, ...], **options: Any) -> list[Any]:
    """Pairs of rollouts (id, reward, verdict, tokens) of one prompt, in the order drawn."""
    rollouts = [("a", name, index, reward, True, verdict, n) for index, (name, reward, verdict, n) in enumerate(rows)]
    found = [
        pick_pairs(pl.LazyFrame(order, schema=SCORE_COLUMNS, orient="row", strict=False), **options).collect().rows()
        for order in (rollouts, rollouts[::-1])
    ]
    assert found[0] == found[1]
    return [row[1:] for row in found[0]]


def test_a_pair_is_the_best_and_the_worst_rollout_whatever_the_order() -> None:
    scores = pl.LazyFrame(ROLLOUTS, schema=SCORE_COLUMNS, orient="row")
    assert pick_pairs(scores).collect().rows() == [("a", "a2", "a0", 1.0, 0.9)]
    scored = [(1.0, 9), (1.0, 4), (1.0, 4), (0.5, 1), (0.0, 7), (0.0, 3), (0.0, 3)]
    rows = [(f"r{number}", reward, "scored", tokens) for number, (reward, tokens) in enumerate(scored)]
    assert pairs_of(*rows) == [("r1", "r5", 1.0, 0.0)]


def test_equal_rewards_are_no_pair() -> None:
    assert pairs_of(("r0", 0.5, "scored", 3), ("r1", 0.5, "scored", 2)) == []
    assert pairs_of(("r0", 0.5, "scored", 3)) == []


def test_what_was_cut_is_never_chosen_and_is_rejected_where_it_counts() -> None:
    rows = [("cut", 1.0, "truncated", 1), ("good", 0.8, "scored", 5), ("fair", 0.4, "scored", 5)]
    assert pairs_of(*rows) == [("good", "fair", 0.8, 0.4)]
    worse = ("short", 0.0, "truncated", 1)
    assert pairs_of(*rows, worse) == [("good", "short", 0.8, 0.0)]
    assert pairs_of(*rows, worse, truncated="exclude") == [("good", "fair", 0.8, 0.4)]
    assert pairs_of(rows[0], worse) == []


def test_what_nobody_could_judge_is_in_no_pair() -> None:
    rows = [("r0", 0.5, "scored", 5), ("failed", None, "verifier_error", 1), ("odd", float("nan"), "scored", 1)]
    assert pairs_of(*rows) == []
    assert pairs_of(*rows, ("r3", 0.25, "scored", 9)) == [("r0", "r3", 0.5, 0.25)]
