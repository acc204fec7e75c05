"""The live sampler on TRL's real trainer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest

from learnable.data.errors import LearnableError
from learnable.train import LearnabilitySampler
from learnable.train.live.course import Course
from learnable.train.live.hooks import LIVE_COLUMNS, NUMBERS_FILE, ROW, read_certificates
from learnable.train.monitor.records import StepRecord
from learnable.verifiers.families.curriculum import Curriculum, Stage

pytestmark = [
    pytest.mark.filterwarnings("ignore:TRL currently supports vLLM:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:the .* prompts have no certificates:UserWarning"),
]


class CountOnes:
    """A user's reward function that notes which prompts it saw, in order."""

    __name__ = "count_ones"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, prompts: Sequence[str], completions: Sequence[str], **columns: Any) -> list[float]:
        self.seen += prompts
        return [float("1" in completion) for completion in completions]


def reward_half(prompts: Sequence[str], completions: Sequence[str], **columns: Any) -> list[float]:
    """Every completion of a prompt in two twos passes, and every other one of the others."""
    return [1.0 if prompt.startswith("22") else float(index % 2) for index, prompt in enumerate(prompts)]


def make_trainer(
    policy: Path, folder: Path, prompts: Sequence[str], reward: Any = None, **options: Any
) -> tuple[Any, Any]:
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    config = GRPOConfig(
        output_dir=str(folder),
        num_generations=4,
        max_completion_length=3,
        save_steps=4,
        use_cpu=True,
        bf16=False,
        report_to="none",
        disable_tqdm=True,
        logging_steps=1,
        **{"per_device_train_batch_size": 8, "max_steps": 8, "learning_rate": 1e-2, **options},
    )
    reward = reward or CountOnes()
    data = Dataset.from_dict({"prompt": list(prompts)})
    return GRPOTrainer(str(policy), reward_funcs=[reward], args=config, train_dataset=data), reward


@pytest.fixture(scope="module")
def prompts() -> list[str]:
    return [f"{number:06b}=".replace("0", "2") for number in range(24)]


@pytest.mark.e2e
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gradient_accumulation_steps": 2, "per_device_train_batch_size": 4},
        {"num_iterations": 2},
        {"steps_per_generation": 2, "per_device_train_batch_size": 4},
    ],
    ids=["plain", "accumulated", "iterated", "one generation for two steps"],
)
def test_a_resumed_run_takes_what_an_uninterrupted_one_takes(
    tiny_policy: Path, tmp_path: Path, prompts: list[str], options: dict[str, Any]
) -> None:
    whole, reward = make_trainer(tiny_policy, tmp_path / "run", prompts, **options)
    sampler = LearnabilitySampler.attach(whole)
    whole.train()
    resumed, again = make_trainer(tiny_policy, tmp_path / "run", prompts, **options)
    LearnabilitySampler.attach(resumed)
    resumed.train(resume_from_checkpoint=str(tmp_path / "run" / "checkpoint-4"))

    assert len(reward.seen) % 16 == 0
    assert again.seen == reward.seen[len(reward.seen) // 2 :]
    assert sampler.order.picker.batches >= len(reward.seen) // 8
    logs = [log for log in whole.state.log_history if "reward" in log]
    assert all(0 < log["sampler/expected_zero_std_share"] < 1 for log in logs)


@pytest.mark.e2e
@pytest.mark.parametrize("by", ["step", "success"])
def test_a_curriculum_goes_on_where_a_checkpoint_left_it_and_is_in_the_metrics(
    tiny_policy: Path, tmp_path: Path, prompts: list[str], by: Literal["step", "success"]
) -> None:
    def attach(trainer: Any) -> LearnabilitySampler:
        stages = Curriculum("", (Stage("first", 0), Stage("second", 3)), up=0.01, down=0.0)
        return LearnabilitySampler.attach(trainer, course=Course(stages, np.repeat([0, 1], 12), by), is_even=True)

    whole, reward = make_trainer(tiny_policy, tmp_path / "run", prompts)
    attach(whole)
    whole.train()
    resumed, again = make_trainer(tiny_policy, tmp_path / "run", prompts)
    attach(resumed)
    resumed.train(resume_from_checkpoint=str(tmp_path / "run" / "checkpoint-4"))

    assert again.seen == reward.seen[len(reward.seen) // 2 :]
    logs = [StepRecord.from_logs(1, log) for log in whole.state.log_history if "reward" in log]
    stages = [log.metrics["stage"] for log in logs]
    if by == "step":
        assert stages == [1.0] * 3 + [2.0] * 5
        assert logs[-1].metrics["stage_share/second"] == pytest.approx(0.8)
    assert all(set(reward.seen[8 * n : 8 * n + 8]) <= set(prompts[: 12 * int(stage)]) for n, stage in enumerate(stages))


@pytest.mark.e2e
def test_the_sampler_learns_from_the_run_and_leaves_what_always_passes(
    tiny_policy: Path, tmp_path: Path, prompts: list[str]
) -> None:
    trainer, _ = make_trainer(tiny_policy, tmp_path / "run", prompts, reward_half, max_steps=6, learning_rate=0.0)
    sampler = LearnabilitySampler.attach(trainer)
    trainer.train()
    rates = sampler.order.picker.rates.expect_rates()
    drawn = sampler.order.picker.last_drawn[:16] >= 0
    mastered = np.array([prompt.startswith("22") for prompt in prompts[:16]])

    assert (rates[:16][drawn & mastered] > 0.7).all()
    assert rates[:16][drawn & ~mastered] == pytest.approx(0.5, abs=0.05)


class RewardHalf(CountOnes):
    """`reward_half`, which notes too."""

    __name__ = "reward_half"

    def __call__(self, prompts: Sequence[str], completions: Sequence[str], **columns: Any) -> list[float]:
        self.seen += prompts
        return reward_half(prompts, completions)


@pytest.mark.e2e
def test_prompts_that_were_not_seen_are_predicted_and_a_resumed_run_goes_on_so(
    tiny_policy: Path, tmp_path: Path
) -> None:
    pool = [start + f"{number:06b}=".replace("0", "2") for number in range(64) for start in ("22", "11")]
    options = {"max_steps": 12, "per_device_train_batch_size": 16, "learning_rate": 0.0}
    whole, reward = make_trainer(tiny_policy, tmp_path / "run", pool, RewardHalf(), **options)
    with pytest.warns(UserWarning, match="the live sampler predicts them from the text and columns"):
        sampler = LearnabilitySampler.attach(whole)
    whole.train()
    resumed, again = make_trainer(tiny_policy, tmp_path / "run", pool, RewardHalf(), **options)
    LearnabilitySampler.attach(resumed)
    resumed.train(resume_from_checkpoint=str(tmp_path / "run" / "checkpoint-8"))

    assert again.seen == reward.seen[8 * 16 :]
    picker = sampler.order.picker
    rates, unseen = picker.rates.expect_rates(), picker.last_drawn < 0
    mastered = np.array([prompt.startswith("22") for prompt in pool])
    assert rates[unseen & mastered].min() > rates[unseen & ~mastered].max()
    logs = [StepRecord.from_logs(1, log).metrics for log in whole.state.log_history if "reward" in log]
    assert (logs[0]["predicted_share"], logs[-1]["predicted_share"]) == (0.0, 1.0)
    assert logs[-1]["prediction_explains"] > 0.5
    assert sum(prompt.startswith("22") for prompt in reward.seen[-3 * 16 :]) <= 3 * 4


@pytest.mark.e2e
def test_what_cannot_work_is_refused(tiny_policy: Path, tmp_path: Path, prompts: list[str]) -> None:
    few, _ = make_trainer(tiny_policy, tmp_path / "few", prompts[:1])
    with pytest.raises(LearnableError, match="takes 2 different prompts and there are 1"):
        LearnabilitySampler.attach(few)
    static, _ = make_trainer(tiny_policy, tmp_path / "run", prompts, max_steps=4)
    static.train()
    live, _ = make_trainer(tiny_policy, tmp_path / "run", prompts)
    LearnabilitySampler.attach(live)
    with pytest.raises(
        LearnableError, match=f"no {NUMBERS_FILE}: the run that wrote this checkpoint had no live sampler"
    ):
        live.train(resume_from_checkpoint=True)


@pytest.mark.e2e
@pytest.mark.parametrize(("steps", "visits"), [(9, 18), (12, 24), (-1, 24)])
def test_a_run_too_short_to_know_prompts_without_certificates_says_so(
    tiny_policy: Path, tmp_path: Path, prompts: list[str], steps: int, visits: int
) -> None:
    short, _ = make_trainer(tiny_policy, tmp_path / "short", prompts, num_train_epochs=1, max_steps=steps)
    with pytest.warns(UserWarning, match=f"the 24 prompts have no certificates, and this run draws {visits} in all"):
        LearnabilitySampler.attach(short)


@pytest.mark.e2e
@pytest.mark.filterwarnings("error:the .* prompts have no certificates:UserWarning")
def test_a_run_that_gets_to_know_its_prompts_or_knows_them_says_nothing(
    tiny_policy: Path, tmp_path: Path, prompts: list[str]
) -> None:
    long, _ = make_trainer(tiny_policy, tmp_path / "long", prompts, max_steps=13)
    LearnabilitySampler.attach(long)
    known, _ = make_trainer(tiny_policy, tmp_path / "known", prompts, max_steps=2)
    for name in LIVE_COLUMNS:
        known.train_dataset = known.train_dataset.add_column(name, [0.5] * len(prompts))
    LearnabilitySampler.attach(known)


def test_another_version_of_trl_is_refused() -> None:
    with pytest.raises(LearnableError, match="does not know this version of TRL: no _get_train_sampler"):
        LearnabilitySampler.attach(object())  # type: ignore[arg-type]


def test_certificates_of_graded_rewards_are_told_by_passes() -> None:
    from datasets import Dataset

    columns = {"alpha": [8.0, 30.0], "beta": [7.0, 40.0], "p_zero": [0.1, 0.0], "p_one": [0.0, 0.0]}
    counts = {"n": [12, 12], "n_eff": [12.0, 48.0], "pass_rate": [0.5, 0.25]}
    found = read_certificates(Dataset.from_dict({**columns, **counts}))

    assert found.alpha.tolist() == [8.0, 3.5]
    assert found.beta.tolist() == [7.0, 9.5]
    assert found.p_zero.tolist() == [0.1, 0.0]
    assert read_certificates(Dataset.from_dict({"prompt": ["a"]})).alpha.tolist() == [0.5]


@pytest.mark.parametrize(
    ("passed", "rewards"),
    [
        ([True, None, False, None, None, True], [[0.0]] * 6),  # the reward function says it
        ([], [[1.0], [np.nan], [0.2], [np.nan], [np.nan], [0.5]]),  # or what it sums up to does
        ([], [[1.0, np.nan], [np.nan, np.nan], [np.nan, 0.2], [np.nan, np.nan], [np.nan, np.nan], [0.3, 0.3]]),
    ],
)
def test_a_completion_without_a_score_is_neither_a_pass_nor_a_failure(
    monkeypatch: pytest.MonkeyPatch, passed: list[bool | None], rewards: list[list[float]]
) -> None:
    import torch
    from datasets import Dataset

    trainer: Any = SimpleNamespace(
        args=SimpleNamespace(generation_batch_size=6, steps_per_generation=1, seed=0),
        num_generations=3,
        num_iterations=1,
        train_dataset=Dataset.from_dict({"prompt": ["a", "b", "c"]}),
        accelerator=SimpleNamespace(process_index=0, device="cpu", gather=lambda pairs: pairs),
        _log_metric=lambda *_: None,
    )
    sampler = LearnabilitySampler(trainer)
    told: list[dict[int, tuple[int, int]]] = []
    monkeypatch.setattr(sampler.order.picker, "observe", told.append)
    sampler.passed = passed
    sampler._take_in([{ROW: row} for row in (0, 0, 0, 2, 2, 2)], torch.tensor(rewards))
    assert told == [{0: (1, 1), 2: (1, 0)}]
