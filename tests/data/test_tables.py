"""Parquet files of curated sets: read under today's names, whichever version wrote them."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import LearnableError
from learnable.data.records import Prompt, Rollout, Score
from learnable.data.schemas import OUR_COLUMNS
from learnable.data.tables import (
    EARLIER_COLUMNS,
    carried_name,
    parquet_bytes,
    prompt_from_row,
    prompts_table,
    read_table,
    scores_table,
    with_own_texts,
)
from tests.support.paths import ROOT
from tests.support.rows import count_text_bytes

EARLIER = ROOT / "tests/flows/store_of_an_earlier_version/curated/sums/v0001"
OLD, NEW = "p_spread", "p_min_std"


def file_of(**columns: list[object]) -> bytes:
    return parquet_bytes(pa.table({"family": ["a", "b"], **columns}))


def test_columns_of_earlier_versions_have_todays_names() -> None:
    assert set(EARLIER_COLUMNS) & OUR_COLUMNS == set()
    assert set(EARLIER_COLUMNS.values()) <= OUR_COLUMNS
    assert read_table(file_of(**{OLD: [0.5, 1.0], "n": [1, 2]})).to_pydict() == {
        "family": ["a", "b"],
        NEW: [0.5, 1.0],
        "n": [1, 2],
    }


@pytest.mark.parametrize("written", [OLD, NEW])
def test_columns_and_families_are_chosen_under_todays_names(written: str) -> None:
    data = file_of(**{"n": [1, 2], written: [0.5, 1.0]})
    assert read_table(data, [NEW, "family"], ["b"]).to_pydict() == {NEW: [1.0], "family": ["b"]}
    with pytest.raises(pa.ArrowInvalid):
        read_table(data, ["no_such_column"])


def test_a_users_column_is_not_taken_for_ours() -> None:
    assert carried_name(OLD) == f"source_{OLD}"
    assert carried_name(NEW) == f"source_{NEW}"
    table = read_table(file_of(**{OLD: [0.5, 1.0], NEW: ["theirs", "theirs"]}))
    assert table.to_pydict() == {"family": ["a", "b"], NEW: [0.5, 1.0], f"source_{NEW}": ["theirs", "theirs"]}


def test_a_users_column_of_problems_is_not_taken_for_ours() -> None:
    ours = parquet_bytes(pa.table({"problem_id": ["p"], "split": ["train"], "source_problem_id": [7]}))
    theirs = parquet_bytes(pa.table({"split": ["train"], "problem_id": [7]}))  # of a version that had none
    assert carried_name("problem_id") == "source_problem_id"
    assert read_table(ours).to_pydict() == {"problem_id": ["p"], "split": ["train"], "source_problem_id": [7]}
    assert read_table(theirs).to_pydict() == {"split": ["train"], "source_problem_id": [7]}
    assert read_table(theirs, ["source_problem_id"]).to_pydict() == {"source_problem_id": [7]}


def test_a_prompt_keeps_its_problem_in_a_table() -> None:
    named = Prompt("a", "choice", {"answer": "yes"}, "f", "f", named_problem="p")
    plain = Prompt("b", "choice", {"answer": "yes"}, "f", "f")
    rows = prompts_table([named, plain]).to_pylist()
    assert [prompt_from_row(row, "here").problem_id for row in rows] == ["p", plain.problem_id]
    del rows[1]["problem_id"]  # as in sets of earlier versions
    assert prompt_from_row(rows[1], "here").problem_id == plain.problem_id


def test_a_set_of_an_earlier_version_is_read_under_todays_names(tmp_path: Path) -> None:
    shutil.copytree(EARLIER, tmp_path / "v0001")
    curated = open_curated(tmp_path / "v0001")
    for part in ("train", "test", "rejects", "control"):
        table = curated.read(part)
        assert OLD in curated.manifest.schema
        assert OLD not in table.column_names
        assert set(table.column_names) <= OUR_COLUMNS
        for row in table.to_pylist():
            assert row["p_keep"] == pytest.approx(row["p_in_band"] * row[NEW])
    assert curated.read("train", columns=[NEW, "prompt_id"]).column_names == [NEW, "prompt_id"]


def test_a_prompt_is_what_its_id_says() -> None:
    [row] = open_curated(EARLIER).read("train").slice(0, 1).to_pylist()
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
