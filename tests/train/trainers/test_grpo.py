"""The real trainer on a tiny policy."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from learnable.data.records import Prompt, Rollout, message_list
from learnable.train import rewards
from learnable.train.live.hooks import NUMBERS_FILE
from learnable.train.monitor.records import StepRecord
from learnable.train.preflight.checks import prepare_run
from learnable.train.ratios import log_importance_ratios
from learnable.train.settings import TrainSettings
from learnable.train.trainers.grpo import make_config, make_reward, skip_epochs
from learnable.train.trainers.trainer import count_epochs, find_last_checkpoint, read_step, restore_adapter
from learnable.verifiers.own.finding import find_own_judge
from learnable.verifiers.own.trust import trust
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool

if TYPE_CHECKING:
    from trl import GRPOConfig

# What the libraries themselves warn of when they are imported or used as they ask to be.
pytestmark = [
    pytest.mark.filterwarnings("ignore:TRL currently supports vLLM:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.fixture
def _closed_pool() -> Iterator[None]:
    yield
    rewards.open_scoring_pool().__exit__(None, None, None)
    rewards.open_scoring_pool.cache_clear()


def short_run(folder: Path, **options: Any) -> GRPOConfig:
    """TRL's own settings of a run of a few steps of 32 completions, which leaves nothing but its log."""
    from trl import GRPOConfig

    return GRPOConfig(
        output_dir=str(folder / "out"),
        per_device_train_batch_size=32,
        num_generations=8,
        max_completion_length=3,
        logging_steps=1,
        use_cpu=True,
        bf16=False,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        **options,
    )


@pytest.mark.e2e
@pytest.mark.parametrize("chat", [False, True], ids=["text", "chat"])
@pytest.mark.usefixtures("_closed_pool")
def test_trl_trains_on_curated_parquet_with_the_reward_unchanged(
    tiny_policy: Path, make_curated: Any, prompts_of_ones: Any, tmp_path: Path, chat: bool
) -> None:
    from datasets import load_dataset
    from trl import GRPOTrainer

    curated = make_curated(tiny_policy, train=prompts_of_ones(8, chat=chat), shards=2)
    dataset = load_dataset(
        "parquet", data_files=str(curated / "train-*.parquet"), cache_dir=str(tmp_path / "c"), split="train"
    )
    config = short_run(tmp_path, max_steps=2, learning_rate=1e-2)
    trainer = GRPOTrainer(str(tiny_policy), reward_funcs=[rewards.verifier_reward], args=config, train_dataset=dataset)
    trainer.train()
    logs = [log for log in trainer.state.log_history if "reward" in log]

    assert [log["step"] for log in logs] == [1, 2]
    assert 0 < logs[0]["reward"] < 1
    assert logs[0]["grad_norm"] > 0
    assert 0 < logs[0]["rewards/verifier_reward/within_group_std"] <= 0.5
    assert logs[0]["component/arithmetic/correct"] == pytest.approx(logs[0]["reward"])


@pytest.mark.e2e
@pytest.mark.parametrize("chat", [False, True], ids=["text", "chat"])
@pytest.mark.usefixtures("_closed_pool")
def test_a_reward_function_of_trls_kind_rewards_in_training_as_in_curation(
    tiny_policy: Path, prompts_of_ones: Any, tmp_path: Path, chat: bool
) -> None:
    from datasets import Dataset
    from trl import GRPOTrainer

    (tmp_path / "lengths.py").write_text(
        "def score(completions, completion_ids, word, **kwargs):\n"
        "    texts = [c if isinstance(c, str) else c[0]['content'] for c in completions]\n"
        "    return [float(len(w + t)) - len(ids) for t, ids, w in zip(texts, completion_ids, word)]\n"
    )
    judge = f"{tmp_path / 'lengths.py'}:score?range=-10..90"
    trust(judge)
    given = prompts_of_ones(8, chat=chat)
    made = [Prompt(prompt.prompt, judge, {"word": "x" * row}, "lengths", "lengths") for row, prompt in enumerate(given)]
    rows = [
        {"prompt": message_list(p.prompt), "verifier": judge, "spec": p.spec_json, "word": p.spec["word"]} for p in made
    ]
    seen: list[dict[str, Any]] = []

    def reward(**columns: Any) -> list[float | None]:
        found = rewards.verifier_reward(**columns)
        seen.append({**columns, "found": found, "raw": find_own_judge(judge).call(**columns)})  # as TRL would itself
        return found

    config = short_run(tmp_path, max_steps=1)
    GRPOTrainer(str(tiny_policy), reward_funcs=[reward], args=config, train_dataset=Dataset.from_list(rows)).train()
    [step] = seen
    texts = [rewards.read_last_turn(completion) for completion in step["completions"]]
    prompts = {prompt.spec["word"]: prompt for prompt in made}
    with ScoringPool(1) as pool:
        jobs = [
            ScoreJob.of(prompts[word], Rollout("q", "p@w", "s", 3, 0, text, "stop", len(ids)))
            for word, text, ids in zip(step["word"], texts, step["completion_ids"], strict=True)
        ]
        assert [score.reward for score in pool.submit(jobs).result()] == step["found"]
    assert [(raw + 10) / 100 for raw in step["raw"]] == step["found"]
    assert len(set(step["found"])) > 1


@pytest.mark.e2e
@pytest.mark.usefixtures("_closed_pool")
def test_importance_ratios_are_logged_with_their_extremes(tiny_policy: Path, tmp_path: Path) -> None:
    from datasets import Dataset
    from trl import GRPOTrainer

    def reward_ones(completions: list[str], **_: Any) -> list[float]:
        return [float(text.startswith("1")) for text in completions]

    trainer = GRPOTrainer(
        str(tiny_policy),
        reward_funcs=[reward_ones],
        args=short_run(tmp_path, max_steps=4, learning_rate=1e-2, num_iterations=2),
        train_dataset=Dataset.from_dict({"prompt": ["12=", "21=", "22=", "11="] * 2}),
    )
    log_importance_ratios(trainer)
    trainer.train()
    first, again, *_ = (
        StepRecord.from_logs(1, log).metrics for log in trainer.state.log_history if "reward" in log or "loss" in log
    )
    assert [first[f"importance_ratio{end}"] for end in ("", "_min", "_max")] == pytest.approx([1.0] * 3)
    low, mean, high = (float(again[f"importance_ratio{end}"] or 0) for end in ("_min", "", "_max"))
    assert 0 < low < 1 < high
    assert low < mean < high


@pytest.mark.e2e
@pytest.mark.usefixtures("_closed_pool")
def test_an_unscored_completion_moves_nothing(tiny_policy: Path, make_curated: Any, tmp_path: Path) -> None:
    from datasets import Dataset
    from trl import GRPOTrainer

    rows = make_curated(tiny_policy)
    table = __import__("pyarrow.parquet").parquet.read_table(rows / "train-00000-of-00001.parquet").to_pylist()
    dataset = Dataset.from_list([{**row, "verifier": "no such verifier"} for row in table])
    config = short_run(tmp_path, max_steps=1)
    trainer = GRPOTrainer(str(tiny_policy), reward_funcs=[rewards.verifier_reward], args=config, train_dataset=dataset)
    trainer.train()
    [log] = [log for log in trainer.state.log_history if "grad_norm" in log]

    assert log["grad_norm"] == 0.0
    assert log["reward"] is None
    assert log["rewards/verifier_reward/unscored_share"] == 1.0


def test_settings_reach_trl_under_its_own_names(make_curated: Any, tiny_policy: Path, tmp_path: Path) -> None:
    curated = make_curated(tiny_policy)
    settings = TrainSettings(
        curated=str(curated),
        output=str(tmp_path / "run"),
        batch_size=32,
        micro_batch_size=16,
        num_generations=8,
        temperature=0.8,
        no_kl=True,
        seed=3,
        eval_steps=5,
        scale_rewards="none",
    )

    config = make_config(prepare_run(settings).settings)

    assert (config.generation_batch_size, config.gradient_accumulation_steps) == (32, 2)
    assert (config.num_generations, config.max_completion_length, config.temperature) == (8, 3, 0.8)
    assert (config.beta, config.seed, config.loss_type) == (0.0, 3, "grpo")
    assert (config.eval_steps, config.per_device_eval_batch_size % 8) == (5, 0)
    assert config.scale_rewards == "none"
    assert make_config(prepare_run(replace(settings, scale_rewards=None)).settings).scale_rewards == "group"


@pytest.mark.usefixtures("_closed_pool")
def test_rewards_reach_trl_in_the_range_that_was_given() -> None:
    rows: dict[str, Any] = {
        "prompts": ["11="] * 3,
        "completions": ["1", "2", "1"],
        "verifier": ["arithmetic", "arithmetic", "no such verifier"],
        "spec": ['{"answer": 1}'] * 3,
    }
    for signal in ("reward", "pass"):
        plain = TrainSettings(curated="c", output="o", signal=signal)
        assert make_reward(plain, None)(**rows) == [1.0, 0.0, None]
        mapped = make_reward(replace(plain, reward_range=(-1.0, 1.0)), None)
        assert mapped(**rows) == [1.0, -1.0, None]
        assert mapped.__name__ == make_reward(plain, None).__name__  # TRL logs it by its name


def test_a_resumed_run_loads_the_adapter_that_transformers_leaves_out(tmp_path: Path) -> None:
    loaded: list[tuple[str, str, bool]] = []

    class Adapted:
        active_adapter = "default"

        def __init__(self, *adapters: str) -> None:
            self.peft_config = dict.fromkeys(adapters)

        def load_adapter(self, folder: str, name: str, *, is_trainable: bool) -> None:
            loaded.append((folder, name, is_trainable))

    for model in (Adapted("default", "ref"), Adapted("default"), object()):
        accelerator = SimpleNamespace(unwrap_model=lambda model: model)
        trainer = SimpleNamespace(model=model, accelerator=accelerator, is_fsdp_enabled=False)
        restore_adapter(trainer, tmp_path)
        restore_adapter(trainer, None)
    assert loaded == [(str(tmp_path), "default", True)]


def test_the_newest_whole_checkpoint_is_taken(tmp_path: Path) -> None:
    for step, state in ((9, "{}"), (20, "{}"), (90, '{"epo'), (100, None)):
        folder = tmp_path / "checkpoints" / f"checkpoint-{step}"
        folder.mkdir(parents=True)
        if state is not None:
            (folder / "trainer_state.json").write_text(state)
    (tmp_path / "checkpoints" / "checkpoint-9" / NUMBERS_FILE).write_text("{}")
    static = TrainSettings(curated="c", output=str(tmp_path))

    assert read_step(find_last_checkpoint(static)) == 20
    assert read_step(find_last_checkpoint(replace(static, sampler="live"))) == 9
    assert read_step(find_last_checkpoint(replace(static, output=str(tmp_path / "empty")))) == 0


class Orders:
    """A sampler as TRL's: each epoch has an order of its own, drawn when the epoch begins."""

    def __init__(self) -> None:
        self.generator = random.Random(0)

    def __iter__(self) -> Iterator[int]:
        yield from self.generator.sample(range(20), 20)


def test_a_resumed_run_takes_the_order_of_its_own_epoch(tmp_path: Path) -> None:
    uninterrupted = Orders()
    epochs = [list(uninterrupted) for _ in range(4)]
    trainer: Any = SimpleNamespace(_get_train_sampler=lambda dataset=None: Orders())
    (tmp_path / "trainer_state.json").write_text('{"epoch": 2.5}')

    assert count_epochs(None) == 0
    skip_epochs(trainer, count_epochs(tmp_path))

    resumed = trainer._get_train_sampler()
    assert [list(resumed), list(resumed)] == epochs[2:]
