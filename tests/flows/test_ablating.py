"""The order of an ablation with a scripted runner: what is done is not done again, what stopped goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.progress import watched_by
from learnable.flows.ablating import run_ablation
from learnable.train.settings import TrainSettings
from tests.support.ablation_runs import make_prepared, write_run

Train = Callable[[TrainSettings], None]
BEFORE = {"a": 0.25, "b": 0.5}


class Watcher:
    def __init__(self) -> None:
        self.said: list[str] = []

    def stage(self, text: str) -> None:
        self.said.append(text)

    note = warn = stage

    def rollouts(self, done: int, total: int, tokens: int) -> None: ...

    def step(self, done: int, total: int, metrics: object) -> None: ...


class Trainer:
    """Trains by writing a run's folder; at the places of `stops` it raises instead, having begun."""

    def __init__(self, stops: dict[int, BaseException] | None = None) -> None:
        self.stops = stops or {}
        self.seen: list[tuple[str, bool]] = []

    def __call__(self, settings: TrainSettings) -> None:
        self.seen.append((settings.folder.name, settings.resume))
        settings.write(settings.folder / "settings.json")
        if len(self.seen) in self.stops:
            raise self.stops[len(self.seen)]
        metrics = [{"reward": 0.5, "completion_length": 4.0, "step_seconds": 1.0}] * settings.steps
        write_run(settings, BEFORE, {"a": 0.5, "b": 0.75}, metrics)


def test_all_runs_are_trained_once_and_a_second_call_trains_nothing(tmp_path: Path) -> None:
    trainer, watcher = Trainer(), Watcher()
    with watched_by(watcher):
        report = run_ablation(make_prepared(tmp_path, ["static", "live"], [0, 1]), train=trainer)

    names = ["static-seed-0", "live-seed-0", "static-seed-1", "live-seed-1"]
    assert trainer.seen == [(name, False) for name in names]
    assert watcher.said[2] == "Run 3 of 4: static, seed 1"
    assert [variant.measures["mean_reward"].gain.value for variant in report.variants] == [0.25, 0.25]
    assert {file.name for file in tmp_path.glob("ablation.*")} == {"ablation.json", "ablation.md", "ablation.png"}

    with watched_by(watcher):
        again = run_ablation(make_prepared(tmp_path, ["static", "live"], [0, 1]), train=trainer)
    assert len(trainer.seen) == 4
    assert watcher.said[-1] == "run 4 of 4: live, seed 1: is there already"
    assert again == report


@pytest.fixture
def _no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("learnable.train.ablation.figure.draw_ablation", lambda report: None)


@pytest.mark.usefixtures("_no_figure")
@pytest.mark.parametrize("stop", [KeyboardInterrupt(), InterruptedRunError("stopped: go on with learnable train")])
def test_a_stopped_ablation_keeps_what_is_done_and_goes_on_with_the_run_that_stopped(
    tmp_path: Path, stop: BaseException
) -> None:
    trainer = Trainer({2: stop})
    with pytest.raises(
        InterruptedRunError, match=r"stopped in run 2 of 3: b, seed 0\. 1 of 3 runs are done and kept in"
    ):
        run_ablation(make_prepared(tmp_path, ["a", "b", "c"], [0]), train=trainer)
    assert not (tmp_path / "ablation.md").exists()

    second = Trainer()
    run_ablation(make_prepared(tmp_path, ["a", "b", "c"], [0]), train=second)
    assert second.seen == [("b-seed-0", True), ("c-seed-0", False)]


@pytest.mark.usefixtures("_no_figure")
def test_more_steps_go_on_from_where_the_runs_are(tmp_path: Path) -> None:
    run_ablation(make_prepared(tmp_path, ["a"], [0], steps=4), train=Trainer())
    longer = Trainer()
    report = run_ablation(make_prepared(tmp_path, ["a"], [0], steps=6), train=longer)
    assert longer.seen == [("a-seed-0", True)]
    assert report.variants[0].runs[0].steps == 6


@pytest.mark.usefixtures("_no_figure")
def test_a_run_that_fails_is_named_and_stops_no_other(tmp_path: Path) -> None:
    trainer = Trainer({1: LearnableError("nothing was scored")})
    report = run_ablation(make_prepared(tmp_path, ["a", "b"], [0]), train=trainer)
    assert [variant.name for variant in report.variants] == ["b"]
    assert report.failed == ("a, seed 0, failed: nothing was scored",)
    assert "- a, seed 0, failed: nothing was scored" in (tmp_path / "ablation.md").read_text()

    again = Trainer()
    assert run_ablation(make_prepared(tmp_path, ["a", "b"], [0]), train=again).failed == ()
    assert again.seen == [("a-seed-0", True)]


def test_where_no_run_finishes_the_first_reason_is_given(tmp_path: Path) -> None:
    trainer = Trainer({1: LearnableError("no memory"), 2: LearnableError("no luck")})
    with pytest.raises(LearnableError, match=r"no run of ablation 'mine' finished\. a, seed 0, failed: no memory"):
        run_ablation(make_prepared(tmp_path, ["a", "b"], [0]), train=trainer)


def test_a_folder_that_cannot_be_made_is_refused_before_anything_is_trained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    trainer = Trainer()
    with pytest.raises(LearnableError, match=r"cannot be made .*: choose another --output"):
        run_ablation(make_prepared(tmp_path / "file" / "out", ["a"], [0]), train=trainer)
    assert trainer.seen == []
