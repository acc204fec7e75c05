"""What an export depends on, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from learnable.data.errors import LearnableError
from learnable.data.exports.targets import list_targets
from learnable.data.settings import Setting, check_settings
from learnable.train.settings import TrustedVerifiers

EXPORTED = "What is written"  # a heading of `--help`
Order = Literal["set", "curriculum"]


@dataclass(frozen=True, slots=True)
class ExportSettings:
    """Everything that an export depends on. Raises `LearnableError` for settings that cannot work."""

    curated: str
    to: Annotated[str, Setting("The trainer: one of the targets above.", EXPORTED)] = ""
    output: Annotated[str, Setting("Folder to write to.", EXPORTED)] = ""
    parts: Annotated[
        tuple[str, ...],
        Setting("A part of the set; repeatable.", EXPORTED, flag="--part", usual="train and test"),
    ] = ()
    order: Annotated[
        Order, Setting("set: as the set has them. curriculum: from the easiest prompt to the hardest.", EXPORTED)
    ] = "set"
    verifiers: TrustedVerifiers = ()
    store: Annotated[str, Setting("Folder or URL of the store, where SET is a name in one.", EXPORTED)] = (
        "learnable-store"
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.to:
            raise LearnableError(f"`to` is missing: name a trainer, one of {', '.join(list_targets())}")
        if not self.output:
            raise LearnableError(f"`output` is missing: name a folder for what {self.to} reads")
