"""The data sets that a user's name or pattern means, and their configurations: knobs, and levels of curricula."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from learnable.data.errors import LearnableError, UnknownNameError, nearest_names
from learnable.data.records import Spec
from learnable.data.sources.gym.library import NAME, load_library

LEVEL = "level"
ENTRIES_PER_SEED = 1000  # entries of one seed: some data sets make all of theirs at once
_OURS = ("seed", "size")  # what `seed` and `limit` say
_SPAN = re.compile(r"(-?[\d.]+)-(-?[\d.]+)")  # of an attribute: 3-5


def data_set_names(pattern: str) -> list[str]:
    """Return the data sets that a name or a pattern with `*` means, in order. Raises `UnknownNameError`."""
    known = sorted(set(load_library().DATASETS) - {"composite"})  # a pattern mixes data sets itself
    names = [name for name in known if fnmatchcase(name, pattern)]
    if not names:
        raise UnknownNameError(f"{NAME} data set", pattern, known)
    return names


def make_config(name: str, knobs: Mapping[str, str]) -> Any:
    """Return a data set's configuration, of the class that it declares, checked by itself.

    `level=2` sets every attribute of its curriculum to that level, counted from 0, and `level.num_terms=2` one of them;
    `num_terms=4` and `num_terms=3-5` say what an attribute is. Other knobs are fields of its configuration. What says
    less comes first, whatever the order of the knobs. Raises `LearnableError`.
    """
    kind = load_library().DATASETS[name][1]
    levels = {key: value for key, value in knobs.items() if key.partition(".")[0] == LEVEL}
    config = _at_levels(name, levels) if levels else kind()
    wanted = _as_fields(name, config, {key: text for key, text in knobs.items() if key not in levels})
    values = {key: _read_knob(name, config, key, text) for key, text in wanted.items()}
    config = replace(config, size=ENTRIES_PER_SEED, **values)
    try:
        getattr(config, "validate", bool)()
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise LearnableError(f"{NAME}:{name} refuses {_written(knobs)}: {error}") from error
    return config


def config_changes(name: str, config: Any) -> Spec:
    """Return the fields of a configuration that are not as usual, JSON-ready: its scorer may need them."""
    usual = load_library().DATASETS[name][1]()
    changed = {key: getattr(config, key) for key in known_knobs(usual) if getattr(config, key) != getattr(usual, key)}
    return dict(json.loads(json.dumps(changed)))


def known_knobs(config: Any) -> list[str]:
    """Return the names of the fields that users may set."""
    names = (knob.name for knob in fields(config) if knob.name not in _OURS)
    return sorted(name for name in names if not is_dataclass(getattr(config, name)))


def place_on_levels(name: str, metadata: Mapping[str, object]) -> float | None:
    """Return how hard an entry is, 1 to 10: how far up the levels of its curriculum it is, averaged over attributes.

    What the entry says of itself comes before what its data set may be at most. None where there is no curriculum, or
    no attribute of it is a number.
    """
    most = metadata.get("difficulty")
    shares = []
    for attribute in _attributes(name).values():
        levels = [level for level in attribute.levels if _is_number(level)]
        value = _most(metadata.get(attribute.name)) if _is_number(metadata.get(attribute.name)) else None
        value = _most(most.get(attribute.name)) if value is None and isinstance(most, Mapping) else value
        if value is not None and len(levels) == len(attribute.levels) > 1:
            sign = 1 if levels[-1] >= levels[0] else -1
            passed = sum(sign * level < sign * value for level in levels)
            shares.append(min(1.0, passed / (len(levels) - 1)))
    return round(1 + 9 * sum(shares) / len(shares), 1) if shares else None


def _at_levels(name: str, levels: Mapping[str, str]) -> Any:
    library = load_library()
    if name not in library.CURRICULA:
        raise LearnableError(f"{NAME}:{name} has no curriculum, so no {LEVEL}: set its own knobs")
    curriculum = library.create_curriculum(name)
    for key, text in sorted(levels.items()):  # `level` before `level.num_terms`
        attribute = key.partition(".")[2]
        known = curriculum.attributes
        if attribute and attribute not in known:
            raise UnknownNameError(f"attribute of the curriculum of {NAME}:{name}", attribute, known)
        ladders = [known[attribute].levels] if attribute else [each.levels for each in known.values()]
        level = _read_level(name, key, text, max(map(len, ladders)) - 1)
        if attribute:
            curriculum.set_attr_level(attribute, level)
        else:
            curriculum.set_global_level(level)
    return curriculum.generate_configuration()


def _read_level(name: str, key: str, text: str, highest: int) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > highest:
        raise LearnableError(f"{NAME}:{name}: {key}={text} is no level: give 0 to {highest}")
    return int(text)


def _as_fields(name: str, config: Any, knobs: Mapping[str, str]) -> dict[str, str]:
    """Return the knobs as fields of the configuration: an attribute of the curriculum is one of them, or two."""
    known, attributes = known_knobs(config), _attributes(name)
    values: dict[str, str] = {}
    for key, text in knobs.items():
        if key in _OURS and key not in attributes:
            raise LearnableError(f"{NAME}:{name}: {key}={text} is what `seed` and `limit` say: leave it out")
        if key not in known and key not in attributes:
            near = nearest_names(key, [*known, *attributes])
            offer = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
            every = sorted({*known, *attributes, *([LEVEL] if attributes else [])})
            raise LearnableError(f"{NAME}:{name} has no knob {key!r}: {offer}It has {', '.join(every)}")
        if key not in known:
            values |= _ends(attributes[key], text)
    return values | {key: text for key, text in knobs.items() if key in known}


def _ends(attribute: Any, text: str) -> dict[str, str]:
    if field := getattr(attribute, "field_name", None):
        return {field: text}
    span = _SPAN.fullmatch(text)
    low, high = (span[1], span[2]) if span else (text, text)
    return {attribute.lower_field_name: low, attribute.upper_field_name: high}


def _attributes(name: str) -> Mapping[str, Any]:
    library = load_library()
    return library.create_curriculum(name).attributes if name in library.CURRICULA else {}


def _read_knob(name: str, config: Any, key: str, text: str) -> Any:
    usual = getattr(config, key)
    value = _read_value(text, usual)
    if usual is not None and not _fits(value, usual):
        raise LearnableError(
            f"{NAME}:{name}: {key}={text} is no {type(usual).__name__}: give one as {json.dumps(usual)}"
        )
    return value


def _read_value(text: str, usual: Any) -> Any:
    """Return a knob's value: JSON where it is JSON, and for lists also values with commas between them."""
    if isinstance(usual, str):
        return text
    if isinstance(usual, list | tuple):
        items = _plain(text)
        return type(usual)(items if isinstance(items, list) else map(_plain, text.split(",")))
    return _plain(text)


def _plain(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _fits(value: Any, usual: Any) -> bool:
    if isinstance(usual, bool) or isinstance(value, bool):
        return isinstance(value, bool) and isinstance(usual, bool)
    return isinstance(value, int | float if isinstance(usual, float) else type(usual))


def _most(value: Any) -> float | None:
    """Return a number, or the greatest of a range of numbers."""
    if isinstance(value, list | tuple) and value and all(map(_is_number, value)):
        return float(max(value))
    return float(value) if _is_number(value) else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _written(knobs: Mapping[str, str]) -> str:
    return "&".join(f"{key}={value}" for key, value in knobs.items()) or "its usual knobs"
