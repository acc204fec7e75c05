"""Which policy is meant, and an identity that changes when its weights do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from learnable.data.errors import LearnableError
from learnable.data.records import weights_id
from learnable.data.storage.weights import ADAPTER_CONFIG, hash_adapter, hash_folder


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy ready to load: `path` is a local folder or a hub id, `policy_id` names these very weights.

    `adapter` is the folder of a LoRA adapter over the model at `path`, empty where there is none: the id is that of
    both.
    """

    path: str
    policy_id: str
    adapter: str = ""

    @property
    def name(self) -> str:
        """What a user calls it: the adapter's folder, or the model's folder or hub id."""
        return self.adapter or self.path

    @classmethod
    def from_json(cls, given: Mapping[str, str]) -> Policy:
        """Read what `to_json` wrote."""
        return cls(given.get("path", ""), given.get("policy_id", ""), given.get("adapter", ""))

    def to_json(self) -> dict[str, str]:
        """Return the policy as plain data, with its adapter where it has one."""
        plain = {"path": self.path, "policy_id": self.policy_id}
        return plain | ({"adapter": self.adapter} if self.adapter else {})


def bundled_policy_path() -> Path:
    """Return the folder of the small policy that this project trains and ships."""
    return Path(str(resources.files("learnable.data"))) / "policy"


def find_policy(name: str | None = None, *, verify: bool = False) -> Policy:
    """Resolve a local folder, a hub id, or None for the bundled policy; a folder may hold a LoRA adapter alone.

    A folder's id is a hash of what is in it (`hash_folder`), with `verify` of every byte whatever its size; that of a
    hub id is the commit. Raises `LearnableError` for a folder without weights or a name that is neither a folder nor on
    the hub.
    """
    folder = bundled_policy_path() if name is None else Path(name)
    if is_adapter(folder):
        return _find_adapter(folder, verify=verify)
    if folder.is_dir():
        hashed = hash_folder(folder, every_byte=verify)
        return Policy(path=str(folder.resolve()), policy_id=f"{folder.resolve().name}@{hashed}")
    if name is None or name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise LearnableError(f"policy {str(folder)!r} does not exist: give a folder with a model in it, or a hub id")
    return Policy(path=name, policy_id=f"{name}@{_hub_commit(name)}")


def is_adapter(folder: Path) -> bool:
    """Whether a folder holds an adapter, and no model of its own."""
    return (folder / ADAPTER_CONFIG).is_file() and not (folder / "config.json").is_file()


@dataclass(frozen=True, slots=True)
class AdapterConfig:
    """What an adapter says of itself: the folder or hub id of its base model, and its rank."""

    base: str
    rank: int


def read_adapter_config(folder: Path) -> AdapterConfig:
    """Return what an adapter says of itself.

    Raises `LearnableError` where it says no base model, is no LoRA, or would have a module imported.
    """
    file = folder / ADAPTER_CONFIG
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
        base, kind = config.get("base_model_name_or_path"), config.get("peft_type", "LORA")
        rank, imported = int(config.get("r") or 0), config.get("megatron_config") and config.get("megatron_core")
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise LearnableError(f"adapter {str(file)!r} cannot be read: {error}") from error
    if kind != "LORA":
        raise LearnableError(f"adapter {str(folder)!r} is of the kind {kind!r}: only LoRA is known; merge it instead")
    if imported:
        raise LearnableError(
            f"adapter {str(folder)!r} names a module to import (megatron_core = {imported!r}, with megatron_config), "
            f"and an adapter is data: set megatron_config to null in {ADAPTER_CONFIG}"
        )
    if not base:
        raise LearnableError(
            f"adapter {str(folder)!r} names no base model: add base_model_name_or_path to {ADAPTER_CONFIG}"
        )
    return AdapterConfig(str(base), rank)


def _find_adapter(folder: Path, *, verify: bool) -> Policy:
    base = read_adapter_config(folder).base
    beside = folder / base  # as it may stand in a folder that was moved with its base
    base_policy = find_policy(str(beside) if not Path(base).is_dir() and beside.is_dir() else base, verify=verify)
    both = f"{weights_id(base_policy.policy_id)}+{hash_adapter(folder)}"
    return Policy(base_policy.path, f"{folder.resolve().name}@{both}", adapter=str(folder.resolve()))


def read_context_length(policy: Policy) -> int | None:
    """Return the policy's longest context in tokens from its config, or None when it is not on this disk."""
    config = Path(policy.path) / "config.json"
    if not config.is_file():
        return None
    length = json.loads(config.read_text(encoding="utf-8")).get("max_position_embeddings")
    return int(length) if length else None


def _hub_commit(name: str) -> str:
    from huggingface_hub import HfApi, constants, try_to_load_from_cache

    try:
        if isinstance(cached := try_to_load_from_cache(name, "config.json") if _is_hub_id(name) else None, str):
            return Path(cached).parent.name[:16]  # snapshots/<commit>/config.json
        if not constants.HF_HUB_OFFLINE and (commit := HfApi().model_info(name, timeout=20).sha):
            return commit[:16]
        reason = "the hub is switched off by HF_HUB_OFFLINE and the model is not in the cache"
    except Exception as error:  # the hub's own kinds, and those of the transport that its client happens to use
        reason = (str(error).splitlines() or [type(error).__name__])[0]
    raise LearnableError(f"policy {name!r} is neither a folder here nor a model on the hub: {reason}")


def _is_hub_id(name: str) -> bool:
    return bool(name) and all(part and not part.startswith((".", "-")) for part in name.split("/"))
