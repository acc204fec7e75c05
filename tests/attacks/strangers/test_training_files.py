"""Presets, ablations, rules of a monitor and folders of runs: what they set of a training is plain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from learnable.data.errors import LearnableError
from learnable.train.ablation.planning import read_ablation
from learnable.train.file_settings import check_file_settings
from learnable.train.monitor.rules import read_rules
from learnable.train.presets import find_train_preset, list_train_presets
from tests.attacks.strangers.conftest import Command
from tests.attacks.strangers.planted import MODULE, Trap, list_plantings, write_toml

OPENING: list[tuple[str, str, Any]] = [
    ("engine_options", "trust_remote_code", True),
    ("engine_options", "worker_cls", f"{MODULE}.Worker"),
    ("engine_options", "worker_extension_cls", f"{MODULE}.Worker"),
    ("engine_options", "scheduler_cls", f"{MODULE}.Worker"),
    ("engine_options", "logits_processors", [f"{MODULE}:Worker"]),
    ("engine_options", "distributed_executor_backend", f"{MODULE}.Worker"),
    ("engine_options", "reasoning_parser_plugin", f"{MODULE}.py"),
    ("engine_options", "io_processor_plugin", MODULE),
    ("engine_options", "hf_overrides", {"auto_map": {"AutoConfig": f"{MODULE}.Worker"}}),
    ("engine_options", "kv_transfer_config", {"kv_connector_module_path": MODULE}),
    ("engine_options", "compilation_config", {"backend": f"{MODULE}.Worker"}),
    ("engine_options", "speculative_config", {"method": "custom_class", "model": f"{MODULE}.Worker"}),
    ("engine_options", "otlp_traces_endpoint", "http://127.0.0.1:9"),
    ("engine_options", "download_dir", "/tmp/elsewhere"),
    ("engine_options", "tokenizer", "org/name"),
    ("engine_options", "hf_token", True),
    ("trl", "trust_remote_code", True),
    ("trl", "model_init_kwargs", {"trust_remote_code": True}),
    ("trl", "generation_kwargs", {"custom_generate": "org/name", "trust_remote_code": True}),
    ("trl", "chat_template_path", "/tmp/template.jinja"),
    ("trl", "deepspeed", "/tmp/deepspeed.json"),
    ("trl", "fsdp_config", {"transformer_layer_cls_to_wrap": [f"{MODULE}.Worker"]}),
    ("trl", "push_to_hub", True),
    ("trl", "hub_model_id", "org/name"),
    ("trl", "hub_token", "x"),
    ("trl", "vllm_mode", "server"),
    ("trl", "vllm_server_base_url", "http://127.0.0.1:9"),
    ("trl", "vllm_server_port", 9),
    ("trl", "log_completions_hub_repo", "org/name"),
    ("trl", "trackio_space_id", "org/name"),
    ("trl", "torch_compile_backend", MODULE),
    ("trl", "logging_dir", "/tmp/elsewhere"),
]
PLAIN: list[tuple[str, str, Any]] = [
    ("engine_options", "max_model_len", 512),
    ("engine_options", "gpu_memory_utilization", 0.5),
    ("engine_options", "enforce_eager", True),
    ("engine_options", "dtype", "float16"),
    ("trl", "epsilon_high", 0.28),
    ("trl", "mask_truncated_completions", True),
    ("trl", "lr_scheduler_type", "cosine"),
    ("trl", "lr_scheduler_kwargs", {"min_lr_rate": 0.1}),
    ("trl", "reward_weights", [1.0]),
]


def _write_preset(trap: Trap, key: str, name: str, value: Any) -> Path:
    file = trap.folder / "preset.toml"
    text = f"[settings]\n{write_toml({key: {'value': {name: value}, 'why': 'faster'}})}"
    file.write_text(text)
    return file


def _write_ablation(trap: Trap, key: str, name: str, value: Any) -> Path:
    file = trap.folder / "ablation.toml"
    file.write_text(f'[base]\ncurated = "set"\n[[run]]\nname = "one"\n{write_toml({key: {name: value}})}')
    return file


@pytest.mark.parametrize(("key", "name", "value"), OPENING)
def test_what_opens_code_or_a_host_is_no_setting_of_a_file(trap: Trap, key: str, name: str, value: Any) -> None:
    said = rf"{key}\.{name} = .* a file is data: .* `{key}` {name}="
    with pytest.raises(LearnableError, match=rf"preset.toml: {said}"):
        find_train_preset(str(_write_preset(trap, key, name, value)))
    with pytest.raises(LearnableError, match=rf"ablation.toml: run 'one': {said}"):
        read_ablation(str(_write_ablation(trap, key, name, value)))
    file = trap.folder / "ablation.toml"
    file.write_text(f'[base]\ncurated = "set"\n{write_toml({key: {name: value}})}')
    with pytest.raises(LearnableError, match=rf"ablation.toml: \[base\]: {said}"):
        read_ablation(str(file))


@pytest.mark.parametrize(("key", "name", "value"), PLAIN)
def test_what_is_plain_is_a_setting_of_a_file(trap: Trap, key: str, name: str, value: Any) -> None:
    assert find_train_preset(str(_write_preset(trap, key, name, value))).values[key] == {name: value}
    (variant,) = read_ablation(str(_write_ablation(trap, key, name, value))).variants
    assert getattr(variant.settings, key) == {name: value}


def test_what_is_shipped_keeps_the_rule() -> None:
    assert all(find_train_preset(name).values for name in list_train_presets())


@pytest.mark.parametrize("place", ["s3://bucket/set", "reference::/tmp/x.json", "http://127.0.0.1:9/set"])
def test_a_set_elsewhere_is_typed(trap: Trap, place: str) -> None:
    file = trap.folder / "ablation.toml"
    file.write_text(f'[base]\ncurated = "{place}"\n')
    with pytest.raises(LearnableError, match=r"is no folder here: type it, as `curated`"):
        read_ablation(str(file))
    assert read_ablation(str(file), place).variants[0].settings.curated == place


def test_a_tracker_that_sends_figures_away_is_typed(trap: Trap) -> None:
    file = trap.folder / "ablation.toml"
    for tracker, sends in (("wandb", True), ("all", True), ("tensorboard", False)):
        file.write_text(f'[base]\ncurated = "set"\nreport_to = "{tracker}"\n')
        if not sends:
            assert read_ablation(str(file)).variants[0].settings.report_to == tracker
            continue
        with pytest.raises(LearnableError, match=rf"report_to = '{tracker}' sends figures away: .*`report_to`"):
            read_ablation(str(file))


def test_whoever_goes_on_with_a_run_types_what_opens_code_again(trap: Trap, run: Command) -> None:
    folder = trap.folder / "run"
    folder.mkdir()
    saved = {"curated": "set", "output": str(folder), "trl": {"model_init_kwargs": {"trust_remote_code": True}}}
    (folder / "settings.json").write_text(json.dumps(saved))
    status, said = run("train", "--curated", "set", "--output", folder, "--resume")
    assert status == 2
    assert "settings.json': trl.model_init_kwargs = {'trust_remote_code': True} may choose code" in said
    typed = ("--trl", 'model_init_kwargs={"trust_remote_code": true}')
    status, said = run("train", "--curated", "set", "--output", folder, "--resume", *typed)
    assert (status, "curated set 'set' does not exist" in said) == (2, True)


def test_each_text_of_an_ablation_is_data(trap: Trap, run: Command) -> None:
    document = {
        "title": "x",
        "base": {
            "curated": "set",
            "policy": "p",
            "monitor": "m",
            "report_to": "none",
            "part": "train",
            "chat_template_kwargs": {"chat_template": "x"},
            "think_tags": "a b",
            "stop": ["x"],
            "families": ["poetry"],
            "trl": {"run_name": "x"},
            "engine_options": {"dtype": "float32"},
        },
        "run": [{"name": "one", "curated": "other", "made_by": "x", "preset": "usual"}],
    }
    file = trap.folder / "ablation.toml"
    for place, planted in list_plantings(document, trap.texts):
        file.write_text(write_toml(planted))
        status, _ = run("ablate", file, "--output", trap.folder / "runs", "--dry-run")
        assert (status, trap.found) == (2, []), place


@pytest.mark.parametrize(
    "says", ["{name.__class__}", "{value.real}", "{value:999999999}", "{value:{limit}}", "{limit[0]}", "{other}"]
)
def test_the_words_of_an_alarm_reach_into_nothing(trap: Trap, says: str) -> None:
    file = trap.folder / "monitor.toml"
    file.write_text(f"[rules.mine]\nmetric = 'reward'\nlasts = 1\nbelow = 0.5\nsays = {json.dumps(says)}\n")
    with pytest.raises(LearnableError, match=r"monitor.toml: rule mine: says = .* cannot be filled in"):
        read_rules(str(file))


def test_settings_that_are_no_table_are_left_to_the_check_of_types() -> None:
    check_file_settings({"trl": "x", "engine_options": None}, "file")
