"""Jobs whose training is scripted: prompts are found for real, of policies whose chances are known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import InterruptedRunError
from learnable.data.policies import find_policy
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.report import CurationReport
from learnable.flows.engines import use_engine
from learnable.flows.looping.job import run_job
from learnable.flows.looping.job_report import JOB, describe_rounds
from learnable.flows.looping.pipeline import Stages
from learnable.flows.settings import CurateSettings
from learnable.train.preflight.checks import prepare_run
from learnable.train.results.report import TrainingReport, TrainingSummary
from learnable.train.settings import TrainSettings
from tests.flows.rated_for_tests import RatedEngine, ask_rated, drifted, make_policy

TEXTS = [f"sums {number}" for number in range(120)]
RATES = np.random.default_rng(3).beta(1.0, 1.0, len(TEXTS))


@dataclass
class Script:
    """Training that runs dry after the next of `steps`; each round lifts the log-odds of success by `shift`."""

    folder: Path
    steps: Sequence[int]
    shift: float = 0.5
    stops_at: int = -1
    texts: Sequence[str] = field(default_factory=lambda: TEXTS)
    rates: NDArray[np.float64] = field(default_factory=lambda: RATES)
    found: list[CurationReport] = field(default_factory=list)
    trained: list[TrainSettings] = field(default_factory=list)

    @property
    def stages(self) -> Stages:
        return Stages(train=self.train, find=self.find)

    def find(self, settings: CurateSettings) -> CurationReport:
        policy = str(settings.policy)
        round_ = 0 if Path(policy).name == "old" else int(Path(policy).parts[-2].removeprefix("round-"))
        rates = drifted(self.rates, round_ * self.shift, 0.0, seed=1).tolist()
        with use_engine(RatedEngine(policy, dict(zip(self.texts, rates, strict=True))), settings):
            self.found.append(run_curation(settings))
        return self.found[-1]

    def train(self, settings: TrainSettings) -> TrainingReport:
        self.trained.append(settings)
        prepare_run(settings)  # what the stage would refuse is refused here too
        settings.write(settings.folder / "settings.json")
        if len(self.trained) - 1 == self.stops_at:
            raise KeyboardInterrupt
        steps = min(self.steps[int(settings.folder.name.removeprefix("round-")) - 1], settings.steps)
        if not (policy := settings.folder / "policy").is_dir():
            make_policy(settings.folder, "policy")
            (policy / "model.safetensors").write_bytes(settings.folder.name.encode())
        line = {"step": 1, "reward": 0.5, "completion_length": 1.0}
        (settings.folder / "metrics.jsonl").write_text(f"{json.dumps(line)}\n" * steps)
        return TrainingReport(
            curated=settings.curated,
            policy=settings.policy or "",
            policy_id=find_policy(settings.policy).policy_id,
            trained_policy=str(policy),
            settings=settings,
            training=TrainingSummary(steps, 0, 1, 1e-4, 1.0, ran_dry=steps < settings.steps),
            held_out=None,
            families={},
            verdict="",
            warnings=(),
            seconds={},
            metrics="",
            curve="",
        )


@pytest.fixture
def given(tmp_path: Path) -> tuple[CurateSettings, TrainSettings]:
    """A job of 60 steps of 8 groups of 16: it looks for 120 prompts."""
    curate = replace(ask_rated(tmp_path, TEXTS, make_policy(tmp_path, "old")), group_size=16)
    train = TrainSettings(
        "", str(tmp_path / "job"), policy=curate.policy, steps=60, num_generations=16, batch_size=128, evaluate=False
    )
    return curate, train


def test_more_prompts_are_found_where_they_run_dry_and_training_goes_on(
    given: tuple[CurateSettings, TrainSettings], tmp_path: Path
) -> None:
    curate, train = given
    script = Script(tmp_path, [20, 60])
    report = run_job(curate, train, script.stages)

    assert [one.steps for one in report.rounds] == [20, 40]
    assert not report.end
    first, second = script.trained
    assert (second.policy, second.steps) == (report.rounds[0].training and report.rounds[0].training.trained_policy, 40)
    assert second.measured_on == first.curated
    assert {first.on_dry, second.on_dry} == {"stop"}
    assert open_curated(second.curated).manifest.policy.policy_id == find_policy(second.policy).policy_id
    assert report.rounds[1].plan.want == 80, "40 steps of 8 prompts visit 80 four times"
    paid = {cost.what: cost.completions for cost in report.paid}
    assert paid["finding prompts, round 2"] == script.found[-1].totals.rollouts > 0
    assert paid["training, round 2"] == 40 * 128
    assert report.training.trained_policy.endswith("round-2/policy")
    assert json.loads((tmp_path / "job" / JOB).read_text())["rounds"][0]["ran_dry"]
    assert "until its prompts ran dry" in describe_rounds(report.rounds)[0]

    again = Script(tmp_path, [20, 60])
    repeated = run_job(curate, train, again.stages)
    assert [found.totals.generated for found in again.found] == [0, 0, 0, 0], "a pilot and a search, twice"
    assert all(settings.resume for settings in again.trained)
    assert repeated.paid == report.paid


def test_where_a_pilot_foretells_enough_no_more_is_paid_for(tmp_path: Path) -> None:
    """A number in the text tells: prompts with a large one never pass."""
    sizes = np.random.default_rng(4).uniform(0, 6, 300)
    texts = [f"sums {int(10**size)} of {number}" for number, size in enumerate(sizes)]
    rates = np.where(sizes > 3, 0.0, 0.5)
    curate = replace(ask_rated(tmp_path, texts, make_policy(tmp_path, "old")), group_size=16)
    train = TrainSettings(
        "", str(tmp_path / "job"), policy=curate.policy, steps=60, num_generations=16, batch_size=128, evaluate=False
    )
    script = Script(tmp_path, [60], texts=texts, rates=rates)
    report = run_job(curate, train, script.stages)
    [settings], [one] = script.trained, report.rounds
    assert len(script.found) == 1
    assert one.gain is not None
    assert one.gain > 1.5
    assert report.paid[0].completions <= 128 * 4 + 60
    pool = open_curated(settings.curated).read("pool")
    assert pool.num_rows == pytest.approx(240, abs=10)
    assert (settings.part, settings.sampler, settings.held_out) == ("pool", "live", "pool")


def test_where_nothing_is_foretold_and_looking_cannot_pay_it_is_plain_grpo(
    given: tuple[CurateSettings, TrainSettings], tmp_path: Path
) -> None:
    curate, train = given
    script = Script(tmp_path, [2])
    report = run_job(curate, replace(train, steps=2), script.stages)
    assert len(script.found) == 1
    assert report.rounds[0].gain == 1.0
    assert report.paid[0].completions <= 128 * 4 + 60


def test_a_job_that_was_stopped_in_a_round_goes_on_there(
    given: tuple[CurateSettings, TrainSettings], tmp_path: Path
) -> None:
    curate, train = given
    with pytest.raises(InterruptedRunError, match=r"stopped in round 2: .* the same command goes on"):
        run_job(curate, train, Script(tmp_path, [20, 60], stops_at=1).stages)
    script = Script(tmp_path, [20, 60])
    report = run_job(curate, train, script.stages)
    assert [found.totals.generated for found in script.found] == [0, 0, 0, 0]
    assert [one.steps for one in report.rounds] == [20, 40]


def test_a_job_ends_where_the_policy_has_learned_the_pool(
    given: tuple[CurateSettings, TrainSettings], tmp_path: Path
) -> None:
    curate, train = given
    script = Script(tmp_path, [20, 60], shift=9.0)
    report = run_job(curate, train, script.stages)
    assert len(script.trained) == 1
    assert report.rounds[1].training is None
    assert report.end.startswith("20 of 60 steps were taken: for the policy as it is now the pool has ")
    assert report.training.trained_policy.endswith("round-1/policy")


def test_a_job_ends_where_finding_more_cannot_pay(given: tuple[CurateSettings, TrainSettings], tmp_path: Path) -> None:
    curate, train = given
    report = run_job(curate, train, Script(tmp_path, [57, 60]).stages)
    assert len(report.rounds) == 1
    assert (
        "57 of 60 steps were taken, then the prompts ran dry. To find more for the 3 that are left: finding 8 prompts "
        "one by one cannot pay" in report.end
    )


def test_rounds_that_cost_more_than_they_train_come_to_an_end(
    given: tuple[CurateSettings, TrainSettings], tmp_path: Path
) -> None:
    curate, train = given
    report = run_job(curate, train, Script(tmp_path, [10, 1, 1, 1, 1, 1], shift=0.1).stages)
    assert [one.steps for one in report.rounds] == [10, 1]
    assert "11 of 60 steps were taken: the last round took " in report.end
