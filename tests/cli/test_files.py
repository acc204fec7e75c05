"""Users' files through the command line: which prompts come of them, and what is said of the rest."""

from __future__ import annotations

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.files_for_tests import Find, Rows, sums, write

# 1. Answers that are numbers, from files that have text alone.


@pytest.mark.parametrize("name", ["q.csv", "q.tsv", "q.csv.gz"])
@pytest.mark.parametrize("verifier", ["arithmetic", "counting"])
def test_cells_are_numbers_where_the_verifier_wants_them(find: Find, name: str, verifier: str) -> None:
    mark = "\t" if "tsv" in name else ","
    text = "\n".join(["prompt" + mark + "answer", f"a{mark}7", f'b{mark}"1,024"', f"c{mark}-3", f"d{mark}007"])
    Path(name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    found = find(name, "--verifier", verifier)
    assert found.status == 0, found.err
    assert found.specs == [{"answer": 7}, {"answer": 1024}, {"answer": -3}, {"answer": 7}]


def test_numbers_as_text_or_as_floats_are_read_for_arithmetic(find: Find) -> None:
    rows = [{"prompt": "a", "answer": "7"}, {"prompt": "b", "answer": "1,024.0"}, {"prompt": "c", "answer": 3.0}]
    found = find(write("q.jsonl", [*rows, {"prompt": "d", "spec": {"answer": "9"}}]), "--verifier", "arithmetic")
    assert found.specs == [{"answer": 7}, {"answer": 1024}, {"answer": 3}, {"answer": 9}]
    table = pa.table({"prompt": ["a", "b"], "answer": [7.0, 8.0]})
    pq.write_table(table, "q.parquet")
    assert find("q.parquet", "--verifier", "arithmetic").specs == [{"answer": 7}, {"answer": 8}]


def test_a_choice_stays_text_with_its_zeros(find: Find) -> None:
    Path("q.csv").write_text("prompt,answer,code\na,007,01\nb,7,02\n")
    found = find("q.csv", "--verifier", "choice")
    assert [spec["answer"] for spec in found.specs] == ["007", "7"]
    assert [prompt.columns["code"] for prompt in found.prompts] == ["01", "02"]


# 2. JSON and TSV.


@pytest.mark.parametrize(
    "document",
    [
        sums(3),
        {"data": sums(3)},
        {"version": "1", "tags": ["a"], "rows": sums(3)},
        {"train": sums(3), "test": sums(9)},
    ],
)
@pytest.mark.parametrize("name", ["q.json", "q.json.gz"])
def test_json_files_hold_a_list_of_rows(find: Find, document: Any, name: str) -> None:
    text = json.dumps(document, indent=1).encode()
    Path(name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    found = find(name, "--verifier", "arithmetic")
    assert found.status == 0, found.err
    assert found.specs == [{"answer": 1}, {"answer": 2}, {"answer": 3}]
    assert found.prompts[1].source == f"{name}, row 2"


def test_json_files_with_lines_and_with_several_lists(find: Find) -> None:
    assert len(find(write("lines.json", sums(3)), "--verifier", "arithmetic").prompts) == 3
    Path("two.json").write_text(json.dumps({"easy": sums(1), "hard": sums(2)}))
    found = find("two.json", "--verifier", "arithmetic")
    assert found.status == 2
    assert "several lists of rows (easy, hard): name one with --dataset-split" in found.err
    assert len(find("two.json", "--verifier", "arithmetic", "--dataset-split", "hard").prompts) == 2
    Path("bad.json").write_text('[{"prompt": ')
    assert "'bad.json' is not valid JSON" in find("bad.json").err


# 3. What datasets saved, and folders of files.


def test_saved_data_sets_are_read(find: Find) -> None:
    from datasets import Dataset, DatasetDict

    Dataset.from_list(sums(3)).with_format("numpy").save_to_disk("one")
    DatasetDict(train=Dataset.from_list(sums(2)), dev=Dataset.from_list(sums(4))).save_to_disk("both")
    for arguments, rows in ((["one"], 3), (["both"], 2), (["both/", "--dataset-split", "dev"], 4)):
        found = find(*arguments, "--verifier", "arithmetic")
        assert found.status == 0, found.err
        assert [prompt.spec["answer"] for prompt in found.prompts] == list(range(1, rows + 1))
    found = find("both", "--verifier", "arithmetic", "--dataset-split", "test")
    assert found.status == 2
    assert "no split 'test': name one of train, dev with --dataset-split" in found.err


@pytest.mark.parametrize("suffix", ["jsonl", "json", "csv", "tsv", "parquet", "jsonl.gz"])
def test_folders_are_read_as_their_files_are(find: Find, suffix: str) -> None:
    Path("q").mkdir()
    rows: Rows = [{"prompt": "a", "answer": "007"}, {"prompt": "b", "answer": "8"}]
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), f"q/train.{suffix}")
    elif suffix in ("csv", "tsv"):
        mark = "," if suffix == "csv" else "\t"
        Path(f"q/train.{suffix}").write_text(
            "\n".join(mark.join(row) for row in [list(rows[0]), *map(dict.values, rows)])
        )
    else:
        write(f"q/train.{suffix}", rows)
    write(f"q/test.{'jsonl' if suffix == 'jsonl' else suffix + '.other'}", [{"prompt": "held out", "answer": "x"}])
    found = find("q", "--verifier", "choice")
    assert found.status == 0, found.err
    assert [spec["answer"] for spec in found.specs] == ["007", "8"]


def test_a_bad_line_of_a_folder_is_named(find: Find) -> None:
    mixed_up("q/train.jsonl", 2, 1)
    found = find("q", "--verifier", "arithmetic")
    assert found.status == 2
    assert "train.jsonl, line 3: not valid JSON" in found.err


# 4. Columns inside others.


def test_dotted_columns_reach_into_objects(find: Find) -> None:
    rows = [
        {"extra": {"question": f"{n}?"}, "reward_model": json.dumps({"ground_truth": n}), "a.b": str(n)} for n in (1, 2)
    ]
    columns = ["--prompt-column", "extra.question", "--answer-column", "reward_model.ground_truth"]
    found = find(write("q.jsonl", rows), "--verifier", "arithmetic", *columns)
    assert found.status == 0, found.err
    assert [(prompt.text, prompt.spec) for prompt in found.prompts] == [("1?", {"answer": 1}), ("2?", {"answer": 2})]
    pq.write_table(pa.Table.from_pylist(rows), "q.parquet")
    assert find("q.parquet", "--verifier", "choice", *columns).specs[0] == {"answer": "1", "choices": ["1", "2"]}
    assert [prompt.text for prompt in find("q.jsonl", "--verifier", "arithmetic", "--prompt-column", "a.b",
                                           *columns[2:]).prompts] == ["1", "2"]  # fmt: skip


def test_a_missing_inner_column_names_those_there_are(find: Find) -> None:
    path = write("q.jsonl", [{"extra": {"question": "1?", "level": 2}, "answer": 1}])
    found = find(path, "--verifier", "arithmetic", "--prompt-column", "extra.questoin")
    assert found.status == 2
    assert "column 'extra' has no 'questoin' (it has: question, level)" in found.err


# 5. Names.


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("my questions (v1.5).jsonl", "my_questions_v1.5"),
        ("a.b.jsonl", "a.b"),
        ("questions.jsonl.gz", "questions"),
        ("Q.JSONL", "Q"),
        ("größe?.jsonl", "größe"),
        ("?!.jsonl", "prompts"),
        ("....jsonl", "prompts"),
        (".hidden.jsonl", "hidden"),
        ("sub folder/", "sub_folder"),
        ("long" * 60 + ".jsonl", "long" * 50),
    ],
)
def test_every_location_gives_a_set_a_name(find: Find, path: str, name: str) -> None:
    write(path + "train.jsonl" if path.endswith("/") else path, sums(3))
    found = find(path, "--verifier", "arithmetic")
    assert found.status == 0, found.err
    assert Path(found.report["curated"]).parent.name == name


def test_the_folder_one_stands_in_has_a_name_too(find: Find, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("my set/train.jsonl", sums(3))
    monkeypatch.chdir(tmp_path / "my set")
    found = find(".", "--verifier", "arithmetic")
    assert found.status == 0, found.err
    assert Path(found.report["curated"]).parent.name == "my_set"


def test_a_folder_that_datasets_cannot_open_by_its_name_is_to_be_renamed(find: Find) -> None:
    write("set [1]/train.jsonl", sums(3))
    found = find("set [1]", "--verifier", "arithmetic")
    assert found.status == 2
    assert "without '*', '?' and '['" in found.err


# 6. Paths that exist, and paths that do not.


@pytest.mark.parametrize("name", ["q.txt", "q.xlsx", "q", "q.tar.gz"])
def test_a_file_of_another_kind_names_those_that_are_read(find: Find, name: str) -> None:
    write(name, sums(3))
    found = find(name)
    assert found.status == 2
    assert (
        "is not one of those that are (.jsonl, .ndjson, .json, .csv, .tsv, .parquet, each also with .gz)" in found.err
    )


@pytest.mark.parametrize(
    ("location", "says"),
    [
        ("./questons", "'./questons' does not exist: did you mean 'questions.jsonl'"),
        ("question.jsonl", "does not exist: did you mean 'questions.jsonl'"),
        ("/none/such/q.parquet", "does not exist, nor does its folder '/none/such'"),
        ("questoin", "did you mean 'questions.jsonl'"),
        ("a/b/c", "does not exist, nor does its folder 'a/b'"),
        ("~/zzz.csv", "does not exist"),
        ("q" * 3000, "does not exist"),
        ("", "--prompts '' names nothing"),
        ("https://host/q.jsonl", "a URL is not read"),
    ],
)
def test_what_is_no_id_is_not_looked_for_on_the_hub(find: Find, location: str, says: str) -> None:
    write("questions.jsonl", sums(3))
    found = find(location)
    assert found.status == 2
    assert found.err.startswith("error: ")
    assert says in found.err


class Hub:
    """A hub on this machine that has nothing, or none at all: what it is asked for, and how often."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, status: int | None) -> None:
        from huggingface_hub import constants

        self.requests: list[str] = []
        hub = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.requests.append(self.path)
                self.send_response(status or 0)
                self.send_header("X-Error-Code", "RepoNotFound" if status == 404 else "")
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_HEAD = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Answer)
        address = f"http://127.0.0.1:{self.server.server_port}"
        if status is None:
            self.server.server_close()
        else:
            threading.Thread(target=self.server.serve_forever, daemon=True).start()
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "ENDPOINT", address)


@pytest.mark.parametrize(
    ("status", "says"),
    [(404, "the hub has no such data set"), (500, "the hub cannot be asked (Server error"), (None, "cannot be asked")],
)
@pytest.mark.parametrize("name", ["bareword", "org/name"])
def test_the_hub_gets_one_question(
    find: Find, monkeypatch: pytest.MonkeyPatch, name: str, status: int | None, says: str
) -> None:
    write("barewords.jsonl", sums(3))
    hub = Hub(monkeypatch, status)
    found = find(name)
    assert found.status == 2
    assert found.err.startswith(f"error: prompts {name!r} is no file or folder here, and ")
    assert says in found.err
    assert ("did you mean 'barewords.jsonl'" in found.err) == (name == "bareword")
    of_data_sets = [path for path in hub.requests if "/datasets/" in path]  # once a process it asks for other things
    assert of_data_sets == [f"/api/datasets/{name}"] * (status is not None)


def test_the_home_folder_may_be_a_tilde(find: Find) -> None:
    write("home/sub/q.jsonl", sums(3))
    assert len(find("~/sub/q.jsonl", "--verifier", "arithmetic").prompts) == 3
    assert len(find("~/sub", "--verifier", "arithmetic").prompts) == 3


# 7. Bad rows.


def mixed_up(path: str, good: int, bad: int) -> str:
    """Write good rows, then bad ones: no JSON, no prompt, and an answer that the verifier refuses, in turns."""
    kinds = ['{"prompt": ', '{"promt": "x"}', '{"prompt": "x", "answer": "seven"}']
    with Path(write(path, sums(good))).open("a") as file:
        file.writelines(f"{kinds[n % 3]}\n" for n in range(bad))
    return path


def test_all_bad_rows_are_listed_at_once(find: Find) -> None:
    found = find(mixed_up("q.jsonl", 3, 24), "--verifier", "arithmetic")
    assert found.status == 2
    assert found.err.startswith("error: 24 of 27 rows are bad")
    assert "--skip-bad-rows" in found.err
    assert found.err.count("q.jsonl, line ") == 20
    for reason in (
        "line 4: not valid JSON",
        "line 5: no column 'prompt' (there are: promt)",
        "line 6: spec key 'answer' is 'seven'",
        "line 23: ",
        "... and 4 more",
    ):
        assert reason in found.err
    assert not list(Path().glob("store-*/curated"))


@pytest.mark.parametrize(("name", "place"), [("q.jsonl.gz", "line 2"), ("q.json.gz", "row 2")])
def test_a_bad_row_of_a_packed_file_is_named_by_the_file_that_there_is(find: Find, name: str, place: str) -> None:
    rows = [*sums(1), {"prompt": "x", "answer": "seven"}]
    text = json.dumps(rows) if "json." in name else "".join(json.dumps(row) + "\n" for row in rows)
    Path(name).write_bytes(gzip.compress(text.encode()))
    assert f"{name}, {place}: spec key 'answer' is 'seven'" in find(name, "--verifier", "arithmetic").err
    Path("bad.json.gz").write_bytes(gzip.compress(b"[{"))
    assert "file 'bad.json.gz' is not valid JSON" in find("bad.json.gz").err


def test_bad_rows_may_be_skipped(find: Find) -> None:
    found = find(mixed_up("q.jsonl", 3, 24), "--verifier", "arithmetic", "--skip-bad-rows")
    assert found.status == 0, found.err
    assert len(found.prompts) == 3
    assert found.report["totals"]["bad_rows"] == 24
    assert "24 bad rows of 27 skipped: q.jsonl, line 4: not valid JSON" in found.err


def test_a_file_of_bad_rows_alone_is_an_error_all_the_same(find: Find) -> None:
    found = find(mixed_up("q.jsonl", 0, 6), "--verifier", "arithmetic", "--skip-bad-rows")
    assert found.status == 2
    assert "6 of 6 rows are bad: no row is a prompt" in found.err


def test_reading_ends_where_all_of_very_many_rows_are_bad(find: Find) -> None:
    found = find(write("q.jsonl", sums(3000)), "--verifier", "arithmetic", "--prompt-column", "text")
    assert found.status == 2
    assert "q.jsonl, line 1: no column 'text' (there are: " in found.err
    assert "the same is wrong with all 1,000 rows that were read" in found.err
    assert found.err.count("q.jsonl, line ") == 1


def test_bad_rows_before_a_limit_count(find: Find) -> None:
    Path("q.jsonl").write_text("{\n" + "".join(json.dumps(row) + "\n" for row in sums(5)))
    assert find("q.jsonl", "--verifier", "arithmetic", "--limit", 2).status == 2
    found = find("q.jsonl", "--verifier", "arithmetic", "--limit", 2, "--skip-bad-rows")
    assert (len(found.prompts), found.report["totals"]["bad_rows"]) == (2, 1)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("q.csv", b'prompt,answer\na,1\nb,2,3\nc,"4" 4\nd,5\n', "2 of 4 rows are bad"),
        ("q.jsonl", b'{"prompt": "a", "answer": 1}\n{"prompt": "\xff", "answer": 1}\n', "line 2: not UTF-8"),
        ("q.jsonl", b'{"prompt": "a", "answer": 1}\n{"prompt": "\\ud83d", "answer": 1}\n', "line 2: '\\ud83d' is half"),
        ("q.json", b'[{"prompt": "a", "answer": 1}, 7]', "q.json, row 2: a JSON int"),
        ("q.jsonl", b'{"prompt": "a", "answer": 1}\n' + b'{"a":' * 5000 + b"\n", "line 2: not valid JSON"),
    ],
)
def test_rows_that_cannot_be_read_are_bad_rows(find: Find, name: str, content: bytes, reason: str) -> None:
    Path(name).write_bytes(content)
    found = find(name, "--verifier", "arithmetic")
    assert found.status == 2
    assert reason in found.err
    assert find(name, "--verifier", "arithmetic", "--skip-bad-rows").status == 0


def test_a_verifier_that_is_named_wrong_is_no_fault_of_the_rows(find: Find) -> None:
    found = find(write("q.jsonl", sums(3)), "--verifier", "countings")
    assert found.err == "error: unknown verifier 'countings': did you mean 'counting'?"
