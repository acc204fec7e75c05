"""What samples the policy: one settings class for each engine, and the union of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.records import JsonObject

STRICT = {"extra": "forbid"}  # of a deployment's parameters: an address that an engine does not use is not dropped


@dataclass(frozen=True, slots=True)
class VLLMSettings:
    """vLLM in this process. `options` go to `vllm.LLM` as they are."""

    options: JsonObject = field(default_factory=dict)
    name: Literal["vllm"] = "vllm"
    __pydantic_config__: ClassVar[Mapping[str, str]] = STRICT


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """OpenAI-compatible servers, which share the work. Raises `LearnableError` for settings that cannot work.

    `base_urls` are their addresses, such as `http://127.0.0.1:8000/v1`; `served_model` is the model's name there, None
    for the only one. The environment variable `api_key_env` holds the key. `concurrency` counts the groups under way at
    each server; `request_timeout` is the time of one group, and `patience` the time without any answer after which the
    engine gives up, both in seconds.
    """

    base_urls: tuple[str, ...]
    served_model: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    concurrency: int = 64
    request_timeout: float = 600.0
    patience: float = 300.0
    name: Literal["server"] = "server"
    __pydantic_config__: ClassVar[Mapping[str, str]] = STRICT

    def __post_init__(self) -> None:
        if not self.base_urls:
            raise LearnableError("--engine server needs an address: give --base-url http://HOST:PORT/v1")
        check_count("--concurrency", self.concurrency)
        check_seconds("--request-timeout", self.request_timeout)
        check_seconds("--engine-patience", self.patience)


@dataclass(frozen=True, slots=True)
class RaySettings:
    """Copies of the policy on a Ray cluster. Raises `LearnableError` for settings that cannot work.

    `options` go to `vllm.LLM` on each of the `replicas`. `ray_address` is the cluster's; None takes the environment
    variable RAY_ADDRESS, or starts a local one.
    """

    options: JsonObject = field(default_factory=dict)
    ray_address: str | None = None
    replicas: int = 1
    name: Literal["ray"] = "ray"
    __pydantic_config__: ClassVar[Mapping[str, str]] = STRICT

    def __post_init__(self) -> None:
        check_count("--replicas", self.replicas)


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


def check_count(flag: str, count: int) -> None:
    """Raise `LearnableError` where nothing would run."""
    if count < 1:
        raise LearnableError(f"{flag} {count} leaves nothing running: give 1 or more")


def check_seconds(flag: str, seconds: float) -> None:
    """Raise `LearnableError` where there is no time; NaN is none."""
    if not seconds > 0:
        raise LearnableError(f"{flag} {seconds:g} leaves no time: give seconds, more than 0")


def check_addresses(engine: str, base_urls: object, ray_address: object) -> None:
    """Raise `LearnableError` where an address is given that `engine` does not use."""
    if engine != "server" and base_urls:
        raise LearnableError(f"--base-url is for --engine server, not {engine}")
    if engine != "ray" and ray_address:
        raise LearnableError(f"--ray-address is for --engine ray, not {engine}")
