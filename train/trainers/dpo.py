"""Direct preference optimisation on a curated set's preferences with TRL, in a process of its own.

python -m learnable.train.trainers.dpo SETTINGS.json

A pair is the best and the worst completion of a prompt among those that curated it, by the verifier's rewards. The loss
of a pair is -log sigmoid(beta * (the policy's log odds of the better over the worse - the reference's)), with the
policy as it was before training for a reference (Rafailov et al. 2023, arXiv:2305.18290, equation 7).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from learnable.train.child import OnEvent, serve
from learnable.train.preflight.pairs import read_pairs
from learnable.train.preflight.resolution import TrainingRun
from learnable.train.settings import TrainSettings, usual_learning_rate
from learnable.train.trainers.sharding import count_weights, shard_on_cpus
from learnable.train.trainers.trainer import (
    choose_weight_type,
    load_policy,
    load_texts,
    make_lora_config,
    make_training_options,
    run_trainer,
)

if TYPE_CHECKING:
    from trl import DPOConfig, DPOTrainer


def main(path: Path, emit: OnEvent) -> None:
    """Train as the settings file says."""
    run_trainer(path, make_trainer, emit)


def make_trainer(run: TrainingRun) -> DPOTrainer:
    """Build TRL's trainer over pairs. Loads the policy; TRL takes it once more for a reference, or without adapters."""
    from transformers import AutoTokenizer
    from trl import DPOTrainer

    settings = run.settings
    config = make_config(settings)
    shard_on_cpus(config)
    model = load_policy(run, choose_weight_type(run, config))
    if settings.learning_rate is None:
        config.learning_rate = usual_learning_rate(count_weights(model), lora=run.trains_adapter)
    return DPOTrainer(
        model=model,
        args=config,
        train_dataset=load_texts(read_pairs(run.curated, settings), ("prompt", "chosen", "rejected"), settings),
        processing_class=AutoTokenizer.from_pretrained(run.policy.path, trust_remote_code=False),
        peft_config=make_lora_config(settings.lora_rank) if settings.lora_rank else None,
    )


def make_config(settings: TrainSettings) -> DPOConfig:
    """Translate our settings into TRL's. `batch_size` counts pairs; texts are cut by `--trl max_length` alone."""
    from trl import DPOConfig

    return DPOConfig(
        **{"max_length": None, "beta": settings.kl_weight, **make_training_options(settings), **settings.trl}
    )


if __name__ == "__main__":
    sys.exit(serve(main, sys.argv[1:]))
