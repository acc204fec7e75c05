"""Parquet files of curated sets: read under today's names, whichever version wrote them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import LearnableError
from learnable.data.schemas import OUR_COLUMNS
from learnable.data.tables import EARLIER_COLUMNS, carried_name, parquet_bytes, prompt_from_row, read_table
from tests.paths_for_tests import ROOT

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
