"""What `accelerate launch` says, and sharded training where accelerate or TRL leave a gap."""

from __future__ import annotations

import os
from typing import Any


def read_switch(name: str) -> bool:
    """Return whether `accelerate launch` set a variable to true, as it does from its config file."""
    return os.environ.get(name, "").lower() == "true"


def read_precision() -> str:
    """Return the `mixed_precision` of accelerate's config file: bf16, fp16 or no."""
    return os.environ.get("ACCELERATE_MIXED_PRECISION", "no")


def shard_on_cpus(config: Any) -> None:
    """Let accelerate shard over CPU processes too, as its config file says; call it before the trainer is made.

    accelerate 1.15 turns FSDP on for GPUs alone (`AcceleratorState`), and would train copies here without a word.
    """
    if not (config.use_cpu and read_switch("ACCELERATE_USE_FSDP")):
        return
    from accelerate import Accelerator  # type: ignore[import-untyped]
    from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin  # type: ignore[import-untyped]

    state = Accelerator(cpu=True, mixed_precision=config.mixed_precision).state
    state.fsdp_plugin = FullyShardedDataParallelPlugin()
    if state.mixed_precision != "no":
        state.fsdp_plugin.set_mixed_precision(state.mixed_precision)
    state.distributed_type = DistributedType.FSDP
    config.distributed_state.distributed_type = DistributedType.FSDP


def gather_weights(trainer: Any) -> Any:
    """Return a sharded policy's whole weights in the first process, none in the others; None where nothing is sharded.

    All processes have to call it.
    """
    if not (trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled):
        return None
    weights = trainer.accelerator.get_state_dict(trainer.model_wrapped)
    for name in getattr(trainer.model, "all_tied_weights_keys", None) or ():
        weights.pop(name, None)  # is another's, and would be written twice
    return weights


def count_weights(model: Any, *, trained: bool = False) -> int:
    """Return how many weights a model has, or how many are trained, also where ZeRO-3 keeps a part of each here."""
    return sum(
        getattr(weight, "ds_numel", weight.numel())
        for weight in model.parameters()
        if weight.requires_grad or not trained
    )
