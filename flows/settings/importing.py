"""What an import depends on, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from learnable.data.errors import LearnableError
from learnable.data.policies import Policy
from learnable.data.settings import Setting, check_settings
from learnable.flows.settings.curation import POLICY, CurateSettings
from learnable.rollouts.protocol import Engine
from learnable.rollouts.registry import EngineSettings

READ = "How files are read"  # a heading of `--help`


@dataclass(frozen=True, slots=True)
class ImportedSettings(EngineSettings):
    """No engine: the rollouts came in `files` of a `format`, and no more are drawn."""

    title: ClassVar[str] = "imported"
    format: str
    files: tuple[str, ...]
    name: Literal["imported"] = "imported"

    def start(self, policy: Policy) -> Engine:
        """Raise `LearnableError`: there is nothing to start."""
        raise LearnableError("an import draws no rollouts: find-learnable does, on the same policy")


@dataclass(frozen=True, slots=True)
class ImportSettings:
    """Everything that an import depends on. Raises `LearnableError` for settings that cannot work.

    `curation` says where the set goes, what is kept, and by `prompts.verifier` who judges anew. `max_tokens` is None
    for the longest completion of the files.
    """

    files: tuple[str, ...]
    reward: Annotated[
        str,
        Setting(
            "The column, metric or signal that is the reward.",
            READ,
            usual="the format's own; of TRL's, the mean of all reward columns",
        ),
    ] = ""
    reward_range: Annotated[str, Setting("Where rewards lie: LOW..HIGH, such as -1..1.", READ, usual="0..1")] = ""
    reward_pass: Annotated[
        float | None, Setting("The least reward that passes.", READ, usual="the highest of the range")
    ] = None
    k: Annotated[
        int | None,
        Setting("Count tables: completions of each prompt, where no column has it.", READ, flag="--k", at_least=1),
    ] = None
    rate: Annotated[
        str,
        Setting("Count tables: the column of pass rates, as llama8b_solve_rate.", READ, usual="the one named so"),
    ] = ""
    max_tokens: Annotated[
        int | None,
        Setting("Most tokens of a completion, as they were drawn.", POLICY, at_least=1, usual="the longest there is"),
    ] = None
    curation: CurateSettings = field(default_factory=CurateSettings)

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.files:
            raise LearnableError("nothing to import: give a file of rollouts, or a table of counts")
