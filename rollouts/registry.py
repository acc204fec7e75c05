"""Which engines there are, and what the settings of one say: a class in one file, and a line in `ENGINES`."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Union

from learnable.data.errors import UnknownNameError
from learnable.data.policies import Policy, find_policy
from learnable.rollouts.protocol import Engine

# The settings of each engine as `MODULE:CLASS`. The command line, Prefect's parameters and the reference follow.
ENGINES = {
    "vllm": "learnable.rollouts.settings:VLLMSettings",
    "server": "learnable.rollouts.settings:ServerSettings",
    "ray": "learnable.rollouts.settings:RaySettings",
    "simulated": "learnable.rollouts.settings:SimulatedSettings",
}


@dataclass(frozen=True, slots=True)
class EngineSettings(ABC):
    """What an engine depends on, and how it starts: a frozen dataclass whose field `name` is `Literal["its name"]`.

    A field that is annotated with a `Setting` is a flag. The settings hold plain data, which goes through JSON.

    `title` is how the help of `--engine` lists the engine. `asks_model` is False for one that makes answers up, and
    `loads_policies` for one that does not load the policy that it is told to, because it has one already.
    """

    title: ClassVar[str]
    asks_model: ClassVar[bool] = True
    loads_policies: ClassVar[bool] = True
    # Of a deployment's parameters: an address that an engine does not use is not dropped.
    __pydantic_config__: ClassVar[Mapping[str, str]] = {"extra": "forbid"}

    @property
    @abstractmethod
    def name(self) -> str:
        """The engine's name in `ENGINES`."""

    @property
    def options(self) -> Mapping[str, object]:
        """What goes to the engine's own library as it is."""
        return {}

    @abstractmethod
    def start(self, policy: Policy) -> Engine:
        """Return the engine, ready to answer. Raises `LearnableError` when it cannot start."""

    def find_policy(self, named: str | None, *, verify: bool) -> Policy:
        """Return the policy that is asked where the settings of a run name this one, or none.

        Raises `LearnableError` when it cannot be found.
        """
        return find_policy(named, verify=verify)

    def check(self) -> None:  # noqa: B027  # few have anything to look at
        """Raise `LearnableError` for options that cannot work, as far as that is known without starting anything."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Let pydantic, and so Prefect, take the settings of any engine where a field has this class."""
        if cls is not EngineSettings:
            return handler(source)
        return handler.generate_schema(Union[tuple(list_engines().values())])  # noqa: UP007


def list_engines() -> Mapping[str, type[EngineSettings]]:
    """Return the settings class of every engine, by the engine's name."""
    return {name: find_engine(name) for name in ENGINES}


def find_engine(name: str) -> type[EngineSettings]:
    """Return the settings class of an engine. Raises `UnknownNameError` with the nearest names."""
    if name not in ENGINES:
        raise UnknownNameError("engine", name, tuple(ENGINES))
    module, _, settings = ENGINES[name].partition(":")
    kind: type[EngineSettings] = getattr(importlib.import_module(module), settings)
    return kind
