"""A run that was checked goes to whoever trains it; what has been trained is looked at anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learnable.data.errors import LearnableError
from learnable.train.preflight.prepared import prepare_once, preparing_once, take_prepared
from learnable.train.settings import TrainSettings


@pytest.fixture
def settings(make_curated: Any, tiny_policy: Path, tmp_path: Path) -> TrainSettings:
    return TrainSettings(str(make_curated(tiny_policy)), str(tmp_path / "run"), batch_size=32)


def test_a_run_is_handed_on_by_its_settings_as_given_or_as_resolved(settings: TrainSettings) -> None:
    with preparing_once():
        run = prepare_once(settings)
        with preparing_once():  # a flow's, inside that of whoever started it
            assert prepare_once(replace(settings)) is run
            assert prepare_once(replace(settings, steps=3)) is not run
        assert take_prepared(run.settings) is run
        assert prepare_once(settings) is not run
    assert prepare_once(settings) is not prepare_once(settings)


def test_what_was_trained_is_checked_again(settings: TrainSettings) -> None:
    with preparing_once():
        take_prepared(settings)
        (settings.folder / "metrics.jsonl").touch()
        with pytest.raises(LearnableError, match="already holds a training run"):
            take_prepared(settings)
