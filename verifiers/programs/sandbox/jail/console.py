"""Standard input and output of a candidate: two files in memory, since nothing can be opened."""

from __future__ import annotations

import builtins
import io
import os
import sys
from typing import Any, TextIO

from .limits import MAX_OUTPUT_BYTES

STDIN, STDOUT = 0, 1

_made: list[TextIO] = []


def prepare(text: str) -> None:
    """Make `text` the input, and keep what is written. Call it while descriptors may still be opened."""
    for target in (STDIN, STDOUT):
        memory = os.memfd_create("console")
        os.dup2(memory, target)
        os.close(memory)
    content = memoryview(text.encode("utf-8", "surrogatepass"))
    while content:
        content = content[os.write(STDIN, content) :]
    os.lseek(STDIN, 0, os.SEEK_SET)
    sys.stdin = open(STDIN, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stdout = open(STDOUT, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    _made.append(sys.stdout)
    builtins.open = io.open = _open


def written() -> str:
    """Return what was written, whichever way."""
    for stream in (sys.stdout, *_made):
        stream.flush()
    os.lseek(STDOUT, 0, os.SEEK_SET)
    content = bytearray()
    while len(content) < MAX_OUTPUT_BYTES and (chunk := os.read(STDOUT, MAX_OUTPUT_BYTES)):
        content += chunk
    return content.decode("utf-8", "replace")


def _open(file: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
    """Open the input by its number, as many programs do: the C library's way to it is a call that the filter refuses."""
    if file in (STDIN, "/dev/stdin"):
        return sys.stdin.buffer if "b" in mode else sys.stdin
    return _FILE_OPEN(file, mode, *more, **options)


_FILE_OPEN = open
