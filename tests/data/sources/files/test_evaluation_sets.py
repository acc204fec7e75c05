from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from learnable.data.errors import LearnableError
from learnable.data.sources.files.evaluation_sets import EvaluationSet, read_evaluation_set

ROWS: list[dict[str, Any]] = [
    {"task_id": "T/0", "question": "How many eggs?", "solution": "Seven."},
    {"task_id": "T/1", "question": "How many ducks?", "solution": "Two."},
]
READ = EvaluationSet("eggs", ("T/0", "T/1"), ("How many eggs?", "How many ducks?"))


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(lines(rows).encode()))
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix in (".csv", ".tsv"):
        mark = "," if path.suffix == ".csv" else "\t"
        path.write_text("\n".join(mark.join(row) for row in [list(ROWS[0]), *(list(r.values()) for r in rows)]))
    elif path.suffix == ".json":
        path.write_text(json.dumps({"test": rows, "train": []}))
    else:
        path.write_text(lines(rows))
    return str(path)


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".jsonl.gz"])
def test_every_kind_of_file(tmp_path: Path, suffix: str) -> None:
    assert read_evaluation_set(write(tmp_path / f"eggs{suffix}", ROWS)) == READ


def test_a_named_column(tmp_path: Path) -> None:
    place = write(tmp_path / "eggs.jsonl", ROWS)
    assert read_evaluation_set(f"{place}:solution").texts == ("Seven.", "Two.")


def test_a_colon_in_a_file_name_is_no_column(tmp_path: Path) -> None:
    assert read_evaluation_set(write(tmp_path / "eggs:v1.jsonl", ROWS)).name == "eggs:v1"


def test_items_without_an_id_are_numbered_and_chats_are_their_turns(tmp_path: Path) -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How many eggs?"}]
    read = read_evaluation_set(write(tmp_path / "chat.jsonl", [{"prompt": "One?", "id": None}, {"prompt": chat}]))
    assert read == EvaluationSet("chat", ("1", "2"), ("One?", "Be brief.\nHow many eggs?"))


def test_a_folder_is_read_by_its_test_split(tmp_path: Path) -> None:
    folder = tmp_path / "eggs"
    folder.mkdir()
    write(folder / "train.jsonl", [{"task_id": "T/9", "question": "Training?", "solution": "Yes."}])
    write(folder / "test.jsonl", ROWS)
    assert read_evaluation_set(str(folder)) == READ
    (folder / "test.jsonl").unlink()
    assert read_evaluation_set(f"{folder}:question").texts == ("Training?",)


def test_a_saved_data_set_is_read_by_its_test_split(tmp_path: Path) -> None:
    from datasets import Dataset, DatasetDict

    DatasetDict(train=Dataset.from_list(ROWS[1:]), test=Dataset.from_list(ROWS)).save_to_disk(tmp_path / "eggs")
    assert read_evaluation_set(str(tmp_path / "eggs")) == READ
    Dataset.from_list(ROWS).save_to_disk(tmp_path / "one")
    assert read_evaluation_set(f"{tmp_path / 'one'}:question").texts == READ.texts


@pytest.mark.parametrize(
    ("name", "content", "column", "message"),
    [
        (
            "e.jsonl",
            lines([{"body": "x", "id": 1}]),
            "",
            r"e\.jsonl' has none of .*there are: body, id.*e\.jsonl:COLUMN",
        ),
        ("e.jsonl", lines(ROWS), ":questoin", r"line 1: no column 'questoin' .*question, .*did you mean 'question'"),
        ("e.jsonl", lines([*ROWS, {"solution": "x"}]), "", r"line 3: no column 'question'"),
        ("e.jsonl", lines([{"prompt": None}]), "", r"line 1: column 'prompt' is 'None': it must be text"),
        ("e.jsonl", lines([{"prompt": " "}]), "", r"column 'prompt' is ' '"),
        ("e.jsonl", lines([{"prompt": [1]}]), "", r"column 'prompt' is '\[1\]'"),
        ("e.jsonl", "", "", r"e\.jsonl' is empty"),
        ("e.jsonl", "{", "", r"e\.jsonl, line 1: not valid JSON"),
        ("e.jsonl.gz", "no gzip", "", r"e\.jsonl\.gz' is not a whole gzip file"),
        ("e.txt", "words", "", r"'\.txt' is not one of those that are \(\.jsonl, .*\.parquet"),
    ],
)
def test_bad_sets_name_place_and_fix(tmp_path: Path, name: str, content: str, column: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(LearnableError, match=message):
        read_evaluation_set(f"{tmp_path / name}{column}")


def test_a_cut_gzip_file_and_bad_rows_in_a_whole_one(tmp_path: Path) -> None:
    whole = gzip.compress(b'{"prompt": ')
    (tmp_path / "bad.jsonl.gz").write_bytes(whole)
    with pytest.raises(LearnableError, match=r"bad\.jsonl\.gz, line 1: not valid JSON"):
        read_evaluation_set(str(tmp_path / "bad.jsonl.gz"))
    (tmp_path / "cut.jsonl.gz").write_bytes(whole[:-4])
    with pytest.raises(LearnableError, match=r"cut\.jsonl\.gz' is not a whole gzip file"):
        read_evaluation_set(str(tmp_path / "cut.jsonl.gz"))


@pytest.mark.parametrize("column", ["", ":question"])
def test_a_missing_file_is_named(tmp_path: Path, column: str) -> None:
    with pytest.raises(LearnableError, match=r"none\.jsonl' does not exist"):
        read_evaluation_set(f"{tmp_path / 'none.jsonl'}{column}")


def test_a_question_is_read_with_what_it_is_about(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text('{"Body": "Ann has 9 pens.", "Question": "How many?", "Answer": 9}\n', encoding="utf-8")
    assert read_evaluation_set(str(path)).texts == ("Ann has 9 pens.\n\nHow many?",)
    assert read_evaluation_set(f"{path}:Question").texts == ("How many?",)
