"""What the ending of an unknown word says of its sound: learned from the dictionary when the lexicon is built.

A word is looked up by its longest ending that the tables have: each suffix's distribution over the dictionary
is smoothed towards that of the suffix one letter shorter, and a suffix stays in its table only where its best
guess differs from the shorter one's.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import TypeVar

from learnable.verifiers.poetry.sound.phones import Phones, last_rime, stresses
from learnable.verifiers.poetry.sound.unknown_words import learn_shares

T = TypeVar("T")

LONGEST = 8  # letters of an ending, a word's start counting as one
SMOOTHING = 1.0  # the shorter suffix counts as much as this many words
START = "^"

_LETTERS = re.compile(r"[a-z]+")


def main_stress(phones: Phones) -> int:
    """Return which syllable carries the main stress, counted from the end: 1 is the last."""
    marks = stresses(phones)
    return len(marks) - marks.find("1") if "1" in marks else len(marks)


def learn(examples: Iterable[tuple[str, T]]) -> dict[str, T]:
    """Return the pruned table of suffixes for pairs of word and target.

    The empty suffix holds the commonest target of all.
    """
    counts: defaultdict[str, Counter[T]] = defaultdict(Counter)
    for word, target in examples:
        marked = START + word
        for start in range(max(0, len(marked) - LONGEST), len(marked) + 1):
            counts[marked[start:]][target] += 1
    shares: dict[str, dict[T, float]] = {}
    best: dict[str, T] = {}
    table: dict[str, T] = {}
    for suffix in sorted(counts, key=lambda suffix: (len(suffix), suffix)):
        shares[suffix] = own = _smoothed(counts[suffix], shares.get(suffix[1:], {}) if suffix else {})
        # Ties go to the earlier in sorting order, so that every build makes the same table.
        best[suffix] = guess = max(sorted(own, key=repr), key=own.__getitem__)
        if not suffix or guess != best[suffix[1:]]:
            table[suffix] = guess
    return table


def _smoothed(counts: Counter[T], shorter: Mapping[T, float]) -> dict[T, float]:
    total = counts.total() + SMOOTHING
    return {target: (count + SMOOTHING * shorter.get(target, 0.0)) / total for target, count in counts.items()}


def guess(table: Mapping[str, T], word: str) -> T:
    """Return what the longest known ending of `word` says."""
    marked = START + word
    for start in range(max(0, len(marked) - LONGEST), len(marked)):
        if marked[start:] in table:
            return table[marked[start:]]
    return table[""]


def examples_of(entries: Mapping[str, Phones]) -> list[tuple[str, Phones]]:
    """Return the entries that teach: words of two letters or more without apostrophes and figures, in order."""
    return [(word, entries[word]) for word in sorted(entries) if len(word) > 1 and _LETTERS.fullmatch(word)]


def learn_all(entries: Mapping[str, Phones]) -> tuple[dict[str, int], dict[str, int], dict[str, Phones]]:
    """Return the vowel groups' shares of a syllable, and the suffixes' main stress and last rime."""
    examples = examples_of(entries)
    return (
        learn_shares((word, len(stresses(phones))) for word, phones in examples),
        learn((word, main_stress(phones)) for word, phones in examples),
        learn((word, last_rime(phones)) for word, phones in examples),
    )
