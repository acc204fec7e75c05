"""The memory of a run, by hand: a policy of 172 weights, so that each term can be added up on paper."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learnable.data.errors import LearnableError
from learnable.data.policies import Policy, bundled_policy_path
from learnable.train.preflight.device import Device
from learnable.train.preflight.estimate import ModelShape
from learnable.train.preflight.memory import (
    check_memory,
    estimate_memory,
    explain_memory,
    read_rank,
    read_shape,
    suggest_smaller,
)
from learnable.train.settings import TrainSettings

# 10 x 4 of the vocabulary; 16 + 8 + 8 + 16 of attention; 3 x 24 of the feed-forward part; 3 norms of 4.
SHAPE = ModelShape(10, hidden=4, layers=1, heads=2, kv_heads=1, head_size=2, feed_forward=6, tied=True)
HOST, GPU = Device("host", 1 << 20), Device("cuda", 2 << 20)
# 4 completions of at most 3 tokens after 5 of the prompt; 2 of them, 16 tokens, in a pass.
SETTINGS = TrainSettings(
    curated="c", output="o", num_generations=2, batch_size=4, micro_batch_size=2, max_completion_length=3
)


def estimate(device: Device, rank: int = 0, stored_tokens: int = 0, **changes: Any) -> dict[str, int]:
    settings = replace(SETTINGS, **changes)
    found = estimate_memory(SHAPE, settings, device, prompt_tokens=5, rank=rank, stored_tokens=stored_tokens)
    return {**found.list_terms(), "peak": found.peak}


def test_the_weights_are_counted() -> None:
    assert SHAPE.parameters == 172
    assert replace(SHAPE, tied=False).parameters == 212
    assert SHAPE.count_adapter(2) == 2 * (8 + 8 + 6 + 6 + 10 + 10 + 10)


def test_float32_on_this_machine() -> None:
    assert estimate(HOST) == {
        "weights": 172 * 4,
        "reference": 172 * 4,
        "optimizer": 172 * 8,
        "gradients": 172 * 4,
        "activations": 16 * (3 * 4 * 4 + 6 * 4 * 4 + 4 * 4 * (4 + 6)) + 4 * 2 * 8**2,  # 4,864 and masks of 512
        "logits": 9 * 16 * 10 * 4,  # 5,760
        "kv_cache": 3 * 2 * 4 * 4 * 8,  # 768
        "next_tokens": 4 * 4 * 4 * 10,  # 640
        "prefill": 4 * 5 * 4 * (2 * 2 + 4 * 6 + 2 * 4),  # 2,880
        "fragments": 5376 // 4 + 2880 * 4 // 5,
        "peak": 688 + 688 + 1376 + 688 + 5376 + 5760 + 5376 // 4 + 2880 * 4 // 5,
    }


def test_bf16_with_checkpoints_on_a_gpu() -> None:
    found = estimate(GPU)
    assert found["casts"] == 172 * 2
    layer = 16 * (6 * 4 * 4 + 4 * 2 * (4 + 6)) + 2 * 2 * 8**2
    assert found["activations"] == 16 * 3 * 4 * 4 + 16 * 4 * 4 + layer
    assert found["logits"] == 16 * 32768 * 2
    assert found["kv_cache"] == 3 * 2 * 2 * 4 * 8
    whole = estimate(GPU, trl={"gradient_checkpointing": False, "bf16": False})
    assert whole["activations"] == 5376
    assert "casts" not in whole


def test_adapters_need_no_reference_and_few_states() -> None:
    found = estimate(GPU, rank=2)
    assert found["weights"] == 172 * 2 + 116 * 4
    assert (found["optimizer"], found["gradients"]) == (116 * 8, 116 * 4)
    assert not {"reference", "casts"} & found.keys()
    per_token = 2 * 4 * 4 + 4 * 4 * 4 + 4 * (4 * (4 + 6) + 7 * 2)  # no normed values, and what first halves return
    assert estimate(HOST, rank=2)["activations"] == 16 * per_token + 4 * 2 * 8**2


def test_small_freed_blocks_are_fragments_on_this_machine_alone() -> None:
    assert "fragments" not in estimate(GPU)
    assert estimate(HOST, rank=2)["fragments"] == int(0.9 * estimate(HOST, rank=2)["activations"] + 0.8 * 2880)
    assert (
        estimate(HOST, method="sft", stored_tokens=7)["fragments"]
        == estimate(HOST, method="sft", stored_tokens=7)["activations"] // 4
    )
    tokens = 32 * 2**20 // (4 * 4)  # numbers of 4 bytes, 4 for each token: a block of 32 MiB
    assert "fragments" not in estimate(HOST, method="sft", micro_batch_size=1, batch_size=2, stored_tokens=tokens)
    assert "fragments" in estimate(HOST, method="sft", micro_batch_size=1, batch_size=2, stored_tokens=tokens - 1)


def test_no_kl_needs_no_reference() -> None:
    assert "reference" not in estimate(HOST, no_kl=True)


def test_vllm_takes_its_share_and_keeps_the_cache_in_it() -> None:
    found = estimate(GPU, use_vllm=True)
    assert found["vllm"] == int((2 << 20) * 0.3)
    assert not {"kv_cache", "next_tokens", "prefill"} & found.keys()
    assert estimate(GPU, use_vllm=True, trl={"vllm_gpu_memory_utilization": 0.5})["vllm"] == 1 << 20


def test_the_peak_is_of_the_wider_half() -> None:
    """Passes of one completion need little, a step of 4,000 much: to read its prompts, or for the cache of long texts.

    A prompt of 5 tokens takes 4 x 5 x 36 bytes; the cache of 5 + 95 tokens 3 x 2 x 4 x 100, and the next one 16 x 10.
    """
    many = estimate(HOST, batch_size=4000, micro_batch_size=1)
    assert many["peak"] == 688 + 688 + 1376 + 4000 * 720
    long = estimate(HOST, batch_size=4000, micro_batch_size=1, max_completion_length=95)
    assert long["peak"] == 688 + 688 + 1376 + 4000 * (2400 + 160)


def test_supervised_training_generates_nothing() -> None:
    found = estimate(HOST, method="sft", stored_tokens=7)
    assert not {"reference", "kv_cache", "next_tokens"} & found.keys()
    assert found["logits"] == 9 * 2 * 7 * 10 * 4  # two rows as long as they are stored, whatever the completion limit


def test_pairs_are_two_texts_each_beside_a_reference() -> None:
    """A pass of 2 pairs of texts of 6 tokens is one of 24 tokens; the completion limit is the evaluation's alone."""
    found = estimate(HOST, method="dpo", stored_tokens=6)
    assert found["activations"] == 24 * (3 * 4 * 4 + 6 * 4 * 4 + 4 * 4 * (4 + 6)) + 4 * 4 * 6**2
    assert found["reference"] == 688
    assert not {"kv_cache", "next_tokens", "prefill"} & found.keys()
    assert "reference" not in estimate(HOST, rank=2, method="dpo", stored_tokens=6)
    stored = {"precompute_ref_log_probs": True}
    assert "reference" not in estimate(HOST, method="dpo", stored_tokens=6, trl=stored)


def test_long_passes_have_no_wider_tiles_but_more_activations() -> None:
    once, twice = (estimate(GPU, batch_size=size, micro_batch_size=size) for size in (1024, 2048))
    assert once["logits"] == twice["logits"] == 4096 * 32768 * 2
    assert twice["activations"] == 2 * once["activations"]


def test_the_bundled_policy_has_as_many_weights_as_its_file() -> None:
    folder = bundled_policy_path()
    stored = 0
    for file in folder.glob("*.safetensors"):
        data = file.read_bytes()
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        for name, tensor in header.items():
            if name != "__metadata__":
                size = 1
                for length in tensor["shape"]:
                    size *= length
                stored += size
    shape = read_shape(Policy(str(folder), "bundled"))
    assert shape is not None
    assert shape.parameters == stored == 1_916_640


def test_what_is_not_known_is_not_estimated(tmp_path: Path) -> None:
    def read(config: dict[str, Any]) -> ModelShape | None:
        (tmp_path / "config.json").write_text(json.dumps(config))
        return read_shape(Policy(str(tmp_path), "x"))

    sizes = {
        "vocab_size": 10, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 6,
    }  # fmt: skip
    plain = ModelShape(10, 4, 1, heads=2, kv_heads=2, head_size=2, feed_forward=6, tied=True)
    assert read(sizes) == plain
    assert read(sizes | {"num_key_value_heads": 1}) == SHAPE
    assert read({"text_config": sizes, "tie_word_embeddings": False}) == replace(plain, tied=False)
    assert read({**sizes, "num_local_experts": 8}) is None
    assert read({"n_embd": 768}) is None
    assert read_shape(Policy("organisation/on-the-hub", "x")) is None


def test_the_rank_is_the_new_adapter_s_or_the_policy_s_own(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "b", "r": 8}))
    assert read_rank(SETTINGS, Policy("b", "b")) == 0
    assert read_rank(replace(SETTINGS, lora_rank=4), Policy("b", "b")) == 4
    assert read_rank(SETTINGS, Policy("b", "b", str(tmp_path))) == 8


def check(memory: int, **changes: Any) -> list[str]:
    """Check the run of 18,224 bytes, of which 3,440 are for weights, reference, optimizer and gradients."""
    settings = replace(SETTINGS, **changes)
    return check_memory(estimate_memory(SHAPE, settings, Device("host", memory), prompt_tokens=5, rank=0), settings)


def test_a_run_that_may_not_fit_is_warned_of_with_the_flag_that_helps() -> None:
    assert check(20_500) == []
    [warning] = check(19_000)  # within it, but for the room that is left
    assert warning.startswith("this run may not fit: it takes about")
    assert "logits" in warning
    assert warning.endswith("give `micro_batch_size` 1")
    [warning] = check(20_500, num_processes=2)
    assert "in each of 2 processes" in warning


def test_a_run_that_cannot_fit_is_refused_unless_something_is_offloaded() -> None:
    with pytest.raises(LearnableError, match=r"this run cannot fit.*weights, optimizer and gradients alone take"):
        check(3_000)
    assert check(3_440)[0].startswith("this run may not fit")
    assert check(3_000, trl={"optim": "adamw_8bit"})[0].startswith("this run may not fit")


def test_each_cause_has_its_own_way_out() -> None:
    def suggest(shape: ModelShape, **changes: Any) -> str:
        settings = replace(SETTINGS, **changes)
        return suggest_smaller(estimate_memory(shape, settings, HOST, prompt_tokens=5, rank=0), settings)

    large = replace(SHAPE, hidden=1000)
    assert suggest(large) == "give `lora_rank` 16, or train a smaller policy"
    assert suggest(large, lora_rank=4) == "train a smaller policy"
    assert suggest(SHAPE, batch_size=4000, micro_batch_size=1).startswith("give a `batch_size` below 4000")
    assert suggest(SHAPE, batch_size=30, micro_batch_size=15) == "give `micro_batch_size` 5"
    assert suggest(SHAPE, micro_batch_size=1) == "give a lower `max_completion_length`"


def test_the_largest_term_is_named_first() -> None:
    text = explain_memory(estimate_memory(SHAPE, SETTINGS, GPU, prompt_tokens=5, rank=0))
    assert text.startswith("it takes about 1.0 MiB of the GPU's 2.0 MiB (logits 1.0 MiB, ")
