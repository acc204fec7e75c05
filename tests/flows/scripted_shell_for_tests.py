"""The command line over a scripted policy: what a user types, what it costs in rollouts, what comes of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from learnable.cli.app import app
from learnable.data.policies import find_policy
from learnable.data.records import Sampling
from learnable.flows.engines import use_engine
from learnable.flows.settings import CurateSettings
from learnable.rollouts.protocol import Answer, GroupRequest
from learnable.rollouts.scripted import ScriptedEngine

Script = Mapping[str, Sequence[str]]
Row = Mapping[str, Any]


class CountingEngine(ScriptedEngine):
    """Counts the rollouts that it is paid for."""

    def __init__(self, script: Script, policy_id: str) -> None:
        super().__init__(script)
        self.policy_id = policy_id
        self.paid = 0

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        for answer in super().generate(requests, sampling):
            self.paid += len(answer) if isinstance(answer, list) else 0
            yield answer


@dataclass(frozen=True)
class Typed:
    """What came of a command: its exit status, what it printed (errors on one line), the rollouts that it paid for."""

    status: int
    out: str
    err: str
    paid: int

    @property
    def report(self) -> dict[str, Any]:
        """What `--json` printed."""
        assert self.status == 0, self.err
        report: dict[str, Any] = json.loads(self.out)
        return report


@dataclass
class ScriptedShell:
    """A folder with a policy in it, in which commands are typed; `script` has the completions of each question."""

    folder: Path
    capture: pytest.CaptureFixture[str]
    script: dict[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        policy = self.folder / "policy"
        policy.mkdir(exist_ok=True)
        (policy / "config.json").write_text("{}")
        (policy / "model.safetensors").write_bytes(b"weights")

    def write_rows(self, rows: Iterable[Row], name: str = "questions.jsonl") -> str:
        """Write a JSONL file of prompts, and return its name."""
        (self.folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        return name

    def find(self, *arguments: object) -> Typed:
        """Type `learnable find` with groups of one size and `--json`."""
        usual = ("--policy", "policy", "--no-prefect", "--workers", "0", "--sampling", "fixed", "--json")
        return self.type("find", *usual, *arguments)

    def type(self, *arguments: object) -> Typed:
        """Type a command of `learnable`."""
        engine = CountingEngine(self.script, find_policy("policy").policy_id)
        with use_engine(engine, CurateSettings(policy="policy")), pytest.raises(SystemExit) as ended:
            app([str(argument) for argument in arguments])
        out, err = self.capture.readouterr()
        return Typed(int(ended.value.code or 0), out, " ".join(err.split()), engine.paid)
