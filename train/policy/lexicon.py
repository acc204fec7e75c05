"""The corpus's vocabulary: parts of speech, syllables and rhyme classes, all of them beyond doubt."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from importlib import resources

import pronouncing

RHYME_CLASSES = 28
END_PARTS = ("noun", "adjective", "intransitive", "adverb")


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Words to write with.

    `words` maps a part of speech to its words by syllable count. `ends` holds the largest rhyme classes,
    each as its words with the parts of speech they may have at the end of a line.
    """

    words: dict[str, dict[int, tuple[str, ...]]]
    ends: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...]

    def find_classes(self, min_words: int) -> list[int]:
        """Return the indices of the rhyme classes with at least `min_words` words."""
        return [index for index, words in enumerate(self.ends) if len(words) >= min_words]


@cache
def count_syllables(word: str) -> int | None:
    """Return the syllables of a word, or None where its pronunciations disagree or are unknown."""
    counts = {pronouncing.syllable_count(phones) for phones in pronouncing.phones_for_word(word.lower())}
    return counts.pop() if len(counts) == 1 else None


def find_rhyme(word: str) -> str | None:
    """Return the one rhyming part of a word that ends on a stressed syllable, else None."""
    variants = pronouncing.phones_for_word(word.lower())
    parts = {pronouncing.rhyming_part(phones) for phones in variants}
    stressed = all(pronouncing.stresses(phones)[-1:] == "1" for phones in variants)
    return parts.pop() if len(parts) == 1 and stressed else None


@cache
def load_lexicon() -> Lexicon:
    """Read the word lists; words whose syllable count is in doubt are left out."""
    text = resources.files("learnable.train.policy").joinpath("lexicon.toml").read_text(encoding="utf-8")
    lists = {part: words.split() for part, words in tomllib.loads(text).items()}
    words: dict[str, dict[int, tuple[str, ...]]] = {}
    for part, listed in lists.items():
        by_count: dict[int, list[str]] = defaultdict(list)
        for word in listed:
            if (count := count_syllables(word)) is not None:
                by_count[count].append(word)
        words[part] = {count: tuple(found) for count, found in by_count.items()}
    return Lexicon(words, _find_rhyme_classes(lists))


def _find_rhyme_classes(lists: dict[str, list[str]]) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], ...]:
    classes: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for part in END_PARTS:
        for word in dict.fromkeys(lists[part]):
            if count_syllables(word) is not None and (sound := find_rhyme(word)) is not None:
                classes[sound].setdefault(word, []).append(part)
    for words in classes.values():
        _drop_homophones(words)
    largest = sorted(classes, key=lambda sound: (-len(classes[sound]), sound))[:RHYME_CLASSES]
    return tuple(tuple((word, tuple(parts)) for word, parts in classes[sound].items()) for sound in largest)


def _drop_homophones(words: dict[str, list[str]]) -> None:
    """Keep the first of the words that sound the same: they repeat one another and do not rhyme."""
    seen: set[str] = set()
    for word in list(words):
        sounds = set(pronouncing.phones_for_word(word))
        if sounds & seen:
            del words[word]
        seen |= sounds
