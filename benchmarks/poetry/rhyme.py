"""Rhyme pairs and schemes, next to plain `pronouncing`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pronouncing

from benchmarks.poetry.data import Stanza, rows, stanzas
from learnable.verifiers.poetry.batch import find_scheme
from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.poetry.rhyme.pairs import FULL_RHYME, credit_rhyme


def schemes(data: Path) -> dict[str, Any]:
    """Return F1 over all pairs of lines of each stanza, and the share of stanzas whose scheme is exact."""
    every = list(stanzas(data))
    found = [find_scheme(stanza.lines) for stanza in every]
    plain = [_plain_scheme(stanza.lines) for stanza in every]
    figures = _compare("all", every, found) | _compare("pronouncing, all", every, plain)
    for period in sorted({stanza.period for stanza in every}):
        own = [(stanza, scheme) for stanza, scheme in zip(every, found, strict=True) if stanza.period == period]
        figures |= _compare(period.removesuffix(".txt"), *zip(*own, strict=True))
    return figures


def _compare(name: str, every: Sequence[Stanza], schemes: Sequence[list[str]]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    for stanza, found in zip(every, schemes, strict=True):
        right, given = _pairs(stanza.scheme), _pairs(found)
        counts.update(hit=len(right & given), given=len(given), right=len(right))
        counts["exact"] += _canonical(found) == _canonical(stanza.scheme)
    return {
        f"{name}: pairs F1": 2 * counts["hit"] / (counts["given"] + counts["right"]),
        f"{name}: exact schemes of {len(every)}": counts["exact"] / len(every),
    }


def _pairs(scheme: Sequence[str]) -> set[tuple[int, int]]:
    return {(i, j) for i, j in combinations(range(len(scheme)), 2) if scheme[i] == scheme[j] != "x"}


def _canonical(scheme: Sequence[str]) -> list[int]:
    """Return for each line the number of the first line of its class; a class of one is its own line's."""
    return [index if letter == "x" else list(scheme).index(letter) for index, letter in enumerate(scheme)]


def _plain_scheme(lines: list[str]) -> list[str]:
    """Return the scheme by `pronouncing` alone: a line joins the first one whose rhyming part it shares."""
    parts = []
    for line in lines:
        words = read_line(line).words
        found = pronouncing.phones_for_word(words[-1]) if words else []
        parts.append({pronouncing.rhyming_part(phones) for phones in found})
    letters: list[str] = []
    for index, part in enumerate(parts):
        letters.append(next((letters[i] for i in range(index) if part & parts[i]), str(index)))
    return letters


def walker(data: Path) -> dict[str, float]:
    """Return the share of Walker's perfect rhymes (1775) that count as full, and of pairs across classes that do."""
    classes = [[word.strip() for word in row["perfword"].split(",")][:12] for row in rows(data / "walker_rhymes.jsonl")]
    within = [pair for words in classes for pair in combinations(words, 2)]
    across = [pair for one, other in zip(classes, classes[7:], strict=False) for pair in product(one[:4], other[:4])]
    return {
        "perfect rhymes that are full": sum(credit_rhyme(*pair) == FULL_RHYME for pair in within) / len(within),
        "pairs of other classes that are full": sum(credit_rhyme(*pair) == FULL_RHYME for pair in across) / len(across),
    }
