"""An ablation makes the sets that it needs of the one that is there."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from learnable.cli.app import app
from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import LearnableError
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.ablating import find_missing_sets, make_set
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.engines import use_engine
from learnable.flows.settings import CurateSettings
from learnable.train.ablation.planning import Ablation, read_ablation
from tests.flows.rated_for_tests import RatedEngine, ask_rated, make_policy
from tests.support.domains import needs_poems

TEXTS = [f"sums {number}" for number in range(60)]
RATES = dict(zip(TEXTS, np.random.default_rng(2).beta(0.8, 0.8, len(TEXTS)).tolist(), strict=True))


@pytest.fixture
def curated(tmp_path: Path) -> Path:
    policy = make_policy(tmp_path, "old")
    settings = replace(ask_rated(tmp_path, TEXTS, policy), budget=SamplingBudget("fixed"), group_size=8, test_share=0.4)
    with use_engine(RatedEngine(policy, RATES), settings):
        run_curation(settings)
    return tmp_path / "store" / "curated" / "q"


@pytest.fixture
def read(curated: Path, tmp_path: Path) -> Callable[[str], Ablation]:
    def read(make: str) -> Ablation:
        file = tmp_path / "mine.toml"
        file.write_text(f'[[run]]\nname = "all"\n[[run]]\nname = "other"\ncurated = "other"\nmake = {make}\n')
        return read_ablation(str(file), str(curated))

    return read


def read_sides(folder: Path, *parts: str) -> dict[str, str]:
    curated = open_curated(folder)
    rows = [row for part in parts if curated.shards(part) for row in curated.read(part).to_pylist()]
    return {row["prompt_id"]: row["split"] for row in rows}


def test_a_set_of_another_band_is_made_of_the_rollouts_that_are_there(
    read: Callable[[str], Ablation], curated: Path, tmp_path: Path
) -> None:
    ablation = read("{ band = [0.4, 0.6] }")
    [variant] = find_missing_sets(ablation)
    policy = str(tmp_path / "old")
    engine = RatedEngine(policy, RATES)
    with use_engine(engine, CurateSettings(policy=policy)):
        make_set(ablation, variant)
    other = curated.parent / "other"
    assert find_missing_sets(ablation) == []
    band = open_curated(other).manifest.band
    assert (band.low, band.high) == (0.4, 0.6)
    kept, everything = read_sides(other, "train", "test"), read_sides(curated, "train", "test", "rejects")
    assert 0 < len(kept) < len(read_sides(curated, "train", "test"))
    assert kept.items() <= everything.items()  # each on its side
    assert engine.requests == []


@needs_poems
def test_a_form_that_the_set_has_not_is_named(read: Callable[[str], Ablation], curated: Path) -> None:
    ablation = read('{ form = "haiku" }')
    with pytest.raises(LearnableError, match="has no prompts of haiku: it has"):
        make_set(ablation, find_missing_sets(ablation)[0])


def test_a_dry_run_names_the_set_that_it_would_make(
    read: Callable[[str], Ablation], curated: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    read("{ best_forms = 1 }")
    with pytest.raises(SystemExit) as ended:
        app(["ablate", str(tmp_path / "mine.toml"), "--curated", str(curated), "--dry-run", "--json"])
    assert ended.value.code == 0
    [missing] = json.loads(capfd.readouterr().out)["missing"]
    assert missing["make"] == {"best_forms": 1}
    assert not (curated.parent / "other").exists()
