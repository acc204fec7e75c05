from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from learnable.data.errors import LearnableError
from learnable.data.records import Message, Prompt
from learnable.data.sources.files.bad_rows import BadRowError
from learnable.data.sources.files.columns import Columns
from learnable.data.sources.files.prompts import file_prompts
from learnable.data.sources.files.readers import file_rows

ROWS = [
    {"prompt": "2 + 2 = ", "answer": 4, "verifier": "arithmetic"},
    {"prompt": "3 + 3 = ", "spec": {"answer": 6}, "verifier": "arithmetic", "form": "Addition", "family": "arithmetic"},
]


def read(path: Path, **columns: str) -> list[Prompt]:
    return list(file_prompts(str(path), Columns(**columns)))


def write_lines(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_jsonl(tmp_path: Path) -> None:
    first, second = read(write_lines(tmp_path / "q.jsonl", json.dumps(ROWS[0]), "", json.dumps(ROWS[1])))
    assert (first.prompt, first.spec, first.family, first.source) == ("2 + 2 = ", {"answer": 4}, "q", "q.jsonl, line 1")
    assert (second.spec, second.form, second.source) == ({"answer": 6}, "Addition", "q.jsonl, line 3")


def test_csv_with_named_columns(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "q.csv", "question,label,difficulty", '"Is 7 greater than 3?",Yes,2.5')
    [prompt] = read(path, prompt="question", answer="label", verifier="choice")
    assert (prompt.prompt, prompt.spec, prompt.difficulty) == ("Is 7 greater than 3?", {"answer": "Yes"}, 2.5)


def test_parquet_with_a_spec_of_json_and_chat_prompts(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "2 + 2 = "}]
    row = {"prompt": chat, "spec": '{"answer": 4}', "verifier": "arithmetic"}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "q.parquet")
    [prompt] = read(tmp_path / "q.parquet")
    assert prompt.prompt == (Message("user", "2 + 2 = "),)
    assert prompt.spec == {"answer": 4}


def test_a_folder_goes_through_datasets(tmp_path: Path) -> None:
    write_lines(tmp_path / "train.jsonl", *(json.dumps({"prompt": f"{i} + 1 = ", "answer": i + 1}) for i in range(3)))
    prompts = read(tmp_path, verifier="arithmetic", answer="answer")
    assert [prompt.spec for prompt in prompts] == [{"answer": 1}, {"answer": 2}, {"answer": 3}]


GOOD = json.dumps(ROWS[0])


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("q.jsonl", [GOOD, '{"prompt": '], r"q\.jsonl, line 2: not valid JSON"),
        ("q.jsonl", [GOOD, "[1, 2]"], r"line 2: a JSON list"),
        ("q.jsonl", [GOOD, '{"question": "x"}'], r"line 2: no .*verifier"),
        ("q.jsonl", ['{"promt": "x", "verifier": "choice"}'], r"no column 'prompt' .*did you mean 'promt'"),
        ("q.jsonl", ['{"prompt": "", "answer": 1, "verifier": "choice"}'], r"column 'prompt' is ''"),
        ("q.jsonl", ['{"prompt": [{"role": "user"}], "answer": 1, "verifier": "choice"}'], r"list of .*messages"),
        ("q.jsonl", ['{"prompt": "x", "verifier": "choice"}'], r"no column says what is right"),
        ("q.jsonl", ['{"prompt": "x", "verifier": "choice", "spec": "{"}'], r"column 'spec' is not valid JSON"),
        ("q.jsonl", ['{"prompt": "x", "verifier": "choice", "spec": 3}'], r"must be a JSON object"),
        ("q.jsonl", [""], r"q\.jsonl' is empty"),
        ("q.csv", ["prompt,answer", "a,b,c"], r"q\.csv, line 2: .*cells"),
        ("q.csv", ["prompt,answer"], r"q\.csv' is empty"),
        ("q.parquet", ["no parquet"], r"not readable Parquet"),
    ],
)
def test_bad_files_name_place_and_fix(tmp_path: Path, name: str, lines: list[str], message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        read(write_lines(tmp_path / name, *lines))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(LearnableError, match="does not exist"):
        read(tmp_path / "none.jsonl")


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_bytes(b'{"prompt": "\xff"}')
    with pytest.raises(LearnableError, match="not UTF-8"):
        read(tmp_path / "q.jsonl")


def test_a_missing_answer_column_is_named(tmp_path: Path) -> None:
    with pytest.raises(LearnableError, match=r"no column 'label' .*`answer_column`"):
        read(write_lines(tmp_path / "q.jsonl", GOOD), answer="label")


@pytest.mark.parametrize("suffix", [".json", ".tsv", ".JSONL", ".json.gz"])
def test_other_kinds_of_files(tmp_path: Path, suffix: str) -> None:
    text = {".tsv": "prompt\tanswer\tverifier\n2 + 2 = \t4\tarithmetic\n", ".JSONL": GOOD}.get(suffix, f"[{GOOD}]")
    (tmp_path / f"q{suffix}").write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    [prompt] = read(tmp_path / f"q{suffix}")
    assert (prompt.prompt, prompt.spec, prompt.family) == ("2 + 2 = ", {"answer": 4}, "q")


def test_a_json_object_of_rows_by_their_ids(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text(f'{{"17": {GOOD}, "328": {GOOD.replace("2 + 2", "1 + 3")}}}')
    assert [prompt.text for prompt in read(tmp_path / "q.json")] == ["2 + 2 = ", "1 + 3 = "]


@pytest.mark.parametrize(
    ("document", "split"),
    [
        ({"prompt": {"0": "2 + 2 = ", "1": "1 + 3 = "}, "answer": {"0": 4, "1": 4}}, None),  # as pandas writes columns
        ({"train": ROWS[0], "test": ROWS[0]}, "train"),
    ],
)
def test_columns_and_splits_are_no_rows_by_their_ids(
    tmp_path: Path, document: dict[str, Any], split: str | None
) -> None:
    (tmp_path / "q.json").write_text(json.dumps(document))
    assert [row for _, row in file_rows(tmp_path / "q.json", split=split)] == [document]


def test_bad_rows_go_to_whoever_wants_them(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "q.jsonl", GOOD, "[", GOOD, '{"verifier": "choice"}')
    bad: list[LearnableError] = []
    prompts = list(file_prompts(str(path), Columns(), on_bad=bad.append))
    assert [prompt.source for prompt in prompts] == ["q.jsonl, line 1", "q.jsonl, line 3"]
    assert [str(error).split(":")[0] for error in bad] == ["q.jsonl, line 2", "q.jsonl, line 4"]
    assert all(isinstance(error, BadRowError) for error in bad)


def test_a_folder_that_holds_something_else_is_left_to_datasets(tmp_path: Path) -> None:
    write_lines(tmp_path / "train.txt", "one", "two")
    assert [prompt.text for prompt in read(tmp_path, prompt="text", answer="text", verifier="choice")] == ["one", "two"]
    (tmp_path / "train.txt").unlink()
    with pytest.raises(LearnableError, match="nor a data set"):
        read(tmp_path)


def test_a_folder_without_the_split_names_those_it_has(tmp_path: Path) -> None:
    write_lines(tmp_path / "test.jsonl", GOOD)
    with pytest.raises(LearnableError, match="has no split 'train': name one of test with `dataset_split`"):
        read(tmp_path)
