"""Loops whose stages are scripted: policies of known worth, and versions of a set that were refreshed beforehand."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.policies import find_policy
from learnable.data.records import Sampling
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.engines import use_engine
from learnable.flows.evaluating.pipeline import run_evaluation
from learnable.flows.evaluating.report import EvalReport, OtherPolicy
from learnable.flows.looping.figure import draw_rounds
from learnable.flows.looping.pipeline import Stages, open_loop, run_loop
from learnable.flows.looping.report import LOOP, LoopReport, read_loop
from learnable.flows.refreshing.pipeline import run_refresh
from learnable.flows.refreshing.pool import open_pool
from learnable.flows.refreshing.publishing import RefreshReport, describe
from learnable.flows.settings import CurateSettings, RefreshSettings
from learnable.flows.settings.evaluation import EvalSettings
from learnable.flows.settings.loop import LoopSettings
from learnable.train.preflight.checks import prepare_run
from learnable.train.results.figures import Figures
from learnable.train.results.report import TrainingReport, TrainingSummary
from learnable.train.results.statistics import Interval
from learnable.train.settings import TrainSettings
from tests.flows.rated_for_tests import RatedEngine, ask_rated, drifted, make_policy

TEXTS = [f"{family} {number}" for number in range(60) for family in ("sums", "words")]
RATES = np.clip(np.random.default_rng(3).beta(0.4, 0.6, len(TEXTS)), 1e-4, 1 - 1e-4)
STAGES = ["evaluate", "train", "evaluate", "refresh", "train", "evaluate"]  # of two rounds
NOISE = 0.03  # half an interval


def find_round(policy: str) -> int:
    """Return the round that trained a policy, 0 for the one that was there before."""
    return 0 if Path(policy).name == "old" else int(Path(policy).parts[-3].removeprefix("round-"))


def rated(policy: str) -> RatedEngine:
    """Return an engine for a policy: each round lifts the log-odds of success by 1."""
    rates = drifted(RATES, find_round(policy), 0.0, seed=1).tolist()
    return RatedEngine(policy, dict(zip(TEXTS, rates, strict=True)))


def make_trained(folder: Path) -> str:
    """Make the policy that a round's training leaves in its folder."""
    policy = make_policy(folder, "policy")
    (Path(policy) / "model.safetensors").write_bytes(folder.parts[-2].encode())
    return policy


def make_figures(value: float) -> Figures:
    interval = Interval(value, value - NOISE, value + NOISE)
    return Figures("all", "", 48, 0, interval, interval, interval, interval)


@dataclass
class Script:
    """The stages of a loop in which each round gains the next of `gains`.

    `calls` lists the stages that were begun; the one at the place `stops_at` ends as Ctrl-C would end it.
    """

    folder: Path
    gains: Sequence[float]
    stops_at: int = -1
    calls: list[str] = field(default_factory=list)
    trained: list[TrainSettings] = field(default_factory=list)
    measured: list[EvalSettings] = field(default_factory=list)

    @property
    def stages(self) -> Stages:
        return Stages(self.train, self.evaluate, self.refresh)

    def begin(self, name: str) -> None:
        self.calls.append(name)
        if len(self.calls) - 1 == self.stops_at:
            raise KeyboardInterrupt

    def train(self, settings: TrainSettings) -> TrainingReport:
        self.trained.append(settings)
        prepare_run(settings)  # what the stage would refuse is refused here too
        settings.write(settings.folder / "settings.json")
        self.begin("train")
        return TrainingReport(
            curated=settings.curated,
            policy=settings.policy or "",
            policy_id=find_policy(settings.policy).policy_id,
            trained_policy=make_trained(settings.folder),
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
        number = find_round(str(settings.policy))
        changes = OtherPolicy("", (), (make_figures(self.gains[number - 1]),), "") if number else None
        assert (changes is None) == (settings.against is None)
        return EvalReport(
            curated=settings.curated,
            policy_id="",
            held_out=settings.held_out,
            sampling=Sampling(),
            group_size=settings.group_size,
            k=settings.k,
            confidence=settings.confidence,
            seed=settings.seed,
            figures=(make_figures(0.3 + sum(self.gains[:number])),),
            against=changes,
            tokens=0,
            generated=0,
            seconds=0.0,
            prompts=(),
        )

    def refresh(self, settings: RefreshSettings) -> RefreshReport:
        """Publish the version that was made beforehand for the round that `settings` name."""
        self.begin("refresh")
        version = Path(settings.curated).parent / f"v{find_round(str(settings.policy)) + 1:04d}"
        shutil.copytree(self.folder / "refreshed" / "curated" / "q" / version.name, version)
        return describe(open_curated(version), generated=0, seconds=0.0)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of one version, and another store where it was refreshed for rounds 1 and 2."""
    folder = tmp_path_factory.mktemp("made")
    settings = replace(ask_rated(folder, TEXTS, make_policy(folder, "old")), test_share=0.4)
    with use_engine(rated(str(settings.policy)), settings):
        run_curation(settings)
    refreshed = Path(shutil.copytree(folder / "store", folder / "refreshed")) / "curated" / "q"
    for number in (1, 2):
        trained = folder / "rounds" / f"round-{number}" / "train"
        trained.mkdir(parents=True)
        refresh_rated(RefreshSettings(str(refreshed), policy=make_trained(trained), anchors=20, workers=0))
    return folder


def refresh_rated(settings: RefreshSettings) -> RefreshReport:
    with use_engine(rated(str(settings.policy)), open_pool(settings).settings):
        return run_refresh(settings)


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("learnable.flows.looping.pipeline.draw_rounds", lambda report, path: None)
    return Path(shutil.copytree(made, tmp_path / "copy"))


def ask_loop(folder: Path, rounds: int = 2, **changes: Any) -> LoopSettings:
    usual = {"output": str(folder / "loop"), "policy": str(folder / "old"), "steps": 7, "held_out": "pool"}
    settings = TrainSettings(curated=str(folder / "store" / "curated" / "q"), **{**usual, **changes})
    return LoopSettings(settings, rounds=rounds, anchors=20, workers=0)


def without_folder(report: LoopReport, folder: Path) -> Any:
    return json.loads(json.dumps(report.to_json()).replace(str(folder), ""))


def test_each_round_trains_what_came_of_the_one_before(folder: Path) -> None:
    script = Script(folder, gains=(0.2, 0.1))
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
    assert report.end.startswith("all rounds are done, and round 2 still gained: held-out reward rose: +0.100")
    assert report.best == (2, second.trained_policy)


def test_all_policies_answer_the_first_version_s_held_out_prompts(folder: Path) -> None:
    script = Script(folder, gains=(0.2, 0.1))
    report = run_loop(ask_loop(folder), script.stages)
    assert {Path(settings.curated).name for settings in script.measured} == {"v0001"}
    assert {(settings.held_out, settings.group_size, settings.k) for settings in script.measured} == {("pool", 16, 8)}
    files = [str(folder / "loop" / name) for name in ("start.json", "round-1/held-out.json")]
    assert [settings.against for settings in script.measured] == [None, *files]
    assert [found.mean_reward.value for _, _, found in report.measured] == pytest.approx([0.3, 0.5, 0.6])
    assert [row.gain and row.gain.mean_reward.value for row in report.rounds] == [0.2, 0.1]


def test_a_round_is_measured_and_refreshed_for_real(folder: Path) -> None:
    """What the refresh cost is what a whole one costs, also where it was stopped and went on."""
    script, engines = Script(folder, gains=()), list[RatedEngine]()

    def evaluate(settings: EvalSettings) -> EvalReport:
        with use_engine(rated(str(settings.policy)), CurateSettings(policy=settings.policy)):
            return run_evaluation(settings)

    def refresh(settings: RefreshSettings) -> RefreshReport:
        engines.append(rated(str(settings.policy)))
        engines[-1].dies_after = 15 if len(engines) == 1 else None
        with use_engine(engines[-1], open_pool(settings).settings):
            return run_refresh(settings)

    stages = Stages(script.train, evaluate, refresh)
    with pytest.raises(InterruptedRunError, match="stopped in round 1"):
        run_loop(ask_loop(folder), stages)
    report = run_loop(ask_loop(folder), stages)
    first, second = report.rounds
    assert second.refresh_rollouts == sum(request.group_size for engine in engines for request in engine.requests) > 0
    assert first.refresh_rollouts == 0
    assert report.start is not None
    version = open_curated(first.curated)
    kept, rejected = (rows["prompt_id"].to_pylist() for rows in (version.read("test"), version.read_rejected("test")))
    assert report.start.prompts == len(kept) + len(rejected)
    assert not {*kept, *rejected} & set(open_curated(second.curated).read("train")["prompt_id"].to_pylist())
    for _, _, found in report.measured:
        assert found.prompts == report.start.prompts
    assert first.gain is not None
    assert first.gain.mean_reward.is_above_zero
    assert 0 < (first.usable_share or 0) < 1


def test_a_gain_inside_its_noise_ends_the_loop(folder: Path) -> None:
    script = Script(folder, gains=(0.2, 0.01))
    report = run_loop(ask_loop(folder, rounds=3), script.stages)
    assert script.calls == STAGES
    assert "stopped after round 2, whose gain is inside its noise: held-out reward shows no clear change" in report.end
    assert "95% interval -" in report.end


def test_a_round_that_makes_it_worse_is_said_and_the_best_policy_is_that_before_it(folder: Path) -> None:
    report = run_loop(ask_loop(folder, rounds=3), Script(folder, gains=(0.2, -0.1)).stages)
    assert report.end.startswith("stopped after round 2, which made the policy worse: held-out reward fell")
    assert report.best == (1, report.rounds[0].trained_policy)
    assert report.to_json()["best"] == {"round": 1, "policy": report.rounds[0].trained_policy}


def test_a_refresh_that_keeps_too_few_prompts_ends_the_loop(folder: Path) -> None:
    versions = folder / "refreshed" / "curated" / "q"
    kept, left = (open_curated(versions / name).read("train").num_rows for name in ("v0001", "v0002"))
    script = Script(folder, gains=(0.2,))
    step = max(kept, left + 1)
    report = run_loop(ask_loop(folder, batch_size=16 * step), script.stages)
    assert script.calls == STAGES[:4]
    assert f"before round 2: the refresh keeps {left} prompts to train on, and a step takes {step}" in report.end
    assert report.best[0] == 1


@pytest.mark.parametrize("stop", range(len(STAGES)))
def test_a_loop_that_was_stopped_goes_on_at_that_stage(folder: Path, tmp_path: Path, stop: int) -> None:
    whole = Path(shutil.copytree(folder, tmp_path / "whole"))
    expected = run_loop(ask_loop(whole), Script(whole, gains=(0.2, 0.1)).stages)
    first = Script(folder, gains=(0.2, 0.1), stops_at=stop)
    with pytest.raises(InterruptedRunError, match=r"stopped in round [12]: .*the same command goes on from there"):
        run_loop(ask_loop(folder), first.stages)
    second = Script(folder, gains=(0.2, 0.1))
    report = run_loop(ask_loop(folder), second.stages)
    assert first.calls == STAGES[: stop + 1]
    assert second.calls == STAGES[stop:]
    if STAGES[stop] == "train":
        assert second.trained[0].resume
    assert without_folder(report, folder) == without_folder(expected, whole)


def test_a_loop_that_has_ended_is_reported_again_and_goes_on_with_more_rounds(folder: Path) -> None:
    report = run_loop(ask_loop(folder), Script(folder, gains=(0.2, 0.1)).stages)
    again = Script(folder, gains=(0.2, 0.1, 0.1))
    assert run_loop(ask_loop(folder), again.stages) == report
    assert again.calls == []
    assert read_loop(folder / "loop", ask_loop(folder)) == report
    more = run_loop(ask_loop(folder, rounds=3), again.stages)
    assert again.calls == ["refresh", "train", "evaluate"]
    assert [(row.version, row.parent) for row in more.rounds][1:] == [("v0002", "v0001"), ("v0003", "v0002")]


@pytest.mark.parametrize("named", [True, False])
def test_one_process_at_a_time_is_at_a_loop(folder: Path, monkeypatch: pytest.MonkeyPatch, named: bool) -> None:
    monkeypatch.chdir(folder)
    settings = ask_loop(folder, rounds=1, output="loop" if named else "")
    script, second = Script(folder, gains=(0.2,)), Script(folder, gains=(0.2,))

    def train(settings_of_round: TrainSettings) -> TrainingReport:
        place = "loop" if named else "runs/loop-q-1"
        refusal = f"loop '{place}' is in use by process {os.getpid()} on .*: wait for it, or give another `output`"
        with pytest.raises(LearnableError, match=refusal):
            run_loop(settings, second.stages)
        return script.train(settings_of_round)

    report = run_loop(settings, replace(script.stages, train=train))
    assert report.rounds[0].gain is not None
    assert run_loop(replace(settings, train=replace(settings.train, output=report.folder)), second.stages).end
    assert second.calls == []


def test_what_another_process_did_before_the_folder_was_ours_is_not_done_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, script = ask_loop(folder, rounds=1), Script(folder, gains=(0.2,))
    stale = open_loop(settings)
    done = run_loop(settings, Script(folder, gains=(0.2,)).stages)
    monkeypatch.setattr("learnable.flows.looping.pipeline.open_loop", lambda settings: stale)
    assert run_loop(settings, script.stages) == done
    assert script.calls == []


def test_another_loop_needs_another_folder(folder: Path) -> None:
    run_loop(ask_loop(folder, rounds=1), Script(folder, gains=(0.2,)).stages)
    with pytest.raises(LearnableError, match=r"`steps` 8 is not what the loop in .* was started with \(7\)"):
        run_loop(ask_loop(folder, steps=8), Stages())
    (folder / "loop" / LOOP).write_text("{}")
    with pytest.raises(LearnableError, match="is not what a loop wrote"):
        run_loop(ask_loop(folder), Stages())


def test_folders_are_numbered_and_one_that_was_stopped_is_taken_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(InterruptedRunError):
        run_loop(ask_loop(folder, rounds=1, output=""), Script(folder, gains=(0.2,), stops_at=1).stages)
    script = Script(folder, gains=(0.2,))
    assert run_loop(ask_loop(folder, rounds=1, output=""), script.stages).folder == "runs/loop-q-1"
    assert script.calls == ["train", "evaluate"]
    assert run_loop(ask_loop(folder, rounds=1, output=""), script.stages).folder == "runs/loop-q-2"
    other = run_loop(ask_loop(folder, rounds=1, output="", steps=8), Script(folder, gains=(0.2,)).stages)
    assert other.folder == "runs/loop-q-3"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 0}, "`rounds` 0 is out of range"),
        ({"part": "control"}, "`part` control is not for a loop"),
        ({"evaluate": False}, "`evaluate=False` is not for a loop"),
        ({"resume": True}, "`resume` is not for a loop"),
        ({"eval_limit": 5}, "holds out 5 problems that are measured, and a gain is told from its noise by 8 or more"),
        ({"eval_k": 64}, "`k` 64 is not among 1 to 16"),
        ({"method": "ppo"}, "`method` 'ppo' is not known"),
        ({"batch_size": 16 * 99}, "takes 99 prompts a step"),
        ({"policy": "/nowhere"}, "'/nowhere' does not exist"),
    ],
)
def test_what_cannot_work_is_said_before_anything_starts(folder: Path, changes: Any, message: str) -> None:
    script = Script(folder, gains=())
    with pytest.raises(LearnableError, match=message):
        run_loop(ask_loop(folder, **changes), script.stages)
    assert script.calls == []
    assert not (folder / "loop" / LOOP).exists()


def test_an_adapter_is_refused_since_a_round_would_merge_it(folder: Path) -> None:
    adapter = Path(make_policy(folder, "adapter"))
    (adapter / "model.safetensors").rename(adapter / "adapter_model.safetensors")
    (adapter / "config.json").unlink()
    config = {"base_model_name_or_path": str(folder / "old"), "peft_type": "LORA", "r": 4}
    (adapter / "adapter_config.json").write_text(json.dumps(config))
    with pytest.raises(LearnableError, match="is a LoRA adapter, and a round leaves it merged into its base"):
        run_loop(ask_loop(folder, policy=str(adapter)), Stages())


def test_the_figure_is_a_png(folder: Path) -> None:
    report = run_loop(ask_loop(folder, rounds=1), Script(folder, gains=(0.2,)).stages)
    draw_rounds(report, folder / "figure.png")
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")
