"""GRPO on a curated set with TRL, in a process of its own.

python -m learnable.train.trainers.grpo SETTINGS.json
accelerate launch -m learnable.train.trainers.grpo SETTINGS.json
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from learnable.data.dialogue.thinking import ThinkTags, find_tags
from learnable.data.errors import LearnableError
from learnable.train.child import OnEvent, serve
from learnable.train.live.hooks import LearnabilitySampler
from learnable.train.preflight.drawing import make_course
from learnable.train.preflight.loading import LoadedSet
from learnable.train.preflight.resolution import TrainingRun
from learnable.train.ratios import log_importance_ratios
from learnable.train.rewards import (
    RewardFunction,
    judge_answers,
    map_rewards,
    pass_reward,
    remember_mastered,
    verifier_reward,
)
from learnable.train.settings import TrainSettings, usual_learning_rate
from learnable.train.stored.hooks import StoredRollouts
from learnable.train.trainers.prompts import load_looks, make_dataset
from learnable.train.trainers.sharding import count_weights, shard_on_cpus
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
    from pyarrow import Table
    from trl import GRPOConfig, GRPOTrainer


def main(path: Path, emit: OnEvent) -> None:
    """Train as the settings file says."""
    run_trainer(path, make_trainer, emit)


def make_trainer(run: TrainingRun) -> GRPOTrainer:
    """Build TRL's trainer. Loads the policy. Raises `LearnableError` as `make_config` does."""
    from transformers import AutoTokenizer
    from trl import GRPOTrainer

    settings = run.settings
    tokenizer = AutoTokenizer.from_pretrained(
        run.policy.path, padding_side="left", truncation_side="left", trust_remote_code=False
    )
    template = tokenizer.chat_template if isinstance(tokenizer.chat_template, str) else None
    tags = find_tags(settings.sampling.think_tags, template)
    config = make_config(settings, tokenizer.eos_token_id)
    shard_on_cpus(config)
    model = load_policy(run, choose_weight_type(run, config))
    if settings.learning_rate is None:
        config.learning_rate = usual_learning_rate(count_weights(model), lora=run.trains_adapter)
    batch = count_looked_at(settings) * read_world_size()
    curated = LoadedSet.of(run.curated)
    rows = curated.read(settings.named_part, settings.families)
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=[make_reward(settings, tags)],
        args=config,
        train_dataset=make_dataset(curated, rows),
        eval_dataset=load_looks(curated, settings.families, batch) if settings.eval_steps else None,
        processing_class=tokenizer,
        peft_config=make_lora_config(settings.lora_rank) if settings.lora_rank else None,
    )
    log_importance_ratios(trainer)
    draw_prompts(trainer, run, rows)
    if settings.sampling.stop and not settings.use_vllm:  # transformers needs the tokenizer for it, and TRL gives none
        policy = trainer.accelerator.unwrap_model(trainer.model)
        policy.generate = partial(policy.generate, tokenizer=tokenizer)
    return trainer


def draw_prompts(trainer: GRPOTrainer, run: TrainingRun, rows: Table) -> None:
    """Let a trainer draw its `rows` as the settings say: live, stage by stage, stored groups first, or as resumed.

    Raises `LearnableError` as the samplers do that are attached.
    """
    settings = run.settings
    if settings.has_sampler_state:
        LearnabilitySampler.attach(
            trainer,
            course=make_course(settings, rows),
            is_even=settings.sampler != "live",
            predict=settings.predict,
            stops_dry=settings.on_dry == "stop",
        )
        if settings.stored == "first":
            StoredRollouts.attach(
                trainer,
                settings.curated,
                policy_id=run.policy.policy_id,
                sampling=settings.sampling,
                signal=settings.signal,
            )
    elif settings.resume:
        skip_epochs(trainer, count_epochs(find_last_checkpoint(settings)))


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
            "`use_vllm` needs a CUDA device and there is none: leave it out, TRL then samples by itself"
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


def make_vllm_options(settings: TrainSettings) -> dict[str, object]:
    """Return the options that let TRL sample with vLLM on the training GPU."""
    return {"use_vllm": True, "vllm_mode": "colocate"} if settings.use_vllm else {}


if __name__ == "__main__":
    sys.exit(serve(main, sys.argv[1:]))
