from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from learnable.data.errors import LearnableError
from learnable.data.policies import find_policy, read_context_length
from learnable.data.weights import hash_folder


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
    monkeypatch.setattr("learnable.data.weights.WHOLE_BYTES", 0)
    assert find_policy(name, verify=True).policy_id == whole
    assert find_policy(name).policy_id.startswith("mine@sampled-")


def test_a_local_folder_is_found(tmp_path: Path) -> None:
    policy = find_policy(str(model_folder(tmp_path / "mine")))
    assert policy.policy_id.startswith("mine@")
    assert read_context_length(policy) == 128


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
