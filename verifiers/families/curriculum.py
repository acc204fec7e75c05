"""A curriculum: how the knobs of a family move as training goes on, as data."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.records import JsonObject, Prompt
from learnable.data.sources.family import Knobs, read_levels
from learnable.verifiers.families.registry import ALL_FAMILIES, find_family, find_forms, list_families


@dataclass(frozen=True, slots=True)
class Stage:
    """A stretch of training from the step `from_step` on. Knobs that are not in `knobs` are at their defaults.

    Of prompts that are there, a stage takes those that its knobs may ask, of these `forms` where some are named, and of
    a difficulty from one end of `difficulty` to the other.
    """

    name: str
    from_step: int
    knobs: Knobs = field(default_factory=dict)
    forms: tuple[str, ...] = ()
    difficulty: tuple[float, float] | None = None

    def takes(self, prompt: Prompt) -> bool:
        """Whether a prompt is one of this stage, or of one before it."""
        if self.forms and prompt.form not in self.forms:
            return False
        if self.difficulty is not None:
            low, high = self.difficulty
            if prompt.difficulty is None or not low <= prompt.difficulty <= high:
                return False
        return is_within(self.knobs, prompt)


@dataclass(frozen=True, slots=True)
class Curriculum:
    """The stages of one family, in the order of their steps; the first begins at step 0.

    A curriculum without a family, whose stages have no knobs, is of any prompts with forms or difficulties. Where
    training goes by success, a pass rate of `up` leads to the next stage, and one of `down` back to the one before.
    Raises `LearnableError` for stages in another order, for a name that comes twice, for knobs that the family does
    not have or that are out of range, and for pass rates that are none.
    """

    family: str
    stages: tuple[Stage, ...]
    up: float = 0.7
    down: float = 0.3

    def __post_init__(self) -> None:
        if not 0 <= self.down < self.up <= 1:
            raise LearnableError(f"down = {self.down:g} and up = {self.up:g} are no pass rates, the lower one first")
        self._check_order()
        for stage in self.stages:
            if not self.family and stage.knobs:
                raise LearnableError(f"stage {stage.name!r} has knobs, and the file no family whose they are: name it")
            try:
                find_family(self.family).set_knobs(stage.knobs) if self.family else None
            except LearnableError as error:
                raise LearnableError(f"stage {stage.name!r}: {error}") from error

    def _check_order(self) -> None:
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

    def assign(self, prompts: Iterable[Prompt]) -> list[int]:
        """Return the number of each prompt's stage, from 0 on: the first that takes it; -1 where none does.

        Raises `LearnableError` for a knob that cannot be read out of a question.
        """
        family = ALL_FAMILIES[self.family] if self.family else None
        readable, parts = (family.readable, family.parts) if family else ((), ())
        known = f" (only {', '.join(readable)})" if readable else ""
        for stage in self.stages:
            if unread := next((name for name in stage.knobs if name not in readable), None):
                raise LearnableError(
                    f"stage {stage.name!r}: which questions keep {unread}={stage.knobs[unread]} cannot be read out of "
                    f"them{known}: say it by forms or difficulty"
                )
        families = (self.family, *parts)
        return [self._find_number(prompt) if not self.family or prompt.family in families else -1 for prompt in prompts]

    def _find_number(self, prompt: Prompt) -> int:
        return next((number for number, stage in enumerate(self.stages) if stage.takes(prompt)), -1)

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
    shipped = _list_shipped()
    path = shipped.get(name, Path(name))
    if not path.is_file():
        raise LearnableError(
            f"`curriculum` {name!r} is neither a file nor one of ours ({', '.join(sorted(shipped))}): correct it"
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
    return sorted(_list_shipped())


def _list_shipped() -> dict[str, Path]:
    return {family.name: family.curriculum for family in list_families() if family.curriculum}


def is_within(knobs: Knobs, prompt: Prompt) -> bool:
    """Whether a family with these knobs, those that it can read, may ask a question: none of them is passed.

    Raises `LearnableError` for a difficulty that is no level.
    """
    if not knobs:
        return True
    needed = ALL_FAMILIES[prompt.family].read_needed(prompt)
    for name, bound in knobs.items():
        if name not in needed:
            continue
        if name == "difficulty":
            low, high = read_levels(prompt.family, str(bound))
            holds = low <= needed[name] <= high
        else:
            holds = needed[name] >= float(bound) if name == "gap" else needed[name] <= float(bound)
        if not holds:
            return False
    return True


def _read(given: Any) -> Curriculum:
    rates = {"up": (int, float), "down": (int, float)}
    table = _take(given, "the file", {"stages": list}, {"family": str, **rates})
    kinds = {"stage": (str, int), "from_step": int}
    more = {"knobs": dict, "forms": list, "difficulty": list}
    rows = [_take(row, f"stage {number}", kinds, more) for number, row in enumerate(table["stages"], 1)]
    family = find_family(table["family"]).name if "family" in table else ""
    stages = tuple(_read_stage(row, family) for row in rows)
    return Curriculum(family, stages, **{name: table[name] for name in rates if name in table})


def _read_stage(row: JsonObject, family: str) -> Stage:
    name, levels = str(row["stage"]), row.get("difficulty")
    if levels is not None and not (len(levels) == 2 and all(isinstance(level, int | float) for level in levels)):
        raise LearnableError(f"stage {name!r} has difficulty = {levels}: give the lowest and the highest, as [1, 3.5]")
    forms = tuple(map(str, row.get("forms", ())))
    if family and forms:
        forms = tuple(form for _, form in find_forms(forms))
    return Stage(name, row["from_step"], row.get("knobs", {}), forms, tuple(levels) if levels else None)


def _take(given: Any, place: str, kinds: Mapping[str, Any], more: Mapping[str, Any]) -> JsonObject:
    """Return a table that has these keys, and may have `more`, each of its kind."""
    if not isinstance(given, dict):
        raise LearnableError(f"{place} is no table: give {_listed(kinds)}")
    known = {**kinds, **more}
    for key in given.keys() - known.keys():
        raise UnknownNameError(f"{place}: key", key, known)
    for key, kind in known.items():
        if key not in given and key in more:
            continue
        if key not in given:
            raise LearnableError(f"{place} has no {key}: give {_listed(kinds)}")
        if not isinstance(given[key], kind) or isinstance(given[key], bool):
            raise LearnableError(f"{place} has {key} = {given[key]!r}, which is no {_name(kind)}: correct it")
    return given


def _listed(kinds: Mapping[str, Any]) -> str:
    return ", ".join(kinds)


def _name(kind: type | Sequence[type]) -> str:
    names = {str: "text", int: "whole number", float: "number", list: "list", dict: "table"}
    return names[kind] if isinstance(kind, type) else " or ".join(names[one] for one in kind)
