"""GRPO on a curated set with TRL, in a process of its own.

python -m learnable.train.trainers.grpo SETTINGS.json
accelerate launch -m learnable.train.trainers.grpo SETTINGS.json
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from learnable.data.dialogue.thinking import ThinkTags, find_tags
from learnable.data.errors import LearnableError
from learnable.filters.decisions.decide import expected_mean
from learnable.train.child import OnEvent, serve
from learnable.train.live.hooks import LearnabilitySampler
from learnable.train.preflight.checks import PreparedRun
from learnable.train.rewards import (
    CERTIFIED_PASS_RATE,
    CERTIFIED_REWARD,
    HELD_OUT,
    REVIEW,
    RewardFunction,
    judge_answers,
    map_rewards,
    pass_reward,
    remember_mastered,
    verifier_reward,
)
from learnable.train.settings import TrainSettings, usual_learning_rate
from learnable.train.trainers.trainer import (
    choose_weight_type,
    count_epochs,
    find_last_checkpoint,
    load_policy,
    make_lora_config,
    make_training_options,
    read_world_size,
    run_trainer,
)

if TYPE_CHECKING:
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

# What TRL itself passes to a reward function, or reads of a row: a user's column of that name would break the call.
RESERVED_COLUMNS = (
    "prompts",
    "completion",
    "completions",
    "completion_ids",
    "trainer_state",
    "log_extra",
    "log_metric",
    "live_row",
    HELD_OUT,
    CERTIFIED_REWARD,
    CERTIFIED_PASS_RATE,
)
EVAL_PROMPTS, REVIEW_PROMPTS = 32, 16  # held-out prompts that a look takes, or some more: kept ones, and mastered ones


def main(path: Path, emit: OnEvent) -> None:
    """Train as the settings file says."""
    run_trainer(path, make_trainer, emit)


def make_trainer(run: PreparedRun) -> GRPOTrainer:
    """Build TRL's trainer. Loads the policy. Raises `LearnableError` as `make_config` does."""
    from transformers import AutoTokenizer
    from trl import GRPOTrainer

    settings = run.settings
    tokenizer = AutoTokenizer.from_pretrained(run.policy.path, padding_side="left", truncation_side="left")
    template = tokenizer.chat_template if isinstance(tokenizer.chat_template, str) else None
    tags = find_tags(settings.sampling.think_tags, template)
    config = make_config(settings, tokenizer.eos_token_id)
    model = load_policy(run, choose_weight_type(run, config))
    if settings.learning_rate is None:
        config.learning_rate = usual_learning_rate(model.num_parameters(), lora=run.trains_adapter)
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=[make_reward(settings, tags)],
        args=config,
        train_dataset=load_part(run, settings.named_part),
        eval_dataset=load_looks(run) if settings.eval_steps else None,
        processing_class=tokenizer,
        peft_config=make_lora_config(settings.lora_rank) if settings.lora_rank else None,
    )
    if settings.sampler == "live":
        LearnabilitySampler.attach(trainer)
    elif settings.resume:
        skip_epochs(trainer, count_epochs(find_last_checkpoint(settings)))
    if settings.sampling.stop and not settings.use_vllm:  # transformers needs the tokenizer for it, and TRL gives none
        policy = trainer.accelerator.unwrap_model(trainer.model)
        policy.generate = partial(policy.generate, tokenizer=tokenizer)
    return trainer


def skip_epochs(trainer: GRPOTrainer, epochs: int) -> None:
    """Let a trainer draw its prompts as after so many epochs.

    Transformers skips the steps of a resumed run's last epoch alone, and TRL's sampler then draws them in the order of
    the first one: some prompts would come twice, and others not at all.
    """
    make_sampler = trainer._get_train_sampler

    def get_train_sampler(dataset: Dataset | None = None) -> Any:
        sampler = make_sampler(dataset)
        for _ in range(epochs):
            next(iter(sampler))  # draws the order of an epoch
        return sampler

    trainer._get_train_sampler = get_train_sampler


def make_reward(settings: TrainSettings, tags: ThinkTags | None) -> RewardFunction:
    """Return the reward function that TRL gets: the answers' rewards, in the range that the settings say."""
    reward = judge_answers(verifier_reward if settings.signal == "reward" else pass_reward, tags)
    if settings.eval_steps:
        reward = remember_mastered(reward)
    return map_rewards(reward, *settings.reward_range) if settings.reward_range else reward


def make_config(settings: TrainSettings, end_token: int | None = None) -> GRPOConfig:
    """Translate our settings into TRL's; `end_token` is the tokenizer's end of a completion.

    Raises `LearnableError` where vLLM is wanted and there is no CUDA device.
    """
    import torch
    from trl import GRPOConfig

    if settings.use_vllm and not torch.cuda.is_available():
        raise LearnableError(
            "--use-vllm needs a CUDA device and there is none: leave it out, TRL then samples by itself"
        )
    sampling = settings.sampling
    options = {
        "num_generations": settings.num_generations,
        "max_completion_length": sampling.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "min_p": sampling.min_p or None,
        "repetition_penalty": sampling.repetition_penalty,
        "chat_template_kwargs": dict(sampling.template_args) or None,
        "generation_kwargs": make_stop_options(settings, end_token) or None,
        "beta": settings.kl_weight,
        "loss_type": settings.loss_type,
        "scale_rewards": settings.scale_rewards or "group",
        **make_training_options(settings),
        **make_evaluation_options(settings),
        **make_vllm_options(settings),
    }
    return GRPOConfig(**options | dict(settings.trl))


def make_stop_options(settings: TrainSettings, end_token: int | None) -> dict[str, object]:
    """Return what ends a completion beside its end token, as the engine that TRL samples with calls it.

    What transformers ended early is filled up with its padding, and TRL takes all up to the first end token for the
    completion: so the filling is end tokens.
    """
    stop = list(settings.sampling.stop)
    if not stop:
        return {}
    if settings.use_vllm:
        return {"stop": stop, "include_stop_str_in_output": True}
    return {"stop_strings": stop, "pad_token_id": end_token}


def make_evaluation_options(settings: TrainSettings) -> dict[str, object]:
    """Return the options for looks at the held-out prompts during training."""
    if not settings.eval_steps:
        return {"eval_strategy": "no"}
    size = settings.num_generations * count_looked_at(settings)
    return {"eval_strategy": "steps", "eval_steps": settings.eval_steps, "per_device_eval_batch_size": size}


def count_looked_at(settings: TrainSettings) -> int:
    """Return the prompts that one process answers at once in a look: as many as in a step."""
    return max(1, settings.prompts_per_step // read_world_size())


def fill_batches(wanted: int, found: int, batch: int) -> int:
    """Return how many of the prompts found a look takes: `wanted` or a few more, in whole batches.

    TRL's figure of a look is the mean of its batches, so that of a smaller last one would count for more.

    >>> fill_batches(16, found=100, batch=5), fill_batches(16, found=13, batch=5), fill_batches(16, found=3, batch=5)
    (20, 10, 3)
    """
    whole = min(-(-wanted // batch), found // batch) * batch
    return whole or min(wanted, found)


def make_vllm_options(settings: TrainSettings) -> dict[str, object]:
    """Return the options that let TRL sample with vLLM on the training GPU."""
    return {"use_vllm": True, "vllm_mode": "colocate"} if settings.use_vllm else {}


def load_part(run: PreparedRun, part: str, limit: int | None = None) -> Dataset:
    """Return at most `limit` rows of a part as TRL reads them. Every column reaches the reward functions."""
    return make_dataset(run, run.curated.read(part, run.settings.families).slice(0, limit))


def make_dataset(run: PreparedRun, table: pa.Table) -> Dataset:
    """Return rows of a set as TRL reads them, with what their certificates promise."""
    from datasets import Dataset

    table = table.drop_columns([column for column in RESERVED_COLUMNS if column in table.column_names])
    return Dataset(add_promise(table, run.curated.manifest.band.signal).combine_chunks())


def add_promise(table: pa.Table, signal: str) -> pa.Table:
    """Add the mean that each row's certificate expects, of rewards or of passes; nothing where rows have none."""
    if not {"alpha", "beta", "p_zero", "p_one"} <= set(table.column_names):
        return table
    rows = pl.from_arrow(table.select(["alpha", "beta", "p_zero", "p_one"]))
    promised = pl.DataFrame(rows).select(expected_mean()).to_series().to_arrow()
    return table.append_column(CERTIFIED_REWARD if signal == "reward" else CERTIFIED_PASS_RATE, promised)


def load_looks(run: PreparedRun) -> dict[str, Dataset]:
    """Return the prompts of a look during training, marked for the reward function: kept ones, and mastered ones.

    Both are held out. Mastered are those that were left out as too easy and never failed; a set without any has no
    `REVIEW`.
    """
    batch = count_looked_at(run.settings) * read_world_size()
    kept = run.curated.read("test", run.settings.families)
    looks = {HELD_OUT: make_dataset(run, kept.slice(0, fill_batches(EVAL_PROMPTS, kept.num_rows, batch)))}
    mastered = run.curated.read_mastered("test", run.settings.families)
    if mastered.num_rows:
        mastered = mastered.filter(pc.equal(mastered["pass_rate"], pa.scalar(1.0)))
    if mastered.num_rows:
        looks[REVIEW] = make_dataset(run, mastered.slice(0, fill_batches(REVIEW_PROMPTS, mastered.num_rows, batch)))
    return {name: rows.add_column(HELD_OUT, [name] * len(rows)) for name, rows in looks.items()}


if __name__ == "__main__":
    sys.exit(serve(main, sys.argv[1:]))
