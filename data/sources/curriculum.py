"""A curriculum: how the knobs of a family move as training goes on, as data."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.records import JsonObject
from learnable.data.sources.builtin import find_family
from learnable.data.sources.family import Knobs

SHIPPED = Path(str(resources.files("learnable.data.sources.curricula")))


@dataclass(frozen=True, slots=True)
class Stage:
    """A stretch of training from the step `from_step` on. Knobs that are not in `knobs` are at their defaults."""

    name: str
    from_step: int
    knobs: Knobs


@dataclass(frozen=True, slots=True)
class Curriculum:
    """The stages of one family, in the order of their steps; the first begins at step 0.

    Raises `LearnableError` for stages in another order, for a name that comes twice, and for knobs that the family does
    not have or that are out of range.
    """

    family: str
    stages: tuple[Stage, ...]

    def __post_init__(self) -> None:
        steps, names = [stage.from_step for stage in self.stages], [stage.name for stage in self.stages]
        if steps[:1] != [0]:
            raise LearnableError("the first stage has to begin with training: give it from_step = 0")
        for before, stage in zip(self.stages, self.stages[1:], strict=False):
            if stage.from_step <= before.from_step:
                raise LearnableError(
                    f"stage {stage.name!r} has from_step = {stage.from_step}, and the one before it "
                    f"{before.from_step}: give a later step"
                )
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise LearnableError(f"two stages are called {twice!r}: give each its own name")
        for stage in self.stages:
            try:
                find_family(self.family).set_knobs(stage.knobs)
            except LearnableError as error:
                raise LearnableError(f"stage {stage.name!r}: {error}") from error

    def stage_at(self, step: int) -> Stage:
        """Return the stage of a step of training, from 0 on. Raises `LearnableError` for a step below 0."""
        if step < 0:
            raise LearnableError(f"step {step} is before training: give 0 or more")
        return next(stage for stage in reversed(self.stages) if stage.from_step <= step)

    def knobs_at(self, step: int) -> Knobs:
        """Return the knobs at a step of training, by their names for users. Raises `LearnableError` as `stage_at`.

        >>> [read_curriculum("counting").knobs_at(step)["most_words"] for step in (0, 199, 200, 10_000)]
        [4, 4, 12, 40]
        """
        return self.stage_at(step).knobs

    def find_stage(self, name: str) -> Stage:
        """Return the stage called so, or else of this number, from 1 on. Raises `UnknownNameError`."""
        by_name = {str(number): stage for number, stage in enumerate(self.stages, 1)}
        by_name |= {stage.name: stage for stage in self.stages}
        if name not in by_name:
            raise UnknownNameError("stage", name, by_name)
        return by_name[name]


def read_curriculum(name: str) -> Curriculum:
    """Return a curriculum that comes with the library, by its name, or a user's in a TOML or JSON file.

    Raises `LearnableError`, with the file, for one that cannot be read and for stages that cannot work.
    """
    path = SHIPPED / f"{name}.toml" if name in shipped_curricula() else Path(name)
    if not path.is_file():
        raise LearnableError(
            f"--curriculum {name!r} is neither a file nor one of ours ({', '.join(shipped_curricula())}): correct it"
        )
    try:
        text = path.read_text(encoding="utf-8")
        given = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise LearnableError(f"curriculum {str(path)!r} cannot be read: {error}") from error
    try:
        return _read(given)
    except LearnableError as error:
        raise LearnableError(f"curriculum {str(path)!r}: {error}") from error


def shipped_curricula() -> list[str]:
    """Return the names of the curricula that come with the library."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def _read(given: Any) -> Curriculum:
    table = _take(given, "the file", {"family": str, "stages": list})
    kinds = {"stage": (str, int), "from_step": int, "knobs": dict}
    rows = [_take(row, f"stage {number}", kinds) for number, row in enumerate(table["stages"], 1)]
    stages = (Stage(str(row["stage"]), row["from_step"], row["knobs"]) for row in rows)
    return Curriculum(find_family(table["family"]).name, tuple(stages))


def _take(given: Any, place: str, kinds: Mapping[str, Any]) -> JsonObject:
    """Return a table that has just these keys, each of its kind."""
    if not isinstance(given, dict):
        raise LearnableError(f"{place} is no table: give {_listed(kinds)}")
    for key in given.keys() - kinds.keys():
        raise UnknownNameError(f"{place}: key", key, kinds)
    for key, kind in kinds.items():
        if key not in given:
            raise LearnableError(f"{place} has no {key}: give {_listed(kinds)}")
        if not isinstance(given[key], kind) or isinstance(given[key], bool):
            raise LearnableError(f"{place} has {key} = {given[key]!r}, which is no {_name(kind)}: correct it")
    return given


def _listed(kinds: Mapping[str, Any]) -> str:
    return ", ".join(kinds)


def _name(kind: type | Sequence[type]) -> str:
    names = {str: "text", int: "whole number", list: "list", dict: "table"}
    return names[kind] if isinstance(kind, type) else " or ".join(names[one] for one in kind)
