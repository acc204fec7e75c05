"""`learnable import`: tables of pass counts, and what is said of those that are none."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.files_for_tests import Run

ROWS = [
    {"prompt": "Add 1 and 2.", "model": "a", "k": 8, "passes": 3},
    {"prompt": "Add 1 and 3.", "model": "a", "k": 8, "passes": 8},
    {"prompt": "Add 1 and 2.", "model": "b", "k": 4, "passes": 0},
]


def test_tables_of_three_kinds_say_the_same_and_once(run: Run) -> None:
    table = pl.DataFrame(ROWS)
    table.write_parquet("counts.parquet")
    table.write_csv("counts.csv")
    table.write_ndjson("counts.jsonl")
    status, out, err = run("import", "counts.parquet", "--store", "s", "--json")
    assert status == 0, err
    first = json.loads(out)
    assert first == {"counts": 3, "prompts": 2, "models": ["a", "b"], "new": 3, "changed": 0, "store": "s"}
    for name in ("counts.csv", "counts.jsonl"):
        again = json.loads(run("import", name, "--store", "s", "--json")[1])
        assert (again["new"], again["changed"]) == (0, 0)
    status, out, _ = run("import", "counts.csv", "--store", "s")
    assert "3 counts of 2 prompts by 2 models: 0 new, 0 changed, 3 as they were" in " ".join(out.split())


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"passes": 9}, "line 1: column 'passes' is 9: it must be from 0 to the row's k, 8"),
        ({"k": 0}, "line 1: column 'k' is 0: it must be at least 1"),
        ({"k": 2.5}, "line 1: column 'k' is '2.5': it must be a whole number"),
        ({"passes": None}, "line 1: no 'passes': add a column 'passes' with a whole number (the row has prompt, model"),
        ({"model": " "}, "line 1: column 'model' is ' ': it must hold the model that answered"),
        ({"prompt": None, "prompt_id": "math-7"}, "column 'prompt_id' is 'math-7', which is no id of a store's prompt"),
        ({"prompt": None}, "line 1: no 'prompt': add a column 'prompt' with the text, or 'prompt_id'"),
    ],
)
def test_a_wrong_row_is_named_with_its_column_and_what_to_do(run: Run, row: dict[str, object], told: str) -> None:
    Path("counts.jsonl").write_text(json.dumps(ROWS[0] | row))
    status, _, err = run("import", "counts.jsonl", "--store", "s")
    assert status == 2
    assert f"counts.jsonl, {told}" in err or told in err
    assert not Path("s/counts").exists()


def test_a_file_that_is_none_is_said_so(run: Run) -> None:
    Path("empty.jsonl").write_text("")
    assert "counts 'empty.jsonl' is empty" in run("import", "empty.jsonl")[2]
    assert "absent.csv" in run("import", "absent.csv")[2]
    status, out, _ = run("import", "--help")
    assert status == 0
    assert "learnable import counts.parquet" in out
