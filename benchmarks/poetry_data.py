"""The public annotated verse as plain rows, in one notation: `+` for strong, `-` for weak."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


class ScannedLine(NamedTuple):
    """A line, its annotated stresses (several where annotators allow several), and the metre of its poem."""

    text: str
    stresses: tuple[str, ...]
    metre: str | None


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def litlab(data: Path) -> list[ScannedLine]:
    """Return lines with their metrical template, as a human scanned them."""
    return [
        ScannedLine(row["line"], (re.sub("[^ws]", "", row["scansion"]).translate({119: "-", 115: "+"}),), row["meter"])
        for row in rows(data / "scansion_litlab.jsonl")
    ]


def performances(data: Path) -> list[ScannedLine]:
    """Return lines with their performed stresses; a weak end in brackets or written `^` counts."""
    return [
        ScannedLine(line["text"], tuple(map(_marks, line["real"].split("|"))), None)
        for row in rows(data / "scansion_4b4v.jsonl")
        for stanza in row["stanzas"]
        for line in stanza["lines"]
        if line["real"]
    ]


def _marks(real: str) -> str:
    return re.sub(r"[^+\-]", "", real.replace("^", "-"))


class Stanza(NamedTuple):
    """A stanza's lines, its annotated rhyme letters and the author's file."""

    lines: list[str]
    scheme: list[str]
    period: str


def stanzas(data: Path) -> Iterator[Stanza]:
    """Yield the stanzas of the annotated poems."""
    for row in rows(data / "rhyme_schemes.jsonl"):
        for stanza in row["stanzas"]:
            yield Stanza(stanza["lines"], stanza["scheme"], row["period"])
