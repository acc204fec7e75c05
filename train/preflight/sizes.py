"""Which settings fit models of usual sizes on so many GPUs, by the estimate of `memory`: the table of the docs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from math import inf

from learnable.train.preflight.device import Device
from learnable.train.preflight.estimate import ModelShape
from learnable.train.preflight.memory import HALF, estimate_memory, judge_fit
from learnable.train.settings import TrainSettings

GIB = 1 << 30
GPU = Device("cuda", 80 * GIB)
GPUS = (1, 2, 4, 8, 16, 64)
VLLM_SHARE = 0.5  # of a GPU, while completions are generated
OFFLOADED = 4 * 5  # bytes a weight: itself, the reference's, the gradient and two states
PROMPT_TOKENS, COMPLETION_TOKENS, RANK = 512, 2048, 16
# Sizes in the config.json of Qwen2.5's models, which have biases too.
MODELS = {
    "0.5B": ModelShape(151936, 896, 24, 14, 2, 64, 4864, tied=True),
    "1.5B": ModelShape(151936, 1536, 28, 12, 2, 128, 8960, tied=True),
    "3B": ModelShape(151936, 2048, 36, 16, 2, 128, 11008, tied=True),
    "7B": ModelShape(152064, 3584, 28, 28, 4, 128, 18944, tied=False),
    "14B": ModelShape(152064, 5120, 48, 40, 8, 128, 13824, tied=False),
    "32B": ModelShape(152064, 5120, 64, 40, 8, 128, 27648, tied=False),
    "72B": ModelShape(152064, 8192, 80, 64, 8, 128, 29568, tied=False),
}
# From the plainest to what takes least memory: a name, a shipped config file, and whether adapters are trained.
WAYS = (
    ("copies", "", 0),
    ("FSDP2", "fsdp2", 0),
    ("FSDP2, offloaded", "fsdp2-offload", 0),
    ("LoRA", "", RANK),
    ("LoRA, FSDP2", "fsdp2", RANK),
    ("LoRA, FSDP2, offloaded", "fsdp2-offload", RANK),
)


def tabulate_sizes() -> Iterator[tuple[str, ...]]:
    """Yield a row a model: its size, and what fits on each number of GPUs."""
    for name, shape in MODELS.items():
        yield (name, *(describe_fit(shape, gpus) for gpus in GPUS))


def describe_fit(shape: ModelShape, gpus: int) -> str:
    """Return the first way that fits so many GPUs with its largest micro batch, and how vLLM is split; or `no`."""
    if not (split := split_vllm(shape, gpus)):
        return "no"
    for way, file, rank in WAYS:
        if (file and gpus == 1) or not (size := find_micro_batch(shape, gpus, file, rank)):
            continue
        return f"{way}, {size}" + (f", TP {split}" if split > 1 else "")
    return "no"


def split_vllm(shape: ModelShape, gpus: int) -> int:
    """Return over how many GPUs of a machine vLLM is split, so that weights take 70 % of its share; 0 if none do."""
    room = 0.7 * VLLM_SHARE * GPU.memory
    splits = (split for split in (1, 2, 4, 8) if split <= gpus and HALF * shape.parameters / split <= room)
    return next(splits, 0)


def find_micro_batch(shape: ModelShape, gpus: int, file: str, rank: int) -> int:
    """Return the most completions in a pass of one GPU that fit, of those of a step; 0 where one does not."""
    config = resources.files("learnable.train") / "accelerate_files" / f"{file}.yaml"
    settings = TrainSettings(
        curated="",
        output="",
        batch_size=128,
        num_processes=gpus,
        max_completion_length=COMPLETION_TOKENS,
        lora_rank=rank or None,
        use_vllm=True,
        accelerate_config=str(config) if file else "",
        trl={"vllm_enable_sleep_mode": True, "vllm_gpu_memory_utilization": VLLM_SHARE},
    )
    size: float = settings.step_size // gpus
    while size >= 1:
        smaller = replace(settings, micro_batch_size=int(size))
        if judge_fit(estimate_memory(shape, smaller, GPU, prompt_tokens=PROMPT_TOKENS, rank=rank), smaller) == "fits":
            return int(size)
        size = size / 2 if size > 1 else -inf
    return 0
