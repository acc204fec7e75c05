from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from learnable.data.curated.manifest import Manifest
from learnable.data.errors import LearnableError
from learnable.data.policies import find_policy, read_context_length
from learnable.data.records import weights_id
from learnable.data.storage.weights import hash_folder


def model_folder(path: Path, weights: bytes = b"weights") -> Path:
    path.mkdir()
    (path / "config.json").write_text('{"max_position_embeddings": 128}')
    (path / "tokenizer.json").write_text("{}")
    (path / "model.safetensors").write_bytes(weights)
    return path


def test_the_id_follows_the_weights_and_not_the_place(tmp_path: Path) -> None:
    first = hash_folder(model_folder(tmp_path / "a"))
    assert hash_folder(model_folder(tmp_path / "b")) == first
    assert hash_folder(model_folder(tmp_path / "c", b"weightS")) != first
    (tmp_path / "a" / "tokenizer.json").write_text("[]")
    assert hash_folder(tmp_path / "a") != first


def test_a_verified_id_is_that_of_every_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = str(model_folder(tmp_path / "mine"))
    whole = find_policy(name).policy_id
    monkeypatch.setattr("learnable.data.storage.weights.WHOLE_BYTES", 0)
    assert find_policy(name, verify=True).policy_id == whole
    assert find_policy(name).policy_id.startswith("mine@sampled-")


def test_a_local_folder_is_found(tmp_path: Path) -> None:
    policy = find_policy(str(model_folder(tmp_path / "mine")))
    assert policy.policy_id.startswith("mine@")
    assert read_context_length(policy) == 128


def adapter_folder(path: Path, base: str, weights: bytes = b"adapter", **config: object) -> Path:
    path.mkdir()
    told = {"peft_type": "LORA", "base_model_name_or_path": base, "r": 8, **config}
    (path / "adapter_config.json").write_text(json.dumps(told))
    (path / "adapter_model.safetensors").write_bytes(weights)
    return path


def test_an_adapter_is_a_policy_with_the_ids_of_both(tmp_path: Path) -> None:
    base = find_policy(str(model_folder(tmp_path / "base")))
    policy = find_policy(str(adapter_folder(tmp_path / "one", str(tmp_path / "base"))))
    assert (policy.path, policy.adapter, policy.name) == (base.path, str(tmp_path / "one"), str(tmp_path / "one"))
    assert policy.policy_id.startswith(f"one@{weights_id(base.policy_id)}+")
    assert read_context_length(policy) == 128
    other = adapter_folder(tmp_path / "two", str(tmp_path / "base"), b"adapteR")
    model_folder(tmp_path / "moved", b"weightS")
    over_another = adapter_folder(tmp_path / "three", "../moved")
    ids = [weights_id(find_policy(str(folder)).policy_id) for folder in (tmp_path / "one", other, over_another)]
    assert len({*ids, weights_id(base.policy_id)}) == 4
    assert ids[0].partition("+")[2] == ids[2].partition("+")[2]  # where the base lies is no part of the adapter


def test_a_manifest_keeps_the_adapter(tmp_path: Path) -> None:
    model_folder(tmp_path / "base")
    policy = find_policy(str(adapter_folder(tmp_path / "one", str(tmp_path / "base"))))
    assert Manifest.from_json(Manifest(policy=policy).to_json()).policy == policy
    assert "adapter" not in Manifest(policy=find_policy(str(tmp_path / "base"))).to_json()["policy"]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"base_model_name_or_path": None}, "names no base model"),
        ({"base_model_name_or_path": "./nowhere"}, "does not exist"),
        ({"peft_type": "IA3"}, "of the kind 'IA3'"),
    ],
)
def test_an_adapter_that_cannot_be_used_is_named(tmp_path: Path, config: dict[str, object], message: str) -> None:
    model_folder(tmp_path / "base")
    folder = adapter_folder(tmp_path / "one", str(tmp_path / "base"), **config)
    with pytest.raises(LearnableError, match=message):
        find_policy(str(folder))


def test_an_adapter_without_weights_is_named(tmp_path: Path) -> None:
    model_folder(tmp_path / "base")
    adapter_folder(tmp_path / "one", str(tmp_path / "base")).joinpath("adapter_model.safetensors").unlink()
    with pytest.raises(LearnableError, match="has no weights: no adapter_model"):
        find_policy(str(tmp_path / "one"))


@pytest.mark.parametrize(
    ("name", "message"), [("nowhere", "does not exist"), ("bare", "no weights"), ("void", "no config")]
)
def test_what_is_no_policy_is_named(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "void").mkdir()
    model_folder(tmp_path / "bare").joinpath("model.safetensors").unlink()
    with pytest.raises(LearnableError, match=message):
        find_policy(str(tmp_path / name))


def test_a_hub_id_that_cannot_be_reached_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(LearnableError, match="'nobody/nothing' is neither a folder here nor a model on the hub"):
        find_policy("nobody/nothing")


@pytest.mark.parametrize(
    ("error", "said"), [(httpx.ConnectError("no route"), "no route"), (RuntimeError(), "RuntimeError")]
)
def test_a_hub_without_a_network_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception, said: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", fail)
    with pytest.raises(LearnableError, match=rf"nor a model on the hub: {said}$"):
        find_policy("nobody/nothing")
