"""Stores of released formats: opened, shown, curated again and refreshed by this version, with the same decisions."""

from __future__ import annotations

import json
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from learnable.cli.app import app
from learnable.data.curated.curated_set import SET_PARTS, open_curated
from learnable.data.storage.format import STORE_FORMAT
from learnable.flows.engines import use_engine
from learnable.flows.refreshing.pipeline import run_refresh
from learnable.flows.refreshing.pool import open_pool
from learnable.flows.settings import RefreshSettings
from tests.compatibility.make_store import FOLDER, RATES, TEXTS, curate, make_store, replace_folder
from tests.flows.rated_for_tests import RatedEngine, make_policy
from tests.support.figures import check_same_keys
from tests.support.rows import check_same_rows

ARCHIVES = sorted(Path(__file__).parent.glob("format-*.tar.gz"))
SET = "store/curated/q/v0001"
TOO_EASY, TOO_HARD = ("sums 7", "words 6", "words 7"), ("sums 0", "sums 1", "words 0")
DECISIONS = dict.fromkeys(TEXTS, "keep") | dict.fromkeys(TOO_EASY, "too_easy") | dict.fromkeys(TOO_HARD, "too_hard")


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.name)
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a store, where its paths lead to, as the working folder."""
    with tarfile.open(request.param) as tar:
        tar.extractall(tmp_path, filter="data")
    replace_folder(tmp_path, FOLDER, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_json(capfd: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """Return what a command prints with `--json`."""
    with pytest.raises(SystemExit) as ended:
        app([*arguments, "--json"])
    assert ended.value.code in (None, 0)
    return json.loads(capfd.readouterr().out)


def read_pool(version: Path | str) -> pl.DataFrame:
    curated = open_curated(version)
    tables = [pl.DataFrame(curated.read(part)) for part in ("train", "test", "rejects")]
    return pl.concat(tables, how="diagonal").sort("prompt_id")


def list_files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_there_is_a_store_of_every_format() -> None:
    assert [path.name for path in ARCHIVES] == [f"format-{number}.tar.gz" for number in range(1, STORE_FORMAT + 1)]


@pytest.mark.usefixtures("folder")
def test_a_set_and_its_completions_are_shown_and_nothing_is_written(capfd: pytest.CaptureFixture[str]) -> None:
    before = list_files(Path("store"))
    rows = read_pool(SET)
    assert dict(rows.select("prompt", "decision").iter_rows()) == DECISIONS
    for row in rows.iter_rows(named=True):
        shown = read_json(capfd, "show", SET, row["prompt_id"])
        assert (shown["total"], shown["note"]) == (row["rollouts"], "")
        assert sum(one["passed"] for one in shown["completions"]) == row["passes"]
    counted = read_json(capfd, "ledger", "--store", "store")
    assert (counted["prompts"], counted["rollouts"]) == (len(TEXTS), rows["rollouts"].sum())
    assert list_files(Path("store")) == before


@pytest.mark.usefixtures("folder")
def test_the_same_curation_pays_for_no_rollout_and_decides_the_same() -> None:
    before = read_pool(SET)
    report, engine = curate()
    assert engine.requests == []
    check_same_rows(read_pool(report.curated), before)


def test_a_run_that_lost_its_set_and_scores_goes_on_from_the_rollouts(folder: Path) -> None:
    before = read_pool(SET)
    for name in ("curated", "scores", "groups"):
        shutil.rmtree(folder / "store" / name)
    report, engine = curate()
    assert engine.requests == []
    check_same_rows(read_pool(report.curated), before)


def test_a_set_is_refreshed_once(folder: Path) -> None:
    settings = RefreshSettings(SET, policy=make_policy(folder, "new"), anchors=6, workers=0)
    engines = [RatedEngine("new", RATES) for _ in range(2)]
    reports = []
    for engine in engines:
        with use_engine(engine, open_pool(settings).settings):
            reports.append(run_refresh(settings))
        settings = replace(settings, curated="store/curated/q")
    assert reports[0].refresh.refreshed_from.version == "v0001"
    assert reports[0].refresh.changed.kept_before == list(DECISIONS.values()).count("keep")
    assert len(engines[0].requests) >= 6
    assert engines[1].requests == []
    assert reports[1].curated == reports[0].curated


def test_what_is_written_now_has_the_keys_and_columns_of_its_format(tmp_path: Path) -> None:
    """Another key or column needs another `STORE_FORMAT`, and a store of it here."""
    with tarfile.open(ARCHIVES[-1]) as tar:
        tar.extractall(tmp_path / "then", filter="data")
    (tmp_path / "now").mkdir()
    make_store(tmp_path / "now")
    now, then = (tmp_path / name for name in ("now", "then"))
    check_same_keys(*(json.loads((root / SET / "manifest.json").read_text()) for root in (now, then)))
    places = [*(f"{SET}/{part}-" for part in SET_PARTS), "store/rollouts", "store/scores", "store/groups"]
    for place in places:
        schemas = [
            pq.read_schema(path).remove_metadata()
            for root in (now, then)
            for path in sorted(root.rglob("*.parquet"))
            if str(path.relative_to(root)).startswith(place)
        ]
        assert len({str(schema) for schema in schemas}) == (0 if place.endswith("reserve-") else 1), place
