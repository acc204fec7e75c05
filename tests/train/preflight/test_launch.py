"""What a config file of accelerate's says, what is refused of it, and what sharding leaves of a run's memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from learnable.data.errors import LearnableError
from learnable.train.file_settings import check_file_settings
from learnable.train.preflight.device import Device
from learnable.train.preflight.launch import Launch, check_launch, fill_processes, find_launch, read_launch
from learnable.train.preflight.memory import estimate_memory, explain_fit, suggest_smaller
from learnable.train.settings import TrainSettings
from tests.support.paths import ROOT
from tests.train.preflight.test_memory import GPU, HOST, SETTINGS, SHAPE, estimate

SHIPPED = ROOT / "train" / "accelerate_files"
# The policy of `test_memory`: 172 weights, 128 of its one layer and 44 of the embeddings and the last norm.
GATHERED = 3 * 128 + 2 * 44  # layer in use, next layer, gradients of one; ends and their gradients


def write(folder: Path, name: str = "fsdp2", **changes: Any) -> str:
    """Write a shipped config file with other values, a table's merged into it."""
    config = yaml.safe_load((SHIPPED / f"{name}.yaml").read_text())
    for key, value in changes.items():
        config[key] = {**config.get(key, {}), **value} if isinstance(value, dict) else value
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(config))
    return str(file)


def settings(file: str, **changes: Any) -> TrainSettings:
    return replace(SETTINGS, accelerate_config=file, **changes)


def explained(device: Device, run: TrainSettings) -> str:
    found = estimate_memory(SHAPE, run, device, prompt_tokens=5, rank=0)
    return f"{explain_fit(found, run)}; {suggest_smaller(found, run)}"


def test_shipped_files_are_read() -> None:
    found = {file.stem: read_launch(settings(str(file))) for file in SHIPPED.glob("*.yaml")}
    shared = {"shards": 8, "stage": 3, "half": True, "by_layer": True}
    assert found == {
        "fsdp2": Launch("fsdp", 8, **shared),  # type: ignore[arg-type]
        "fsdp2-cpu": Launch("fsdp", 2, shards=2, stage=3, by_layer=True),
        "fsdp2-offload": Launch("fsdp", 8, offloads_weights=True, offloads_optimizer=True, **shared),  # type: ignore[arg-type]
        "zero3": Launch("deepspeed", 8, **shared),  # type: ignore[arg-type]
    }


def test_files_that_trl_ships_are_read_or_refused_for_what_they_lack() -> None:
    from importlib.resources import files

    theirs = {
        name: settings(str(files("trl") / "accelerate_configs" / f"{name}.yaml"), lora_rank=8)
        for name in ("multi_gpu", "single_gpu", "fsdp2", "zero1", "zero2", "zero3")
    }
    found = {name: read_launch(one) for name, one in theirs.items()}
    assert {name: launch.stage for name, launch in found.items()} == {
        "multi_gpu": 0, "single_gpu": 0, "fsdp2": 3, "zero1": 1, "zero2": 2, "zero3": 3,
    }  # fmt: skip
    with pytest.raises(LearnableError, match="fsdp_cpu_ram_efficient_loading is on"):
        read_launch(replace(theirs["fsdp2"], lora_rank=None))
    with pytest.raises(LearnableError, match="fsdp_version = 1: write 2"):
        read_launch(settings(str(files("trl") / "accelerate_configs" / "fsdp1.yaml")))


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("fsdp2", {"distributed_type": "XLA"}, "distributed_type = 'XLA' cannot train here: give one of NO, MULTI_CPU"),
        ("fsdp2", {"compute_environment": "AMAZON_SAGEMAKER"}, "compute_environment must be LOCAL_MACHINE"),
        ("fsdp2", {"num_processes": 0}, "num_processes = 0 is no number of 1 or more"),
        ("fsdp2", {"fsdp_config": {"fsdp_version": 1}}, "fsdp_version = 1: write 2"),
        (
            "fsdp2",
            {"fsdp_config": {"fsdp_cpu_ram_efficient_loading": "True"}},
            "policy and not of the reference",
        ),
        ("fsdp2", {"parallelism_config": {"parallelism_config_tp_size": 2}}, "parallelism_config.tp_size = 2 splits"),
        (
            "zero3",
            {"deepspeed_config": {"zero3_save_16bit_model": False}},
            "could be saved: write true",
        ),
        ("zero3", {"deepspeed_config": {"zero_stage": 4}}, "zero_stage = 4: write 0, 1, 2 or 3"),
        ("zero3", {"deepspeed_config": {"deepspeed_config_file": "x.json"}}, "is a second file, which is not read"),
    ],
)
def test_what_cannot_work_is_refused(tmp_path: Path, name: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        read_launch(settings(write(tmp_path, name, **changes)))


@pytest.mark.parametrize(
    ("text", "message"), [("a: [", "is no YAML"), ("- 1", "holds no keys"), (None, "cannot be read")]
)
def test_a_file_that_is_none_is_named(tmp_path: Path, text: str | None, message: str) -> None:
    file = tmp_path / "none.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(LearnableError, match=rf"none\.yaml {message}.*`accelerate config` writes one"):
        read_launch(settings(str(file)))


def test_the_file_says_how_many_processes_there_are(tmp_path: Path) -> None:
    shipped = settings(write(tmp_path))
    assert fill_processes(shipped).num_processes == 8
    assert fill_processes(SETTINGS) is SETTINGS
    with pytest.raises(LearnableError, match="`num_processes` 4 is not what"):
        fill_processes(replace(shipped, num_processes=4))
    planned = fill_processes(replace(shipped, num_processes=64), planned=True)
    assert planned.num_processes == 64
    assert find_launch(planned) == replace(read_launch(shipped), processes=64, shards=64)


def test_copies_of_shards_share_less(tmp_path: Path) -> None:
    several = {"parallelism_config_dp_shard_size": 4, "parallelism_config_dp_replicate_size": 2}
    assert read_launch(settings(write(tmp_path, parallelism_config=several))).shards == 4


def test_deepspeed_is_planned_for_and_not_started_where_it_is_not_installed() -> None:
    with pytest.raises(LearnableError, match="needs deepspeed, and it is not installed"):
        check_launch(settings(str(SHIPPED / "zero3.yaml")))
    check_launch(settings(str(SHIPPED / "fsdp2.yaml")))


def test_a_file_of_settings_names_no_launcher() -> None:
    values = {"accelerate_config": "theirs.yaml"}
    with pytest.raises(LearnableError, match=r"accelerate_config = 'theirs\.yaml' is a file that chooses hosts"):
        check_file_settings(values, "preset x")
    check_file_settings(values, "settings file x", values)


def test_fsdp_shards_weights_states_gradients_and_the_reference(tmp_path: Path) -> None:
    found = estimate(GPU, accelerate_config=write(tmp_path), num_processes=2)
    assert {
        name: found[name] for name in ("weights", "reference", "optimizer", "gradients", "gathered", "whole_reference")
    } == {
        "weights": 172 * 4 // 2,
        "reference": 172 * 4 // 2,
        "optimizer": 172 * 8 // 2,
        "gradients": 172 * 4 // 2,
        "gathered": 2 * GATHERED,
        "whole_reference": 2 * 172,
    }
    assert "casts" not in found
    alone = estimate(GPU, num_processes=2)
    # What a layer is given is kept in bf16, and not in the float32 of autocast: 16 tokens of 4 numbers.
    assert alone["activations"] - found["activations"] == 16 * 4 * 2


def test_what_is_offloaded_leaves_the_gpu(tmp_path: Path) -> None:
    file = write(tmp_path, fsdp_config={"fsdp_offload_params": True})
    found = estimate(GPU, accelerate_config=file, num_processes=2)
    assert not {"weights", "reference", "optimizer", "gradients", "offloaded"} & found.keys()
    run = settings(file, num_processes=2)
    whole = explained(GPU, run)
    assert f"and {(344 * 3 + 688) / (1 << 20):,.1f} MiB of the machine for each" in whole


def test_what_is_not_wrapped_by_layer_is_gathered_as_a_whole(tmp_path: Path) -> None:
    file = write(tmp_path, fsdp_config={"fsdp_auto_wrap_policy": "NO_WRAP"})
    assert estimate(GPU, accelerate_config=file, num_processes=2)["gathered"] == 2 * 2 * 172


def test_float32_over_cpus() -> None:
    found = estimate(HOST, accelerate_config=str(SHIPPED / "fsdp2-cpu.yaml"), num_processes=2)
    assert (found["gathered"], found["whole_reference"]) == (4 * GATHERED, 4 * 172)


@pytest.mark.parametrize(
    ("stage", "parts"),
    [(0, None), (1, (1, 1, 2)), (2, (1, 2, 2)), (3, (2, 2, 2))],
)
def test_stages_of_zero(tmp_path: Path, stage: int, parts: tuple[int, int, int] | None) -> None:
    """16 bytes a weight in all, as in section 3.1 of the paper: weights and gradients 2 each, the optimizer 12."""
    file = write(tmp_path, "zero3", deepspeed_config={"zero_stage": stage})
    found = estimate(GPU, accelerate_config=file, num_processes=2)
    if parts is None:
        assert (found["weights"], found["casts"]) == (172 * 4, 172 * 2)
        return
    weights, gradients, states = (size * 172 // part for size, part in zip((2, 2, 12), parts, strict=True))
    assert (found["weights"], found["gradients"], found["optimizer"]) == (weights, gradients, states)
    assert found.get("gathered") == (2 * GATHERED if stage == 3 else None)
    assert found.get("whole_policy") == (2 * 172 if stage == 3 else None)


def test_adapters_shard_too(tmp_path: Path) -> None:
    found = estimate(GPU, rank=2, accelerate_config=write(tmp_path), num_processes=2)
    assert found["weights"] == (172 * 2 + 116 * 4) // 2
    assert not {"reference", "whole_reference"} & found.keys()


def test_where_vllm_is_tells_what_it_takes() -> None:
    share = int((2 << 20) * 0.3)
    assert "vllm" not in estimate(GPU, use_vllm=True, trl={"vllm_mode": "server"})
    asleep = estimate(GPU, use_vllm=True, trl={"vllm_enable_sleep_mode": True})
    assert (asleep.get("vllm"), asleep["sleeping_vllm"]) == (None, share)


def test_several_gpus_that_share_nothing_are_told_to() -> None:
    large = Device("cuda", 3000)
    run = replace(SETTINGS, num_processes=2)
    assert "give an `accelerate_config` with FSDP2" in explained(large, run)
