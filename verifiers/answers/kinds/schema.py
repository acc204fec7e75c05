"""JSON Schema, the part of it that answers need: which values fit, and what is wrong with one that does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from learnable.data.records import Spec
from learnable.verifiers.answers.patterns import compile_pattern
from learnable.verifiers.protocol import fault

MAX_SCHEMA_DEPTH = 40
TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
    ),
}
_SIZES: dict[str, tuple[str, Callable[[Any, Any], bool], str]] = {
    "minimum": ("number", lambda value, bound: value >= bound, "below {}"),
    "maximum": ("number", lambda value, bound: value <= bound, "above {}"),
    "minLength": ("string", lambda value, bound: len(value) >= bound, "shorter than {}"),
    "maxLength": ("string", lambda value, bound: len(value) <= bound, "longer than {}"),
    "minItems": ("array", lambda value, bound: len(value) >= bound, "fewer than {} items"),
    "maxItems": ("array", lambda value, bound: len(value) <= bound, "more than {} items"),
}
_NOTES = ("title", "description", "default", "examples", "$schema")
_KEYWORDS = ("type", "enum", "const", "properties", "required", "additionalProperties", "items", "pattern", *_SIZES)


def check_schema(schema: Any, key: str = "schema") -> None:
    """Raise `SpecError` for a schema with a keyword that is not known here, for it would silently be passed over."""
    if not isinstance(schema, Mapping):
        raise fault(key, schema, "give an object, as JSON Schema has it")
    if key.count(".") > MAX_SCHEMA_DEPTH:
        raise fault(key, schema, f"give no more than {MAX_SCHEMA_DEPTH} levels")
    _check_words(schema, key)
    for name, inner in _inner(schema):
        check_schema(inner, f"{key}.{name}")


def _check_words(schema: Spec, key: str) -> None:
    for word, value in schema.items():
        if word not in (*_KEYWORDS, *_NOTES):
            raise fault(f"{key}.{word}", value, f"this keyword is not known here; use only {', '.join(_KEYWORDS)}")
    kinds = schema.get("type", [])
    if not all(kind in TYPES for kind in (kinds if isinstance(kinds, list) else [kinds])):
        raise fault(f"{key}.type", kinds, f"use {', '.join(TYPES)}")
    if "pattern" in schema:
        compile_pattern(f"{key}.pattern", schema["pattern"])
    for word in _SIZES:
        if word in schema and not TYPES["number"](schema[word]):
            raise fault(f"{key}.{word}", schema[word], "give a number")


def _inner(schema: Spec) -> list[tuple[str, Any]]:
    schemas = [(f"properties.{name}", inner) for name, inner in schema.get("properties", {}).items()]
    schemas += [("items", schema["items"])] if "items" in schema else []
    more = schema.get("additionalProperties", True)
    return schemas if isinstance(more, bool) else [*schemas, ("additionalProperties", more)]


def find_misfit(value: Any, schema: Spec, place: str = "") -> str:
    """Return what first does not fit a schema that has been checked, "" where all does.

    >>> find_misfit({"a": [1, "x"]}, {"properties": {"a": {"items": {"type": "integer"}}}})
    'a.1 is no integer'
    """
    here = place or "it"
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if kinds and not any(TYPES[kind](value) for kind in kinds):
        return f"{here} is no {' or '.join(kinds)}"
    if "enum" in schema and not any(same_json(value, one) for one in schema["enum"]):
        return f"{here} is none of the allowed values"
    if "const" in schema and not same_json(value, schema["const"]):
        return f"{here} is another value"
    if (
        isinstance(value, str)
        and "pattern" in schema
        and not compile_pattern("schema", schema["pattern"]).search(value)
    ):
        return f"{here} does not fit the pattern"
    for word, (kind, fits, wrong) in _SIZES.items():
        if word in schema and TYPES[kind](value) and not fits(value, schema[word]):
            return f"{here} is {wrong.format(schema[word])}"
    return _inner_misfit(value, schema, place)


def _inner_misfit(value: Any, schema: Spec, place: str) -> str:
    if isinstance(value, list) and "items" in schema:
        misfits = (find_misfit(item, schema["items"], _below(place, number)) for number, item in enumerate(value))
        return next(filter(None, misfits), "")
    if not isinstance(value, dict):
        return ""
    for name in schema.get("required", ()):
        if name not in value:
            return f"{_below(place, name)} is missing"
    known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, item in value.items():
        if name not in known and more is False:
            return f"{_below(place, name)} is not wanted"
        inner = known.get(name, more)
        if isinstance(inner, Mapping) and (wrong := find_misfit(item, inner, _below(place, name))):
            return wrong
    return ""


def same_json(one: Any, other: Any) -> bool:
    """Say whether two values are the same JSON: 1 is 1.0, and neither is true.

    >>> same_json(1, 1.0), same_json(1, True), same_json({"a": [1]}, {"a": [1.0]})
    (True, False, True)
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return bool(one == other)


def _below(place: str, name: object) -> str:
    return f"{place}.{name}" if place else str(name)
