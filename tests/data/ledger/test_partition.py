"""Numbered, immutable, checked files."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.ledger import partition as partitions
from learnable.data.ledger.partition import Chunk, DamagedFileError, Partition
from learnable.data.storage.places import find_place
from learnable.data.tables import rollouts_table
from tests.data.ledger.rollouts_for_tests import prompt, rollout


def partition(folder: Path) -> Partition:
    return Partition(find_place(folder))


def indices(part: Partition, *prompts: str) -> list[int]:
    questions = {prompt(text).question_id for text in prompts or ["p0"]}
    tables = part.select("question_id", questions, ["rollout_index", "question_id"])
    return [index for table in tables for index in table["rollout_index"].to_pylist()]


def fill(part: Partition, count: int) -> None:
    for index in range(count):
        part.append(rollouts_table([rollout(index)]))


def test_numbers_count_up_over_processes(tmp_path: Path) -> None:
    fill(partition(tmp_path), 2)
    fill(partition(tmp_path), 1)
    assert [(chunk.first, chunk.last) for chunk in partition(tmp_path).chunks()] == [(0, 0), (1, 1), (2, 2)]


def test_rows_come_in_the_order_they_were_written(tmp_path: Path) -> None:
    part = partition(tmp_path)
    for index in (3, 1, 2):
        part.append(rollouts_table([rollout(index), rollout(index, text="other")]))
    assert indices(part) == [3, 1, 2]
    assert indices(part, "nobody") == []


def test_a_file_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large pool is looked up in many parts, each of which lists the folder."""
    fill(partition(tmp_path), 3)
    part, read, opened = partition(tmp_path), Chunk.read, Counter[str]()

    def read_and_count(chunk: Chunk) -> pq.ParquetFile:
        opened[chunk.name] += 1
        return read(chunk)

    monkeypatch.setattr(Chunk, "read", read_and_count)
    for files in (3, 4):
        before = part.chunks()
        assert not indices(part, "nobody")
        assert part.chunks() is before
        assert len(before) == files
        fill(partition(tmp_path), 1)  # another process writes
    oldest, second, third, newest = (opened[chunk.name] for chunk in before)
    assert (oldest, second, third, newest) == (1, 1, 1, 1)


def test_what_a_process_wrote_is_read_for_its_own_groups_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run looks its pool up part by part: to learn which groups its own files have it need not read them."""
    mine, read, opened = partition(tmp_path), Chunk.read, Counter[str]()
    mine.append(rollouts_table([rollout(0), rollout(1)]))
    fill(partition(tmp_path), 1)  # another process writes
    names = [chunk.name for chunk in mine.chunks()]

    def read_and_count(chunk: Chunk) -> pq.ParquetFile:
        opened[chunk.name] += 1
        return read(chunk)

    monkeypatch.setattr(Chunk, "read", read_and_count)
    assert indices(mine, "nobody") == []
    assert opened == {names[1]: 1}
    assert indices(mine) == [0, 1, 0]
    assert opened == {names[0]: 1, names[1]: 2}


def test_a_quiet_folder_is_not_read_again_until_a_file_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part, another = partition(tmp_path), partition(tmp_path)
    fill(another, 2)
    long_ago = 1_000_000_000
    os.utime(tmp_path, (long_ago, long_ago))
    assert len(part.chunks()) == 2
    with monkeypatch.context() as patched:
        patched.setattr(Partition, "_read_names", lambda self: pytest.fail("the folder is read again"))
        assert len(part.chunks()) == 2
    fill(another, 1)
    assert len(part.chunks()) == 3
    fill(another, 1)  # maybe within the same tick of the clock
    assert len(part.chunks()) == 4


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many files were read, under ""."""
    read, opened = Chunk.read, Counter[str]()

    def read_and_count(chunk: Chunk) -> pq.ParquetFile:
        opened[""] += 1
        return read(chunk)

    monkeypatch.setattr(Chunk, "read", read_and_count)
    return opened


def keys(folder: Path) -> list[Path]:
    return sorted(folder.glob("keys-*.arrow"))


def test_the_next_process_reads_no_file_for_others_groups(tmp_path: Path, opened: Counter[str]) -> None:
    first = partition(tmp_path)
    first.append(rollouts_table([rollout(0), rollout(1, text="other")]))
    first.append(rollouts_table([rollout(2)]))
    first.save_keys()
    first.save_keys()
    assert len(keys(tmp_path)) == 1
    assert indices(partition(tmp_path), "nobody") == []
    assert opened[""] == 0
    assert indices(partition(tmp_path), "other") == [1]
    assert opened[""] == 1
    assert indices(partition(tmp_path)) == [0, 2]


def test_a_killed_run_leaves_few_files_to_read(
    tmp_path: Path, opened: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "RECENT", 2)
    monkeypatch.setattr(partitions, "MANY_INDICES", 3)
    fill(partition(tmp_path), 11)
    assert len(keys(tmp_path)) == 2  # of eight files, and of two more
    assert indices(partition(tmp_path), "nobody") == []
    assert opened[""] == 1
    assert indices(partition(tmp_path)) == list(range(11))


@pytest.mark.parametrize("damage", [b"", b"ARROW1 of another kind"])
def test_an_index_that_is_not_as_it_was_written_tells_nothing(tmp_path: Path, damage: bytes) -> None:
    part = partition(tmp_path)
    fill(part, 2)
    part.save_keys()
    keys(tmp_path)[0].write_bytes(damage)
    again = partition(tmp_path)
    assert indices(again) == [0, 1]
    again.save_keys()
    keys(tmp_path)[0].unlink()
    assert indices(partition(tmp_path)) == [0, 1]


def test_an_index_of_files_that_are_gone_is_made_anew(tmp_path: Path, opened: Counter[str]) -> None:
    part = partition(tmp_path)
    fill(part, 3)
    part.save_keys()
    before = keys(tmp_path)
    part.write(rollouts_table([rollout(0), rollout(1)]), 0, 1)
    for chunk in part.replaced():
        Path(chunk.path).unlink()
    again = partition(tmp_path)
    assert indices(again) == [0, 1, 2]
    again.save_keys()
    assert len(keys(tmp_path)) == 1
    assert keys(tmp_path) != before
    opened.clear()
    assert indices(partition(tmp_path), "nobody") == []
    assert opened[""] == 0


def test_a_merged_file_replaces_what_it_holds_before_that_is_gone(tmp_path: Path) -> None:
    part = partition(tmp_path)
    fill(part, 4)
    part.write(rollouts_table([rollout(0), rollout(1), rollout(2)]), 0, 2)
    assert indices(part) == [0, 1, 2, 3]
    assert [chunk.first for chunk in part.replaced()] == [0, 1, 2]


def test_two_files_of_one_number_both_count(tmp_path: Path) -> None:
    """As when another writer took the store over: neither paid chunk is hidden."""
    part = partition(tmp_path)
    part.write(rollouts_table([rollout(0)]), 0, 0)
    part.write(rollouts_table([rollout(1)]), 0, 0)
    assert sorted(indices(part)) == [0, 1]


@given(position=st.integers(0, 10_000), mask=st.integers(1, 255))
def test_any_changed_byte_is_seen(tmp_path_factory: pytest.TempPathFactory, position: int, mask: int) -> None:
    folder = tmp_path_factory.mktemp("p")
    part = partition(folder)
    fill(part, 1)
    [file] = folder.iterdir()
    data = bytearray(file.read_bytes())
    data[position % len(data)] ^= mask
    file.write_bytes(data)
    with pytest.raises(DamagedFileError, match=r"SHA-256 begins with"):
        indices(part)


@pytest.mark.parametrize("length", [0, 4, 200])
def test_a_file_cut_short_is_seen(tmp_path: Path, length: int) -> None:
    fill(partition(tmp_path), 1)
    [file] = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(DamagedFileError, match=f"{length} bytes"):
        indices(partition(tmp_path))


def test_files_that_are_not_ours_are_left_alone(tmp_path: Path) -> None:
    part = partition(tmp_path)
    fill(part, 1)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ".00000001-00000001-0000000000000000.parquet.ab.partial").write_text("half")
    assert indices(part) == [0]
