"""Loops of policies with known rates: real curations, evaluations and refreshes around a training that is scripted."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from learnable.data.curated.curated_set import find_versions, open_curated
from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.policies import find_policy
from learnable.flows.curation.pipeline import run_pipeline
from learnable.flows.engines import use_engine
from learnable.flows.evaluating.pipeline import run_evaluation
from learnable.flows.evaluating.report import EvalReport
from learnable.flows.looping.pipeline import Stages, run_loop
from learnable.flows.looping.report import FIGURE, LOOP, LoopReport, read_loop
from learnable.flows.refreshing.pipeline import run_refresh
from learnable.flows.refreshing.pool import open_pool
from learnable.flows.refreshing.publishing import RefreshReport
from learnable.flows.settings import CurateSettings, RefreshSettings
from learnable.flows.settings.evaluation import EvalSettings
from learnable.flows.settings.loop import LoopSettings
from learnable.train.results.report import TrainingReport, TrainingSummary
from learnable.train.settings import TrainSettings
from tests.flows.rated_for_tests import RatedEngine, ask_rated, drifted, make_policy

TEXTS = [f"{family} {number}" for number in range(60) for family in ("sums", "words")]
RATES = np.clip(np.random.default_rng(3).beta(0.4, 0.6, len(TEXTS)), 1e-4, 1 - 1e-4)
STAGES = ["evaluate", "train", "evaluate", "refresh", "train", "evaluate"]  # of two rounds


@dataclass
class Script:
    """The stages of a loop; each round's training moves the log-odds of its policy by the next of `lifts`.

    `calls` lists the stages that were begun; the one at the place `stops_at` ends as Ctrl-C would end it.
    """

    folder: Path
    lifts: Sequence[float]
    stops_at: int = -1
    calls: list[str] = field(default_factory=list)
    trained: list[TrainSettings] = field(default_factory=list)
    measured: list[EvalSettings] = field(default_factory=list)

    @property
    def stages(self) -> Stages:
        return Stages(self.train, self.evaluate, self.refresh)

    def rates(self, policy: str) -> Mapping[str, float]:
        done = 0 if policy == str(self.folder / "old") else int(Path(policy).parts[-3].removeprefix("round-"))
        return dict(zip(TEXTS, drifted(RATES, sum(self.lifts[:done]), 0.0, seed=1).tolist(), strict=True))

    def begin(self, name: str) -> None:
        self.calls.append(name)
        if len(self.calls) - 1 == self.stops_at:
            raise KeyboardInterrupt

    def train(self, settings: TrainSettings) -> TrainingReport:
        self.trained.append(settings)
        settings.write(settings.folder / "settings.json")
        self.begin("train")
        policy = Path(make_policy(settings.folder, "policy"))
        (policy / "model.safetensors").write_bytes(settings.folder.parts[-2].encode())
        return TrainingReport(
            curated=settings.curated,
            policy=settings.policy or "",
            policy_id=find_policy(settings.policy).policy_id,
            trained_policy=str(policy),
            settings=settings,
            training=TrainingSummary(settings.steps, 0, 1, 1e-4, 1.0),
            held_out=None,
            families={},
            verdict="",
            warnings=(),
            seconds={},
            metrics="",
            curve="",
        )

    def evaluate(self, settings: EvalSettings) -> EvalReport:
        self.measured.append(settings)
        self.begin("evaluate")
        policy = str(settings.policy)
        with use_engine(RatedEngine(policy, self.rates(policy)), CurateSettings(policy=policy)):
            return run_evaluation(settings)

    def refresh(self, settings: RefreshSettings) -> RefreshReport:
        self.begin("refresh")
        policy = str(settings.policy)
        with use_engine(RatedEngine(policy, self.rates(policy)), open_pool(settings).settings):
            return run_refresh(settings)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    settings = replace(ask_rated(folder, TEXTS, make_policy(folder, "old")), test_share=0.4)
    with use_engine(RatedEngine(str(settings.policy), dict(zip(TEXTS, RATES.tolist(), strict=True))), settings):
        run_pipeline(settings)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "copy"))


def ask_loop(folder: Path, rounds: int = 2, **changes: Any) -> LoopSettings:
    train = {"output": str(folder / "loop"), "steps": 7, "held_out": "pool", "eval_group_size": 16, **changes}
    settings = TrainSettings(curated=str(folder / "store" / "curated" / "q"), policy=str(folder / "old"), **train)
    return LoopSettings(settings, rounds=rounds, anchors=20, workers=0)


def without_folder(report: LoopReport, folder: Path) -> Any:
    return json.loads(json.dumps(report.to_json()).replace(str(folder), ""))


def test_each_round_trains_what_came_of_the_one_before(folder: Path) -> None:
    script = Script(folder, lifts=(1.0, 0.8))
    report = run_loop(ask_loop(folder), script.stages)
    first, second = report.rounds
    assert script.calls == STAGES
    assert [Path(settings.curated).name for settings in script.trained] == ["v0001", "v0002"]
    assert [settings.policy for settings in script.trained] == [str(folder / "old"), first.trained_policy]
    assert {settings.evaluate for settings in script.trained} == {False}
    assert (second.version, second.parent, second.policy) == ("v0002", "v0001", first.trained_policy)
    one, two = (open_curated(row.curated) for row in report.rounds)
    assert set(one.read("train")["prompt_id"].to_pylist()) != set(two.read("train")["prompt_id"].to_pylist())
    assert [row.kept for row in report.rounds] == [one.read("train").num_rows, two.read("train").num_rows]
    assert report.end.startswith("all rounds are done, and round 2 still gained: held-out reward rose: +")
    assert report.best == (2, second.trained_policy)
    assert (folder / "loop" / FIGURE).read_bytes().startswith(b"\x89PNG")


def test_all_policies_answer_the_first_version_s_held_out_prompts(folder: Path) -> None:
    script = Script(folder, lifts=(1.0, 0.8))
    report = run_loop(ask_loop(folder), script.stages)
    assert {Path(settings.curated).name for settings in script.measured} == {"v0001"}
    assert {(settings.held_out, settings.group_size, settings.k) for settings in script.measured} == {("pool", 16, 8)}
    start, *ends = report.start, *(row.held_out for row in report.rounds)
    assert start is not None
    first = open_curated(report.rounds[0].curated)
    assert start.prompts == first.read("test").num_rows + first.read_rejected("test").num_rows
    for row, before, after in zip(report.rounds, (start, *ends), ends, strict=False):
        assert row.gain is not None
        assert after is not None
        assert before is not None
        assert row.gain.mean_reward.value == pytest.approx(after.mean_reward.value - before.mean_reward.value)


def test_a_round_says_what_its_refresh_cost_also_where_that_was_stopped(folder: Path) -> None:
    """The rollouts of a refresh that went on are those of a whole one, and not those of its last part."""
    policies: list[RatedEngine] = []

    def count(settings: RefreshSettings) -> RefreshReport:
        policy = str(settings.policy)
        dies_after = None if policies else 15
        policies.append(RatedEngine(policy, script.rates(policy), dies_after))
        with use_engine(policies[-1], open_pool(settings).settings):
            return run_refresh(settings)

    script = Script(folder, lifts=(1.0, 0.8))
    stages = replace(script.stages, refresh=count)
    with pytest.raises(InterruptedRunError, match="stopped in round 1"):
        run_loop(ask_loop(folder), stages)
    report = run_loop(ask_loop(folder), stages)
    drawn = [sum(request.group_size for request in engine.requests) for engine in policies]
    assert report.rounds[1].refresh_rollouts == sum(drawn)
    assert drawn[0] > 0
    assert report.rounds[0].refresh_rollouts == 0


def test_a_gain_inside_its_noise_ends_the_loop(folder: Path) -> None:
    script = Script(folder, lifts=(1.0, 0.0, 1.0))
    report = run_loop(ask_loop(folder, rounds=3), script.stages)
    assert script.calls == STAGES
    assert "stopped after round 2, whose gain is inside its noise: held-out reward shows no clear change" in report.end
    assert "95% interval -" in report.end


def test_a_round_that_makes_it_worse_is_said_and_the_best_policy_is_that_before_it(folder: Path) -> None:
    report = run_loop(ask_loop(folder, rounds=3), Script(folder, lifts=(1.0, -1.5)).stages)
    assert report.end.startswith("stopped after round 2, which made the policy worse: held-out reward fell")
    assert report.best == (1, report.rounds[0].trained_policy)
    assert len(find_versions(folder / "store" / "curated" / "q")) == 2


def test_a_refresh_that_keeps_too_few_prompts_ends_the_loop(folder: Path) -> None:
    script = Script(folder, lifts=(6.0,))
    report = run_loop(ask_loop(folder, batch_size=16 * 15), script.stages)
    kept = report.rounds[1].kept
    assert kept < 15 <= report.rounds[0].kept
    assert f"stopped before round 2: the refresh keeps {kept} prompts to train on, and a step takes 15" in report.end
    assert script.calls == STAGES[:4]
    assert report.best[0] == 1


@pytest.mark.parametrize("stop", range(len(STAGES)))
def test_a_loop_that_was_stopped_goes_on_at_that_stage(folder: Path, tmp_path: Path, stop: int) -> None:
    whole = Path(shutil.copytree(folder, tmp_path / "whole"))
    expected = run_loop(ask_loop(whole), Script(whole, lifts=(1.0, 0.8)).stages)
    first = Script(folder, lifts=(1.0, 0.8), stops_at=stop)
    with pytest.raises(InterruptedRunError, match=r"stopped in round [12]: .*the same command goes on from there"):
        run_loop(ask_loop(folder), first.stages)
    second = Script(folder, lifts=(1.0, 0.8))
    report = run_loop(ask_loop(folder), second.stages)
    assert first.calls == STAGES[: stop + 1]
    assert second.calls == STAGES[stop:]
    if STAGES[stop] == "train":
        assert [settings.resume for settings in second.trained][0]
    assert without_folder(report, folder) == without_folder(expected, whole)


def test_a_loop_that_has_ended_is_reported_again_and_goes_on_with_more_rounds(folder: Path) -> None:
    report = run_loop(ask_loop(folder), Script(folder, lifts=(1.0, 0.8)).stages)
    again = Script(folder, lifts=(1.0, 0.8, 0.8))
    assert run_loop(ask_loop(folder), again.stages) == report
    assert again.calls == []
    assert read_loop(folder / "loop", ask_loop(folder)) == report
    more = run_loop(ask_loop(folder, rounds=3), again.stages)
    assert again.calls == ["refresh", "train", "evaluate"]
    assert [(row.version, row.parent) for row in more.rounds][1:] == [("v0002", "v0001"), ("v0003", "v0002")]


def test_another_loop_needs_another_folder(folder: Path) -> None:
    run_loop(ask_loop(folder, rounds=1), Script(folder, lifts=(1.0,)).stages)
    with pytest.raises(LearnableError, match=r"--steps 8 is not what the loop in .* was started with \(7\)"):
        run_loop(ask_loop(folder, steps=8), Stages())
    (folder / "loop" / LOOP).write_text("{}")
    with pytest.raises(LearnableError, match="is not what a loop wrote"):
        run_loop(ask_loop(folder), Stages())


def test_folders_are_numbered_and_one_that_was_stopped_is_taken_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(InterruptedRunError):
        run_loop(ask_loop(folder, rounds=1, output=""), Script(folder, lifts=(1.0,), stops_at=1).stages)
    script = Script(folder, lifts=(1.0,))
    assert run_loop(ask_loop(folder, rounds=1, output=""), script.stages).folder == "runs/loop-q-1"
    assert script.calls == ["train", "evaluate"]
    assert run_loop(ask_loop(folder, rounds=1, output=""), script.stages).folder == "runs/loop-q-2"
    other = run_loop(ask_loop(folder, rounds=1, output="", steps=8), Script(folder, lifts=(1.0,)).stages)
    assert other.folder == "runs/loop-q-3"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 0}, "--rounds 0 leaves nothing to do"),
        ({"part": "control"}, "--part control is not for a loop"),
        ({"evaluate": False}, "--no-evaluate is not for a loop"),
        ({"resume": True}, "--resume is not for a loop"),
        ({"eval_limit": 5}, "holds out 5 problems that are measured, and a gain is told from its noise by 8 or more"),
        ({"eval_k": 64}, "--k 64 is not among 1 to 16"),
        ({"method": "ppo"}, "--method 'ppo' is not known"),
        ({"batch_size": 16 * 99}, "takes 99 prompts a step"),
        ({"policy": "/nowhere"}, "'/nowhere' does not exist"),
    ],
)
def test_what_cannot_work_is_said_before_anything_starts(folder: Path, changes: Any, message: str) -> None:
    policy = changes.pop("policy", None)
    script = Script(folder, lifts=())
    with pytest.raises(LearnableError, match=message):
        settings = ask_loop(folder, **changes)
        run_loop(replace(settings, train=replace(settings.train, policy=policy)) if policy else settings, script.stages)
    assert script.calls == []
    assert not (folder / "loop" / LOOP).exists()
