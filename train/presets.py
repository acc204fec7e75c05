"""Settings of training under a name: what papers and earlier runs used, each value with its reason."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.records import JsonObject
from learnable.train.file_settings import check_file_settings
from learnable.train.settings import TrainSettings

DRAWN_BECAUSE: Mapping[tuple[str, object], str] = {  # where no part was named (`preflight/drawing.py`)
    ("part", "pool"): "kept prompts alone let a policy forget what it had mastered",
    ("sampler", "live"): "groups that are alike by now are not paid for; what was mastered comes back",
}


@dataclass(frozen=True, slots=True)
class PresetValue:
    """A value of a setting, and why it is that."""

    value: Any
    why: str


@dataclass(frozen=True, slots=True)
class TrainPreset:
    """A named recipe: where it is from, and its settings by name."""

    name: str
    title: str
    source: str
    settings: Mapping[str, PresetValue]

    @property
    def values(self) -> JsonObject:
        """The settings without their reasons."""
        return {name: choice.value for name, choice in self.settings.items()}


def find_train_preset(name_or_path: str) -> TrainPreset:
    """Return the shipped preset of that name, or read the TOML file at that path.

    What ends in `.toml` or has a slash is a path. Raises `UnknownNameError` for an unknown preset or setting with the
    nearest ones, and `LearnableError` for a file that cannot be read, lacks a reason, or sets what only a person may.
    """
    if name_or_path in list_train_presets():
        return _read(_shipped().joinpath(f"{name_or_path}.toml"), f"preset {name_or_path}")
    if "/" not in name_or_path and not name_or_path.endswith(".toml"):
        raise UnknownNameError("preset", name_or_path, list_train_presets())
    return _read(Path(name_or_path), name_or_path)


def list_train_presets() -> tuple[str, ...]:
    """Return the names of the shipped presets."""
    names = (file.name for file in _shipped().iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def _shipped() -> Traversable:
    return resources.files("learnable.train").joinpath("preset_files")


def _read(file: Traversable, where: str) -> TrainPreset:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise LearnableError(f"preset {where!r} cannot be read: {error.strerror}; give a TOML file") from error
    except ValueError as error:
        raise LearnableError(f"{where} is no TOML: {error}") from error
    settings = table.get("settings", {})
    # These belong to one run and not to a recipe.
    of_run = ("curated", "output", "policy", "verifiers", "part", "families", "resume", "seed", "report_to")
    known = [field.name for field in fields(TrainSettings) if field.name not in of_run]
    for name, choice in settings.items():
        if name not in known:
            raise UnknownNameError(f"setting of {where}", name, known)
        if not isinstance(choice, dict) or set(choice) != {"value", "why"}:
            raise LearnableError(f'{where}: {name} = {choice!r} cannot work: give {{ value = ..., why = "..." }}')
    check_file_settings({name: choice["value"] for name, choice in settings.items()}, where)
    return TrainPreset(
        file.name.removesuffix(".toml"),
        str(table.get("title", "")),
        str(table.get("source", "")),
        {name: PresetValue(**choice) for name, choice in settings.items()},
    )


def merge_settings(under: JsonObject, over: JsonObject) -> JsonObject:
    """Return settings by name, those of `over` first; of TRL's own, which stand under `trl`, both.

    A `beta` that is given over `no_kl` switches the KL term on again. A `beta` under another method is left out: that
    method's is another thing.

    >>> merge_settings({"no_kl": True, "trl": {"top_k": 1}}, {"beta": 0.1, "trl": {"min_p": 0.5}})
    {'trl': {'top_k': 1, 'min_p': 0.5}, 'beta': 0.1}
    """
    recipe = under.get("method", "grpo")
    dropped = {"no_kl"} if "beta" in over else {"beta"} if over.get("method", recipe) != recipe else set()
    kept = {name: value for name, value in under.items() if name not in dropped}
    trl = {**under.get("trl", {}), **over.get("trl", {})}
    return {**kept, **over, "trl": trl}


@dataclass(frozen=True, slots=True)
class ExplainedSetting:
    """A setting of a run: its value, where that is from, and why it is that; "" where nobody said."""

    name: str
    value: Any
    source: str
    why: str


def explain_settings(
    wanted: TrainSettings, filled: TrainSettings, given: JsonObject, preset: TrainPreset | None
) -> list[ExplainedSetting]:
    """Return every setting of a run with its source: the command line, the preset, the set, or what is usual.

    `wanted` are the settings before the curated set filled in what was open, `given` those that were typed.
    """
    usual = dict(find_train_preset("usual").settings)
    if filled.method == "dpo":
        usual |= find_train_preset("dpo").settings
    rows = []
    for name in (field.name for field in fields(TrainSettings)):
        value, why = getattr(filled, name), ""
        if name in given:
            source = "typed"
        elif preset and name in preset.settings and getattr(wanted, name) == preset.settings[name].value:
            source, why = preset.name, preset.settings[name].why
        elif value != getattr(wanted, name) and (name not in usual or value != usual[name].value):
            source, why = "the set", DRAWN_BECAUSE.get((name, value), "") if wanted.part is None else ""
        else:
            source, why = "usual", usual[name].why if name in usual else ""
        if value not in (None, "", (), {}):
            rows.append(ExplainedSetting(name, value, source, why))
    return rows
