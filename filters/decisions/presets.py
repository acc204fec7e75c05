"""Which policy of choosing is meant: a shipped preset or a TOML file, and what flags change of it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.filters.band import Band

RankBy = Literal["learnability", "p_keep"]
TopOf = Literal["kept", "scored"]
QuotaBy = Literal["family", "form"]
FLAGS = "the command line"


@dataclass(frozen=True, slots=True)
class Preset:
    """A policy of choosing the curated set. Raises `LearnableError` for a value that cannot work.

    `band` decides prompt by prompt. Then, where given: `top` prompts at most, the best by `rank_by` (learnability,
    which is the expected within-group variance, or the chance of being in the band) of those `kept` by the band or of
    all `scored` ones, but never one whose rewards are all equal; a `quota`, the largest share of the set that one
    family (or form, as `quota_by` says) may take; a `floor`, how many prompts of each the set should have. Prompts not
    chosen whose mean lies strictly inside `reserve` are set aside.
    """

    name: str
    band: Band = field(default_factory=Band)
    top: int | None = None
    top_of: TopOf = "kept"
    rank_by: RankBy = "learnability"
    reserve: tuple[float, float] | None = None
    quota: float | None = None
    quota_by: QuotaBy = "family"
    floor: int = 0

    def __post_init__(self) -> None:
        own = {key: getattr(self, key) for key in RULES if key not in BAND_KEYS}
        _check({key: value for key, value in own.items() if value is not None}, f"preset {self.name}")

    def override(self, **flags: Any) -> Preset:
        """Return this preset with every flag that was given (is not None): `band`, `min_std`, `by`, `top`, `quota`, ...

        Raises `LearnableError` in terms of the flag, and `UnknownNameError` for a flag that no preset has.
        """
        return _changed(self, {key: value for key, value in flags.items() if value is not None}, FLAGS)


def find_preset(name_or_path: str) -> Preset:
    """Return the shipped preset of that name, or read the TOML file at that path.

    What ends in `.toml` or has a slash is a path. Raises `UnknownNameError` for an unknown preset or key with the
    nearest ones, and `LearnableError` for a file that is missing, broken or has a value that cannot work.
    """
    if name_or_path in list_presets():
        return _read_preset(_shipped().joinpath(f"{name_or_path}.toml"), f"preset {name_or_path}")
    if "/" not in name_or_path and not name_or_path.endswith(".toml"):
        raise UnknownNameError("preset", name_or_path, list_presets())
    return _read_preset(Path(name_or_path), name_or_path)


def list_presets() -> tuple[str, ...]:
    """Return the names of the shipped presets.

    >>> list_presets()
    ('band', 'hard-biased', 'max-learnability')
    """
    names = (file.name for file in _shipped().iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def _shipped() -> Traversable:
    return resources.files("learnable.filters").joinpath("preset_files")


def _read_preset(file: Traversable, where: str) -> Preset:
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise LearnableError(f"preset {where!r} cannot be read: {error.strerror}; give a TOML file") from error
    except ValueError as error:
        raise LearnableError(f"{where} is no TOML: {error}") from error
    return _changed(Preset(file.name.removesuffix(".toml")), values, where)


def _changed(preset: Preset, values: Mapping[str, Any], where: str) -> Preset:
    _check(values, where)
    old = preset.band
    given: dict[str, Any] = {"band": (old.low, old.high), "min_std": old.min_std, "by": old.signal, **values}
    low, high = map(float, given.pop("band"))
    band = Band(low, high, min_std=float(given.pop("min_std")), signal=given.pop("by"))
    if "reserve" in given:
        given["reserve"] = tuple(map(float, given["reserve"]))
    return replace(preset, band=band, **given)


def _check(values: Mapping[str, Any], where: str) -> None:
    for key, value in values.items():
        if key not in RULES:
            raise UnknownNameError(f"key of {where}", key, RULES)
        works, wanted = RULES[key]
        if not works(value):
            raise LearnableError(f"{_spell(where, key, value)} cannot work: give {wanted}")


def _spell(where: str, key: str, value: Any) -> str:
    """Write a key and its value in the words of the file or of the flag that they came from."""
    if where != FLAGS:
        return f"{where}: {key} = {value!r}"
    words = value if isinstance(value, list | tuple) else [value]
    return " ".join([f"--{key.replace('_', '-')}", *map(str, words)])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any, minimum: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= minimum


def _is_interval(value: Any) -> bool:
    two_numbers = isinstance(value, list | tuple) and len(value) == 2 and all(map(_is_number, value))
    return two_numbers and 0 <= value[0] < value[1] <= 1


Rule = tuple[Callable[[Any], bool], str]
"""Whether a value can work, and what to give instead of one that cannot."""

BAND_KEYS = ("band", "min_std", "by")
RULES: Mapping[str, Rule] = {
    "band": (_is_interval, "two numbers in [0, 1], the lower one first"),
    "min_std": (lambda value: _is_number(value) and 0 <= value <= 0.5, "0 to 0.5, the most that rewards can spread"),
    "by": (lambda value: value in ("reward", "pass"), "reward or pass"),
    "top": (lambda value: _is_count(value, 1), "how many prompts to take, 1 or more"),
    "top_of": (lambda value: value in ("kept", "scored"), "kept or scored"),
    "rank_by": (lambda value: value in ("learnability", "p_keep"), "learnability or p_keep"),
    "reserve": (_is_interval, "two numbers in [0, 1], the lower one first"),
    "quota": (lambda value: _is_number(value) and 0 < value <= 1, "a share of the set, more than 0 and at most 1"),
    "quota_by": (lambda value: value in ("family", "form"), "family or form"),
    "floor": (lambda value: _is_count(value, 0), "how many prompts of each family to keep at least, 0 or more"),
}
