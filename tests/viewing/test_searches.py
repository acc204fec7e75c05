"""A search of completions finds what is there, whenever one looks, and goes on only while somebody does."""

from __future__ import annotations

from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.data.ledger.partition import Chunk, Partition
from learnable.data.records import Prompt, Rollout
from learnable.data.storage.places import find_place
from learnable.data.tables import rollouts_table
from learnable.viewing import searches
from learnable.viewing.searches import Search

FILES = 6
QUESTIONS = [Prompt(f"Question {number}", "choice", {"answer": "yes"}, "made up", "Form") for number in range(24)]


def write_files(folder: Path) -> Partition:
    """Write a file for every four questions, of which each second one has a completion with a needle."""
    partition = Partition(find_place(folder))
    for start in range(0, len(QUESTIONS), 4):
        partition.append(rollouts_table(answer(number) for number in range(start, start + 4)))
    return partition


def answer(number: int) -> Rollout:
    text = f"hay NEEDLE {number}" if number % 2 else f"hay {number}"
    return Rollout(QUESTIONS[number].question_id, "policy@0123456789abcdef", "t1", 16, 0, text, "stop", 3)


def look_through(search: Search, chunks: list[Chunk]) -> list[str]:
    """Look until all files were searched; what was found only ever grows."""
    known, share = 0, 0.0
    while share < 1:
        found, share = search.look(chunks, 1.0)
        assert len(found) >= known
        known = len(found)
    return sorted(found)


EVERY_SECOND = sorted(prompt.question_id for prompt in QUESTIONS[1::2])


def test_what_is_found_is_all_that_is_there_in_any_case(tmp_path: Path) -> None:
    chunks = write_files(tmp_path).chunks()
    assert len(chunks) == FILES
    assert look_through(Search("needle"), chunks) == EVERY_SECOND
    assert look_through(Search("nothing"), chunks) == []


def test_a_file_that_comes_later_is_searched_and_no_other_one_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunks = write_files(tmp_path).chunks()
    read: list[str] = []

    def count(chunk: Chunk, *columns: str) -> object:
        read.append(chunk.name)
        return read_rows(chunk, *columns)

    read_rows = searches.read_rows
    monkeypatch.setattr(searches, "read_rows", count)
    search = Search("needle")
    look_through(search, chunks[:-1])
    assert look_through(search, chunks) == EVERY_SECOND
    assert sorted(read) == sorted(chunk.name for chunk in chunks)


def test_a_search_that_nobody_asks_about_ends_and_goes_on_when_somebody_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "LEFT_ALONE", -1.0)
    chunks, search = write_files(tmp_path).chunks(), Search("needle")
    shares = [search.look(chunks, 60.0)[1] for _ in range(FILES)]
    assert shares == [number / FILES for number in range(1, FILES + 1)]
    assert look_through(search, chunks) == EVERY_SECOND


def test_a_damaged_file_is_told_each_time(tmp_path: Path) -> None:
    chunks = write_files(tmp_path).chunks()
    Path(str(chunks[2].path)).write_bytes(b"not what was written")
    search = Search("needle")
    for _ in range(2):
        with pytest.raises(LearnableError, match="is damaged"):
            look_through(search, chunks)
