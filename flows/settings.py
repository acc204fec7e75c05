"""What one curation run is asked to do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.records import Sampling
from learnable.data.sources.files.locations import folder_name, local_path, plain_name
from learnable.filters.decisions.band import Band
from learnable.filters.decisions.presets import Preset
from learnable.filters.statistics.groups import Truncated
from learnable.filters.stopping.budget import SamplingBudget

ENGINES = ("vllm", "server", "ray", "simulated")
BUILTIN_LIMIT = 512  # the built-in generators never end


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """Which prompts to look at: built-in forms and families, or `location` (a file, a folder or a hub id).

    `skip_bad_rows` leaves out the rows of `location` that are no prompt, which otherwise end the run. `forms_file` declares
    poem forms of one's own. `decontaminate` names evaluation sets that no prompt may repeat; `near_duplicates` is the
    overlap from which on a prompt repeats another one, None for exact repeats only.
    """

    forms: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    forms_file: str | None = None
    location: str | None = None
    prompt_column: str = "prompt"
    answer_column: str | None = None
    verifier: str | None = None
    dataset_split: str = "train"
    skip_bad_rows: bool = False
    limit: int | None = None
    decontaminate: tuple[str, ...] = ()
    near_duplicates: float | None = None
    knobs: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.location is not None and not self.location.strip():
            raise LearnableError("--prompts '' names nothing: give a file, a folder or a hub id, or leave it out")
        if self.location and (self.forms or self.families or self.forms_file):
            raise LearnableError("--prompts brings its own prompts: leave out --form, --forms and --family")
        if self.limit is not None and self.limit < 1:
            raise LearnableError(f"--limit {self.limit} leaves no prompt: give 1 or more")

    @property
    def name(self) -> str:
        """A name for the curated set, from what was asked."""
        if self.location:
            return folder_name(plain_name(local_path(self.location)))
        own = [Path(self.forms_file).stem] if self.forms_file and not self.forms else []
        return folder_name("-".join([*self.forms, *own, *self.families]).lower(), otherwise="builtin")


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What samples the policy.

    `options` go to the engine as they are: to `vllm.LLM` in this process or on each replica, or to the simulation.
    `base_urls`, `served_model`, `api_key_env`, `concurrency` (requests under way at each server), `request_timeout` and
    `patience` (seconds without a single answer) are for `server`; `ray_address` and `replicas` for `ray`.
    """

    name: str = "vllm"
    options: Mapping[str, Any] = field(default_factory=dict)
    base_urls: tuple[str, ...] = ()
    served_model: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    concurrency: int = 64
    request_timeout: float = 600.0
    patience: float = 300.0
    ray_address: str | None = None
    replicas: int = 1

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise UnknownNameError("engine", self.name, ENGINES)
        if self.name == "server" and not self.base_urls:
            raise LearnableError("--engine server needs an address: give --base-url http://HOST:PORT/v1")
        if self.name != "server" and self.base_urls:
            raise LearnableError(f"--base-url is for --engine server, not {self.name}")
        if self.name != "ray" and self.ray_address:
            raise LearnableError(f"--ray-address is for --engine ray, not {self.name}")
        self._check_numbers()

    def _check_numbers(self) -> None:
        for flag, value in (("--concurrency", self.concurrency), ("--replicas", self.replicas)):
            if value < 1:
                raise LearnableError(f"{flag} {value} leaves nothing running: give 1 or more")
        for flag, seconds in (("--request-timeout", self.request_timeout), ("--engine-patience", self.patience)):
            if not seconds > 0:
                raise LearnableError(f"{flag} {seconds:g} leaves no time: give seconds, more than 0")


@dataclass(frozen=True, slots=True)
class CurateSettings:
    """Everything that a curation run depends on. Raises `LearnableError` for settings that cannot work.

    `verifier_timeout` is the time limit of one completion's score, in seconds, instead of the verifier's own. `wait`
    says whether to wait for another run that writes the same store.
    """

    prompts: PromptSettings = field(default_factory=PromptSettings)
    policy: str | None = None
    engine: EngineSettings = field(default_factory=EngineSettings)
    group_size: int = 16
    budget: SamplingBudget = field(default_factory=SamplingBudget)
    preset: Preset = field(default_factory=lambda: Preset("band"))
    sampling: Sampling = field(default_factory=Sampling)
    truncated: Truncated = "count"
    test_share: float = 0.2
    seed: int = 0
    store: str = "learnable-store"
    name: str = ""
    workers: int = 1
    verifier_timeout: float | None = None
    wait: bool = True

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Let Prefect read the parameters of a deployment that an earlier version made."""
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(_rename_old_keys, handler(source))

    def __post_init__(self) -> None:
        if self.truncated not in ("count", "exclude"):
            raise LearnableError(f"--truncated {self.truncated!r} is not known: use count or exclude")
        if self.group_size < 2:
            raise LearnableError(
                f"--group-size {self.group_size} has no spread: a group needs 2 completions or more, 16 is usual"
            )
        if not 0 <= self.test_share < 1:
            raise LearnableError(f"--test-share {self.test_share:g} is out of range: give 0 or more and less than 1")
        if self.verifier_timeout is not None and not 0 < self.verifier_timeout < math.inf:
            raise LearnableError(f"--verifier-timeout {self.verifier_timeout:g} is no time: give seconds, more than 0")
        self._check_sampling()
        self._check_simulation()
        if not self.set_name.replace("-", "").replace("_", "").replace(".", "").isalnum() or self.set_name.startswith(
            "."
        ):
            raise LearnableError(f"--name {self.set_name!r} is no folder name: use letters, digits, '-', '_' and '.'")

    def _check_sampling(self) -> None:
        temperature, top_p = self.sampling.temperature, self.sampling.top_p
        if not 0 < temperature < math.inf:
            raise LearnableError(
                f"--temperature {temperature:g} is out of range: give more than 0, such as 1 (greedy completions of "
                "one prompt are all alike)"
            )
        if not 0 < top_p <= 1:
            raise LearnableError(
                f"--top-p {top_p:g} is out of range: give more than 0 and at most 1, which cuts nothing"
            )
        if self.sampling.max_tokens < 1:
            raise LearnableError(f"--max-tokens {self.sampling.max_tokens} leaves no room: give 1 or more")

    def _check_simulation(self) -> None:
        """Raise `LearnableError` where a simulation would answer real prompts, or a model simulated ones."""
        prompts, simulates = self.prompts, self.engine.name == "simulated"
        named = {name.casefold() for name in (*prompts.families, *prompts.forms)}
        if simulates and not prompts.location and named != {"simulated"}:
            raise LearnableError("--engine simulated answers simulated prompts alone: add --family simulated")
        if simulates and self.policy is not None:
            raise LearnableError(f"--engine simulated asks no model: leave out --policy {self.policy}")
        if not simulates and "simulated" in named:
            raise LearnableError(
                f"no model can answer simulated prompts: use --engine simulated, not {self.engine.name}"
            )

    @property
    def band(self) -> Band:
        """What is kept, prompt by prompt."""
        return self.preset.band

    @property
    def set_name(self) -> str:
        """The curated set's name: the one given, or one from what was asked."""
        return self.name or self.prompts.name


def _rename_old_keys(values: Any) -> Any:
    """Return settings with today's keys: pydantic would pass over `effort`, as `budget` was called, in silence."""
    if isinstance(values, Mapping) and "effort" in values:
        return {"budget": values["effort"], **{key: value for key, value in values.items() if key != "effort"}}
    return values
