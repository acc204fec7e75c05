"""`learnable annotate`: every row with what each policy makes of it, written or published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.files_for_tests import Once, Run

PASSES = {"small": lambda n: n % 9, "large": lambda n: min(8, n % 9 + 3)}


@pytest.fixture
def stored(run: Run, once: Once) -> str:
    """A store with a set of the questions of a file by each of two policies, of which one has not had all."""
    return once("stored", lambda: import_both(run))


def import_both(run: Run) -> str:
    for name, passes in PASSES.items():
        Path(f"of-{name}").mkdir()
        file = Path(f"of-{name}") / "sums.jsonl"
        rows = [{"prompt": f"{n} + 1?", "model": name, "k": 8, "passes": passes(n), "answer": n + 1} for n in range(45)]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows if name == "small" or row["answer"] <= 30))
        status, _, err = run("import", file, "--store", "s", "--name", name, "--policy", name)
        assert status == 0, err
    return "s"


def annotate(run: Run, *arguments: object) -> dict[str, Any]:
    status, out, err = run("annotate", *arguments, "--json")
    assert status == 0, err
    return dict(json.loads(out))


def number(prompt: str) -> int:
    return int(prompt.split()[0])


def check(rows: pl.DataFrame) -> None:
    """Compare every row with the counts that came in."""
    for row in rows.iter_rows(named=True):
        n = number(row["prompt"])
        expected = {"small": PASSES["small"](n)} | ({"large": PASSES["large"](n)} if n < 30 else {})
        told = {one["policy_id"].partition("@")[0]: one for one in row["certificates"]}
        assert {name: one["total_correct_rollouts"] for name, one in told.items()} == expected
        assert next(iter(told)) == "small"
        assert all(one["total_rollouts"] == 8 for one in told.values())
        assert all(one["ci_low"] <= one["ci_high"] and 0 <= one["usable_at_g"] <= 1 for one in told.values())
        assert (row["total_rollouts"], row["total_correct_rollouts"]) == (row["n"], row["passes"]) == (8, n % 9)
        assert row["passrate"] == row["pass_rate"] == n % 9 / 8


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_a_file_gets_every_row_with_both_policies(suffix: str, stored: str, run: Run) -> None:
    output = f"out.{suffix}"
    policies = ("--policy", "small", "--policy", "large")
    report = annotate(run, "of-small/sums.jsonl", *policies, "--store", stored, "--output", output)
    assert (report["rows"], [*report["policies"].values()]) == (45, [45, 30])
    rows = pl.read_parquet(output) if suffix == "parquet" else pl.read_ndjson(output, infer_schema_length=None)
    assert sorted(map(number, rows["prompt"])) == list(range(45))
    assert set(rows["part"]) == {"train", "test", "rejects"}
    assert set(rows["decision"]) > {"keep"}
    check(rows)


def test_it_is_published_with_its_parts(stored: str, run: Run) -> None:
    report = annotate(run, "small", "--policy", "large", "--store", stored, "--to", "out")
    parts = {name: pl.read_parquet(f"out/{name}-*.parquet") for name in ("train", "test", "rejects", "control")}
    for rows in parts.values():
        check(rows)
    assert sum(parts[name].height for name in ("train", "test", "rejects")) == 45
    assert {"passrate", "certificates"} <= json.loads(Path("out/manifest.json").read_text())["schema"].keys()
    assert "| what each policy makes of the question" in Path("out/README.md").read_text()
    assert report["published"]["sent"] > 4
    assert annotate(run, "small", "--policy", "large", "--store", stored, "--to", "out")["published"]["sent"] == 0
    assert run("show", "out", "--limit", "1")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("small", "--policy", "huge", "--output", "o.parquet"),
            "has no set of 'small' by 'huge': make one with find-",
        ),
        (("other.jsonl", "--policy", "small", "--output", "o.parquet"), "has no set of 'other.jsonl' by 'small'"),
        (("small",), "give either --to, where it is published, or --output"),
        (("small", "--to", "a", "--output", "o.parquet"), "give either --to"),
        (("small", "--output", "o.csv"), "--output 'o.csv' is no .parquet and no .jsonl"),
    ],
)
def test_what_cannot_be_annotated_is_named_with_its_fix(
    arguments: tuple[str, ...], told: str, stored: str, run: Run
) -> None:
    status, _, err = run("annotate", *arguments, "--store", stored)
    assert status == 2
    assert told in err


def test_a_column_of_the_file_is_not_lost(run: Run, tmp_path: Path) -> None:
    rows = [{"prompt": f"{n} + 1?", "model": "m", "k": 8, "passes": n % 9, "certificates": "x"} for n in range(45)]
    Path("own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("import", "own.jsonl", "--store", "s")[0] == 0
    command = ("annotate", "own", "--store", "s", "--output", "o.parquet")
    status, _, err = run(*command)
    assert status == 2
    assert "rows have a column 'certificates' of their own, which would be lost: leave it out with --drop-column" in err
    assert run(*command, "--drop-column", "certificates")[0] == 0
    assert {one["policy_id"].partition("@")[0] for one in pl.read_parquet("o.parquet")["certificates"].explode()} == {
        "m"
    }
