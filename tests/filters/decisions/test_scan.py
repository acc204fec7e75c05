"""Groups of many files, in passes, against `group_stats` of the same rows at once."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from learnable.data.errors import LearnableError
from learnable.filters.band import Band
from learnable.filters.decisions import scan
from learnable.filters.decisions.decide import decide
from learnable.filters.decisions.scan import scan_groups, write_groups
from learnable.filters.statistics.groups import READ, group_stats

SCHEMA = dict(zip(READ, [pl.String, pl.Float64, pl.Boolean, pl.String, pl.Int64], strict=True))
BAND = Band(0.25, 0.75, 0.1)
REWARDS = st.none() | st.sampled_from([0.0, 0.25, 1.0]) | st.floats(0, 1) | st.just(float("nan"))
VERDICTS = st.sampled_from(["scored", "scored", "truncated", "verifier_error", "engine_error"])
ROWS = st.lists(
    st.tuples(st.integers(0, 12).map(str), REWARDS, st.none() | st.booleans(), VERDICTS, st.integers(0, 50)),
    min_size=1,
    max_size=60,
)
Row = tuple[str, float | None, bool | None, str, int]


def write_files(rows: list[Row], cuts: list[int], folder: Path) -> list[Path]:
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row").with_columns(reason=pl.lit(""))
    ends = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
    paths = []
    for number, (start, end) in enumerate(pairwise(ends)):
        paths.append(folder / f"{number}.parquet")
        frame[start:end].write_parquet(paths[-1])
    return paths


@settings(deadline=None)
@given(
    ROWS,
    st.lists(st.integers(1, 59), max_size=4),
    st.booleans(),
    st.integers(1, 60),
    st.sampled_from(["count", "exclude"]),
)
def test_passes_over_files_give_the_bits_of_one_pass_over_all_rows(
    rows: list[Row], cuts: list[int], clustered: bool, rows_at_once: int, truncated: str
) -> None:
    rows = sorted(rows, key=lambda row: row[0]) if clustered else rows
    scores = pl.LazyFrame(rows, schema=SCHEMA, orient="row")
    expected = decide(group_stats(scores, truncated=truncated), BAND).sort("prompt_id").collect()
    with TemporaryDirectory() as name:
        files = write_files(rows, cuts, Path(name))
        parts = scan_groups(files, BAND, truncated=truncated, rows_at_once=rows_at_once)
        found = pl.concat([part.collect(engine="streaming") for part in parts]).sort("prompt_id")
    assert_frame_equal(found, expected, check_exact=True)


def test_scattered_groups_take_passes_and_clustered_ones_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "SAMPLE", 50)
    clustered: list[Row] = [(f"p{index // 10:03d}", 0.5, True, "scored", index % 10) for index in range(1000)]
    scattered = sorted(clustered, key=lambda row: row[4])
    for rows, passes in ((clustered, 1), (scattered, 8)):
        files = write_files(rows, [300, 600], tmp_path)
        assert len(scan_groups(files, BAND, rows_at_once=125)) == passes
        assert len(scan_groups(files, BAND)) == 1


def test_scattered_rows_at_the_end_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "SAMPLE", 50)
    rows: list[Row] = [("a" if index < 900 else str(index), 0.5, True, "scored", 1) for index in range(1000)]
    assert len(scan_groups(write_files(rows, [], tmp_path), BAND, rows_at_once=100)) == 10


def test_each_prompt_is_in_one_written_file(tmp_path: Path) -> None:
    rows: list[Row] = [(str(index % 50), index % 3 / 2, True, "scored", index) for index in range(400)]
    written = write_groups(write_files(rows, [7, 133], tmp_path), BAND, tmp_path / "groups", rows_at_once=20)
    assert [path.name for path in written] == ["groups-00000-of-00003.parquet", *(p.name for p in written[1:])]
    groups = pl.concat([pl.read_parquet(path) for path in written])
    assert sorted(groups["prompt_id"]) == sorted({row[0] for row in rows})
    expected = decide(group_stats(pl.LazyFrame(rows, schema=SCHEMA, orient="row")), BAND).collect()
    assert_frame_equal(groups, expected, check_row_order=False, check_exact=True)


def test_groups_are_not_written_among_others(tmp_path: Path) -> None:
    files = write_files([("a", 0.5, True, "scored", 1)], [], tmp_path)
    with pytest.raises(LearnableError, match="name a new folder"):
        write_groups(files, BAND, tmp_path)


def test_impossible_files_say_what_is_wrong(tmp_path: Path) -> None:
    other, text = tmp_path / "other.parquet", tmp_path / "text.parquet"
    pl.DataFrame({"prompt_id": ["a"], "reward": [1.0], "verdict": ["scored"]}).write_parquet(other)
    text.write_text("no Parquet, whatever its name says")
    for files, says in (
        ([], "no Parquet files"),
        ([other], "lacks passed, num_tokens"),
        ([text], "text.parquet"),
        ([tmp_path / "none.parquet"], "none.parquet"),
    ):
        with pytest.raises(LearnableError, match=says):
            scan_groups(files, BAND)


def test_files_without_rows_have_no_groups(tmp_path: Path) -> None:
    parts = scan_groups(write_files([], [], tmp_path), BAND)
    assert [part.collect().height for part in parts] == [0]
