"""What passes between a candidate's process and its judge: plain values as tagged JSON, in frames behind their length.

Never pickle or marshal on the way out: the reader trusts nothing that it reads. Text, None and booleans stand for
themselves, a list for a list; `{"i": hex}` is an int, `{"f": hex}` a float, and `t`, `s`, `z`, `d`, `b`, `c`, `y` a
tuple, a set, a frozenset, a dict, bytes, a complex number and a builtin type. Subclasses travel as the plain type.

A frame is a JSON list behind its length in four bytes.
"""

from __future__ import annotations

import builtins
import json
import os
from collections.abc import Callable
from typing import Any

CONNECTION = 3  # its descriptor in a child
LENGTH_BYTES = 4
MAX_NESTING = 60

_DUMPS = json.JSONEncoder(ensure_ascii=True).encode


def encode(value: Any, depth: int = 0) -> Any:
    """Return `value` as JSON's own types. Raises `TypeError` for another type, `ValueError` for one nested too deep."""
    if depth > MAX_NESTING:
        raise ValueError("the answer is nested too deep")
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is list:
        return [encode(item, depth + 1) for item in value]
    if kind is int:
        return {"i": hex(value)}
    if kind is float:
        return {"f": value.hex()}
    return _encode_other(value, depth + 1)


def _encode_other(value: Any, depth: int) -> Any:
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value, depth)
    raise TypeError(f"the answer holds a {type(value).__name__}")


def _write_type(value: type, _: int) -> Any:
    if getattr(builtins, value.__name__, None) is not value:
        raise TypeError("the answer holds a type of its own")
    return {"y": value.__name__}


_WRITERS: list[tuple[type | tuple[type, ...], Callable[[Any, int], Any]]] = [
    (tuple, lambda value, depth: {"t": [encode(item, depth) for item in tuple.__iter__(value)]}),
    (dict, lambda value, depth: {"d": [[encode(k, depth), encode(v, depth)] for k, v in dict.items(value)]}),
    (set, lambda value, depth: {"s": [encode(item, depth) for item in value]}),
    (frozenset, lambda value, depth: {"z": [encode(item, depth) for item in value]}),
    (list, lambda value, depth: [encode(item, depth) for item in list.__iter__(value)]),
    (str, lambda value, _: str.__str__(value)),
    (int, lambda value, _: {"i": hex(int.__int__(value))}),
    (float, lambda value, _: {"f": float.hex(value)}),
    ((bytes, bytearray), lambda value, _: {"b": bytes(value).hex()}),
    (complex, lambda value, _: {"c": [value.real.hex(), value.imag.hex()]}),
    (type, _write_type),
]


def decode(tree: Any, depth: int = 0) -> Any:
    """Return the value that `encode` wrote. Raises `ValueError` or `TypeError` for what it cannot have written."""
    if depth > MAX_NESTING + 1:
        raise ValueError("nested too deep")
    if tree is None or type(tree) in (bool, str):
        return tree
    if type(tree) is list:
        return [decode(item, depth + 1) for item in tree]
    if type(tree) is not dict or len(tree) != 1:
        raise ValueError("no such value")
    ((tag, content),) = tree.items()
    if tag not in _READERS:
        raise ValueError(f"no such tag {tag[:10]!r}")
    return _READERS[tag](content, depth + 1)


def _items(content: Any, depth: int) -> list[Any]:
    if type(content) is not list:
        raise ValueError("no list of items")
    return [decode(item, depth) for item in content]


def _pairs(content: Any, depth: int) -> dict[Any, Any]:
    if type(content) is not list:
        raise ValueError("no list of pairs")
    return {decode(key, depth): decode(value, depth) for key, value in content}


def _complex(content: Any, _: int) -> complex:
    real, imaginary = content
    return complex(float.fromhex(real), float.fromhex(imaginary))


def _type(content: Any, _: int) -> type:
    kind = getattr(builtins, content, None)
    if not isinstance(kind, type):
        raise ValueError("no such type")
    return kind


_READERS: dict[str, Callable[[Any, int], Any]] = {
    "i": lambda content, _: int(content, 16),
    "f": lambda content, _: float.fromhex(content),
    "t": lambda content, depth: tuple(_items(content, depth)),
    "s": lambda content, depth: set(_items(content, depth)),
    "z": lambda content, depth: frozenset(_items(content, depth)),
    "d": _pairs,
    "b": lambda content, _: bytes.fromhex(content),
    "c": _complex,
    "y": _type,
}


def pack(frame: list[Any]) -> bytes:
    """Return a frame as bytes."""
    payload = _DUMPS(frame).encode("ascii")
    return len(payload).to_bytes(LENGTH_BYTES, "little") + payload


def send(frame: list[Any]) -> None:
    """Write a frame to the judge."""
    message = memoryview(pack(frame))
    while message:
        message = message[os.write(CONNECTION, message) :]


def receive() -> list[Any] | None:
    """Read a frame from the judge, None at the end."""
    header = read_exactly(LENGTH_BYTES)
    if header is None:
        return None
    payload = read_exactly(int.from_bytes(header, "little"))
    frame: list[Any] | None = None if payload is None else json.loads(payload)
    return frame


def read_exactly(size: int) -> bytes | None:
    """Read so many bytes from the judge, None where it has hung up before."""
    content = bytearray()
    while len(content) < size:
        chunk = os.read(CONNECTION, min(1 << 20, size - len(content)))
        if not chunk:
            return None
        content += chunk
    return bytes(content)
