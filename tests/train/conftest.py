"""A policy that knows nothing and curated sets it can learn: small enough to build in a test."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from learnable.cli.app import app
from learnable.data.policies import find_policy
from learnable.data.records import Message, Prompt
from learnable.data.storage.format import STORE_FORMAT
from learnable.data.tables import hash_file, prompts_table
from tests.support.warm_starts import Starter

TOKENS = ("<pad>", "<s>", "</s>", " ", "=", "1", "2")
TEMPLATE = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
MakeCurated = Callable[..., Path]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def tiny_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random two-layer Llama over seven characters, each about as likely as another."""
    from transformers import LlamaConfig, LlamaForCausalLM, set_seed

    folder = tmp_path_factory.mktemp("policies") / "tiny"
    set_seed(0)
    config = LlamaConfig(
        vocab_size=len(TOKENS),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=64,
        tie_word_embeddings=True,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    _tokenizer().save_pretrained(folder)
    return folder


def _tokenizer() -> Any:
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.WordLevel({token: index for index, token in enumerate(TOKENS)}, unk_token=" "))
    raw.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    raw.decoder = decoders.Fuse()
    names = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=raw, chat_template=TEMPLATE, **names)


def ones(count: int, *, length: int = 5, chat: bool = False) -> list[Prompt]:
    """Return different prompts that all ask for a 1."""
    texts = ["".join(digits) + "=" for digits in itertools.islice(itertools.product("12", repeat=length), count)]
    return [
        Prompt((Message("user", text),) if chat else text, "arithmetic", {"answer": 1}, "arithmetic", "Ones")
        for text in texts
    ]


@pytest.fixture
def _warm_stages(starter: Starter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the processes of a training start warm."""
    monkeypatch.setattr("learnable.train.child.subprocess", SimpleNamespace(Popen=starter.start, PIPE=subprocess.PIPE))


@pytest.fixture
def prompts_of_ones() -> Callable[..., list[Prompt]]:
    return ones


@pytest.fixture
def make_curated(tmp_path: Path) -> MakeCurated:
    """Return a function that writes a curated set, as publishing one does."""

    def make(
        policy: Path | None = None,
        *,
        train: Sequence[Prompt] | None = None,
        test: Sequence[Prompt] | None = None,
        shards: int = 1,
        others: Mapping[str, Sequence[Prompt]] | None = None,
        columns: Mapping[str, Any] | None = None,
        **manifest: Any,
    ) -> Path:
        folder = tmp_path / "curated" / "ones" / "v0001"
        folder.mkdir(parents=True)
        parts = {
            "train": ones(8) if train is None else train,
            "test": ones(16, length=6) if test is None else test,
            **(others or {}),
        }
        for part, prompts in parts.items():
            _write_part(folder, part, prompts, shards, columns or {})
        contents: dict[str, Any] = {
            "format": STORE_FORMAT,
            "sampling": {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 3},
        }
        if policy is not None:
            found = find_policy(str(policy))
            contents["policy"] = {"path": found.path, "policy_id": found.policy_id}
        (folder / "manifest.json").write_text(json.dumps({**contents, **manifest}))
        return folder

    return make


@pytest.fixture
def with_digests() -> Callable[[Path], None]:
    """Return a function that lets a set's manifest name its shards and their SHA-256, as publishing one does."""

    def add(folder: Path) -> None:
        parts: dict[str, Any] = {}
        for shard in sorted(folder.glob("*.parquet")):
            part = parts.setdefault(shard.name.split("-")[0], {"rows": 0, "sha256": {}})
            part["rows"] += pq.read_metadata(shard).num_rows
            part["sha256"][shard.name] = hash_file(shard)
        manifest = folder / "manifest.json"
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "parts": parts}))

    return add


def _write_part(folder: Path, part: str, prompts: Sequence[Prompt], shards: int, columns: Mapping[str, Any]) -> None:
    table = prompts_table(list(prompts))
    if part == "demonstrations":
        chat = pa.types.is_nested(table.schema.field("prompt").type)
        completion: Any = [{"role": "assistant", "content": "1"}] if chat else "1"
        table = table.append_column("completion", pa.array([completion] * table.num_rows))
    if part == "preferences":
        chat = pa.types.is_nested(table.schema.field("prompt").type)
        for name, text in (("chosen", "1"), ("rejected", "22")):
            answer: Any = [{"role": "assistant", "content": text}] if chat else text
            table = table.append_column(name, pa.array([answer] * table.num_rows))
        margins = pa.array([(1.0, 0.7 - 0.5, 0.1)[row % 3] for row in range(table.num_rows)], pa.float64())
        table = table.append_column("margin", margins)
    for name, value in columns.items():
        table = table.append_column(name, pa.array([value] * table.num_rows))
    for name in {"mean", "std", "pass_rate"} - columns.keys():
        table = table.append_column(name, pa.array([0.5] * table.num_rows, pa.float64()))
    size = max(1, -(-table.num_rows // shards))
    for index in range(shards):
        pq.write_table(table.slice(index * size, size), folder / f"{part}-{index:05d}-of-{shards:05d}.parquet")


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run `learnable train ...` in a temporary folder; return exit status, stdout, and stderr on one line."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            app(["train", *map(str, arguments)])
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), out, " ".join(err.split())

    return run
