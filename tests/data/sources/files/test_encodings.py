"""Text files as spreadsheets and other systems write them: marks at the start, UTF-16, CRLF, long cells."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.data.sources.files.bad_rows import BadRowError
from learnable.data.sources.files.columns import column_value
from learnable.data.sources.files.readers import file_rows

ROWS = [
    {"question": "Wie viele Äpfel für 1 €?", "answer": "4"},
    {"question": 'Zeile\neins, "zwei" 日本', "answer": "5"},
]
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32")


def write(path: Path, encoding: str, end: str) -> Path:
    with path.open("w", encoding=encoding, newline="") as file:
        if path.suffix == ".csv":
            writer = csv.DictWriter(file, ["question", "answer"], lineterminator=end)
            writer.writeheader()
            writer.writerows(ROWS)
        elif path.suffix == ".json":
            file.write(json.dumps(ROWS, ensure_ascii=False, indent=1).replace("\n", end))
        else:
            file.write("".join(json.dumps(row, ensure_ascii=False) + end for row in ROWS))
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", ["q.jsonl", "q.csv", "q.json"])
def test_every_encoding_gives_the_same_rows(tmp_path: Path, name: str, encoding: str, end: str) -> None:
    places, rows = zip(*file_rows(write(tmp_path / name, encoding, end)), strict=True)
    assert list(rows) == ROWS
    assert places[0] == {"q.jsonl": "q.jsonl, line 1", "q.csv": "q.csv, line 2", "q.json": "q.json, row 1"}[name]


@pytest.mark.parametrize("name", ["q.jsonl", "q.csv", "q.json"])
def test_text_that_breaks_off_within_a_sign_is_named(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, "utf-16", "\n")
    path.write_bytes(path.read_bytes() + b"\x00")
    with pytest.raises(LearnableError, match=rf"{name}' is not UTF-16 text: .*save it as UTF-8"):
        list(file_rows(path))


def test_a_bad_line_of_utf_16_is_a_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"a": 1}\n{"a": \n{"a": 3}\n', encoding="utf-16")
    told: list[LearnableError] = []
    assert [row["a"] for _, row in file_rows(path, told.append)] == [1, 3]
    assert [isinstance(error, BadRowError) for error in told] == [True]
    assert str(told[0]).startswith("q.jsonl, line 2: not valid JSON")


def test_cells_may_be_long_and_names_may_not_repeat(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("question,answer\na," + "x" * 200_000 + "\n", encoding="utf-8")
    [(_, row)] = file_rows(path)
    assert len(row["answer"]) == 200_000
    path.write_text("question,answer,answer\na,1,2\n", encoding="utf-8")
    with pytest.raises(LearnableError, match=r"q\.csv' has two columns 'answer'"):
        list(file_rows(path))
    path.write_text("question,answer,,\na,1,,\n", encoding="utf-8")
    assert [row["answer"] for _, row in file_rows(path)] == ["1"]
    path.write_text('question,"answer" x\na,1\n', encoding="utf-8")
    with pytest.raises(LearnableError, match=r"q\.csv' has no header that can be read \(.*\): correct line 1"):
        list(file_rows(path))


@pytest.mark.parametrize(
    ("row", "column", "value"),
    [
        ({"reward_model": {"ground_truth": "7"}}, "reward_model.ground_truth", "7"),
        ({"reward_model": "{'ground_truth': '7', 'style': None}"}, "reward_model.ground_truth", "7"),
        ({"extra_info": '{"index": 3}'}, "extra_info.index", 3),
        ({"turns": [{"text": "a"}, {"text": "b"}]}, "turns.1.text", "b"),
        ({"answers": '{"text": ["Paris"]}'}, "answers.text.0", "Paris"),
    ],
)
def test_dots_reach_into_objects_cells_and_lists(row: dict[str, object], column: str, value: object) -> None:
    assert column_value(row, column) == value


@pytest.mark.parametrize("text", ["{{1: 2}}", "{x}", "[1, ", r"['\d']", "{" * 5000])
def test_text_in_brackets_is_no_object(text: str) -> None:
    with pytest.raises(LearnableError, match=r"has no 'stem'|no column 'question\.stem'"):
        column_value({"question": text}, "question.stem")


def test_a_place_that_a_list_does_not_have_is_named() -> None:
    with pytest.raises(LearnableError, match=r"column 'turns' has no '2' \(it has: 0, 1\)"):
        column_value({"turns": ["a", "b"]}, "turns.2")
