"""`learnable import` of rollouts: a set with certificates, each rollout once, and a judge that disagrees."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.files_for_tests import Find, Run
from tests.data.sources.rollouts.layouts_for_tests import WRITERS, Outcomes, ask, write_gym, write_plain

CHANCE = random.Random(7)
RATES = [CHANCE.random() for _ in range(40)]
OUTCOMES: Outcomes = [[CHANCE.random() < rate for _ in range(8)] for rate in RATES]


def imported(run: Run, *arguments: object) -> dict[str, Any]:
    status, out, err = run("import", *arguments, "--json", "--workers", "0")
    assert status == 0, err
    return dict(json.loads(out))


def read_pool(curated: str) -> pl.DataFrame:
    parts = [pl.read_parquet(file) for name in ("train", "test", "rejects") for file in Path(curated).glob(f"{name}-*")]
    return pl.concat(parts, how="diagonal_relaxed")


@pytest.mark.parametrize("name", WRITERS)
def test_one_command_certifies_each_layout_and_a_second_adds_nothing(name: str, run: Run, tmp_path: Path) -> None:
    file = WRITERS[name](tmp_path / "run", OUTCOMES)
    first = imported(run, file, "--store", "s")
    assert (first["format"], first["rollouts"], first["new"]) == (name, 320, 320)
    pool = read_pool(first["curation"]["curated"])
    counted = {
        row["prompt"] if isinstance(row["prompt"], str) else row["prompt"][0]["content"]: row for row in pool.to_dicts()
    }
    for question, group in enumerate(OUTCOMES):
        row = counted[ask(question)]
        assert (row["n"], row["passes"]) == (8, sum(group))

        assert row["verifier"] == f"recorded-{name}"
    assert pool.filter(pl.col("passes").is_between(3, 5))["decision"].unique().to_list() == ["keep"]
    second = imported(run, file, "--store", "s")
    assert (second["new"], second["curation"]["curated"]) == (0, first["curation"]["curated"])


def test_a_judge_that_disagrees_is_shown_and_its_set_can_be_trained_on(run: Run, tmp_path: Path) -> None:
    file = write_gym(tmp_path, OUTCOMES)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for row in rows[:3]:
        row["reward"] = 1 - row["reward"]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = imported(run, file, "--store", "s", "--verifier", "number")
    compared = found["comparison"]
    assert (compared["compared"], compared["differing"], compared["unjudged"]) == (320, 3, 0)
    passed = sum(OUTCOMES[0][:3])
    assert (compared["passes_judge_alone"], compared["passes_file_alone"]) == (passed, 3 - passed)
    assert {example["prompt"] for example in compared["examples"]} == {ask(0)}
    assert read_pool(found["curation"]["curated"])["passes"].sum() == sum(map(sum, OUTCOMES))  # the judge's
    assert set(read_pool(found["curation"]["curated"])["verifier"]) == {"number"}
    again = imported(run, file, "--store", "s")  # both scores are kept
    assert again["new"] == 0
    assert read_pool(again["curation"]["curated"])["passes"].sum() != sum(map(sum, OUTCOMES))
    status, out, _ = run("import", file, "--store", "s", "--verifier", "number", "--workers", "0")
    assert status == 0
    assert "number differs from recorded-nemo-gym on 3 of 320 completions (0.9%)" in " ".join(out.split())
    assert "next learnable train --curated s/curated/rollouts/" in " ".join(out.split())


def test_nobody_trains_on_rewards_that_only_a_file_has(run: Run, tmp_path: Path) -> None:
    made = imported(run, write_gym(tmp_path, OUTCOMES), "--store", "s")["curation"]["curated"]
    status, _, err = run("train", "--curated", made, "--output", "out", "--explain")
    assert status == 2
    assert "'recorded-nemo-gym' is the rewards that were imported, and judges nothing new" in err


def test_a_file_that_grew_adds_its_growth_and_equal_rows_count_each(run: Run, tmp_path: Path) -> None:
    file = write_plain(tmp_path, [[True, True, False]])  # two rows are the same word for word
    assert imported(run, file, "--store", "s")["new"] == 3
    longer = write_plain(tmp_path / "later", [[True, True, False, True, False]])
    found = imported(run, longer, "--store", "s")
    assert found["new"] == 2
    assert read_pool(found["curation"]["curated"])["n"].to_list() == [5]


def test_find_learnable_goes_on_and_pays_for_what_is_missing(find: Find, run: Run, tmp_path: Path) -> None:
    lines = [{"prompt": f"{n} + 1 = ", "completion": str(n + 1), "reward": 1.0, "answer": n + 1} for n in range(6)]
    Path("lines.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    Path("prompts.jsonl").write_text(
        "".join(json.dumps({"prompt": f"{n} + 1 = ", "answer": n + 1}) + "\n" for n in range(8))
    )
    policy = tmp_path / "home" / "policy"
    assert imported(run, "lines.jsonl", "--store", "s", "--policy", policy)["new"] == 6
    found = find("prompts.jsonl", "--verifier", "number", "--store", "s")
    assert found.status == 0, found.err
    assert found.report["totals"]["generated"] == 6 * 1 + 2 * 2  # of groups of two
    assert found.report["totals"]["rollouts"] == 16


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"reward": 2.5}, "rewards go from 1 to 2.5, outside of 0..1: say where they lie with --reward-range"),
        ({"reward": "x"}, "lines.jsonl, line 1: column 'reward' is 'x': it must be a number, or null"),
        ({"prompt": " "}, "lines.jsonl, line 1: 'prompt' is ' ': it must be a text that is not empty"),
        ({"model": "other"}, "rollouts of 2 models (org/model, other): name one with --policy"),
    ],
)
def test_what_cannot_be_imported_is_named_with_its_fix(
    row: dict[str, Any], told: str, run: Run, tmp_path: Path
) -> None:
    file = write_plain(tmp_path, [[False, True]])
    lines = file.read_text().splitlines()
    lines[0] = json.dumps(json.loads(lines[0]) | row)
    file.write_text("\n".join(lines))
    status, _, err = run("import", file, "--store", "s")
    assert status == 2
    assert told in err
    assert not Path("s").exists()


def test_a_range_makes_rewards_of_any_numbers(run: Run) -> None:
    rows = [{"prompt": f"Q{n}?", "completion": str(r), "reward": r - 1} for n in range(3) for r in (0, 1, 2)]
    Path("lines.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = imported(run, "lines.jsonl", "--store", "s", "--reward-range", "-1..1", "--reward-pass", "0")
    assert found["rewards_by"] == "recorded-plain-range-1..1-pass0"
    pool = read_pool(found["curation"]["curated"])
    assert set(pool["mean"]) == {0.5}
    assert set(pool["passes"]) == {2}
    assert "--reward-range" in run("import", "lines.jsonl", "--reward-range", "low")[2]
    assert "--k 8 is for count tables" in run("import", "lines.jsonl", "--k", "8")[2]


def test_a_folder_without_a_policy_is_no_name(run: Run, tmp_path: Path) -> None:
    status, _, err = run("import", write_plain(tmp_path, [[True, False]]), "--store", "s", "--policy", "./nosuch")
    assert status == 2
    assert "policy 'nosuch' does not exist" in err


def test_rows_without_a_reward_are_no_zeros(run: Run, tmp_path: Path) -> None:
    file = write_plain(tmp_path, [[True, False], [True, True]])
    lines = file.read_text().splitlines()
    lines[0] = json.dumps(json.loads(lines[0]) | {"reward": None})
    file.write_text("\n".join(lines))
    found = imported(run, file, "--store", "s")
    assert (found["rollouts"], found["unrewarded"], found["new"]) == (3, 1, 3)
    assert sorted(read_pool(found["curation"]["curated"])["n"]) == [1, 2]
