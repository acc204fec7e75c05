"""What publishing depends on, as plain data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from learnable.data.errors import LearnableError
from learnable.data.settings import Setting, check_settings

PUBLISHED = "What goes up"  # a heading of `--help`
KEPT_COLUMNS = ("prompt", "prompt_id", "verifier", "spec")  # without which a row is no prompt
LICENSE = re.compile(r"[a-z0-9][a-z0-9.+-]*")


@dataclass(frozen=True, slots=True)
class PublishSettings:
    """Everything that publishing depends on. Raises `LearnableError` for settings that cannot work."""

    curated: str
    to: Annotated[
        str, Setting("Where it goes: hub:user/name, a folder, or a URL such as s3://bucket/set.", PUBLISHED)
    ] = ""
    license: Annotated[
        str, Setting("The set's licence, as the hub names it: cc-by-4.0.", PUBLISHED, usual="that of its sources")
    ] = ""
    drop_columns: Annotated[
        tuple[str, ...], Setting("A column to leave out of every part; repeatable.", PUBLISHED, flag="--drop-column")
    ] = ()
    private: Annotated[bool, Setting("Make a new data set of the hub private.", PUBLISHED)] = False
    store: Annotated[str, Setting("Folder or URL of the store, where SET is a name in one.", PUBLISHED)] = (
        "learnable-store"
    )
    dry_run: Annotated[bool, Setting("Show each file with its bytes, and the card, and send nothing.", PUBLISHED)] = (
        False
    )

    def __post_init__(self) -> None:
        check_settings(self)
        self._check_target()
        if self.license and not LICENSE.fullmatch(self.license):
            raise LearnableError(
                f"`license` {self.license!r} is no name of a licence: give one as the hub has them, such as cc-by-4.0"
            )
        if needed := [name for name in self.drop_columns if name in KEPT_COLUMNS]:
            raise LearnableError(f"`drop_columns` {needed[0]} is what makes a row a prompt: leave out another")

    def _check_target(self) -> None:
        if not self.to:
            raise LearnableError("`to` is missing: give hub:user/name, a folder, or a URL such as s3://bucket/set")


@dataclass(frozen=True, slots=True)
class AnnotateSettings(PublishSettings):
    """Everything that annotating depends on. Raises `LearnableError` for settings that cannot work."""

    policies: Annotated[
        tuple[str, ...],
        Setting(
            "Whose certificates: a folder, hub id or policy id; repeatable, the first is the set's own.",
            PUBLISHED,
            flag="--policy",
            usual="the set's own",
        ),
    ] = ()
    output: Annotated[
        str, Setting("File to write instead: .parquet or .jsonl, all rows with their part.", PUBLISHED)
    ] = ""

    def _check_target(self) -> None:
        if bool(self.to) == bool(self.output):
            raise LearnableError("give either `to`, where it is published, or `output`, a file for its rows")
        if self.output and not self.output.endswith((".parquet", ".jsonl")):
            raise LearnableError(f"`output` {self.output!r} is no .parquet and no .jsonl: give one of those")
