"""What changes a policy's id: every byte of weights up to a size, and what fine-tuning changes in larger ones."""

from __future__ import annotations

import functools
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from learnable.data.errors import LearnableError
from learnable.data.storage import weights as module
from learnable.data.storage.weights import hash_folder, is_sampled

Tensors = dict[str, NDArray[np.float32]]
LAYERS = 6
FEW: Tensors = {"norm": np.ones(64, np.float32)}
MIB = 1 << 20


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "learnable" / "weights"


@pytest.fixture
def sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take weights of any size for too large to be read whole."""
    monkeypatch.setattr(module, "WHOLE_BYTES", 0)


def make_tensors() -> Tensors:
    return {name: values.copy() for name, values in draw_tensors().items()}


@functools.cache
def draw_tensors() -> Tensors:
    rng = np.random.default_rng(1)
    shapes = {"embed": (4096, 512), "norm": (64,), "head": (512, 512)}
    shapes |= {f"layers.{layer}.{name}": (512, 256) for layer in range(LAYERS) for name in ("q", "v", "up")}
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def write_model(folder: Path, tensors: Tensors, metadata: str = "pt") -> Path:
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text("{}")
    write_safetensors(folder / "model.safetensors", tensors, metadata)
    return folder


def write_safetensors(path: Path, tensors: Tensors, metadata: str = "pt") -> None:
    header: dict[str, object] = {"__metadata__": {"format": metadata}}
    place = 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [place, place + values.nbytes]}
        place += values.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(values.tobytes() for values in tensors.values()))


def merge_lora(tensors: Tensors) -> None:
    rng = np.random.default_rng(2)
    for name in tensors:
        if name.endswith((".q", ".v")):
            low, high = rng.normal(size=(512, 4)), rng.normal(size=(4, 256))
            tensors[name] += (1e-4 * low @ high).astype(np.float32)


def tune_one_layer(tensors: Tensors) -> None:
    tensors["layers.3.up"] += np.float32(1e-3)


def tune_embeddings(tensors: Tensors) -> None:
    """Of the rows of a hundred tokens that stand together alone: an embedding's gradient is zero for words not read."""
    tensors["embed"][1000:1600] += np.float32(1e-3)


def tune_a_norm(tensors: Tensors) -> None:
    tensors["norm"][17] += np.float32(1e-3)


TUNINGS = [merge_lora, tune_one_layer, tune_embeddings, tune_a_norm]


@pytest.mark.parametrize("tune", TUNINGS)
@pytest.mark.parametrize("large", [False, True])
def test_fine_tuning_changes_the_id(
    tune: Callable[[Tensors], None], large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if large:
        monkeypatch.setattr(module, "WHOLE_BYTES", 0)
    tensors = make_tensors()
    before = hash_folder(write_model(tmp_path / "before", tensors))
    tune(tensors)
    after = hash_folder(write_model(tmp_path / "after", tensors))
    assert before != after
    assert is_sampled(before) == is_sampled(after) == large


def test_a_byte_in_any_tensor_changes_the_id(tmp_path: Path) -> None:
    tensors = make_tensors()
    folder = write_model(tmp_path / "model", tensors)
    seen = {hash_folder(folder)}
    for number, values in enumerate(tensors.values()):
        values.reshape(-1).view(np.uint8)[values.nbytes * number // len(tensors)] ^= 1
        write_safetensors(folder / "model.safetensors", tensors)
        seen.add(hash_folder(folder))
    assert len(seen) == len(tensors) + 1


def test_a_change_of_6_percent_in_a_row_changes_the_id(tmp_path: Path) -> None:
    """Of a file of 64 MiB, between blocks of 64 KiB in every 4 MiB."""
    weights = np.random.default_rng(3).integers(0, 256, 64 * MIB, dtype=np.uint8)
    changed = weights.copy()
    changed[9 * MIB - MIB // 2 : 9 * MIB - MIB // 2 + int(3.3 * MIB)] ^= 1
    folders = [write_model(tmp_path / name, {}) for name in ("a", "b")]
    for folder, content in zip(folders, (weights, changed), strict=True):
        (folder / "model.safetensors").write_bytes(content.tobytes())
    assert hash_folder(folders[0]) != hash_folder(folders[1])


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("suffix", ["safetensors", "bin", "pt", "pth", "gguf"])
@pytest.mark.parametrize("place", [0.0, 0.31, 0.77, 1.0])
def test_a_change_of_a_mebibyte_is_seen_in_large_weights_too(tmp_path: Path, suffix: str, place: float) -> None:
    folder = write_model(tmp_path / "model", {})
    (folder / "model.safetensors").unlink()
    weights = np.random.default_rng(4).integers(0, 256, 8 * MIB + 4321, dtype=np.uint8)
    (folder / f"model.{suffix}").write_bytes(weights.tobytes())
    before = hash_folder(folder)
    start = int(place * (len(weights) - MIB))
    weights[start : start + MIB] ^= 1
    (folder / f"model.{suffix}").write_bytes(weights.tobytes())
    assert hash_folder(folder) != before


@pytest.mark.usefixtures("sampled")
def test_of_large_weights_the_header_is_read_and_every_byte_where_that_is_wanted(tmp_path: Path) -> None:
    tensors = make_tensors()
    plain, other = (write_model(tmp_path / name, tensors, name) for name in ("aa", "bb"))
    assert hash_folder(plain) != hash_folder(other)
    before, every_byte = hash_folder(plain), hash_folder(plain, every_byte=True)
    tensors["embed"].reshape(-1).view(np.uint8)[MIB // 2 + 5] ^= 1
    write_safetensors(plain / "model.safetensors", tensors, "aa")
    assert hash_folder(plain) == before  # what sampling cannot see
    assert hash_folder(plain, every_byte=True) != every_byte
    assert not is_sampled(every_byte)


@pytest.mark.parametrize(
    "name",
    ["adapter_model.safetensors", "adapter_model.bin", "adapter_config.json", "generation_config.json", "merges.txt"],
)
def test_what_is_loaded_beside_the_weights_changes_the_id(tmp_path: Path, name: str) -> None:
    folder = write_model(tmp_path / "model", FEW)
    bare = hash_folder(folder)
    (folder / name).write_bytes(b"one")
    first = hash_folder(folder)
    (folder / name).write_bytes(b"two")
    assert len({bare, first, hash_folder(folder)}) == 3


@pytest.mark.parametrize("name", ["training_args.bin", "optimizer.pt", "scheduler.pt", "rng_state_0.pth", "README.md"])
def test_what_a_trainer_leaves_does_not(tmp_path: Path, name: str) -> None:
    folder = write_model(tmp_path / "model", FEW)
    bare = hash_folder(folder)
    (folder / name).write_bytes(b"state")
    assert hash_folder(folder) == bare


def test_a_large_tokenizer_and_its_neighbour_cannot_be_mistaken_for_each_other(tmp_path: Path) -> None:
    """The bytes of two files, one after the other, are the same: 0.1 hashed names and contents without lengths."""
    one, other = (write_model(tmp_path / name, {}) for name in ("one", "other"))
    (one / "tokenizer.json").write_bytes(b"ab")
    (one / "tokenizer.txt").write_bytes(b"c")
    (other / "tokenizer.json").write_bytes(b"abtokenizer.txtc")
    assert hash_folder(one) != hash_folder(other)


class Reads:
    """Counts the weight files that are read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        whole = module._hash_whole

        def count(path: Path) -> str:
            self.count += 1
            return whole(path)

        monkeypatch.setattr(module, "_hash_whole", count)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """Files may be as new as they are: those of a test were written just now."""
    monkeypatch.setattr(module, "FRESH_SECONDS", -1.0)
    return Reads(monkeypatch)


def test_a_file_is_read_once_and_so_is_one_that_links_lead_to(tmp_path: Path, reads: Reads) -> None:
    folder = write_model(tmp_path / "model", make_tensors())
    first = hash_folder(folder)
    assert hash_folder(folder) == first
    linked = write_model(tmp_path / "linked", {})
    (linked / "model.safetensors").unlink()
    (linked / "model.safetensors").symlink_to(folder / "model.safetensors")
    assert hash_folder(linked) == first
    assert reads.count == 1


def test_a_file_with_the_size_and_the_time_of_another_is_read(tmp_path: Path, reads: Reads) -> None:
    """Put in its place by a rename, so with another inode; then written over where it is, so with another ctime."""
    tensors = make_tensors()
    path = write_model(tmp_path / "model", tensors) / "model.safetensors"
    seen, times = {hash_folder(path.parent)}, path.stat()
    for number, replace in enumerate((True, False)):
        tensors["norm"][number] += 1
        target = path.with_name("new") if replace else path
        write_safetensors(target, tensors)
        target.rename(path)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert (path.stat().st_size, path.stat().st_mtime_ns) == (times.st_size, times.st_mtime_ns)
        seen.add(hash_folder(path.parent))
    assert len(seen) == reads.count == 3


def test_a_file_that_was_written_just_now_is_not_remembered(tmp_path: Path, cache: Path) -> None:
    folder = write_model(tmp_path / "model", make_tensors())
    hash_folder(folder)
    assert not list(cache.glob("*"))


def test_a_damaged_cache_is_none_and_one_that_cannot_be_written_is_none(
    tmp_path: Path, cache: Path, reads: Reads
) -> None:
    folder = write_model(tmp_path / "model", make_tensors())
    first = hash_folder(folder)
    [entry] = cache.iterdir()
    entry.write_bytes(b"\xff")
    assert hash_folder(folder) == first
    shutil.rmtree(cache)
    cache.parent.joinpath("weights").write_text("in the way")
    assert hash_folder(folder) == first
    assert reads.count == 3


def test_a_folder_without_config_or_weights_is_named(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", {})
    (folder / "model.safetensors").rename(folder / "optimizer.pt")
    with pytest.raises(LearnableError, match="has no weights"):
        hash_folder(folder)
    (folder / "config.json").unlink()
    with pytest.raises(LearnableError, match=r"has no config\.json"):
        hash_folder(folder)
