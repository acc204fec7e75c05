"""Prompts with cases and partial credit, through the whole pipeline: what is forecast comes true."""

from __future__ import annotations

import json
from math import comb
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.settings import SimulatedSettings
from learnable.train.monitor.forecast import forecast_training
from learnable.train.settings import TrainSettings

CASES, PROMPTS = 3, 400


def zero_std_share(rows: pl.DataFrame, group_size: int) -> float:
    """The true share: of all groups, how many have the same count of passed cases in every completion."""
    rates = rows["spec"].str.json_path_match("$.rate").cast(pl.Float64).to_numpy()
    chances = [comb(CASES, k) * rates**k * (1 - rates) ** (CASES - k) for k in range(CASES + 1)]
    return float((np.array(chances) ** group_size).sum(axis=0).mean())


def test_zero_std_groups_of_partial_credit_are_forecast(tmp_path: Path) -> None:
    rates = np.random.default_rng(17).random(PROMPTS).round(6).tolist()
    rows = (
        {"prompt": f"p{n}", "verifier": "simulated", "spec": {"rate": p, "cases": CASES, "partial_credit": 0.5}}
        for n, p in enumerate(rates)
    )
    file = tmp_path / "prompts.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    settings = CurateSettings(
        prompts=PromptSettings(location=str(file)),
        engine=SimulatedSettings(),
        group_size=4,
        store=str(tmp_path / "store"),
        workers=0,
    )
    report = run_curation(settings)
    curated = open_curated(report.curated)
    kept = pl.concat([pl.DataFrame(curated.read(part)) for part in ("train", "test")], how="diagonal_relaxed")
    truth = zero_std_share(kept, 4)
    [found] = [row.zero_std_share for row in report.forecast.curated if row.group_size == 4]
    assert found == pytest.approx(truth, abs=0.009)
    assert kept["zero_std_at_4"].mean() == pytest.approx(found)
    assert 1 - kept["usable_at_g"].to_numpy().mean() == pytest.approx(found)
    in_training = forecast_training(curated, TrainSettings(curated="", output="", num_generations=4))
    assert in_training is not None
    train = pl.DataFrame(curated.read("train"))
    assert in_training.zero_std_share == pytest.approx(train["zero_std_at_4"].to_numpy().mean())
