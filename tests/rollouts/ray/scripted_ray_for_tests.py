"""A cluster and its streams that answer from a script, for tests of the engine over them."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

from learnable.data.errors import LearnableError
from learnable.data.policies import Policy
from learnable.data.records import Prompt, Rollout, Sampling
from learnable.rollouts.policy_tokens import NO_OPTIONS
from learnable.rollouts.ray import engine as ray_engine
from learnable.rollouts.ray.cluster import Footprint
from learnable.rollouts.ray.dataset import SLOT_ROWS, SLOTS, AnswerRow, Replicas, RequestRow
from learnable.rollouts.ray.engine import RayEngine

STOP = 2
CONTEXT = 100
Row = dict[str, Any]  # fields of an `AnswerRow`


@dataclass
class Tokens:
    """A tokenizer that counts letters, of a policy that does not think."""

    stops: frozenset[int] = frozenset({STOP})
    max_context: int = CONTEXT

    def encode(self, prompt: Prompt, template_args: Mapping[str, object] = NO_OPTIONS) -> list[int]:
        return list(map(ord, prompt.text))

    def tell_apart(self, rollouts: Sequence[Rollout], prompt: Prompt, sampling: Sampling) -> list[Rollout]:
        return list(rollouts)


@dataclass
class Ray:
    """Stands for the cluster and its streams; `answer` is what becomes of a row, or an error that is raised."""

    nodes: Sequence[Mapping[str, Any]] = ({"Alive": True, "Resources": {"CPU": 4.0}},)
    answer: Callable[[RequestRow], Row] = lambda row: {}
    slots: int = SLOTS
    random: random.Random = field(default_factory=lambda: random.Random(0))
    streams: list[Stream] = field(default_factory=list)
    closed: bool = False

    @property
    def has_gpu(self) -> bool:
        return any("GPU" in node["Resources"] for node in self.nodes)

    def check_room(self, replicas: int, footprint: Footprint) -> None:
        if footprint.count(self.nodes) < replicas:
            raise LearnableError("no room")

    def count(self, footprint: Footprint) -> int:
        return footprint.count(self.nodes)

    def close(self) -> None:
        self.closed = True

    def open_stream(self, replicas: Replicas, _: object) -> Stream:
        self.streams.append(Stream(self, replicas))
        return self.streams[-1]


@dataclass
class Stream:
    """Answers each row with a token count of its seed's last digit, in an order of chance, some rows at a time."""

    ray: Ray
    replicas: Replicas
    blocks: list[list[RequestRow]] = field(default_factory=list)
    waiting: list[RequestRow] = field(default_factory=list)
    closed: bool = False

    @property
    def free_slots(self) -> int:
        return self.ray.slots - len(self.blocks)

    def send(self, rows: Sequence[RequestRow]) -> None:
        assert 0 < len(rows) <= SLOT_ROWS
        assert self.free_slots > 0
        assert not self.closed
        self.blocks.append(list(rows))
        self.waiting.extend(rows)

    def read(self) -> list[AnswerRow]:
        assert self.waiting, "nothing is in flight, so this would wait for ever"
        self.ray.random.shuffle(self.waiting)
        taken = [self.waiting.pop() for _ in range(self.ray.random.randint(1, len(self.waiting)))]
        return [self._answer(row) for row in taken]

    def close(self) -> None:
        self.closed = True

    def _answer(self, row: RequestRow) -> AnswerRow:
        usual = AnswerRow(row.group, row.child, f"{row.seed}", 1 + row.seed % 10, len(row.tokens), last_token=STOP)
        return replace(usual, **self.ray.answer(row))


@contextmanager
def scripted(ray: Ray, replicas: int = 2, **options: Any) -> Iterator[RayEngine]:
    """Give an engine over `ray`; what the engine sets in the environment is taken back."""
    with (
        mock.patch.dict(os.environ),
        mock.patch.object(ray_engine, "PolicyTokens", return_value=Tokens()),
        mock.patch.object(ray_engine, "Cluster", return_value=ray),
        mock.patch.object(ray_engine, "Stream", ray.open_stream),
    ):
        engine = RayEngine(Policy("folder", "folder@1"), replicas=replicas, **options)
        yield engine
        engine.close()
