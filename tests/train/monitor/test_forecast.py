"""The forecast of a run's groups beside what its first steps measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from learnable.data.curated.curated_set import CuratedSet, publish_curated
from learnable.data.curated.manifest import Manifest
from learnable.train.monitor.forecast import add_measured, explain_other_signal, forecast_training
from learnable.train.monitor.records import StepRecord
from learnable.train.settings import Signal, TrainSettings

ROW = {
    "prompt": "p", "verifier": "choice", "spec": "{}", "family": "f", "alpha": 4.0, "beta": 4.0, "p_zero": 0.0,
    "p_one": 0.0, "n": 8, "zeros": 4, "ones": 4,
}  # fmt: skip
MANIFEST: dict[str, Any] = {
    "policy": {"policy_id": "p@1"}, "band": {"low": 0.2, "high": 0.8, "min_std": 0.1, "signal": "reward"},
    "sampling": {}, "verifiers": {}, "seed": 0, "created": "now", "forms": [],
    "beliefs": {"f": {"flips_per_rollout": 1.0}},
}  # fmt: skip


def publish(folder: Path, row: dict[str, Any], signal: str = "reward") -> CuratedSet:
    rows = pl.DataFrame([row] * 3).to_arrow()
    manifest = Manifest.from_json(MANIFEST | {"band": MANIFEST["band"] | {"signal": signal}})
    return publish_curated(folder / "set", {"train": rows, "test": rows}, manifest)


@pytest.mark.parametrize(("group_size", "dead"), [(4, 0.212), (16, 0.0079)])
def test_the_forecast_is_for_the_group_size_that_is_trained_with(tmp_path: Path, group_size: int, dead: float) -> None:
    found = forecast_training(publish(tmp_path, ROW), TrainSettings(curated="", output="", num_generations=group_size))
    assert found is not None
    assert found.zero_std_share == pytest.approx(dead, abs=0.001)
    assert f"forecast at G = {group_size}: {dead:.0%}" in found.sentence


def test_a_set_without_certificates_and_a_warm_up_have_none(tmp_path: Path) -> None:
    bare = publish(tmp_path / "bare", {key: ROW[key] for key in ("prompt", "verifier", "spec", "family")})
    assert forecast_training(bare, TrainSettings(curated="", output="")) is None
    assert forecast_training(publish(tmp_path, ROW), TrainSettings(curated="", output="", method="sft")) is None


@pytest.mark.parametrize(("certified", "trained"), [("pass", "reward"), ("reward", "pass")])
def test_certificates_of_another_signal_forecast_nothing_and_say_so(
    tmp_path: Path, certified: str, trained: Signal
) -> None:
    """Where all fail, graded rewards may differ: certificates of passes forecast 78 % alike, and 0 % were measured."""
    settings = TrainSettings(curated="", output="", signal=trained)
    graded = publish(tmp_path / "graded", ROW | {"mean": 0.7, "pass_rate": 0.5}, certified)
    assert forecast_training(graded, settings) is None
    [why] = explain_other_signal(graded, settings)
    assert f"`signal` {certified} trains on what was certified" in why
    plain = publish(tmp_path / "plain", ROW | {"mean": 0.5, "pass_rate": 0.5}, certified)
    assert forecast_training(plain, settings) is not None
    assert not explain_other_signal(plain, settings)


def test_the_first_logs_stand_beside_the_forecast(tmp_path: Path) -> None:
    found = forecast_training(publish(tmp_path, ROW), TrainSettings(curated="", output=""))
    assert found is not None
    first = StepRecord(2, {"zero_std_share": 0.1, "mean_abs_advantage": 0.7})
    seen = add_measured(
        found, [StepRecord(1, {"loss": 0.0}), *[first] * 10, *[StepRecord(12, {"zero_std_share": 1.0})] * 5]
    )
    assert seen.measured_zero_std_share == pytest.approx(0.1)
    assert seen.measured_mean_abs_advantage == pytest.approx(0.7)
    assert "measured in the first steps: 10%, 0.70" in seen.sentence
    assert "measured" not in add_measured(found, []).sentence
