"""Real words to build poems from: by stress, by letters and by rhyme, each with one way to say it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cache

import pronouncing

from learnable.train.policy.lexicon import load_lexicon
from learnable.verifiers.poetry.rhyme.pairs import FULL_RHYME, credit_rhyme
from learnable.verifiers.poetry.sound.pronunciation import find_syllable_counts, pronounce

WEAK = tuple("the of and in to with for from by at on as a".split())
Allowed = Callable[[str], bool]


@cache
def content_words() -> tuple[str, ...]:
    """The policy's nouns, adjectives and verbs whose syllables nobody doubts."""
    parts = ("noun", "adjective", "intransitive", "adverb")
    words = [word for part in parts for found in load_lexicon().words[part].values() for word in found]
    return tuple(word for word in dict.fromkeys(words) if word.isalpha() and word.islower() and stress_of(word))


@cache
def many_words() -> tuple[str, ...]:
    """Every plain word of the dictionary with one syllable count, the common ones first."""
    pronouncing.init_cmu()
    rest = sorted({word for word, _ in pronouncing.pronunciations if word.isalpha() and 2 < len(word) < 9})
    return tuple(dict.fromkeys([*content_words(), *(word for word in rest if stress_of(word))]))


@cache
def stress_of(word: str) -> str:
    """Return the stresses of a word, as `-u`, or nothing where it can be said in several ways."""
    counts = find_syllable_counts(word)
    patterns = {"".join(phone[-1] for phone in phones if phone[-1].isdigit()) for phones in pronounce(word)}
    if len(counts) != 1 or len(patterns) != 1 or len(pattern := patterns.pop()) != max(counts):
        return ""
    return "".join("u" if sign == "0" else "-" for sign in pattern)


@cache
def by_stress() -> dict[str, tuple[str, ...]]:
    """Content words by their stresses."""
    found: dict[str, list[str]] = defaultdict(list)
    for word in content_words():
        found[stress_of(word)].append(word)
    return {pattern: tuple(words) for pattern, words in found.items()}


@cache
def rhyme_classes(stresses: str = "-", least: int = 8) -> tuple[tuple[str, ...], ...]:
    """Sets of `least` words of these stresses or more that all rhyme, none with another set, the largest first."""
    found: dict[str, list[str]] = defaultdict(list)
    for word in many_words():
        if stress_of(word) == stresses and len({*pronounce(word)}) == 1:
            found[pronouncing.rhyming_part(" ".join(pronounce(word)[0]))].append(word)
    classes = [_no_homophones(words) for _, words in sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))]
    return tuple(words for words in classes if len(words) >= least)[:60]


def _no_homophones(words: list[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for word in words[:60]:
        if all(credit_rhyme(word, other) == FULL_RHYME for other in kept):
            kept.append(word)
    return tuple(kept)
