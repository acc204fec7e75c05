"""Lines a second, next to plain `pronouncing` on the same lines in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pronouncing

from benchmarks.poetry.data import stanzas
from learnable.verifiers.poetry.metre.fit import credit_metre
from learnable.verifiers.poetry.poem import read_line, read_poem_line
from learnable.verifiers.poetry.rhyme.pairs import credit_rhyme
from learnable.verifiers.poetry.sound.pronunciation import load_dictionary

LINES = 8000


def speed(data: Path) -> dict[str, float]:
    """Return lines a second, first with warm words but new lines, then with lines seen before."""
    lines = [line for stanza in stanzas(data) for line in stanza.lines][: 2 * LINES]
    load_dictionary()
    pronouncing.phones_for_word("poem")
    _rate(_hear, lines[LINES:])  # warms the words
    _rate(count_plainly, lines[LINES:])
    fresh = lines[:LINES]
    return {
        "pronouncing: syllables and rhyming parts": _rate(count_plainly, fresh),
        "syllables and rhymes, lines new": _rate(_hear, fresh),
        "syllables and rhymes, lines seen": _rate(_hear, fresh),
        "metre against its rivals, lines new": _rate(_scan, fresh[:2000]),
        "metre against its rivals, lines seen": _rate(_scan, fresh[:2000]),
    }


def count_plainly(lines: Sequence[str]) -> None:
    """Look up the syllables and the rhyming part of each line with `pronouncing` alone."""
    for line in lines:
        words = [word.strip(".,;:!?\"'()").lower() for word in line.split()]
        found = [pronouncing.phones_for_word(word) for word in words]
        sum(pronouncing.syllable_count(phones[0]) for phones in found if phones)
        if found and found[-1]:
            pronouncing.rhyming_part(found[-1][0])


def _hear(lines: Sequence[str]) -> None:
    last = ""
    for line in lines:
        end = read_poem_line(line).end
        credit_rhyme(last, end)
        last = end


def _scan(lines: Sequence[str]) -> None:
    for line in lines:
        credit_metre(read_line(line).words, "iambic", 5)


def _rate(work: Callable[[Sequence[str]], None], lines: Sequence[str]) -> float:
    started = time.perf_counter()
    work(lines)
    return len(lines) / (time.perf_counter() - started)
