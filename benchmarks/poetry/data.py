"""The public annotated verse as plain rows, in one notation: `+` for strong, `-` for weak."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from learnable.verifiers.poetry.forms import poem_forms

STANZAS = {"OttavaRima": "abababcc", "RhymeRoyal": "ababbcc", "SpenserianStanza": "ababbcbcc"}


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
    return [line for _, line in performances_by_author(data)]


def performances_by_author(data: Path) -> Iterator[tuple[str, ScannedLine]]:
    """Yield the same lines, each after its author."""
    for row in rows(data / "scansion_4b4v.jsonl"):
        for line in (line for stanza in row["stanzas"] for line in stanza["lines"] if line["real"]):
            yield row["author"], ScannedLine(line["text"], tuple(map(_marks, line["real"].split("|"))), None)


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


def human_poems(data: Path) -> dict[str, list[list[str]]]:
    """Return human poems by the form that they are in, each as its lines."""
    poems = {
        "ShakespeareanSonnet": [row["lines"] for row in rows(data / "shakespeare_sonnets.jsonl")],
        "Limerick": [row["lines"] for row in rows(data / "limericks.jsonl")],
    }
    by_scheme: defaultdict[str, list[list[str]]] = defaultdict(list)
    for stanza in stanzas(data):
        by_scheme[write_scheme(stanza.scheme)].append(stanza.lines)
    return poems | {form: by_scheme[scheme] for form, scheme in STANZAS.items()}


def form_poems(data: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield poems that another verifier accepted, with the form it took them for, blank lines between stanzas."""
    for row in rows(data / "form_poems.jsonl"):
        if row["form"] in poem_forms():
            yield row["form"], [line.strip() for line in row["poem"].strip().splitlines()]


def write_scheme(scheme: Sequence[str]) -> str:
    """Return a scheme with its letters in order of appearance."""
    names: dict[str, str] = {}
    return "".join(names.setdefault(label, chr(ord("a") + len(names))) for label in scheme)
