"""How much memory a training run takes at its widest, term by term, from the policy's config and the settings alone.

Bytes of one process, P parameters, T of them trained (P, or the A of LoRA adapters), w bytes of a weight (4, or 2 where
adapters train over bf16), a bytes of an activation (2 under bf16 on CUDA, else 4), R rows in one pass (the micro
batch, under DPO twice that) of W tokens each (the longest prompt plus the completion limit; of stored completions the
longest with its prompt), N = R W of them in all, B completions of a step:

    weights      P w + 4 A
    reference    P w                       the policy as it was, where beta > 0 and every weight is trained
    optimizer    8 T                       AdamW: two float32 states
    vllm         its share of the GPU      with --use-vllm, in place of the last three
    gradients    4 T
    casts        2 P                       autocast's bf16 copies of float32 weights
    activations  12 h N + L (N (24 h + a (4 q + 4 f)) + a R W^2)
                                            of L layers without checkpointing; with it L N h w, and one layer
    logits       one tile of 4,096 tokens x 32,768 words on CUDA; nine float32 ones of the vocabulary elsewhere
    kv_cache     (2 L + 1) k a B W         it grows by copies: the keys of one layer are there twice
    next_tokens  16 B V                    float32 logits of the next token, and the copies that sampling makes
    prefill      B Q a (2 L k + 4 f + 2 h) while prompts of Q tokens are read: their cache, and the last layer
    fragments    on a CPU: .25 of the activations (.9 with adapters), and .8 of what generation takes

h: hidden size, q and k: widths of queries and of keys, f: width of the feed-forward part, V: vocabulary. Generation and
the gradient step do not overlap, so the peak is what stays (the first four) plus the wider of the two. A layer keeps
for its backward pass the input, the normed and the scaled values of both norms in float32 (6 h); queries, keys, values
(repeated for each head) and what attention made of them (4 q); gate, its SiLU, up and their product (4 f); and the
mask of padded rows, which each layer turns into numbers of its own. The last norm is a third one. Where adapters of
rank r train, the norms' own weights do not, and their normed values are not kept (16 h and 8 h); the seven linear
layers keep what their first halves return (7 r a). That is the count of Korthikanti et al. 2022, arXiv:2205.05198,
section 4, made anew for RMSNorm and gated layers, without dropout and with attention that keeps no matrix of scores.
The tile is that of TRL's fused head. `fragments` are freed blocks below 32 MiB that glibc holds and cannot use again,
as measured on the bundled policy by `python -m benchmarks.memory`; larger ones it returns, so a policy whose smallest
activations are larger has none. `sharding` says what is left of these terms where processes share weights, as the file
of `accelerate_config` has it. TRL's vLLM in another process (`vllm_mode` server) takes nothing here, one that sleeps
(`vllm_enable_sleep_mode`) takes its share while completions are generated. Not counted: the runtime (on a GPU some 0.5
GiB), and what an allocator of a GPU keeps. Of mixtures of experts no estimate is made.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from learnable.data.errors import LearnableError
from learnable.data.policies import Policy, read_adapter_config
from learnable.train.preflight.device import Device
from learnable.train.preflight.estimate import MemoryEstimate, ModelShape, PassShape
from learnable.train.preflight.launch import Launch, find_launch
from learnable.train.preflight.sharding import shard
from learnable.train.settings import TrainSettings

FLOAT, HALF = 4, 2  # bytes


def read_shape(policy: Policy) -> ModelShape | None:
    """Return the sizes of a policy on this disk, as its config names them.

    None for a policy that is not here, whose config lacks one of them, or whose layers are shared among experts.
    """
    file = Path(policy.path) / "config.json"
    return _parse_shape(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else None


def _parse_shape(config: Mapping[str, Any]) -> ModelShape | None:
    text = config.get("text_config") or config
    names = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    if any(not text.get(name) for name in names) or any("experts" in name for name in text):
        return None
    vocabulary, hidden, layers, heads, feed_forward = (int(text[name]) for name in names)
    return ModelShape(
        vocabulary,
        hidden,
        layers,
        heads,
        kv_heads=int(text.get("num_key_value_heads") or heads),
        head_size=int(text.get("head_dim") or hidden // heads),
        feed_forward=feed_forward,
        # transformers leaves out what is its own default, as Gemma's files do
        tied=bool(text.get("tie_word_embeddings", config.get("tie_word_embeddings", True))),
    )


def read_rank(settings: TrainSettings, policy: Policy) -> int:
    """Return the rank of the adapter that is trained, the new one's or the policy's own; 0 where every weight is."""
    return read_adapter_config(Path(policy.adapter)).rank if policy.adapter else settings.lora_rank or 0


def estimate_memory(
    shape: ModelShape, settings: TrainSettings, device: Device, *, prompt_tokens: int, rank: int, stored_tokens: int = 0
) -> MemoryEstimate:
    """Estimate the memory of one process of a run whose batch size is filled in.

    Args:
        shape: the policy's.
        settings: the run's.
        device: where it trains.
        prompt_tokens: of the longest prompt.
        rank: of the adapter that is trained, 0 where every weight is.
        stored_tokens: under SFT and DPO, of the longest completion of the set with its prompt.
    """
    launch = find_launch(settings)
    half = bool(settings.trl.get("bf16", launch.half if launch else device.kind == "cuda"))
    weight, activation = HALF if rank and half else FLOAT, HALF if half else FLOAT
    adapter = shape.count_adapter(rank) if rank else 0
    trained = adapter or shape.parameters
    passed = find_pass(settings, prompt_tokens, stored_tokens)
    refers = settings.method != "sft" and settings.kl_weight and not settings.trl.get("precompute_ref_log_probs")
    kept = activation if launch and launch.kind != "copies" else weight
    checkpoint = kept if _has_checkpoints(settings, device, launch) else None
    estimate = MemoryEstimate(
        device=device,
        processes=settings.num_processes if device.kind == "host" else 1,
        weights=shape.parameters * weight + adapter * FLOAT,
        reference=shape.parameters * weight if refers and not rank else 0,
        optimizer=2 * FLOAT * trained,
        **_share_of_vllm(settings, device),
        gradients=FLOAT * trained,
        casts=HALF * shape.parameters if half and not rank else 0,
        activations=count_activations(shape, passed, rank=rank, activation=activation, checkpoint=checkpoint),
        logits=count_logits(shape, device, passed.tokens, activation),
        **count_generation(shape, settings, prompt_tokens, activation),
    )
    if launch:
        estimate = shard(estimate, shape, launch, settings, trained=trained)
    return replace(estimate, fragments=count_fragments(estimate, passed.tokens * shape.hidden * FLOAT, rank))


def find_pass(settings: TrainSettings, prompt_tokens: int, stored_tokens: int) -> PassShape:
    """Return what goes through the policy at once, tokens counted as in `estimate_memory`."""
    completions = settings.step_size // settings.num_processes
    rows = min(settings.micro_batch_size or completions, completions)
    width = stored_tokens or prompt_tokens + settings.sampling.max_tokens
    return PassShape(2 * rows if settings.method == "dpo" else rows, width)


def count_generation(shape: ModelShape, settings: TrainSettings, prompt_tokens: int, activation: int) -> dict[str, int]:
    """Return the terms, in bytes, of generating a step's completions in the trainer's own process; 0 where it has none.

    `activation` is bytes of one number.
    """
    generates = settings.method == "grpo" and not settings.use_vllm
    samples = settings.step_size // settings.num_processes if generates else 0
    width = prompt_tokens + settings.sampling.max_tokens
    return {
        "kv_cache": (2 * shape.layers + 1) * shape.key_width * activation * samples * width,
        # Logits, scores, probabilities, and the sorted ones of top-k or top-p.
        "next_tokens": 4 * FLOAT * samples * shape.vocabulary,
        "prefill": samples * prompt_tokens * activation * count_prefill(shape),
    }


def _has_checkpoints(settings: TrainSettings, device: Device, launch: Launch | None) -> bool:
    usual = device.kind == "cuda" or bool(launch and launch.checkpoints)
    return bool(settings.trl.get("gradient_checkpointing", usual))


def count_activations(
    shape: ModelShape, passed: PassShape, *, rank: int, activation: int, checkpoint: int | None
) -> int:
    """Return the bytes kept for the backward pass.

    Args:
        shape: the policy's.
        passed: what goes through it.
        rank: of the adapter that is trained, 0 where every weight is.
        activation: bytes of one number.
        checkpoint: bytes of each number between layers, where gradient checkpointing keeps these alone.
    """
    norm = (2 if rank else 3) * FLOAT * shape.hidden
    # Adapters stand beside seven linear layers: queries, keys, values and output; gate, up and down.
    inner = 4 * (shape.query_width + shape.feed_forward) + 7 * rank
    layer = passed.tokens * (2 * norm + activation * inner) + activation * passed.rows * passed.width**2
    if checkpoint:
        return passed.tokens * (norm + shape.layers * shape.hidden * checkpoint) + layer
    return passed.tokens * norm + shape.layers * layer


def count_prefill(shape: ModelShape) -> int:
    """Return the numbers kept for a token of a prompt while the last layer reads it, without gradients."""
    return 2 * shape.layers * shape.key_width + 4 * shape.feed_forward + 2 * shape.hidden


def count_logits(shape: ModelShape, device: Device, tokens: int, activation: int) -> int:
    """Return the bytes of the fused head's tiles, which never hold the logits of a whole pass."""
    # A tile of TRL's fused head (trl/kernels/chunked_logprob.py, trl/trainer/utils.py) has so many tokens and words.
    rows, words = min(tokens, 4096), 32768
    if device.kind == "cuda":
        return rows * words * activation
    # Nine: the tile, and the float32 temporaries of `_backward_tile` in the same file that live at once.
    return 9 * rows * min(shape.vocabulary, words) * FLOAT


def count_fragments(rest: MemoryEstimate, block: int, rank: int) -> int:
    """Return the bytes of freed blocks that glibc holds and cannot use again.

    Args:
        rest: everything else of the run.
        block: bytes of a layer's input, the smallest of the activations.
        rank: of the adapter that is trained, 0 where every weight is.
    """
    returned = 32 << 20  # bytes: glibc's DEFAULT_MMAP_THRESHOLD_MAX, from which on blocks are returned at once
    if rest.device.kind == "cuda" or block >= returned:
        return 0
    share = 0.9 if rank else 0.25  # of freed memory, as .8 below: fitted to 22 runs
    return int(share * rest.activations + 0.8 * rest.generating)


def _share_of_vllm(settings: TrainSettings, device: Device) -> dict[str, int]:
    share = settings.trl.get("vllm_gpu_memory_utilization", 0.3)  # TRL's default
    is_here = settings.use_vllm and settings.trl.get("vllm_mode") != "server"
    size = int(device.memory * share) if is_here and isinstance(share, int | float) else 0
    return {"vllm": 0, "sleeping_vllm": size} if settings.trl.get("vllm_enable_sleep_mode") else {"vllm": size}


Fit = Literal["fits", "may not fit", "cannot fit"]


def judge_fit(estimate: MemoryEstimate, settings: TrainSettings) -> Fit:
    """Return whether a run fits its device: not where what no micro batch does without is too much for it."""
    memory = estimate.device.memory
    may_offload = any(name in settings.trl for name in ("optim", "deepspeed", "fsdp", "fsdp_config"))
    if estimate.required * estimate.processes > memory and not may_offload:
        return "cannot fit"
    # A tenth of a device is for the runtime and for fragments.
    return "fits" if estimate.peak * estimate.processes <= 0.9 * memory else "may not fit"


def explain_fit(estimate: MemoryEstimate, settings: TrainSettings) -> str:
    """Return whether a run fits GPUs that need not be here, one process on each, and if not, what would help."""
    fit, gpus = judge_fit(estimate, settings), settings.num_processes
    memory = show_size(estimate.device.memory)
    where = f"{gpus} GPUs of {memory}" if gpus > 1 else f"a GPU of {memory}"
    each = " of each" if gpus > 1 else ""
    terms = ", ".join(f"{name.replace('_', ' ')} {show_size(size)}" for name, size in estimate.list_terms().items())
    helped = "" if fit == "fits" else f"; {suggest_smaller(estimate, settings)}"
    aside = f", and {show_size(estimate.offloaded)} of the machine for each" if estimate.offloaded else ""
    return f"{where}: the run {fit}, it takes about {show_size(estimate.peak)}{each} ({terms}){aside}{helped}"


def check_memory(estimate: MemoryEstimate, settings: TrainSettings) -> list[str]:
    """Warn of a run whose peak leaves its device no room.

    Raises `LearnableError` where even the smallest micro batch would not fit.
    """
    fit = judge_fit(estimate, settings)
    if fit == "cannot fit":
        required = estimate.required * estimate.processes
        raise LearnableError(
            f"this run cannot fit: {explain_memory(estimate)}; weights, optimizer and gradients alone take "
            f"{show_size(required)}: {suggest_smaller(estimate, settings)}"
        )
    if fit == "fits":
        return []
    return [f"this run may not fit: {explain_memory(estimate)}: {suggest_smaller(estimate, settings)}"]


def explain_memory(estimate: MemoryEstimate) -> str:
    """Return the estimate as a phrase, with its terms."""
    terms = ", ".join(f"{name.replace('_', ' ')} {show_size(size)}" for name, size in estimate.list_terms().items())
    where = "the GPU" if estimate.device.kind == "cuda" else "this machine"
    times = f" in each of {estimate.processes} processes" if estimate.processes > 1 else ""
    memory = show_size(estimate.device.memory)
    return f"it takes about {show_size(estimate.peak)}{times} of {where}'s {memory} ({terms})"


def suggest_smaller(estimate: MemoryEstimate, settings: TrainSettings) -> str:
    """Return the flag that takes most off the peak."""
    widest = max(estimate.required, estimate.activations + estimate.logits, estimate.generating)
    if widest == estimate.required or estimate.required * estimate.processes > estimate.device.memory:
        if settings.num_processes > 1 and estimate.device.kind == "cuda" and not settings.accelerate_config:
            return "share weights and optimizer among the GPUs: give an `accelerate_config` with FSDP2"
        smaller = "train a smaller policy"
        return smaller if settings.lora_rank else f"give `lora_rank` 16, or {smaller}"
    if widest == estimate.generating:
        return f"give a `batch_size` below {settings.step_size}, or a lower `max_completion_length`"
    passes = settings.micro_batch_size or settings.step_size // settings.num_processes
    if passes > 1:
        half = next(size for size in range(passes // 2, 0, -1) if passes % size == 0)
        return f"give `micro_batch_size` {half}"
    return "give a lower `max_completion_length`"


def show_size(size: float) -> str:
    """Return bytes as people read them.

    >>> show_size(3 << 30), show_size(5_000_000)
    ('3.0 GiB', '4.8 MiB')
    """
    return f"{size / (1 << 30):,.1f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):,.1f} MiB"
