"""Which policy of choosing is meant: a shipped preset or a TOML file, and what flags change of it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Literal

from learnable.data.band import Band
from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.settings import Setting, list_settings

RankBy = Literal["learnability", "p_keep"]
TopOf = Literal["kept", "scored"]
QuotaBy = Literal["family", "form"]
SETTINGS = "the settings"


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
    top: Annotated[int | None, Setting("Keep only this many prompts, those with the most to teach.", at_least=1)] = None
    top_of: Annotated[TopOf, Setting("Of which prompts they are taken.", flag=None)] = "kept"
    rank_by: Annotated[RankBy, Setting("What is most to teach.", flag=None)] = "learnability"
    reserve: tuple[float, float] | None = None
    quota: Annotated[
        float | None, Setting("Largest share of the set that one family may take.", above=0, at_most=1)
    ] = None
    quota_by: Annotated[QuotaBy, Setting("What a quota and a floor are of.", flag=None)] = "family"
    floor: Annotated[
        int,
        Setting("Prompts of each family that the set should have at least.", at_least=0, usual="the preset's, 0"),
    ] = 0

    def __post_init__(self) -> None:
        own = {key: getattr(self, key) for key in RULES if key not in ("band", "min_std", "by")}
        _check({key: value for key, value in own.items() if value is not None}, f"preset {self.name}")

    def override(self, **flags: Any) -> Preset:
        """Return this preset with every flag that was given (is not None): `band`, `min_std`, `by`, `top`, `quota`, ...

        Raises `LearnableError` in terms of the flag, and `UnknownNameError` for a flag that no preset has.
        """
        return _changed(self, {key: value for key, value in flags.items() if value is not None}, SETTINGS)


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
    """Write a key and its value in the words of the file or of the setting that they came from."""
    if where != SETTINGS:
        return f"{where}: {key} = {value!r}"
    words = value if isinstance(value, list | tuple) else [value]
    return " ".join(["`signal`" if key == "by" else f"`{key}`", *map(str, words)])


def _is_interval(value: Any) -> bool:
    is_pair = isinstance(value, list | tuple) and len(value) == 2
    return is_pair and all(type(end) in (int, float) for end in value) and 0 <= value[0] < value[1] <= 1


ValueRule = tuple[Callable[[Any], bool], str]
"""Whether a value can work, and what to give instead of one that cannot."""

RULES: Mapping[str, ValueRule] = {
    **dict.fromkeys(("band", "reserve"), (_is_interval, "two numbers in [0, 1], the lower one first")),
    **{name: (one.works, one.wanted) for name, one in list_settings(Preset).items()},
    **{"by" if name == "signal" else name: (one.works, one.wanted) for name, one in list_settings(Band).items()},
}
