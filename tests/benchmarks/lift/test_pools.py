"""The recipe of the dead pool."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from benchmarks.lift.pools import draw_dead_pool, forget_certificates
from learnable.data.curated.curated_set import publish_curated
from learnable.data.curated.manifest import Manifest
from learnable.data.errors import LearnableError
from learnable.train.live.hooks import read_certificates
from learnable.train.live.rates import Certificates


@pytest.fixture
def survey() -> pl.DataFrame:
    """Forty kept prompts, sixty that are dead for certain, thirty of which that is not so certain."""
    return pl.DataFrame(
        {
            "prompt": [f"prompt {number}" for number in range(130)],
            "decision": ["keep"] * 40 + ["too_easy"] * 45 + ["too_hard"] * 45,
            "zero_std_at_16": [0.01] * 40 + [0.95] * 60 + [0.89] * 30,
        }
    )


def test_seventy_in_a_hundred_are_dead_for_certain_and_the_others_kept(survey: pl.DataFrame) -> None:
    pool = draw_dead_pool(survey, 50, 0.7, seed=3)

    assert pool["prompt"].n_unique() == 50
    assert pool.filter(pl.col("decision") == "keep").height == 15
    assert pool.filter(pl.col("decision") != "keep")["zero_std_at_16"].min() == 0.95
    assert set(pool.tail(35)["decision"]) == {"keep", "too_easy", "too_hard"}  # in no order


def test_a_pool_follows_from_its_seed(survey: pl.DataFrame) -> None:
    assert draw_dead_pool(survey, 50, 0.7, seed=3).equals(draw_dead_pool(survey, 50, 0.7, seed=3))
    assert not draw_dead_pool(survey, 50, 0.7, seed=3).equals(draw_dead_pool(survey, 50, 0.7, seed=4))


def test_too_few_prompts_are_told(survey: pl.DataFrame) -> None:
    with pytest.raises(LearnableError, match="takes 70 prompts that the survey rejected for certain, and there are 60"):
        draw_dead_pool(survey, 100, 0.7, seed=3)


@pytest.mark.parametrize("n_eff", [16.0, 40.0])  # passes and failures, and graded rewards
def test_a_blind_copy_tells_a_live_sampler_nothing_and_is_made_once(tmp_path: Path, n_eff: float) -> None:
    told = {"alpha": 4.2, "beta": 9.1, "p_zero": 0.01, "p_one": 0.02, "n": 16, "n_eff": n_eff, "pass_rate": 0.25}
    rows = pa.Table.from_pylist(
        [
            {"prompt_id": f"{decision}-{row}", "decision": decision, "split": "train", **told}
            for decision in ("keep", "too_easy")
            for row in range(3)
        ]
    )
    parts = {"train": rows.slice(0, 3), "rejects": rows.slice(3), "test": rows.slice(0, 1)}
    known = publish_curated(tmp_path / "known", parts, Manifest.from_json({"policy": {}, "sampling": {}, "seed": 0}))
    blind = forget_certificates(known, tmp_path / "blind")

    pool, source = blind.read("pool"), known.read("pool")
    unknown, found = Certificates.unknown(6), read_certificates(pool)
    assert all((getattr(found, name) == getattr(unknown, name)).all() for name in ("alpha", "beta", "p_zero", "p_one"))
    assert read_certificates(source).alpha.tolist() != unknown.alpha.tolist()
    assert pool.schema == source.schema
    assert pool["prompt_id"] == source["prompt_id"]
    assert pool["pass_rate"] == source["pass_rate"]
    assert forget_certificates(known, tmp_path / "blind").path == blind.path
