"""Rhyme schemes and scansions of whole files: JSON objects in, one a line, and as many out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from learnable.data.errors import LearnableError
from learnable.verifiers.poetry.metre.metres import find_metre
from learnable.verifiers.poetry.metre.scansion import scan
from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.poetry.rhyme.schemes import infer_scheme


def scheme_of(lines: Sequence[str]) -> list[str]:
    """Return the rhyme letter of each line of a stanza, `x` for the unrhymed.

    >>> scheme_of(["The day is done", "I set the kettle on", "Beneath the sun", "A boat has gone"])
    ['a', 'b', 'a', 'b']
    """
    words = [read_line(line).words for line in lines]
    return infer_scheme([line[-1] if line else "" for line in words])


def scan_line(line: str, metre: str | None = None) -> dict[str, Any]:
    """Return a line's `syllables`, `stress` (one `+` or `-` for each) and `metre`.

    With a metre, `stress` marks the beats of its pattern; without, what a reader would stress (see `scansion`).

    Raises `LearnableError` for an unknown metre.
    """
    found = scan(read_line(line).words, metre)
    return {"syllables": found.syllables, "stress": found.stress, "metre": found.metre}


def read_schemes(path: Path) -> Iterator[dict[str, Any]]:
    """Yield `{"scheme": [...]}` for each stanza `{"lines": [...]}` of a JSONL file.

    Raises `LearnableError` naming file and line for a line that is no such stanza.
    """
    for place, row in _rows(path):
        lines = row.get("lines")
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            raise LearnableError(f'{place}: no stanza; give {{"lines": ["first line", ...]}}')
        yield {"scheme": scheme_of(lines)}


def read_scansions(path: Path) -> Iterator[dict[str, Any]]:
    """Yield syllables, stress and metre for each `{"line": "...", "metre": optional}` of a JSONL file.

    Raises `LearnableError` naming file and line for a line that is none, or whose metre is unknown.
    """
    for place, row in _rows(path):
        line, metre = row.get("line"), row.get("metre")
        if not isinstance(line, str) or not isinstance(metre, str | None):
            raise LearnableError(f'{place}: no line of verse; give {{"line": "text", "metre": "iambic" or none}}')
        try:
            name = find_metre(metre).name if metre else None
        except LearnableError as error:
            raise LearnableError(f"{place}: {error}") from error
        yield scan_line(line, name)


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and content of each line of a JSONL file, blank lines left out."""
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
