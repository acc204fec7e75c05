"""Users' files for tests of the command line, and an engine that remembers which prompts came of them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from learnable.data.records import Prompt, Sampling
from learnable.rollouts.protocol import Answer, GroupRequest
from learnable.rollouts.scripted import ScriptedEngine

Rows = list[dict[str, Any]]


class AnyText(dict[str, list[str]]):
    def __missing__(self, text: str) -> list[str]:
        return ["7", "yes"]


class RecordingEngine(ScriptedEngine):
    """Remembers the prompts that it is to answer."""

    policy_id = ""

    def __init__(self, policy_id: str) -> None:
        super().__init__(AnyText())
        self.policy_id = policy_id
        self.prompts: list[Prompt] = []

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        listed = list(requests)
        self.prompts += [request.prompt for request in listed]
        return super().generate(listed, sampling)


@dataclass
class Found:
    status: int
    err: str  # on one line
    prompts: list[Prompt]
    report: dict[str, Any]

    @property
    def specs(self) -> list[Any]:
        return [prompt.spec for prompt in self.prompts]


Find = Callable[..., Found]
Run = Callable[..., tuple[int, str, str]]
Once = Callable[[str, Callable[[], str]], str]
OnATerminal = Callable[..., list[str]]


def write(path: str, rows: Rows) -> str:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    if path.endswith(".gz"):
        Path(path).write_bytes(gzip.compress(text.encode()))
    else:
        Path(path).write_text(text)
    return path


def sums(count: int, **more: object) -> Rows:
    return [{"prompt": f"{n} + 1 = ", "answer": n + 1, **more} for n in range(count)]
