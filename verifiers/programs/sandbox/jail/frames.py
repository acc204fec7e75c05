"""What passes between a candidate's process and its judge: JSON lists, each behind its length in four bytes."""

from __future__ import annotations

import json
import os
from typing import Any

CONNECTION = 3  # its descriptor in a child
LENGTH_BYTES = 4

_DUMPS = json.JSONEncoder(ensure_ascii=True).encode


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
