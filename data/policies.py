"""Which policy is meant, and an identity that changes when its weights do."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from learnable.data.errors import LearnableError

SAMPLED_BLOCKS = 16  # per weight file: hashing 140 GB at every start is not acceptable
BLOCK_BYTES = 1 << 16
WEIGHTS = ("*.safetensors", "*.bin")


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy ready to load: `path` is a local folder or a hub id, `policy_id` names these very weights."""

    path: str
    policy_id: str


def bundled_policy_path() -> Path:
    """Return the folder of the small policy that this project trains and ships."""
    return Path(str(resources.files("learnable.data"))) / "policy"


def find_policy(name: str | None = None) -> Policy:
    """Resolve a local folder, a hub id, or None for the bundled policy.

    Raises `LearnableError` for a folder without weights or a name that is neither a folder nor on the hub.
    """
    folder = bundled_policy_path() if name is None else Path(name)
    if folder.is_dir():
        return Policy(path=str(folder.resolve()), policy_id=f"{folder.resolve().name}@{hash_folder(folder)}")
    if name is None or name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise LearnableError(f"policy {str(folder)!r} does not exist: give a folder with a model in it, or a hub id")
    return Policy(path=name, policy_id=f"{name}@{_hub_commit(name)}")


def hash_folder(folder: Path) -> str:
    """Hash a model folder: small files whole; weight files by size, header and blocks spread over the file.

    Reads about 1 MiB a weight file. Raises `LearnableError` when config or weights are missing.
    """
    if not (folder / "config.json").is_file():
        raise LearnableError(f"policy {str(folder)!r} has no config.json: it is not a model folder")
    weights = sorted(path for pattern in WEIGHTS for path in folder.glob(pattern))
    if not weights:
        raise LearnableError(f"policy {str(folder)!r} has no weights: no *.safetensors or *.bin file is in it")
    digest = hashlib.sha256()
    for path in [folder / "config.json", *sorted(folder.glob("tokenizer*")), *sorted(folder.glob("*.jinja"))]:
        digest.update(path.name.encode() + path.read_bytes())
    for path in weights:
        digest.update(_sample_file(path))
    return digest.hexdigest()[:16]


def read_context_length(policy: Policy) -> int | None:
    """Return the policy's longest context in tokens from its config, or None when it is not on this disk."""
    config = Path(policy.path) / "config.json"
    if not config.is_file():
        return None
    length = json.loads(config.read_text(encoding="utf-8")).get("max_position_embeddings")
    return int(length) if length else None


def _sample_file(path: Path) -> bytes:
    size = path.stat().st_size
    digest = hashlib.sha256(f"{path.name}:{size}".encode())
    step = max(BLOCK_BYTES, size // SAMPLED_BLOCKS)
    with path.open("rb") as file:
        for offset in range(0, size, step):  # offset 0 covers the safetensors header
            file.seek(offset)
            digest.update(file.read(BLOCK_BYTES))
    return digest.digest()


def _hub_commit(name: str) -> str:
    from huggingface_hub import HfApi, constants, try_to_load_from_cache

    cached = try_to_load_from_cache(name, "config.json") if _is_hub_id(name) else None
    if isinstance(cached, str):
        return Path(cached).parent.name[:16]  # snapshots/<commit>/config.json
    try:
        if not constants.HF_HUB_OFFLINE and (commit := HfApi().model_info(name, timeout=20).sha):
            return commit[:16]
        reason = "the hub is switched off by HF_HUB_OFFLINE and the model is not in the cache"
    except Exception as error:  # the hub's own kinds, and those of the transport that its client happens to use
        reason = (str(error).splitlines() or [type(error).__name__])[0]
    raise LearnableError(f"policy {name!r} is neither a folder here nor a model on the hub: {reason}")


def _is_hub_id(name: str) -> bool:
    return bool(name) and all(part and not part.startswith((".", "-")) for part in name.split("/"))
