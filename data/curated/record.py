"""What the records of a manifest have in common: how they are read from JSON, and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from typing import Any, Self

from learnable.data.policies import Policy
from learnable.data.records import JsonObject, Sampling


def in_json(
    key: str | None = None,
    read: Callable[[Any], Any] | None = None,
    *,
    default: object = None,
    make: Callable[[], object] | None = None,
) -> Any:
    """Return a field with its key in the file, what makes a value of JSON, and its default, or what makes that."""
    how = {"key": key, "read": read}
    return field(default=default, metadata=how) if make is None else field(default_factory=make, metadata=how)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """An object of the file. `unknown` has the keys that are no field: they are kept."""

    unknown: JsonObject = field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, given: JsonObject) -> Self:
        """Read an object. A field whose key is not there has its default."""
        known = keys_of(cls)
        values = {field_.name: read_field(field_, given[key]) for key, field_ in known.items() if key in given}
        return cls(**values, unknown={key: value for key, value in given.items() if key not in known})

    def to_json(self) -> JsonObject:
        """Return the object as plain data, its keys in the order of the fields."""
        return {
            **{key: to_plain(getattr(self, field_.name)) for key, field_ in keys_of(type(self)).items()},
            **self.unknown,
        }


def keys_of(record: type[Record]) -> dict[str, Field[Any]]:
    """Return the fields of a record by their keys in the file."""
    return {f.metadata.get("key") or f.name: f for f in fields(record) if f.name not in ("unknown", "absent")}


def read_field(field_: Any, value: Any) -> Any:
    """Return the value of a field by what the file has under its key."""
    read = field_.metadata.get("read")
    return value if read is None or value is None else read(value)


def to_plain(value: Any) -> Any:
    """Return records, other dataclasses and tuples in a value as JSON has them: as objects and lists."""
    if isinstance(value, Record | Sampling | Policy):
        return value.to_json()
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {key: to_plain(inner) for key, inner in value.items()}
    return [to_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def many_of(kind: type[Record]) -> Callable[[Any], Any]:
    """Return what reads a list of records."""
    return lambda rows: tuple(kind.from_json(row) for row in rows)


def by_name(kind: type[Record]) -> Callable[[Any], Any]:
    """Return what reads an object of records, each under its name."""
    return lambda objects: {name: kind.from_json(value) for name, value in objects.items()}
