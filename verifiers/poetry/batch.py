"""Rhyme schemes and scansions of whole JSONL files: one JSON object per line in, one result per line out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject
from learnable.verifiers.poetry.metre.metres import find_metre
from learnable.verifiers.poetry.metre.scansion import Scansion, scan
from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.poetry.rhyme.schemes import infer_scheme


def find_scheme(lines: Sequence[str]) -> list[str]:
    """Return the rhyme letter of each line of a stanza, `x` for a line without a rhyme.

    >>> find_scheme(["The day is done", "I set the kettle on", "Beneath the sun", "A boat has gone"])
    ['a', 'b', 'a', 'b']
    """
    words = [read_line(line).words for line in lines]
    return infer_scheme([line[-1] if line else "" for line in words])


def scheme_rows(path: Path) -> Iterator[JsonObject]:
    """Yield `{"scheme": [...]}` for each stanza of a file, as `read_schemes` reads it. Raises what that raises."""
    yield from ({"scheme": letters} for letters in read_schemes(path))


def scansion_rows(path: Path) -> Iterator[JsonObject]:
    """Yield the scansion of each line of a file, as `read_scansions` reads it. Raises what that raises."""
    for scansion in read_scansions(path):
        yield {"syllables": scansion.syllables, "stress": scansion.stress, "metre": scansion.metre}


def read_schemes(path: Path) -> Iterator[list[str]]:
    """Yield the rhyme letters of each stanza `{"lines": [...]}` of a JSONL file.

    Raises `LearnableError` naming file and line for a line that is not such a stanza.
    """
    for place, row in _rows(path):
        lines = row.get("lines")
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            raise LearnableError(f'{place}: not a stanza; give {{"lines": ["first line", ...]}}')
        yield find_scheme(lines)


def read_scansions(path: Path) -> Iterator[Scansion]:
    """Yield the scansion of each `{"line": "...", "metre": optional}` of a JSONL file.

    Raises `LearnableError` naming file and line for a line that is not such an object, or whose metre is unknown.
    """
    for place, row in _rows(path):
        line, metre = row.get("line"), row.get("metre")
        if not isinstance(line, str) or not isinstance(metre, str | None):
            raise LearnableError(f'{place}: not a line of verse; give {{"line": "text", "metre": "iambic" or none}}')
        try:
            name = find_metre(metre).name if metre else None
        except LearnableError as error:
            raise LearnableError(f"{place}: {error}") from error
        yield scan(read_line(line).words, name)


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and content of each line of a JSONL file that is not blank."""
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                if raw.strip():
                    yield (place := f"{path}, line {number}"), _row(raw, place)
    except OSError as error:
        raise LearnableError(f"cannot read {str(path)!r}: {error.strerror or error}") from error


def _row(raw: bytes, place: str) -> dict[str, Any]:
    try:
        row = json.loads(raw)
    except ValueError as error:  # not UTF-8 or not JSON
        raise LearnableError(f"{place}: not a JSON object: {error}") from error
    if not isinstance(row, dict):
        raise LearnableError(f"{place}: not a JSON object but {type(row).__name__}")
    return row
