"""The batch that nobody gave: as many usable groups as the usual one has of the pool, and never fewer than two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from learnable.data.curated.curated_set import CuratedSet, publish_curated
from learnable.data.curated.manifest import Forecast, Manifest
from learnable.train.live.hooks import read_certificates
from learnable.train.live.rates import PassRates
from learnable.train.live.sampler import BatchLayout, PromptPicker
from learnable.train.preflight.batch import (
    UsableShares,
    fit_batch,
    forecast_usable,
    mean_length,
    read_usable_rate,
)
from learnable.train.settings import TrainSettings

# Beta(4, 4): at 16 completions 0.8 % of groups agree.
ROW = {
    "prompt": "p", "verifier": "choice", "spec": "{}", "family": "f", "alpha": 4.0, "beta": 4.0, "p_zero": 0.0,
    "p_one": 0.0, "n": 8, "zeros": 4, "ones": 4,
}  # fmt: skip
# What 70 % dead is like, and 2,000 tokens in 100 rollouts; a form's row says the same again, and does not count.
POOL: dict[str, Any] = {
    "forecast": {"pool": [{"group_size": 4, "usable_rate": 0.2}, {"group_size": 16, "usable_rate": 0.365}]},
    "forms": [
        {"family": "f", "rollouts": 100, "tokens": 2000},
        {"family": "f", "form": "g", "rollouts": 100, "tokens": 2000},
    ],
}
SETTINGS = TrainSettings(curated="", output="")


def publish(folder: Path, manifest: dict[str, Any], prompts: int = 40, **row: Any) -> CuratedSet:
    rows = pl.DataFrame([ROW | row] * prompts).to_arrow()
    parts = dict.fromkeys(("train", "test", "control"), rows)
    return publish_curated(folder / "set", parts, Manifest.from_json(manifest))


def test_a_set_of_live_prompts_takes_the_batch_that_has_the_pool_s_usable_groups(tmp_path: Path) -> None:
    """8 x 0.365 / 0.992 = 2.9: three prompts a step, as the pilot on such a pool took."""
    fitted, [note] = fit_batch(SETTINGS, publish(tmp_path, POOL), 40)
    assert (fitted.batch_size, fitted.prompts_per_step) == (48, 3)
    assert note == (
        "`batch_size` 48, not the usual 128: 3 of the set's 40 train prompts a step x 16 completions; 99% of its "
        "groups are expected to be usable and 36% of its pool's, so 3 a step give 3.0 usable groups where 8 of the "
        "pool's give 2.9; that saves 80 completions a step (62%, about 1,600 tokens): spend them on more `steps`, or "
        "give `batch_size` 128"
    )


def test_a_batch_that_was_given_stays(tmp_path: Path) -> None:
    given = replace(SETTINGS, batch_size=64)
    assert fit_batch(given, publish(tmp_path, POOL), 40) == (given, [])


def test_the_control_is_trained_on_at_the_same_batch(tmp_path: Path) -> None:
    fitted, _ = fit_batch(replace(SETTINGS, part="control"), publish(tmp_path, POOL), 40)
    assert fitted.batch_size == 48


@pytest.mark.parametrize(("rate", "batch"), [(0.0, 32), (0.1, 32), (0.99, 128), (1.0, 128)])
def test_it_is_never_under_two_groups_or_above_the_usual_batch(tmp_path: Path, rate: float, batch: int) -> None:
    pool = {"forecast": {"pool": [{"group_size": 16, "usable_rate": rate}]}}
    fitted, notes = fit_batch(SETTINGS, publish(tmp_path, pool), 40)
    assert fitted.batch_size == batch
    assert bool(notes) is (batch < 128)
    assert not any("tokens" in note for note in notes)  # the manifest does not say how many


def test_a_set_that_teaches_less_than_its_pool_has_the_usual_batch(tmp_path: Path) -> None:
    fitted, notes = fit_batch(SETTINGS, publish(tmp_path, POOL, p_zero=0.8), 40)
    assert (fitted.batch_size, notes) == (128, [])


def publish_mixed(folder: Path, dead: int, live: int) -> CuratedSet:
    """A pool of which so many prompts were rejected, as no completion passed, and so many kept."""
    known = ROW | {"n_eff": 8.0, "pass_rate": 0.5}
    kept = [known | {"prompt_id": f"k{number}"} for number in range(live)]
    lost = {"p_zero": 1.0, "zeros": 8, "ones": 0, "pass_rate": 0.0, "decision": "too_hard", "split": "train"}
    rejected = [known | lost | {"prompt_id": f"r{number}"} for number in range(dead)]
    parts = {"train": pl.DataFrame(kept).to_arrow(), "rejects": pl.DataFrame(rejected).to_arrow()}
    forecast = {"forecast": {"pool": [{"group_size": 16, "usable_rate": live / (live + dead) * 0.992}]}}
    return publish_curated(folder / "set", parts, Manifest.from_json(forecast))


def test_of_the_pool_the_live_sampler_takes_what_is_usable_and_the_batch_is_of_that(tmp_path: Path) -> None:
    """Of 400 prompts 280 never pass: 8 of them make 2.4 groups, and a live batch has one review in 32 places.

    31/32 x .992 + 1/32 x .3 = .970, and 8 x .298 / .970 = 2.45.
    """
    curated = publish_mixed(tmp_path, dead=280, live=120)
    static = replace(SETTINGS, part="pool")
    live = replace(static, sampler="live")
    assert fit_batch(static, curated, 400) == (replace(static, batch_size=128), [])
    shares = forecast_usable(live, curated)
    assert shares is not None
    assert (shares.drawn, shares.pool) == (pytest.approx(0.970, abs=0.002), pytest.approx(0.2976))
    fitted, [note] = fit_batch(live, curated, 400)
    assert fitted.batch_size == 32
    assert "97% of the groups that the live sampler draws are expected to be usable and 30% of its pool's" in note


def test_the_live_sampler_takes_what_was_forecast(tmp_path: Path) -> None:
    curated = publish_mixed(tmp_path, dead=60, live=40)
    live = replace(SETTINGS, part="pool", sampler="live", num_generations=8)
    shares = forecast_usable(live, curated)
    rates = PassRates.of(read_certificates(curated.read("pool")), drift=0.0)
    picker = PromptPicker(rates, BatchLayout(prompts=4, group_size=8, repeats=1))
    usable = [rates.expect_usable(8)[picker.draw()].mean() for _ in range(800)]
    assert shares is not None
    assert np.mean(usable) == pytest.approx(shares.drawn, abs=0.02)


def test_few_prompts_fill_what_they_can(tmp_path: Path) -> None:
    fitted, [note] = fit_batch(SETTINGS, publish(tmp_path, POOL, prompts=2), 2)
    assert fitted.batch_size == 32
    assert note.endswith("2 of the set's 2 train prompts a step x 16 completions")


def test_where_nothing_is_forecast_the_batch_is_the_usual_one(tmp_path: Path) -> None:
    curated = publish(tmp_path, POOL)
    for settings in (replace(SETTINGS, families=("f",)), replace(SETTINGS, method="sft")):
        assert forecast_usable(settings, curated) is None
    assert forecast_usable(SETTINGS, publish(tmp_path / "old", {})) is None
    assert forecast_usable(replace(SETTINGS, part="reserve"), curated) is None
    assert fit_batch(SETTINGS, publish(tmp_path / "other", {}), 40)[0].batch_size == 128


def test_whole_passes_are_kept(tmp_path: Path) -> None:
    curated = publish(tmp_path, POOL)
    assert fit_batch(replace(SETTINGS, micro_batch_size=32), curated, 40)[0].batch_size == 64
    assert fit_batch(replace(SETTINGS, micro_batch_size=32, num_processes=4), curated, 40)[0].batch_size == 128


@pytest.mark.parametrize(("size", "rate"), [(2, 0.2), (4, 0.2), (8, 0.3), (16, 0.4), (64, 0.4)])
def test_between_the_sizes_that_were_forecast_the_rate_is_on_a_line(size: int, rate: float) -> None:
    rows = (Forecast(group_size=16, usable_rate=0.4), Forecast(group_size=4, usable_rate=0.2))
    assert read_usable_rate(rows, size) == pytest.approx(rate)


def test_shares_of_nothing() -> None:
    assert UsableShares(16, drawn=0.0, pool=0.5).enough == 1.0
    assert mean_length(Manifest.from_json({})) is None
    assert mean_length(Manifest.from_json(POOL)) == 20
