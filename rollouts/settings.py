"""The settings of the engines that are here, apart from the engines: `--help` reads them and loads no engine."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from math import inf
from typing import Annotated, ClassVar, Literal

from learnable.data.errors import LearnableError
from learnable.data.policies import Policy
from learnable.data.records import JsonObject
from learnable.data.settings import Setting, check_settings
from learnable.rollouts.protocol import Engine
from learnable.rollouts.registry import EngineSettings

Options = Annotated[
    JsonObject, Setting("For vllm.LLM, such as tensor_parallel_size=8; repeatable.", flag="--engine-arg")
]


@dataclass(frozen=True, slots=True)
class VLLMSettings(EngineSettings):
    """vLLM in this process. `options` go to `vllm.LLM` as they are."""

    title: ClassVar[str] = "vllm (in this process)"
    options: Options = field(default_factory=dict)
    name: Literal["vllm"] = "vllm"

    def start(self, policy: Policy) -> Engine:
        """Load the policy. Raises `LearnableError` when vLLM cannot."""
        from learnable.rollouts.vllm_engine import VLLMEngine

        return VLLMEngine(policy, **self.options)

    def check(self) -> None:
        """Raise `LearnableError` for options that vLLM does not have. It is not imported."""
        if self.options:
            from learnable.rollouts.vllm_engine import check_options

            check_options(self.options)


@dataclass(frozen=True, slots=True)
class ServerSettings(EngineSettings):
    """OpenAI-compatible servers, which share the work. Raises `LearnableError` for settings that cannot work."""

    title: ClassVar[str] = "server"
    loads_policies: ClassVar[bool] = False
    base_urls: Annotated[
        tuple[str, ...],
        Setting("server: an OpenAI-compatible endpoint; repeatable, shares the work.", flag="--base-url"),
    ]
    served_model: Annotated[str | None, Setting("server: the model's name there.", usual="the only one")] = None
    api_key_env: Annotated[str, Setting("server: the environment variable that holds the key.")] = "OPENAI_API_KEY"
    concurrency: Annotated[
        int, Setting("server: most requests at once at each endpoint; how many are, follows what it takes.", at_least=1)
    ] = 4096
    request_timeout: Annotated[float, Setting("server: seconds one group may take.", above=0)] = 600.0
    patience: Annotated[
        float,
        Setting("server: seconds without any answer before giving up.", flag="--engine-patience", above=0),
    ] = 300.0
    max_tokens_spent: Annotated[
        int | None,
        Setting(
            "server: most tokens, of prompts and completions, that a command may spend; then it stops.", at_least=1
        ),
    ] = None
    max_cost: Annotated[
        float | None, Setting("server: most money that a command may spend, in the currency of the prices.", above=0)
    ] = None
    prompt_price: Annotated[float, Setting("server: price of a million tokens of prompts.", at_least=0, below=inf)] = (
        0.0
    )
    completion_price: Annotated[
        float, Setting("server: price of a million tokens of completions.", at_least=0, below=inf)
    ] = 0.0
    name: Literal["server"] = "server"

    def __post_init__(self) -> None:
        if not self.base_urls:
            raise LearnableError("`engine` server needs an address: give `base_urls` http://HOST:PORT/v1")
        check_settings(self)
        if self.max_cost is not None and not self.prompt_price + self.completion_price:
            raise LearnableError(
                f"`max_cost` {self.max_cost:g} needs prices: give `prompt_price` and `completion_price`"
            )

    def start(self, policy: Policy) -> Engine:
        """Look at the servers. Raises `LearnableError` for one that cannot be used."""
        from learnable.rollouts.server.engine import ServerEngine
        from learnable.rollouts.server.spending import Allowance

        return ServerEngine(
            self.base_urls,
            policy,
            model=self.served_model,
            api_key=os.environ.get(self.api_key_env),
            concurrency=self.concurrency,
            request_timeout=self.request_timeout,
            patience=self.patience,
            allowance=Allowance(self.max_tokens_spent, self.max_cost, self.prompt_price, self.completion_price),
        )

    def find_policy(self, named: str | None, *, verify: bool) -> Policy:
        """Return the policy that is named. The servers are asked which one they have only where none is.

        Raises `LearnableError` when it cannot be found.
        """
        if named is not None:
            return EngineSettings.find_policy(self, named, verify=verify)
        from learnable.rollouts.server.engine import find_served_policy

        return find_served_policy(self.base_urls, model=self.served_model, api_key=os.environ.get(self.api_key_env))


@dataclass(frozen=True, slots=True)
class RaySettings(EngineSettings):
    """Copies of the policy on a Ray cluster. Raises `LearnableError` for settings that cannot work.

    `options` go to `vllm.LLM` on each of the `replicas`.
    """

    title: ClassVar[str] = "ray"
    options: Options = field(default_factory=dict)
    ray_address: Annotated[str | None, Setting("ray: the cluster's address.", usual="RAY_ADDRESS, or a local one")] = (
        None
    )
    replicas: Annotated[int, Setting("ray: copies of the policy.", at_least=1)] = 1
    name: Literal["ray"] = "ray"

    def __post_init__(self) -> None:
        check_settings(self)

    def start(self, policy: Policy) -> Engine:
        """Reach the cluster. Raises `LearnableError` where it can never hold the replicas."""
        from learnable.rollouts.ray.engine import RayEngine

        return RayEngine(policy, address=self.ray_address, replicas=self.replicas, **self.options)

    def check(self) -> None:
        """Raise `LearnableError` for options that vLLM does not have. It is not imported."""
        if self.options:
            from learnable.rollouts.vllm_engine import check_options

            check_options(self.options, ("EngineArgs", "AsyncEngineArgs"))


@dataclass(frozen=True, slots=True)
class SimulatedSettings(EngineSettings):
    """No model: rollouts drawn from known pass rates. `options` are those of `rollouts.simulated.SimulatedOptions`."""

    title: ClassVar[str] = "simulated"
    asks_model: ClassVar[bool] = False
    loads_policies: ClassVar[bool] = False
    options: Options = field(default_factory=dict)
    name: Literal["simulated"] = "simulated"

    def start(self, policy: Policy) -> Engine:
        """Return the engine, whatever the policy. Raises `LearnableError` for options out of range."""
        from learnable.rollouts.simulated import SimulatedEngine

        return SimulatedEngine(**self.options)

    def find_policy(self, named: str | None, *, verify: bool) -> Policy:
        """Return what stands for a policy where there is none."""
        return Policy(path="simulated", policy_id="simulated")

    def check(self) -> None:
        """Raise `LearnableError` for options out of range."""
        self.start(self.find_policy(None, verify=False))
