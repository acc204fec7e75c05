"""Graded prompts whose rewards are all equal, through the whole pipeline: never kept, never first in the table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from learnable.filters.decisions.presets import find_preset, list_presets
from learnable.filters.stopping.budget import SamplingBudget, SamplingMode
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.report import CurationReport
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.settings import SimulatedSettings


def write_dead_among_others(folder: Path) -> Path:
    """Write 20 prompts whose rewards are all .5, 44 poems, and 40 sums that pass or fail."""
    rng = np.random.default_rng(3)
    poems = [{"rate": rate, "spread": 0.4 * (rate * (1 - rate)) ** 0.5} for rate in rng.beta(4, 4, 44)]
    kinds: list[tuple[str, str, list[dict[str, float]]]] = [
        ("poetry", "Dead", [{"rate": 0.5, "spread": 1e-9}] * 20),
        ("poetry", "Poem", poems),
        ("sums", "Sum", [{"rate": rate} for rate in rng.random(40)]),
    ]
    rows = [
        {"prompt": f"{form} {number}", "verifier": "simulated", "family": family, "form": form, "spec": spec}
        for family, form, specs in kinds
        for number, spec in enumerate(specs)
    ]
    file = folder / "prompts.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows))
    return file


def curate(folder: Path, sampling: SamplingMode, preset: str) -> tuple[CurationReport, pl.DataFrame]:
    settings = CurateSettings(
        prompts=PromptSettings(location=str(write_dead_among_others(folder))),
        engine=SimulatedSettings(),
        budget=SamplingBudget(sampling),
        preset=find_preset(preset).override(top=40),
        store=str(folder / "store"),
        workers=0,
    )
    report = run_curation(settings)
    [groups] = (folder / "store" / "groups").glob("*.parquet")
    return report, pl.read_parquet(groups)


@pytest.mark.slow
@pytest.mark.parametrize("sampling", ["fixed", "optimal"])
@pytest.mark.parametrize("preset", list_presets())
def test_no_preset_keeps_what_teaches_nothing(tmp_path: Path, sampling: SamplingMode, preset: str) -> None:
    report, decided = curate(tmp_path, sampling, preset)
    dead = decided.filter(form="Dead")
    assert dead["zero_std"].all()
    assert dead["decision"].unique().to_list() == ["zero_std"]
    assert decided.filter(decision="keep")["zero_std"].any() is False
    by_variance = sorted(report.forms, key=lambda row: row.expected_within_variance or 0.0)
    assert [row.form for row in by_variance] == ["Dead", "Poem", "Sum"]
    assert by_variance[0].expected_within_variance == pytest.approx(0.0, abs=0.015)
    assert by_variance[0].within_std == 0.0
