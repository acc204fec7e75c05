"""What is requested of the real engine when a run grows: what is missing, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from tests.faults.growth_for_tests import HIGH, LARGE, LOW, PROMPTS, SMALL
from tests.faults.runs_for_tests import Shell
from tests.support.paths import ROOT
from tests.support.warm_starts import Starter

pytestmark = pytest.mark.e2e

KEY = ["question_id", "rollout_index"]


@dataclass
class Step:
    """The store after a run, and what the run requested."""

    rows: pl.DataFrame
    requested: pl.DataFrame
    used_an_engine: bool
    rollouts: int
    truncated: int


class Steps:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __getitem__(self, name: str) -> Step:
        said = json.loads((self.folder / f"{name}.json").read_text())
        requested = pl.DataFrame(said["requested"], schema=[*KEY, "seed"], orient="row")
        totals = said["totals"]
        rows = pl.read_parquet(self.folder / f"{name}.parquet")
        return Step(rows, requested, said["used_an_engine"], totals["rollouts"], totals["truncated"])


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory, starter: Starter) -> Iterator[Steps]:
    shell = Shell(tmp_path_factory.mktemp("growth"), starter)
    try:
        shell.run(".", program=("-m", "tests.faults.growth_for_tests"), PYTHONPATH=str(ROOT))
        yield Steps(shell.folder)
    finally:
        shell.kill_all()


def truncated(rows: pl.DataFrame, cap: int) -> pl.DataFrame:
    return rows.filter(pl.col("finish_reason") == "length", pl.col("max_tokens") == cap)


def test_the_same_command_again_needs_no_engine(steps: Steps) -> None:
    assert steps["first"].requested.height == steps["first"].rollouts == PROMPTS * SMALL
    again = steps["again"]
    assert (again.requested.height, again.used_an_engine) == (0, False)
    assert again.rows.equals(steps["first"].rows)
    assert again.rollouts == PROMPTS * SMALL


def test_a_larger_group_asks_for_the_rest_of_each(steps: Steps) -> None:
    larger = steps["larger"]
    assert larger.rollouts == PROMPTS * LARGE
    assert larger.requested.height == PROMPTS * (LARGE - SMALL)
    indices = larger.requested.group_by("question_id").agg(pl.col("rollout_index").sort())
    assert indices["rollout_index"].to_list() == [list(range(SMALL, LARGE))] * PROMPTS
    assert larger.rows.head(PROMPTS * SMALL).equals(steps["again"].rows)


def test_a_smaller_group_asks_for_nothing(steps: Steps) -> None:
    smaller = steps["smaller"]
    assert (smaller.requested.height, smaller.used_an_engine, smaller.rollouts) == (0, False, PROMPTS * SMALL)


def test_more_tokens_draw_the_truncated_ones_again_by_their_seeds(steps: Steps) -> None:
    cut = truncated(steps["smaller"].rows, LOW.max_tokens)
    longer = steps["longer"]
    assert 0 < cut.height < PROMPTS * LARGE
    assert longer.requested.sort(KEY).equals(cut.select(*KEY, "seed").sort(KEY))
    made = longer.rows.filter(pl.col("max_tokens") == HIGH.max_tokens)
    assert made.select(*KEY, "seed").sort(KEY).equals(cut.select(*KEY, "seed").sort(KEY))
    assert longer.rollouts == PROMPTS * LARGE
    assert longer.truncated == truncated(made, HIGH.max_tokens).height < cut.height


def test_what_is_drawn_again_goes_on_from_the_same_tokens(steps: Steps) -> None:
    rows = steps["longer"].rows
    cut, made = truncated(rows, LOW.max_tokens), rows.filter(pl.col("max_tokens") == HIGH.max_tokens)
    both = cut.select(*KEY, "completion").join(made.select(*KEY, pl.col("completion").alias("whole")), on=KEY)
    same = both.filter(pl.col("whole").str.starts_with(pl.col("completion")))
    assert same.height > 0.9 * both.height  # the engine's batches differ, and may turn a draw


@pytest.mark.parametrize("name", ["shorter", "longer again", "bumped"])
def test_what_is_there_is_never_requested(steps: Steps, name: str) -> None:
    step = steps[name]
    assert (step.requested.height, step.used_an_engine) == (0, False)
    assert step.rows.equals(steps["longer"].rows)
    assert step.rollouts == PROMPTS * LARGE


def test_fewer_tokens_see_the_truncated_ones_as_they_were(steps: Steps) -> None:
    assert steps["shorter"].truncated == truncated(steps["larger"].rows, LOW.max_tokens).height
    assert steps["longer again"].truncated == steps["longer"].truncated
