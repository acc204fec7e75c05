"""Figures of a curation go to a tracker: TensorBoard's own reader finds them again."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from learnable.data.errors import LearnableError
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.settings import CurateSettings, PromptSettings, SimulatedSettings


def make_settings(**others: Any) -> CurateSettings:
    prompts = PromptSettings(families=("simulated",), limit=64)
    return CurateSettings(prompts=prompts, engine=SimulatedSettings(), store="store", workers=0, **others)


def test_rounds_and_totals_are_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = run_curation(make_settings(report_to="tensorboard", budget=SamplingBudget(want=16)))  # a goal takes rounds
    (folder,) = Path("runs").iterdir()
    assert folder.name == f"curate-simulated-{report.run_id}"
    events = EventAccumulator(str(folder))
    events.Reload()
    spent = events.Scalars("curation/rollouts")
    assert len(spent) > 2  # rounds, and the end
    assert [event.value for event in spent] == sorted(event.value for event in spent)
    assert all(event.step == event.value for event in spent)
    last = {name: events.Scalars(f"curation/{name}")[-1].value for name in ("kept", "rollouts", "tokens")}
    assert last == {"kept": report.totals.kept, "rollouts": report.totals.rollouts, "tokens": report.totals.tokens}
    assert events.Scalars("curation/found")[-1].value == report.totals.kept


def test_without_a_tracker_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_curation(make_settings())
    assert not Path("runs").exists()


@pytest.mark.skipif(find_spec("mlflow") is not None, reason="mlflow is installed")
def test_a_tracker_that_is_not_installed_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LearnableError, match=r"`report_to` mlflow needs a package .* pip install mlflow"):
        run_curation(make_settings(report_to="mlflow"))
    assert not Path("store").exists()
