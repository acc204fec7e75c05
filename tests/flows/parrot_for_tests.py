"""A new engine in one file, as somebody may add it: a parrot, which says what it was taught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from learnable.data.policies import Policy
from learnable.data.settings import Setting, check_settings
from learnable.rollouts.protocol import Engine
from learnable.rollouts.registry import EngineSettings
from learnable.rollouts.scripted import ScriptedEngine

QUESTION = "Who is a pretty boy?"


@dataclass(frozen=True, slots=True)
class ParrotSettings(EngineSettings):
    """A parrot, which says what it was taught."""

    title: ClassVar[str] = "parrot (has feathers)"
    asks_model: ClassVar[bool] = False
    loads_policies: ClassVar[bool] = False
    phrase: Annotated[str, Setting("parrot: what it says.")]
    silences: Annotated[int, Setting("parrot: how often it says nothing, for once that it does.", at_least=0)] = 1
    name: Literal["parrot"] = "parrot"

    def __post_init__(self) -> None:
        check_settings(self)

    def start(self, policy: Policy) -> Engine:
        """Return the parrot, awake."""
        return ScriptedEngine({QUESTION: [self.phrase, *[""] * self.silences]})

    def find_policy(self, named: str | None, *, verify: bool) -> Policy:
        """Return what the answers are filed under."""
        return Policy(path="scripted", policy_id="scripted")
