"""What every trainer's process does: prepare, train with metrics and checkpoints, leave a policy and a summary."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from learnable.train.child import OnEvent
from learnable.train.monitoring.monitor import MetricsFile
from learnable.train.preflight.checks import PreparedRun, prepare_run
from learnable.train.settings import TrainSettings, read_settings
from learnable.train.trainers.callback import make_callback

CHECKPOINTS = "checkpoints"
POLICY = "policy"
SUMMARY = "training.json"


def run_trainer(path: Path, make_trainer: Callable[[PreparedRun], Any], emit: OnEvent) -> None:
    """Train as the settings file says; leave the policy in `policy/` and a summary in `training.json`."""
    _use_one_gpu()
    run = prepare_run(read_settings(path))
    trainer = make_trainer(run)
    parameters = sum(weight.numel() for weight in trainer.model.parameters() if weight.requires_grad)
    checkpoint = last_checkpoint(run.settings.folder) if run.settings.resume else None
    done = checkpoint_step(checkpoint)
    metrics = (
        MetricsFile(run.settings.folder / "metrics.jsonl", from_step=done) if trainer.is_world_process_zero() else None
    )
    callback = make_callback(metrics, emit)
    signal.signal(signal.SIGINT, lambda *_: callback.stop())
    trainer.add_callback(callback)
    started = time.monotonic()
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    if callback.stopped:
        raise KeyboardInterrupt
    save_policy(trainer, run.settings)
    if metrics is not None:
        metrics.close()
        summary = {
            "steps": trainer.state.global_step,
            "resumed_from": done,
            "trained_parameters": parameters,
            "learning_rate": trainer.args.learning_rate,
            "seconds": round(time.monotonic() - started, 2),
        }
        (run.settings.folder / SUMMARY).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")


def training_options(settings: TrainSettings) -> dict[str, Any]:
    """Return what every trainer of TRL's is told. An unset learning rate is filled in once the policy is loaded."""
    import torch

    cuda = torch.cuda.is_available()
    pass_size = settings.micro_batch_size or settings.step_size // world_size()
    return {
        "output_dir": str(settings.folder / CHECKPOINTS),
        "max_steps": settings.steps,
        "per_device_train_batch_size": pass_size,
        "gradient_accumulation_steps": settings.step_size // (pass_size * world_size()),
        "learning_rate": settings.learning_rate or 0.0,
        "lr_scheduler_type": "constant_with_warmup",
        "warmup_steps": settings.warmup_steps,
        "seed": settings.seed,
        "use_cpu": not cuda,
        "bf16": cuda and torch.cuda.is_bf16_supported(),
        "gradient_checkpointing": cuda,
        "logging_steps": 1,
        "disable_tqdm": True,
        "report_to": settings.report_to,
        "save_steps": settings.save_steps,
        "save_total_limit": 2,
    }


def world_size() -> int:
    """Return how many training processes a launcher started; 1 without a launcher."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def save_policy(trainer: Any, settings: TrainSettings) -> None:
    """Write the trained policy and its tokenizer where vLLM and transformers can load it; adapters are merged in."""
    target, partial = settings.folder / POLICY, settings.folder / f".{POLICY}.partial"
    if settings.lora_rank and trainer.is_world_process_zero():
        trainer.save_model(str(settings.folder / "adapter"))
        trainer.accelerator.unwrap_model(trainer.model).merge_and_unload().save_pretrained(partial)
        trainer.processing_class.save_pretrained(partial)
    elif not settings.lora_rank:
        trainer.save_model(str(partial))
    if trainer.is_world_process_zero():
        shutil.rmtree(target, ignore_errors=True)
        partial.rename(target)


def last_checkpoint(folder: Path) -> Path | None:
    """Return the newest checkpoint of a run that was written to its end, or None."""
    found = [path for path in (folder / CHECKPOINTS).glob("checkpoint-*") if (path / "trainer_state.json").is_file()]
    return max(found, key=checkpoint_step, default=None)


def checkpoint_step(checkpoint: Path | None) -> int:
    """Return the step at which a checkpoint was written, 0 for none."""
    return int(checkpoint.name.rpartition("-")[2]) if checkpoint else 0


def _use_one_gpu() -> None:
    """Hide all GPUs but the first unless a launcher gave this process its own: TRL refuses `DataParallel`."""
    if "WORLD_SIZE" not in os.environ:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0")
        os.environ["CUDA_VISIBLE_DEVICES"] = visible.split(",")[0]
