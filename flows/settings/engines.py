"""What samples the policy: one settings class for each engine, and the union of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.records import JsonObject
from learnable.data.settings import Setting, check_settings

STRICT = {"extra": "forbid"}  # of a deployment's parameters: an address that an engine does not use is not dropped


@dataclass(frozen=True, slots=True)
class VLLMSettings:
    """vLLM in this process. `options` go to `vllm.LLM` as they are."""

    options: JsonObject = field(default_factory=dict)
    name: Literal["vllm"] = "vllm"
    __pydantic_config__: ClassVar[Mapping[str, str]] = STRICT


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """OpenAI-compatible servers, which share the work. Raises `LearnableError` for settings that cannot work."""

    base_urls: Annotated[
        tuple[str, ...],
        Setting("server: an OpenAI-compatible endpoint; repeatable, shares the work.", flag="--base-url"),
    ]
    served_model: Annotated[str | None, Setting("server: the model's name there.", usual="the only one")] = None
    api_key_env: Annotated[str, Setting("server: the environment variable that holds the key.")] = "OPENAI_API_KEY"
    concurrency: Annotated[int, Setting("server: groups under way at each endpoint.", at_least=1)] = 64
    request_timeout: Annotated[float, Setting("server: seconds one group may take.", above=0)] = 600.0
    patience: Annotated[
        float,
        Setting("server: seconds without any answer before giving up.", flag="--engine-patience", above=0),
    ] = 300.0
    name: Literal["server"] = "server"
    __pydantic_config__: ClassVar[Mapping[str, str]] = STRICT

    def __post_init__(self) -> None:
        if not self.base_urls:
            raise LearnableError("--engine server needs an address: give --base-url http://HOST:PORT/v1")
        check_settings(self)


@dataclass(frozen=True, slots=True)
class RaySettings:
    """Copies of the policy on a Ray cluster. Raises `LearnableError` for settings that cannot work.

    `options` go to `vllm.LLM` on each of the `replicas`.
    """

    options: JsonObject = field(default_factory=dict)
    ray_address: Annotated[str | None, Setting("ray: the cluster's address.", usual="RAY_ADDRESS, or a local one")] = (
        None
    )
    replicas: Annotated[int, Setting("ray: copies of the policy.", at_least=1)] = 1
    name: Literal["ray"] = "ray"
    __pydantic_config__: ClassVar[Mapping[str, str]] = STRICT

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class SimulatedSettings:
    """No model: rollouts drawn from known pass rates. `options` are those of `rollouts.simulated.SimulatedOptions`."""

    options: JsonObject = field(default_factory=dict)
    name: Literal["simulated"] = "simulated"
    __pydantic_config__: ClassVar[Mapping[str, str]] = STRICT


EngineSettings = VLLMSettings | ServerSettings | RaySettings | SimulatedSettings
ENGINES: Mapping[str, type[EngineSettings]] = {
    "vllm": VLLMSettings,
    "server": ServerSettings,
    "ray": RaySettings,
    "simulated": SimulatedSettings,
}


def find_engine(name: str) -> type[EngineSettings]:
    """Return the settings class of an engine. Raises `UnknownNameError` with the nearest names."""
    if name not in ENGINES:
        raise UnknownNameError("engine", name, tuple(ENGINES))
    return ENGINES[name]


def check_addresses(engine: str, base_urls: object, ray_address: object) -> None:
    """Raise `LearnableError` where an address is given that `engine` does not use."""
    if engine != "server" and base_urls:
        raise LearnableError(f"--base-url is for --engine server, not {engine}")
    if engine != "ray" and ray_address:
        raise LearnableError(f"--ray-address is for --engine ray, not {engine}")
