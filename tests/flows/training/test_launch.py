"""A training that follows a curation: its evaluations write to the store, so nobody else may hold it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from learnable.data.storage.lock import hold_store
from learnable.flows import launch
from learnable.flows.engines import use_engine
from learnable.flows.training import stage
from learnable.train.settings import TrainSettings
from tests.flows.rated_for_tests import RatedEngine, ask_rated, make_policy

TEXTS = [f"sums {number}" for number in range(40)]
RATES = dict(zip(TEXTS, np.random.default_rng(2).beta(0.4, 0.4, len(TEXTS)).tolist(), strict=True))


def test_a_curation_lets_go_of_its_store_before_it_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ask_rated(tmp_path, TEXTS, policy := make_policy(tmp_path, "old"))
    trained: list[str] = []

    def train(given: TrainSettings, watcher: Any) -> Any:
        with hold_store(Path(settings.store), wait=0):
            trained.append(given.curated)
        return SimpleNamespace()

    monkeypatch.setattr(stage, "run_training", train)
    with use_engine(RatedEngine(policy, RATES), settings):
        report = launch.run_curation(settings, TrainSettings("", "", steps=1))
    assert trained == [report.curated]
