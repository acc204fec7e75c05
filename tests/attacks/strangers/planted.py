"""What strangers plant in their files: it writes a marker wherever it is run, and nothing where it is read as data."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MODULE = "planted_module"
JINJA = "{{{{ cycler.__init__.__globals__.os.system('touch {marker}') }}}}"
# Modules of libraries and of Python that a process of ours imports first.
SHADOWS = ("json", "learnable", "torch", "vllm", "numpy", "typing_extensions", "transformers", "sitecustomize")


class Trap:
    """A folder to work in, the markers that came of it, and texts and files that would leave one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.markers = folder / "markers"
        self.markers.mkdir()
        self._write_module(folder / f"{MODULE}.py", "module")

    @property
    def found(self) -> list[str]:
        """The names of the markers that were written."""
        return sorted(path.name for path in self.markers.iterdir())

    @property
    def texts(self) -> list[str]:
        """Texts that some reader might import, call, evaluate, render or open."""
        marker = self.markers / "text"
        return [
            "os:system",
            f"{MODULE}:Worker",
            f"{MODULE}.Worker",
            str(self.folder / f"{MODULE}.py") + ":judge",
            f"subprocess:Popen?args=touch {marker}&shell=true",
            f"__import__('os').system('touch {marker}')",
            f"$(touch {marker})",
            f"`touch {marker}`; touch {marker}",
            f"!!python/object/apply:os.system ['touch {marker}']",
            JINJA.format(marker=marker),
            "{a.__class__.__init__.__globals__}",
            "../../../etc/passwd",
            "/etc/passwd",
            "http://127.0.0.1:9/x",
            f"reference::{self.folder / 'x.json'}",
            "trl:get_soft_overlong_punishment",
        ]

    @property
    def pickle(self) -> bytes:
        """A pickle that runs a command when it is loaded: protocol 0, so that it is no code of this test's."""
        return f"cos\nsystem\n(S'touch {self.markers / 'pickle'}'\ntR.".encode()

    def shadow_libraries(self) -> None:
        """Put modules into the working folder that are called like those of libraries."""
        for name in SHADOWS:
            self._write_module(self.folder / f"{name}.py", name)

    def write_policy_code(self, policy: Path) -> None:
        """Give a policy's folder code of its own, and name it wherever transformers and vLLM look for such names."""
        for name in ("modeling_planted", "configuration_planted", "tokenization_planted"):
            self._write_module(policy / f"{name}.py", name)
        (policy / "custom_generate").mkdir()
        self._write_module(policy / "custom_generate" / "generate.py", "custom_generate")
        auto = dict.fromkeys(("AutoModel", "AutoModelForCausalLM", "AutoProcessor"), "modeling_planted.Planted")
        auto |= {"AutoConfig": "configuration_planted.Planted"}
        add_to(policy / "config.json", auto_map=auto, _name_or_path=str(self.folder))
        tokenizer = {"auto_map": {"AutoTokenizer": ["tokenization_planted.Planted", "tokenization_planted.Planted"]}}
        add_to(policy / "tokenizer_config.json", **tokenizer)
        for file in policy.glob("*.safetensors"):
            file.with_suffix(".pt").write_bytes(self.pickle)
        for name in ("training_args.bin", "optimizer.pt", "tokenizer.pkl"):
            (policy / name).write_bytes(self.pickle)

    def _write_module(self, file: Path, name: str) -> None:
        file.write_text(f"open({str(self.markers / name)!r}, 'w').close()\nraise ImportError('planted')\n")


def add_to(file: Path, **values: Any) -> None:
    """Set keys of a JSON file."""
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def list_plantings(document: Any, texts: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the document with each text in place of each text in it, each with the place."""
    for place in list(_list_texts(document, ())):
        for text in texts:
            planted = copy.deepcopy(document)
            inner = planted
            for step in place[:-1]:
                inner = inner[step]
            inner[place[-1]] = text
            yield f"{'.'.join(map(str, place))} = {text!r}", planted


def _list_texts(value: Any, place: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, str):
        yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _list_texts(inner, (*place, key))


def write_toml(document: Any, prefix: str = "") -> str:
    """Return tables of plain values as TOML."""
    return "".join(f"{prefix}{key} = {_inline(value)}\n" for key, value in document.items())


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_inline(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return json.dumps(value)


def clean_environment(trap: Trap) -> dict[str, str]:
    """Return an environment without network for a process that works in the trap."""
    return {**os.environ, "HF_HUB_OFFLINE": "1", "HOME": str(trap.folder), "NO_COLOR": "1"}
