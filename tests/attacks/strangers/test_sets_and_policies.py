"""Curated sets, and the policies and adapters that they name: manifest, shards, weights, tokenizers, templates."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import LearnableError
from learnable.data.policies import find_policy
from learnable.data.records import OWN_ARGUMENTS, Message, Prompt, Sampling
from learnable.rollouts.policy_tokens import PolicyTokens, encode_prompt, read_tokenizer
from learnable.train.preflight.checks import PreparedRun, prepare_run
from learnable.train.settings import TrainSettings
from tests.attacks.strangers.conftest import Command
from tests.attacks.strangers.planted import JINJA, MODULE, Trap, add_to, clean_environment, list_plantings

MakeCurated = Callable[..., Path]
MANIFEST: dict[str, Any] = {
    "format": 1,
    "parent": "v0001",
    "run_id": "x",
    "created": "x",
    "policy": {"path": "p", "policy_id": "p@1", "adapter": ""},
    "engine": "vllm",
    "sampling": {"stop": ["x"], "template_args": {"x": "x"}, "think_tags": "a b", "max_tokens": 3},
    "chat": {"system_prompt": "x"},
    "knobs": {"largest": "10"},
    "preset": {"name": "band"},
    "band": {"low": 0.2, "high": 0.8, "min_std": 0.0, "signal": "reward"},
    "effort": {"name": "x"},
    "truncated": "count",
    "verifiers": {"number": "1"},
    "conditions": {"programs": {"rung": "A"}},
    "parts": {"train": {"rows": 8, "sha256": {}}},
    "schema": {"prompt": "string"},
    "findings": [{"code": "x", "subject": "x", "forms": ["x"], "text": "x"}],
}


@pytest.fixture
def policy(trap: Trap, tiny_policy: Path) -> Path:
    """A copy of a policy, in the trap, for a stranger to change."""
    return Path(shutil.copytree(tiny_policy, trap.folder / "policy"))


def test_each_text_of_a_manifest_is_data(trap: Trap, make_curated: MakeCurated, run: Command) -> None:
    curated = make_curated()
    for place, planted in list_plantings(MANIFEST, trap.texts[1:5]):
        (curated / "manifest.json").write_text(json.dumps(planted))
        status, _ = run("train", "--curated", curated, "--explain")
        assert (status in (0, 2), trap.found) == (True, []), place
    for _, planted in list_plantings(MANIFEST, trap.texts[:1]):
        (curated / "manifest.json").write_text(json.dumps(planted))
        status, said = run("show", curated)
        assert (status in (0, 2), trap.found) == (True, []), said


@pytest.mark.parametrize("number", range(16))
def test_the_policy_of_a_manifest_is_a_folder_or_an_id(
    trap: Trap, make_curated: MakeCurated, number: int, run: Command
) -> None:
    text, curated = trap.texts[number], make_curated()
    for key in ("path", "adapter"):
        (curated / "manifest.json").write_text(json.dumps(MANIFEST | {"policy": {**MANIFEST["policy"], key: text}}))
        status, said = run("train", "--curated", curated, "--explain")
        assert (status, trap.found) == (2, []), said


def test_each_text_of_a_shard_is_data(trap: Trap, make_curated: MakeCurated, tiny_policy: Path, run: Command) -> None:
    rows = [
        Prompt(text, "number", {"answer": 1, "note": text}, family=text, form=text, source=text) for text in trap.texts
    ]
    columns = dict.fromkeys(("image", "images", "environment", "tools", "chat_template_kwargs"), trap.texts[0])
    curated = make_curated(tiny_policy, train=rows, columns=columns)
    run("show", curated, "--part", "train", "--limit", 0)
    assert run("train", "--curated", curated, "--no-evaluate", "--explain")[0] == 2  # longer than the policy's context
    names = set(_load_rows(curated).column_names)
    assert not {"image", "images"} & names  # TRL would open what they name


def _load_rows(curated: Path) -> Any:
    from learnable.train.trainers.prompts import make_dataset

    found = open_curated(curated)
    return make_dataset(found, found.read("train"))


@pytest.mark.parametrize("argument", sorted(OWN_ARGUMENTS))
def test_a_manifest_tells_a_template_nothing_but_its_own(
    trap: Trap, make_curated: MakeCurated, argument: str, run: Command
) -> None:
    curated = make_curated(sampling={"template_args": {argument: JINJA.format(marker=trap.markers / "x")}})
    status, said = run("train", "--curated", curated, "--explain")
    assert status == 2
    assert f"v0001': template argument '{argument}' is not the template's own" in said


def test_names_of_shards_lead_nowhere(trap: Trap, make_curated: MakeCurated) -> None:
    names = {"../../../trap/planted_module.py": "0", "/etc/passwd": "0"}
    curated = open_curated(make_curated(parts={"train": {"rows": 8, "sha256": names}}))
    assert curated.read("train").num_rows == 8  # what is read is what lies in the folder and has a shard's name
    assert all(shard.parent == curated.path for shard in curated.shards("train"))


def test_code_in_the_folder_of_a_policy_is_never_run(
    trap: Trap, policy: Path, make_curated: MakeCurated, run: Command
) -> None:
    trap.write_policy_code(policy)
    curated = make_curated(policy)
    status, said = run("train", "--curated", curated, "--no-evaluate", "--batch-size", "32", "--explain")
    assert status == 0, said
    PolicyTokens(find_policy(str(policy)), {})
    _load(prepare_run(_settings(curated, trap)))


def test_attention_of_a_policy_is_no_code_of_the_hub(trap: Trap, policy: Path, make_curated: MakeCurated) -> None:
    add_to(policy / "config.json", attn_implementation="org/kernel@main:attend")
    with pytest.raises(LearnableError, match=r"attn_implementation = 'org/kernel@main:attend' .* remove the key"):
        _load(prepare_run(_settings(make_curated(policy), trap)))


@pytest.mark.parametrize("architecture", ["Planted", "AutoModelForCausalLM"])
def test_a_policy_of_code_alone_is_refused_and_nobody_is_asked(
    trap: Trap, policy: Path, make_curated: MakeCurated, architecture: str
) -> None:
    trap.write_policy_code(policy)
    add_to(policy / "config.json", architectures=[architecture], model_type="planted")
    with pytest.raises(LearnableError, match="cannot be read"):
        PolicyTokens(find_policy(str(policy)), {})
    with pytest.raises(ValueError, match=r"trust_remote_code|custom code"):
        _load(prepare_run(_settings(make_curated(policy), trap)))


def test_pickled_weights_are_read_as_numbers_alone(trap: Trap, policy: Path, make_curated: MakeCurated) -> None:
    (policy / "model.safetensors").unlink()
    (policy / "pytorch_model.bin").write_bytes(trap.pickle)
    with pytest.raises(Exception, match=r"[Ww]eights.only|Unsupported|pickle|checkpoint"):
        _load(prepare_run(_settings(make_curated(policy), trap)))


def test_a_template_of_a_policy_stays_in_its_sandbox(trap: Trap, policy: Path) -> None:
    marker = trap.markers / "template"
    names = ("cycler.__init__", "lipsum", "namespace.__init__", "raise_exception", "messages.__class__.__init__")
    for name in names:
        (policy / "chat_template.jinja").write_text(
            f"{{% for m in messages %}}{{{{ {name}.__globals__['os'].system('touch {marker}') }}}}{{% endfor %}}"
        )
        prompt = Prompt((Message("user", "1"),), "number", {"answer": 1}, family="x", form="x")
        with pytest.raises(Exception, match=r"unsafe|undefined|no attribute|callable"):
            encode_prompt(read_tokenizer(str(policy)), prompt)


def test_an_adapter_names_no_module(trap: Trap, tiny_policy: Path, run: Command, make_curated: MakeCurated) -> None:
    adapter = trap.folder / "adapter"
    adapter.mkdir()
    config = {"peft_type": "LORA", "r": 2, "base_model_name_or_path": str(tiny_policy), "target_modules": ["q_proj"]}
    planted = {**config, "megatron_config": {"x": 1}, "megatron_core": MODULE}
    (adapter / "adapter_config.json").write_text(json.dumps(planted))
    (adapter / "adapter_model.bin").write_bytes(trap.pickle)
    status, said = run("train", "--curated", make_curated(policy=None), "--policy", adapter, "--explain")
    assert status == 2
    assert f"names a module to import (megatron_core = '{MODULE}', with megatron_config)" in said
    assert "set megatron_config to null in adapter_config.json" in said
    usual = {**config, "megatron_config": None, "megatron_core": "megatron.core"}  # as PEFT writes it
    (adapter / "adapter_config.json").write_text(json.dumps(usual))
    assert find_policy(str(adapter)).adapter == str(adapter)


def test_pickled_adapters_are_read_as_numbers_alone(trap: Trap, tiny_policy: Path, make_curated: MakeCurated) -> None:
    adapter = trap.folder / "adapter"
    adapter.mkdir()
    config = {"peft_type": "LORA", "r": 2, "base_model_name_or_path": str(tiny_policy), "target_modules": ["q_proj"]}
    (adapter / "adapter_config.json").write_text(json.dumps(config | {"auto_mapping": {"parent_library": MODULE}}))
    (adapter / "adapter_model.bin").write_bytes(trap.pickle)
    settings = replace(_settings(make_curated(policy=None), trap), policy=str(adapter))
    with pytest.raises(Exception, match=r"[Ww]eights.only|Unsupported"):
        _load(prepare_run(settings))


def _settings(curated: Path, trap: Trap) -> TrainSettings:
    output = str(trap.folder / "run")
    return TrainSettings(
        curated=str(curated), output=output, batch_size=32, num_generations=8, steps=4, max_completion_length=3
    )


def _load(run: PreparedRun) -> Any:
    from learnable.train.trainers.trainer import load_policy

    return load_policy(run, "float32")


@pytest.mark.e2e
def test_a_training_in_a_strangers_folder_runs_none_of_its_modules(
    trap: Trap, policy: Path, make_curated: MakeCurated
) -> None:
    trap.write_policy_code(policy)
    curated = make_curated(policy)
    trap.shadow_libraries()
    sizes = ["--steps", "1", "--batch-size", "16", "--num-generations", "2", "--eval-group-size", "2", "--eval-k", "1"]
    arguments = ["train", "--curated", str(curated), "--output", "run", *sizes]
    start = "from learnable.cli.app import main; main()"
    command = [sys.executable, "-P", "-c", start, *arguments]
    ran = subprocess.run(command, env=clean_environment(trap), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (trap.folder / "run" / "report.json").is_file()


def test_what_engines_set_is_no_argument_of_a_template() -> None:
    with pytest.raises(LearnableError, match="'chat_template' is not the template's own"):
        Sampling(template_args={"chat_template": "x"})
