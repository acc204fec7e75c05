"""Supervised warm-up on a curated set's demonstrations with TRL, in a process of its own.

python -m learnable.train.trainers.sft SETTINGS.json

The demonstrations are the policy's own completions that passed, one a prompt: imitating them raises the
share of completions that keep the format before GRPO starts, and teaches nothing that the policy cannot do at all.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from learnable.train.child import OnEvent, serve
from learnable.train.preflight.resolution import TrainingRun
from learnable.train.settings import TrainSettings, usual_learning_rate
from learnable.train.trainers.sharding import count_weights, shard_on_cpus
from learnable.train.trainers.trainer import (
    load_policy,
    load_texts,
    make_lora_config,
    make_training_options,
    run_trainer,
)

if TYPE_CHECKING:
    from trl import SFTConfig, SFTTrainer


def main(path: Path, emit: OnEvent) -> None:
    """Train as the settings file says."""
    run_trainer(path, make_trainer, emit)


def make_trainer(run: TrainingRun) -> SFTTrainer:
    """Build TRL's trainer over prompts and completions; the loss is on completions alone. Loads the policy."""
    from transformers import AutoTokenizer
    from trl import SFTTrainer

    settings = run.settings
    config = make_config(settings)
    shard_on_cpus(config)
    model = load_policy(run, "float32")
    if settings.learning_rate is None:
        config.learning_rate = usual_learning_rate(count_weights(model), lora=run.trains_adapter)
    table = run.curated.read("demonstrations", settings.families)
    return SFTTrainer(
        model=model,
        args=config,
        train_dataset=load_texts(table, ("prompt", "completion"), settings),
        processing_class=AutoTokenizer.from_pretrained(run.policy.path, trust_remote_code=False),
        peft_config=make_lora_config(settings.lora_rank) if settings.lora_rank else None,
    )


def make_config(settings: TrainSettings) -> SFTConfig:
    """Translate our settings into TRL's. `batch_size` counts demonstrations."""
    from trl import SFTConfig

    return SFTConfig(
        **{"max_length": None, "completion_only_loss": True, **make_training_options(settings), **settings.trl}
    )


if __name__ == "__main__":
    sys.exit(serve(main, sys.argv[1:]))
