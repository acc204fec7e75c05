"""What is done at each of TRL's logs: metrics kept, alarms answered as the settings say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from learnable.data.errors import LearnableError
from learnable.train.monitor.records import MetricsFile, read_metrics
from learnable.train.monitor.rules import read_rules
from learnable.train.preflight.resolution import TrainingRun
from learnable.train.results.report import TrainingSummary
from learnable.train.settings import TrainSettings
from learnable.train.trainers.trainer import ALARMS, CHECKPOINTS, SUMMARY, TrainingWatch, run_trainer

FAR = {"reward": 0.5, "loss": 0.1, "kl": 2.0, "entropy": 1.0}  # an alarm of severity `warn` at the fifth log
COLLAPSED = {"reward": 0.5, "loss": 0.1, "entropy": 0.01}  # one of severity `stop`, after another start


class Run:
    """A trainer's side of a run: logs go in, events and what was asked of the trainer come out."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.settings = TrainSettings(curated="c", output=str(folder), **settings)
        self.rules = read_rules()
        self.events: list[dict[str, Any]] = []
        self.metrics = MetricsFile(folder / "metrics.jsonl")
        self.watch = TrainingWatch(self, self.metrics, self.events.append)  # type: ignore[arg-type]  # all it reads
        self.step = 0
        self.control = SimpleNamespace(should_save=False, should_training_stop=False)

    def log(self, times: int, **logs: Any) -> None:
        for _ in range(times):
            self.step += 1
            self.watch.on_log(None, SimpleNamespace(global_step=self.step, max_steps=50), self.control, logs)

    def save(self) -> None:
        folder = self.settings.folder / CHECKPOINTS / f"checkpoint-{self.step}"
        folder.mkdir(parents=True)
        (folder / "weights").write_text(f"of step {self.step}")
        self.watch.on_save(None, SimpleNamespace(global_step=self.step), self.control)

    @property
    def warnings(self) -> list[str]:
        return [event["message"] for event in self.events if event["event"] == "warning"]


Start = Callable[..., Run]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Begin a run in the test's own folder, with the settings given."""
    runs: list[Run] = []

    def begin(**settings: Any) -> Run:
        runs.append(Run(tmp_path, **settings))
        return runs[-1]

    yield begin
    for run in runs:
        run.metrics.close()


def test_an_alarm_is_said_and_nothing_more(start: Start) -> None:
    run = start()
    run.log(5, **FAR)
    run.log(5, **COLLAPSED)
    assert [warning.partition(": ")[0] for warning in run.warnings] == ["step 5", "step 10"]
    assert "KL is 2.00: the policy is far from where it started; lower `learning_rate`" in run.warnings[0]
    assert run.warnings[0].endswith("(alarm kl, since step 1)")
    assert not run.control.should_save
    assert not run.control.should_training_stop


def test_severe_alarms_alone_stop_a_run(start: Start) -> None:
    run = start(on_alarm="stop")
    run.log(5, **FAR)
    assert not run.control.should_training_stop
    run.log(5, **COLLAPSED)
    assert run.control.should_training_stop
    assert run.control.should_save
    assert run.warnings[-1] == "step 10: stopped by alarm entropy (`on_alarm`)"
    assert not run.watch.stopped  # that is Ctrl-C: here the policy is saved and measured


def test_the_checkpoint_of_an_alarm_is_kept_beside_the_others(start: Start, tmp_path: Path) -> None:
    run = start(on_alarm="checkpoint")
    run.log(4, **FAR)
    run.save()
    assert not (tmp_path / ALARMS).exists()
    run.log(1, **FAR)
    assert run.control.should_save
    assert not run.control.should_training_stop
    run.save()
    (tmp_path / CHECKPOINTS / "checkpoint-5" / "weights").unlink()  # as the trainer does with all but the last two
    assert (tmp_path / ALARMS / "checkpoint-5" / "weights").read_text() == "of step 5"
    run.log(1, **FAR)
    run.save()
    assert [path.name for path in (tmp_path / ALARMS).iterdir()] == ["checkpoint-5"]


def test_training_stops_when_nothing_can_be_scored(start: Start) -> None:
    run = start()
    with pytest.raises(LearnableError, match="no completion could be scored"):
        run.log(5, **{"reward": None, "loss": 0.0, "rewards/verifier_reward/unscored_share": 1.0})


def test_a_process_that_writes_nothing_stops_too(start: Start, tmp_path: Path) -> None:
    run = start(on_alarm="stop")
    run.watch.metrics = None
    run.log(3, **FAR)
    run.log(5, **COLLAPSED)
    assert run.control.should_training_stop
    assert read_metrics(tmp_path / "metrics.jsonl") == []


def test_rewards_are_from_0_to_1_whatever_trl_was_given(start: Start, tmp_path: Path) -> None:
    run = start(reward_range=(-1.0, 1.0))
    run.log(1, reward=-1.0, loss=0.1)
    assert run.events[0]["metrics"]["reward"] == 0.0
    assert read_metrics(tmp_path / "metrics.jsonl")[0].read("reward") == 0.0


def make_folder(folder: Path, **_: Any) -> None:
    folder.mkdir(exist_ok=True)


class ScriptedTrainer:
    """As much of TRL's trainer as a run needs: it takes steps whose logs are given, and leaves checkpoints."""

    is_fsdp_enabled = is_deepspeed_enabled = False

    def __init__(self, run: TrainingRun, logs: Sequence[dict[str, Any]]) -> None:
        self.folder, self.logs = run.settings.folder, logs
        self.model = SimpleNamespace(parameters=list, save_pretrained=make_folder)
        self.processing_class = SimpleNamespace(save_pretrained=make_folder)
        self.args = SimpleNamespace(learning_rate=1e-4)
        self.state = SimpleNamespace(global_step=0, max_steps=len(logs))
        self.accelerator = SimpleNamespace(unwrap_model=lambda model: model)
        self.control = SimpleNamespace(should_save=False, should_training_stop=False)

    def is_world_process_zero(self) -> bool:
        return True

    def add_callback(self, callback: Any) -> None:
        self.callback = callback

    def train(self, resume_from_checkpoint: str | None) -> None:
        self.state.global_step = int(resume_from_checkpoint.rpartition("-")[2]) if resume_from_checkpoint else 0
        for log in self.logs[self.state.global_step :]:
            self.state.global_step += 1
            self.callback.on_log(self.args, self.state, self.control, log)
            if self.control.should_training_stop:
                break
        self.save_model(str(self.folder / CHECKPOINTS / f"checkpoint-{self.state.global_step}"))

    def save_model(self, folder: str) -> None:
        Path(folder).mkdir(parents=True)
        (Path(folder) / "trainer_state.json").write_text("{}")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_run_stops_at_an_alarm_and_one_that_goes_on_remembers_its_start(
    make_curated: Any, tiny_policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr("signal.signal", lambda *_: None)
    settings = TrainSettings(
        curated=str(make_curated(tiny_policy)), output=str(tmp_path / "run"), batch_size=32, on_alarm="stop"
    )
    logs = [{**COLLAPSED, "entropy": 1.0}] * 3 + [COLLAPSED] * 20

    def train(steps: int, **changes: Any) -> tuple[int, list[str]]:
        events: list[dict[str, Any]] = []
        file = settings.folder / "settings.json"
        replace(settings, **changes).write(file)
        run_trainer(file, lambda run: ScriptedTrainer(run, logs[:steps]), events.append)
        said = [event["message"] for event in events if event["event"] == "warning"]
        return TrainingSummary.read(settings.folder / SUMMARY).steps, said

    assert train(6) == (6, [])
    steps, said = train(20, resume=True)
    assert steps == 8
    assert said[0].startswith("step 8: entropy fell from 1.00 to 0.01")
    assert said[0].endswith("(alarm entropy, since step 4)")
    assert [record.step for record in read_metrics(settings.folder / "metrics.jsonl")] == list(range(1, 9))
    assert (settings.folder / "policy").is_dir()
    assert train(20, resume=True) == (20, [])  # who goes on after an alarm is not stopped by it again
