"""The trainers that a set is written for, as `targets.toml` declares them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import resources
from typing import Any

from learnable.data.errors import UnknownNameError
from learnable.data.records import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A trainer: what its rows are and in which kind of file, and the judge that its reward hook calls.

    `columns` and `twin_columns` are templates of rows, "*" for all columns of the set; `twin` is the ending of a second
    file's name. `one_turn` says that it takes the first message for the question. `package` is the folder that an
    installable package has its files in. An empty text stands for what a target has not.
    """

    name: str
    title: str
    source: str
    file: str
    columns: Any
    use: str
    judge_name: str = ""
    judge: str = ""
    twin: str = ""
    twin_columns: JsonObject = field(default_factory=dict)
    one_turn: bool = False
    package: str = ""
    pyproject: str = ""

    @property
    def suffix(self) -> str:
        """What the names of its files end in; nothing for folders."""
        return "" if self.file == "dataset" else f".{self.file}"

    @property
    def takes_all(self) -> bool:
        """Whether its rows are those of the set as they are."""
        return bool(self.columns == "*")


@cache
def list_targets() -> Mapping[str, Target]:
    """Return the targets by name."""
    text = (resources.files("learnable.data.exports") / "targets.toml").read_text(encoding="utf-8")
    known = {one.name for one in fields(Target)}
    declared = tomllib.loads(text)
    return {
        name: Target(name=name, **{key: value for key, value in values.items() if key in known})
        for name, values in declared.items()
    }


def find_target(name: str) -> Target:
    """Return a target by its name. Raises `UnknownNameError` with the nearest names."""
    targets = list_targets()
    if name not in targets:
        raise UnknownNameError("export target", name, tuple(targets))
    return targets[name]
