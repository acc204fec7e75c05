"""`learnable import`: tables of pass counts, sets of them, and what is said of those that are none."""

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
    before = {"counts": 3, "prompts": 2, "models": ["a", "b"], "new": 3, "changed": 0, "store": "s"}
    assert {name: first[name] for name in before} == before
    assert first["curation"] is None
    assert "--policy MODEL" in first["why"]
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
    assert "rollouts 'empty.jsonl' is empty" in run("import", "empty.jsonl")[2]
    assert "absent.csv" in run("import", "absent.csv")[2]
    status, out, _ = run("import", "--help")
    assert status == 0
    assert "learnable import counts.parquet" in out


def counts(model: str = "m", k: int = 16) -> list[dict[str, object]]:
    return [{"prompt": f"Add {n} and {n}.", "model": model, "k": k, "passes": n % (k + 1)} for n in range(120)]


def test_counts_of_one_model_become_a_set_whose_certificates_rest_on_them_alone(run: Run) -> None:
    pl.DataFrame(counts()).write_parquet("counts.parquet")
    status, out, err = run("import", "counts.parquet", "--store", "s", "--json")
    assert status == 0, err
    made = json.loads(out)["curation"]
    assert made["engine"] == "imported"
    rows = pl.read_parquet([*Path(made["curated"]).glob("train-*"), *Path(made["curated"]).glob("test-*")])
    assert set(rows["decision"]) == {"keep"}
    rejects = pl.read_parquet([*Path(made["curated"]).glob("rejects-*")])
    assert rows.height + rejects.height == 120
    every = pl.concat([rows, rejects], how="diagonal_relaxed")
    rows_by_number = every.select(
        pl.col("prompt").str.extract(r"Add (\d+)").cast(pl.Int64) % 17, "n", "passes", "tokens"
    )
    assert (rows_by_number["prompt"] == rows_by_number["passes"]).all()
    assert set(rows_by_number["n"]) == {16}
    assert set(rows_by_number["tokens"]) == {0}  # nobody counted them
    assert not list(Path("s/rollouts").rglob("*.parquet"))  # no rollout is made up
    assert every.filter(pl.col("passes").is_between(7, 9))["decision"].unique().to_list() == ["keep"]
    assert "keep" not in every.filter(pl.col("passes").is_in([0, 16]))["decision"].to_list()
    again = json.loads(run("import", "counts.parquet", "--store", "s", "--json")[1])
    assert (again["new"], again["curation"]["curated"]) == (0, made["curated"])


def test_one_of_several_models_is_chosen_by_name(run: Run) -> None:
    pl.DataFrame([*counts("a"), *counts("b", 4)]).write_csv("counts.csv")
    made = json.loads(run("import", "counts.csv", "--store", "s", "--policy", "b", "--json")[1])
    assert made["counts"] == 240
    assert made["curation"]["totals"]["rollouts"] == 4 * 120
    status, _, err = run("import", "counts.csv", "--store", "s", "--policy", "c")
    assert status == 2
    assert "--policy c is none of the models of these counts: give one of a, b" in err


def test_rates_need_the_number_of_completions_and_texts_may_be_elsewhere(run: Run) -> None:
    rows = [{"problem": f"Add {n}.", "llama8b_solve_rate": (n % 9) / 8, "answer": str(n)} for n in range(40)]
    pl.DataFrame(rows).write_parquet("rates.parquet")
    assert "is a rate, 0.0, and says not of how many completions: give --k" in run("import", "rates.parquet")[2]
    assert "which 7 completions cannot give" in run("import", "rates.parquet", "--k", "7")[2]
    status, out, err = run("import", "rates.parquet", "--k", "8", "--verifier", "number", "--store", "s", "--json")
    assert status == 0, err
    made = json.loads(out)
    assert made["models"] == ["llama8b"]
    train = pl.read_parquet(Path(made["curation"]["curated"]) / "train-00000-of-00001.parquet")
    assert set(train["verifier"]) == {"number"}  # what training writes is judged by it
    pl.DataFrame({"prompt_id": ["x1", "x2"], "model": ["m", "m"], "k": [8, 8], "passes": [3, 8]}).write_csv("ids.csv")
    pl.DataFrame({"prompt_id": ["x1", "x2"], "prompt": ["One?", "Two?"], "level": [1, 2]}).write_csv("texts.csv")
    assert "or a second file with the columns prompt_id and prompt" in run("import", "ids.csv")[2]
    status, out, err = run("import", "ids.csv", "texts.csv", "--store", "t", "--json")
    assert status == 0, err
    assert json.loads(out)["curation"]["totals"]["prompts"] == 2
