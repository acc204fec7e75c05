"""Which runs an ablation is made of: a TOML file of variants, a grid of values and seeds, its settings checked."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import product
from pathlib import Path
from typing import Any, get_type_hints

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.storage.places import find_place
from learnable.train.file_settings import check_file_settings, make_settings
from learnable.train.presets import find_train_preset, merge_settings
from learnable.train.settings import TrainSettings
from learnable.train.trl_options import describe_type, fits_type

SECTIONS = ("title", "form", "seeds", "at_step", "base", "run", "grid")
MAKES: Mapping[str, object] = {"form": str, "band": list[float], "preset": str, "best_forms": int}
FORM = "{form}"  # what the form that a file is about stands for in its texts
CHOSEN_HERE = {"output": "`output` names one folder for all runs", "seed": "give seeds = [0, 1, 2] above [base]"}
CHOSEN_HERE |= {"resume": "the same command goes on by itself", "verifiers": "name code yourself, with `verifier`"}


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to train: its settings without folder and seed.

    `differs` has what the file says of it beyond [base], by name. `made_by` is the command that makes its curated set,
    and `make` says what that set takes of the one in [base]: the prompts of a `form`, or of the `best_forms`, which
    have most variance within groups; another `band` or `preset`.
    """

    name: str
    settings: TrainSettings
    differs: Mapping[str, object]
    made_by: str = ""
    make: Mapping[str, object] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Its name as the beginning of a folder's.

        >>> Variant("fewer, num_generations=8", TrainSettings("", ""), {}).folder
        'fewer-num_generations=8'
        """
        return re.sub(r"[^\w.=]+", "-", self.name).strip("-.")


@dataclass(frozen=True, slots=True)
class Ablation:
    """What a file asks for: each variant once with each seed. The others are held against the first variant.

    `at_step` is the step that all runs are trained to and compared at; None compares each at its own last one.
    `curated` is the set in [base].
    """

    name: str
    title: str
    variants: tuple[Variant, ...]
    seeds: tuple[int, ...]
    at_step: int | None
    curated: str = ""


def list_ablations() -> tuple[str, ...]:
    """Return the names of the shipped ablations."""
    names = (file.name for file in _shipped().iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def read_text(name_or_path: str) -> str:
    """Return the text of a shipped ablation, or of a file: what ends in `.toml` or has a slash is one.

    Raises `LearnableError` for a file that cannot be read, and `UnknownNameError` for a name that is not shipped.
    """
    file: Traversable = Path(name_or_path)
    if not name_or_path.endswith(".toml") and "/" not in name_or_path:
        if name_or_path not in list_ablations():
            raise UnknownNameError("ablation", name_or_path, list_ablations())
        file = _shipped().joinpath(f"{name_or_path}.toml")
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise LearnableError(f"ablation {name_or_path!r} cannot be read: {error.strerror}; give a TOML file") from error


def read_ablation(name_or_path: str, curated: str = "", form: str = "") -> Ablation:
    """Read an ablation; `curated` stands before the set that its [base] names, `form` before the form that it has.

    Raises `LearnableError` naming file, key, value and fix for what cannot work whatever the data.
    """
    text = read_text(name_or_path)
    if form and FORM not in text:
        raise LearnableError(f"{name_or_path} is about no form: leave out `form` {form}, or write {FORM} in the file")
    table = _parse(text, name_or_path)
    if form := form or str(table.get("form", "")):
        table = _parse(text.replace(FORM, form.strip().replace(" ", "-").lower()), name_or_path)
    base: dict[str, Any] = dict(table.get("base", {}))
    if curated:
        base["curated"] = curated
    if not base.get("curated"):
        raise LearnableError(f"{name_or_path}: [base] names no curated set: give `curated`, or curated = ... in [base]")
    check_file_settings(base, f"{name_or_path}: [base]", {"curated": curated})
    at_step, seeds = table.get("at_step"), table.get("seeds", [0])
    if at_step is not None and not (fits_type(at_step, int) and at_step > 0):
        raise LearnableError(f"{name_or_path}: at_step = {at_step!r} is no step: give a whole number above 0")
    if not _are_seeds(seeds):
        raise LearnableError(f"{name_or_path}: seeds = {seeds!r} cannot work: give different numbers, as [0, 1, 2]")
    variants = tuple(_list_variants(table, base, name_or_path))
    _check_names(variants, name_or_path)
    _check_measures(variants, name_or_path)
    return Ablation(
        Path(name_or_path).stem, str(table.get("title", "")), variants, tuple(seeds), at_step, str(base["curated"])
    )


def _shipped() -> Traversable:
    return resources.files("learnable.train.ablation").joinpath("examples")


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LearnableError(f"{where} is no TOML: {error}") from error
    for key in table:
        if key not in SECTIONS:
            raise UnknownNameError(f"key of {where}", key, SECTIONS)
    kinds = {"base": dict, "grid": dict, "run": list}
    for key, kind in kinds.items():
        if not isinstance(table.get(key, kind()), kind):
            raise LearnableError(
                f"{where}: {key} = {table[key]!r} is no table: write {'[[run]]' if key == 'run' else f'[{key}]'}"
            )
    return table


def _are_seeds(seeds: object) -> bool:
    return isinstance(seeds, list) and all(fits_type(seed, int) for seed in seeds) and 0 < len(seeds) == len(set(seeds))


def _list_variants(table: Mapping[str, Any], base: Mapping[str, Any], where: str) -> Iterator[Variant]:
    """Yield each [[run]] at each point of the [grid]."""
    points = list(_list_points(table.get("grid", {}), where))
    for given in table.get("run") or [{}]:
        if not isinstance(given, dict):
            raise LearnableError(f"{where}: run = {given!r} is no table: write [[run]]")
        own = {key: value for key, value in given.items() if key not in ("name", "made_by", "make")}
        name, made_by = str(given.get("name", "")), str(given.get("made_by", ""))
        make = _read_make(given, f"{where}: run {name!r}")
        for point in points:
            if both := sorted(set(own) & set(point)):
                raise LearnableError(f"{where}: run {name!r} gives {both[0]}, and so does [grid]: give it once")
            full = ", ".join(filter(None, (name, *(f"{key}={write_value(value)}" for key, value in point.items()))))
            if not full and len(table.get("run", [])) > 1:
                raise LearnableError(f'{where}: a [[run]] has no name: add name = "..."')
            variant = _make_variant(full or "base", base, {**own, **point}, made_by, table.get("at_step"), where)
            yield replace(variant, make=make)


def _read_make(given: Mapping[str, Any], where: str) -> Mapping[str, object]:
    make = given.get("make", {})
    if not isinstance(make, dict) or (make and "curated" not in given):
        raise LearnableError(f"{where}: make = {make!r} makes the set of curated = ...: give that, and a table")
    for key, value in make.items():
        if key not in MAKES:
            raise UnknownNameError(f"{where}: make: key", key, MAKES)
        if not fits_type(value, MAKES[key]) or (key == "band" and len(value) != 2):
            raise LearnableError(f"{where}: make: {key} = {value!r} is no {describe_type(MAKES[key])}: correct it")
    return make


def _list_points(grid: Mapping[str, Any], where: str) -> Iterator[dict[str, Any]]:
    for key, values in grid.items():
        if not isinstance(values, list) or not values:
            raise LearnableError(
                f"{where}: [grid] {key} = {values!r} is no list of values: give {key} = [{values!r}, ...]"
            )
    for point in product(*grid.values()):
        yield dict(zip(grid, point, strict=True))


def _make_variant(
    name: str, base: Mapping[str, Any], own: Mapping[str, Any], made_by: str, at_step: int | None, where: str
) -> Variant:
    where = f"{where}: run {name!r}"
    typed = {**base, **own}
    for key in CHOSEN_HERE:
        if key in typed:
            raise LearnableError(f"{where}: key {key!r} belongs to no variant: {CHOSEN_HERE[key]}")
    if at_step is not None and typed.get("steps", at_step) != at_step:
        raise LearnableError(
            f"{where}: steps = {typed['steps']}, but at_step = {at_step} trains all runs to there: leave one out"
        )
    check_file_settings(dict(own), where)
    merged = merge_settings(_with_preset(base), _with_preset(own))
    if at_step is not None:
        merged["steps"] = at_step
    if isinstance(own.get("curated"), str) and "/" not in own["curated"]:
        merged["curated"] = _name_sibling(str(base["curated"]), own["curated"])
    for key in ("families", "stop", "reward_range", "reach"):
        if not isinstance(merged.get(key, []), list):
            raise LearnableError(f"{where}: {key} = {merged[key]!r} is no list: give {key} = [{merged[key]!r}]")
    settings = make_settings({"output": "", **merged}, where)
    _check_types(settings, where)
    return Variant(name, settings, own, made_by)


def _with_preset(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings over those of the preset that they name. Raises `LearnableError` for one that there is not."""
    own = {key: value for key, value in given.items() if key != "preset"}
    return merge_settings(find_train_preset(str(given["preset"])).values, own) if "preset" in given else own


def _name_sibling(curated: str, name: str) -> str:
    """Return the folder of that name beside a curated set, which may be given by one of its versions."""
    folder = find_place(curated)
    return str((folder.parent if re.fullmatch(r"v\d+", folder.name) else folder).parent / name)


def _check_types(settings: TrainSettings, where: str) -> None:
    """Raise `LearnableError` for a value that no setting of that name can have; which ones work, preflight says."""
    for name, wanted in get_type_hints(TrainSettings).items():
        value = getattr(settings, name)
        if not fits_type(value, wanted):
            raise LearnableError(f"{where}: {name} = {value!r} cannot work: it takes {describe_type(wanted)}")


def _check_names(variants: Sequence[Variant], where: str) -> None:
    seen: dict[str, str] = {}
    for variant in variants:
        if not variant.folder or variant.folder in seen:
            raise LearnableError(
                f"{where}: run {variant.name!r} has the name of another ({seen.get(variant.folder, '')!r}), or none of "
                "which a folder can be made: give it another"
            )
        seen[variant.folder] = variant.name


def _check_measures(variants: Sequence[Variant], where: str) -> None:
    """Raise `LearnableError` unless all variants are measured, and alike."""
    first = variants[0].settings
    for variant in variants:
        for name in ("evaluate", "held_out", "eval_group_size", "eval_k", "eval_limit"):
            if getattr(variant.settings, name) != getattr(first, name):
                raise LearnableError(
                    f"{where}: run {variant.name!r} has {name} = {getattr(variant.settings, name)}, and "
                    f"{variants[0].name!r} {getattr(first, name)}: all are measured alike, so give it in [base] alone"
                )
    if not first.evaluate:
        raise LearnableError(f"{where}: evaluate = false leaves nothing to compare: leave it out")


def write_value(value: object) -> str:
    """Return a value of a setting as names and tables have it.

    >>> write_value(1e-5), write_value(["a", "b"]), write_value({"top_k": 5})
    ('1e-05', 'a b', 'top_k=5')
    """
    if isinstance(value, Mapping):
        return " ".join(f"{key}={write_value(one)}" for key, one in value.items())
    return " ".join(map(write_value, value)) if isinstance(value, list | tuple) else str(value)
