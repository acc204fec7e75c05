"""Parquet files of curated sets, and their rows."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest

from learnable.data.errors import LearnableError
from learnable.data.records import Prompt, Rollout, Score
from learnable.data.schemas import OUR_COLUMNS
from learnable.data.tables import (
    JSON_NAMES,
    carried_name,
    parquet_bytes,
    prompt_from_row,
    prompts_table,
    read_table,
    scores_table,
    with_own_texts,
)
from tests.support.rows import count_text_bytes


def file_of(**columns: list[object]) -> bytes:
    return parquet_bytes(pa.table({"family": ["a", "b"], **columns}))


def test_columns_and_families_are_chosen() -> None:
    data = file_of(n=[1, 2], p_min_std=[0.5, 1.0])
    assert read_table(data).to_pydict() == {"family": ["a", "b"], "n": [1, 2], "p_min_std": [0.5, 1.0]}
    assert read_table(data, ["p_min_std", "family"], ["b"]).to_pydict() == {"p_min_std": [1.0], "family": ["b"]}
    with pytest.raises(pa.ArrowInvalid):
        read_table(data, ["no_such_column"])


def test_a_users_column_is_not_taken_for_ours() -> None:
    """Neither in files nor in JSON."""
    assert set(JSON_NAMES) <= OUR_COLUMNS
    assert set(JSON_NAMES.values()) & OUR_COLUMNS == set()
    for name in ("problem_id", "p_min_std", "p_spread"):
        assert carried_name(name) == f"source_{name}"


def test_a_prompt_keeps_its_problem_in_a_table() -> None:
    named = Prompt("a", "choice", {"answer": "yes"}, "f", "f", named_problem="p")
    plain = Prompt("b", "choice", {"answer": "yes"}, "f", "f")
    rows = prompts_table([named, plain]).to_pylist()
    assert [prompt_from_row(row, "here").problem_id for row in rows] == ["p", plain.problem_id]


def test_a_prompt_is_what_its_id_says() -> None:
    [row] = prompts_table([Prompt("1 + 1 = ", "arithmetic", {"answer": 2}, "f", "f")]).to_pylist()
    assert prompt_from_row(row, "sums").prompt_id == row["prompt_id"]
    with pytest.raises(LearnableError, match=r"curated set 'sums': prompt .* is not what its id says"):
        prompt_from_row(row | {"prompt": "another"}, "sums")


def test_a_frame_with_its_own_texts_keeps_no_others_in_memory() -> None:
    numbers = range(1000)
    texts = pl.DataFrame({"text": [f"a text with the number {number:030d}" for number in numbers], "n": numbers})
    picked = texts.filter(pl.col("n") % 500 == 0)
    assert count_text_bytes(picked) > 50_000  # polars keeps what it picked from
    own = with_own_texts(picked)
    assert own.equals(picked)
    assert own.schema == picked.schema
    assert count_text_bytes(own) < 200


def test_what_a_verifier_says_in_half_characters_can_be_stored() -> None:
    rollout = Rollout("q", "p", "s", 8, 0, "a", "stop", 1)
    prompt = Prompt("q", "v", {}, family="f", form="F")
    score = Score(0.5, True, {"\ud800": 0.5}, reason="no \udfff")
    [row] = scores_table([(rollout, prompt, score)], "v", "1").to_pylist()
    assert (row["reason"], row["components"]) == ("no \ufffd", [("\ufffd", 0.5)])
