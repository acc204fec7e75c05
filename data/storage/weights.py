"""The hash of a model folder: of every byte of its weights, or above a size of samples of every tensor."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from learnable.data.errors import LearnableError
from learnable.data.storage import cache_folder

WHOLE_BYTES = 4 << 30  # of all weights together, that are read whole: about 5 s at the .9 GB/s of one busy core
SAMPLED_EVERY = 1 << 20  # bytes of a tensor, for each of which one block is read
BLOCK_BYTES = 1 << 12
MIN_BLOCKS = 8  # of a tensor
FRESH_SECONDS = 2.0  # a file that changed so lately may change again within the resolution of its times
WEIGHTS_HASH_DIGITS = 16
SAMPLED = "sampled-"  # before a hash for which not every byte was read


ADAPTER_CONFIG = "adapter_config.json"


def hash_folder(folder: Path, *, every_byte: bool = False) -> str:
    """Return a hash of a model folder: 16 hexadecimal digits, after `sampled-` where not every byte was read.

    Config, tokenizer and templates are read whole, and so are weights of up to `WHOLE_BYTES` together, larger ones
    only with `every_byte`. Of those the header of each safetensors file and 4 KiB in each MiB of every tensor are
    read, at least 8 blocks of it, the first and the last among them; of other files 4 KiB in each MiB. So a change of
    1 MiB in a row is seen, and one that is spread over a tensor, as fine-tuning leaves it; a few bytes are not.

    What was read of a file is kept in the user's cache under its device, inode, size and times. Raises `LearnableError`
    when config or weights are missing, or cannot be read.
    """
    weights = find_weights(folder)
    sampled = not every_byte and sum(path.stat().st_size for path in weights) > WHOLE_BYTES
    digest = hashlib.sha256()
    try:
        for path in _find_small(folder):
            digest.update(f"{path.name}:{path.stat().st_size}:".encode() + path.read_bytes())
        for path in weights:
            digest.update(f"{path.name}:{path.stat().st_size}:{_hash_cached(path, sampled)}".encode())
    except OSError as error:
        raise LearnableError(f"policy {str(folder)!r} cannot be read: {error}") from error
    return (SAMPLED if sampled else "") + digest.hexdigest()[:WEIGHTS_HASH_DIGITS]


def hash_adapter(folder: Path) -> str:
    """Return a hash of a LoRA adapter, of every byte: 16 hexadecimal digits. Where its base lies is no part of it.

    Raises `LearnableError` where it has no weights, or cannot be read.
    """
    names = ("adapter_model.safetensors", "adapter_model.bin")
    files = [path for name in names if (path := folder / name).is_file()]
    if not files:
        raise LearnableError(f"adapter {str(folder)!r} has no weights: no {' or '.join(names)} is in it")
    try:
        config = json.loads((folder / ADAPTER_CONFIG).read_text(encoding="utf-8"))
        no_matter = ("base_model_name_or_path", "revision", "inference_mode")  # to any completion
        settings = {key: value for key, value in config.items() if key not in no_matter}
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
        digest.update(_hash_cached(files[0], False).encode())
    except (OSError, ValueError) as error:
        raise LearnableError(f"adapter {str(folder)!r} cannot be read: {error}") from error
    return digest.hexdigest()[:WEIGHTS_HASH_DIGITS]


def is_sampled(weights: str) -> bool:
    """Whether a hash is one for which not every byte was read."""
    return weights.startswith(SAMPLED)


def find_weights(folder: Path) -> list[Path]:
    """Return the weight files of a model folder. Raises `LearnableError` when config or weights are missing."""
    if not (folder / "config.json").is_file():
        raise LearnableError(f"policy {str(folder)!r} has no config.json: it is not a model folder")
    patterns = ("*.safetensors", "*.bin", "*.pt", "*.pth", "*.gguf")
    trainers = ("training_args.bin", "optimizer.", "scheduler.", "rng_state", "scaler.")
    files = {path for pattern in patterns for path in folder.glob(pattern) if not path.name.startswith(trainers)}
    if not files:
        kinds = ", ".join(patterns)
        raise LearnableError(f"policy {str(folder)!r} has no weights: no file like {kinds} is in it")
    return sorted(files)


def _find_small(folder: Path) -> list[Path]:
    patterns = (
        *("adapter_config.json", "generation_config.json", "tokenizer*", "*.jinja", "*.model"),
        *("vocab.*", "merges.txt", "special_tokens_map.json", "added_tokens.json"),
    )
    files = {path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}
    return [folder / "config.json", *sorted(files)]


def _hash_cached(path: Path, sampled: bool) -> str:
    """Return the hash of a weight file, from the cache where this very file was read before."""
    if path.stat().st_size <= SAMPLED_EVERY:
        return _hash_whole(path)
    entry = _cache_entry(path, sampled)
    with suppress(OSError, UnicodeDecodeError):
        if len(known := entry.read_text(encoding="ascii")) == hashlib.sha256().digest_size * 2:
            return known
    digest = _hash_samples(path) if sampled else _hash_whole(path)
    unchanged = entry == _cache_entry(path, sampled) and time.time() - path.stat().st_ctime > FRESH_SECONDS
    if unchanged:
        with suppress(OSError):  # a cache that cannot be written is none
            entry.parent.mkdir(parents=True, exist_ok=True)
            new = entry.with_suffix(f".{os.getpid()}")
            new.write_text(digest, encoding="ascii")
            new.replace(entry)
    return digest


def _cache_entry(path: Path, sampled: bool) -> Path:
    """Return where the hash of a file is kept. A link has the entry of what it leads to."""
    status = path.stat()
    how = f"{SAMPLED_EVERY}:{BLOCK_BYTES}:{MIN_BLOCKS}" if sampled else "whole"
    key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, how)
    return cache_folder() / "weights" / hashlib.sha256(repr(key).encode()).hexdigest()[:32]


def _hash_whole(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _hash_samples(path: Path) -> str:
    """Hash the header and the sampled blocks of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in _read(file, _choose_blocks(file, path)):
            digest.update(block)
    return digest.hexdigest()


def _choose_blocks(file: BinaryIO, path: Path) -> Iterator[tuple[int, int]]:
    """Yield the place and length of each block to read: the header and some of every tensor, or some of all."""
    size = path.stat().st_size
    header = _read_header(file, size) if path.suffix == ".safetensors" else None
    if header is None:
        yield from _place_evenly(0, size)
        return
    start, tensors = header
    yield 0, start
    for begin, end in tensors:
        yield from _place_evenly(start + begin, start + end)


def _place_evenly(begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield blocks spread evenly from `begin` up to `end`, the first and the last bytes among them."""
    count = max(MIN_BLOCKS, -(-(end - begin) // SAMPLED_EVERY) + 1)
    if end - begin <= count * BLOCK_BYTES:
        yield begin, end - begin
        return
    for number in range(count):
        yield begin + (end - begin - BLOCK_BYTES) * number // (count - 1), BLOCK_BYTES


def _read_header(file: BinaryIO, size: int) -> tuple[int, list[tuple[int, int]]] | None:
    """Return where the tensors of a safetensors file start and where each lies from there; None for no such file."""
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if length > size - 8:
        return None
    try:
        header = json.loads(file.read(length))
        places = [entry["data_offsets"] for name, entry in header.items() if name != "__metadata__"]
        return 8 + length, sorted((int(begin), int(end)) for begin, end in places)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _read(file: BinaryIO, blocks: Iterable[tuple[int, int]]) -> Iterator[bytes]:
    for place, length in blocks:
        file.seek(place)
        yield file.read(length)
