"""Syllables, stresses and unknown words, next to `pronouncing` and `syllables`."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import pronouncing
import syllables as syllables_package

from benchmarks.poetry.data import ScannedLine, litlab, performances
from learnable.verifiers.poetry.metre.scansion import scan
from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.poetry.sound.lexicon import dictionary_entries
from learnable.verifiers.poetry.sound.phones import Phones, last_rime, stresses
from learnable.verifiers.poetry.sound.pronunciation import reachable_counts
from learnable.verifiers.poetry.sound.unknown_words import estimate, examples_of, guess, learn_all, main_stress

HELD_OUT = 8000  # words


def syllables(data: Path) -> dict[str, float]:
    """Return the shares of lines whose annotated count is among those reached, and how many are reached on average."""
    figures: dict[str, float] = {}
    for name, lines in (("litlab", litlab(data)), ("4B4V", performances(data))):
        reached = [reachable_counts(read_line(line.text).words) for line in lines]
        counts = [{len(marks) for marks in line.stresses} for line in lines]
        figures[f"{name}: target reachable"] = _share(
            bool(found & right) for found, right in zip(reached, counts, strict=True)
        )
        figures[f"{name}: reachable counts a line"] = sum(map(len, reached)) / len(reached)
        figures[f"{name}: pronouncing, then syllables"] = _share(
            _plain_count(line.text) in right for line, right in zip(lines, counts, strict=True)
        )
    return figures


def _plain_count(text: str) -> int:
    total = 0
    for word in read_line(text).words:
        phones = pronouncing.phones_for_word(word)
        total += pronouncing.syllable_count(phones[0]) if phones else syllables_package.estimate(word)
    return total


def scansion(data: Path) -> dict[str, float]:
    """Return exact lines where the metre is given (litlab), and syllables right as performed (4B4V)."""
    scanned = litlab(data)
    figures = {
        "litlab: exact, metre class known": _share(
            scan(read_line(line.text).words, line.metre).stress == line.stresses[0] for line in scanned
        ),
        "litlab: metre class found": _share(
            scan(read_line(line.text).words).metre[:3] == (line.metre or "")[:3] for line in scanned
        ),
    }
    return figures | _performed(performances(data))


def _performed(lines: list[ScannedLine]) -> dict[str, float]:
    right = syllables = same_length = exact = 0
    for line in lines:
        first, found = line.stresses[0], scan(read_line(line.text).words).stress
        exact += found in line.stresses
        if len(found) == len(first):
            same_length += 1
            syllables += len(first)
            right += sum(a == b for a, b in zip(found, first, strict=True))
    return {
        "4B4V: syllables right, first reading, lengths agreeing": right / syllables,
        "4B4V: lines whose length agrees": same_length / len(lines),
        "4B4V: lines exact in some reading": exact / len(lines),
    }


def unknown_words(_: Path) -> dict[str, float]:
    """Return how often held-out words of the dictionary are guessed right from their spelling alone."""
    every: dict[str, list[Phones]] = {
        word: [tuple(phones.split()) for phones in found] for word, found in dictionary_entries().items()
    }
    words = [word for word, _ in examples_of({word: found[0] for word, found in every.items()})]
    random.Random(7).shuffle(words)
    held = words[:HELD_OUT]
    shares, stress, rimes = learn_all({word: every[word][0] for word in words[HELD_OUT:]})
    return {
        "syllables": _share(estimate(shares, word) in {len(stresses(one)) for one in every[word]} for word in held),
        "syllables by the syllables package": _share(
            syllables_package.estimate(word) in {len(stresses(one)) for one in every[word]} for word in held
        ),
        "main stress": _share(guess(stress, word) in set(map(main_stress, every[word])) for word in held),
        "rime of the last syllable": _share(guess(rimes, word) in set(map(last_rime, every[word])) for word in held),
    }


def _share(hits: Iterable[bool]) -> float:
    counted = list(hits)
    return sum(counted) / len(counted)
