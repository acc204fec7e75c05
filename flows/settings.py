"""What one curation run is asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.records import Sampling
from learnable.filters.band import Band
from learnable.filters.groups import Truncated

ENGINES = ("vllm",)
BUILTIN_LIMIT = 512  # the built-in generators never end


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """Which prompts to look at: built-in forms and families, or `location` (a file, a folder or a hub id)."""

    forms: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    location: str | None = None
    prompt_column: str = "prompt"
    answer_column: str | None = None
    verifier: str | None = None
    dataset_split: str = "train"
    limit: int | None = None
    knobs: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.location and (self.forms or self.families):
            raise LearnableError("--prompts brings its own prompts: leave out --form and --family")
        if self.limit is not None and self.limit < 1:
            raise LearnableError(f"--limit {self.limit} leaves no prompt: give 1 or more")

    @property
    def name(self) -> str:
        """A name for the curated set, from what was asked."""
        if self.location:
            return self.location.rstrip("/").rsplit("/", 1)[-1].split(".")[0]
        return "-".join([*self.forms, *self.families]).lower().replace(" ", "_") or "builtin"


@dataclass(frozen=True, slots=True)
class CurateSettings:
    """Everything that a curation run depends on. Raises `LearnableError` for settings that cannot work."""

    prompts: PromptSettings = field(default_factory=PromptSettings)
    policy: str | None = None
    engine: str = "vllm"
    engine_options: Mapping[str, Any] = field(default_factory=dict)
    group_size: int = 16
    band: Band = field(default_factory=Band)
    sampling: Sampling = field(default_factory=Sampling)
    truncated: Truncated = "count"
    test_share: float = 0.2
    seed: int = 0
    store: str = "learnable-store"
    name: str = ""
    workers: int = 1

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise UnknownNameError("engine", self.engine, ENGINES)
        if self.truncated not in ("count", "exclude"):
            raise LearnableError(f"--truncated {self.truncated!r} is not known: use count or exclude")
        if self.group_size < 2:
            raise LearnableError(
                f"--group-size {self.group_size} has no spread: a group needs 2 completions or more, 16 is usual"
            )
        if not 0 <= self.test_share < 1:
            raise LearnableError(f"--test-share {self.test_share:g} is out of range: give 0 or more and less than 1")
        if self.sampling.temperature <= 0:
            raise LearnableError("--temperature must be over 0: greedy completions of one prompt are all alike")
        if self.sampling.max_tokens < 1:
            raise LearnableError(f"--max-tokens {self.sampling.max_tokens} leaves no room: give 1 or more")
        if not self.set_name.replace("-", "").replace("_", "").replace(".", "").isalnum() or self.set_name.startswith(
            "."
        ):
            raise LearnableError(f"--name {self.set_name!r} is no folder name: use letters, digits, '-', '_' and '.'")

    @property
    def set_name(self) -> str:
        """The curated set's name: the one given, or one from what was asked."""
        return self.name or self.prompts.name
