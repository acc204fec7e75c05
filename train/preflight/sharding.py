"""What sharding leaves of a run's memory in one process, in terms of `memory`: see there for the letters.

Of S processes that share one copy, under ZeRO's stages (Rajbhandari et al. 2020, arXiv:1910.02054, section 5), which
FSDP2 is the third of (Zhao et al. 2023, arXiv:2304.11277, section 3):

    FSDP2        weights P w / S, optimizer 8 T / S, gradients 4 T / S, reference P w / S: float32 weights are the
                 master, and each unit is cast to bf16 as it is gathered
    DeepSpeed    weights 2 P (/ S from stage 3 on), gradients 2 T (/ S from stage 2 on), optimizer 12 T (/ S from stage
                 1 on): two states and the float32 master of bf16 weights; reference 2 P (/ S from stage 3 on)
    gathered     of a bytes a weight: two layers (one in use, one fetched ahead) and the embeddings, head and last norm,
                 and the gradients of one layer and of those ends before they are scattered; all of P, twice, where
                 weights are not wrapped layer by layer
    whole        a P: of the reference under FSDP2, while it scores completions, for TRL 1.16 shards it as one unit
                 (`prepare_fsdp`); of the policy under ZeRO-3, which TRL gathers to generate without vLLM
    offloaded    what lies in the host's memory in its place

Where nothing is sharded each process has a copy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from learnable.train.preflight.estimate import MemoryEstimate, ModelShape
from learnable.train.preflight.launch import Launch
from learnable.train.settings import TrainSettings

FLOAT, HALF = 4, 2  # bytes


def shard(
    estimate: MemoryEstimate, shape: ModelShape, launch: Launch, settings: TrainSettings, *, trained: int
) -> MemoryEstimate:
    """Return what each process has of a run whose estimate is that of one that shares nothing.

    Args:
        estimate: of the same run with a copy in each process.
        shape: the policy's.
        launch: how its processes are started.
        settings: the run's.
        trained: weights that are trained, the adapter's where there is one.
    """
    if launch.kind == "copies" or not launch.stage:
        return estimate
    number = HALF if launch.half else FLOAT
    if launch.kind == "fsdp":
        sizes = _split_fsdp(estimate, launch)
    else:
        sizes = _split_deepspeed(estimate, shape, launch, trained)
    if launch.kind == "fsdp" and estimate.reference:
        sizes["whole_reference"] = number * shape.parameters
    if launch.kind == "deepspeed" and launch.stage == 3 and not settings.use_vllm:
        sizes["whole_policy"] = number * shape.parameters
    gathered = count_gathered(shape, launch, number) if launch.stage == 3 else 0
    moved = [*(["weights", "reference"] if launch.offloads_weights else [])]
    moved += ["optimizer", *(["gradients"] if launch.stage > 1 else [])] if launch.offloads_optimizer else []
    offloaded = sum(sizes[name] for name in moved)
    changes: dict[str, Any] = sizes | dict.fromkeys(moved, 0)
    return replace(estimate, casts=0, gathered=gathered, offloaded=offloaded, **changes)


def count_gathered(shape: ModelShape, launch: Launch, number: int) -> int:
    """Return the bytes of weights, and of their gradients, that are whole at one time; `number` of each."""
    if not launch.by_layer:
        return 2 * number * shape.parameters
    ends = shape.parameters - shape.layers * shape.layer_parameters
    return number * (3 * shape.layer_parameters + 2 * ends)


def _split_fsdp(estimate: MemoryEstimate, launch: Launch) -> dict[str, int]:
    names = ("weights", "reference", "optimizer", "gradients")
    return {name: -(-getattr(estimate, name) // launch.shards) for name in names}


def _split_deepspeed(estimate: MemoryEstimate, shape: ModelShape, launch: Launch, trained: int) -> dict[str, int]:
    number = HALF if launch.half else FLOAT
    parts = {stage: launch.shards if launch.stage >= stage else 1 for stage in (1, 2, 3)}
    master = FLOAT * trained if launch.half else 0
    adapter = trained if trained < shape.parameters else 0
    whole = {
        "weights": (number * (shape.parameters + adapter), 3),
        "reference": (number * shape.parameters if estimate.reference else 0, 3),
        "gradients": (number * trained, 2),
        "optimizer": (2 * FLOAT * trained + master, 1),
    }
    return {name: -(-size // parts[stage]) for name, (size, stage) in whole.items()}
