"""The corpus's vocabulary: what may be said of what; syllables and rhyme classes that are beyond doubt."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from typing import Any

import pronouncing

# What stands before the nouns of a class that is not of nature.
DETERMINED = dict.fromkeys(("weather", "food", "abstract", "season", "light"), "uncounted")
DETERMINED |= dict.fromkeys(("person", "thing", "building", "vessel", "sound"), "owned") | {"body": "possessed"}
PERSON = "person"  # what a pronoun is

Uses = dict[str, frozenset[str]]  # of a word: each class it may be said of, with the classes of its object


@dataclass(frozen=True, eq=False)
class VerseLexicon:
    """Words to write with.

    `nouns` maps a class of nouns to its words and `free` a part of speech of grammar to its words, as often as each
    should come. `intransitive`, `adjective`, `preposition` and `transitive` map a word to its uses. `ends` holds the
    largest rhyme classes of nouns, with which all lines end.
    """

    nouns: Mapping[str, tuple[str, ...]]
    free: Mapping[str, tuple[str, ...]]
    intransitive: Mapping[str, Uses]
    transitive: Mapping[str, Uses]
    adjective: Mapping[str, Uses]
    preposition: Mapping[str, Uses]
    ends: tuple[tuple[str, ...], ...] = field(default=())

    @cached_property
    def words(self) -> dict[str, dict[int, tuple[str, ...]]]:
        """The words of each part of speech by syllable count."""
        parts: dict[str, Iterable[str]] = {"noun": self.classes, "determiner": self.free["owned"], **self.free}
        parts |= {name: getattr(self, name) for name in ("intransitive", "transitive", "adjective", "preposition")}
        by_part: dict[str, dict[int, tuple[str, ...]]] = {}
        for part, words in parts.items():
            by_count: defaultdict[int, list[str]] = defaultdict(list)
            for word in words:
                by_count[count_syllables(word) or 0].append(word)
            by_part[part] = {count: tuple(listed) for count, listed in by_count.items()}
        return by_part

    @cached_property
    def classes(self) -> dict[str, str]:
        """The class of each noun."""
        return {word: name for name, words in self.nouns.items() for word in words}

    @cached_property
    def fitting(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """The adjectives and prepositions of each class of nouns, by part of speech and class."""
        return {
            (part, name): tuple(word for word, uses in getattr(self, part).items() if name in uses)
            for part in ("adjective", "preposition", "intransitive")
            for name in self.nouns
        }

    @cached_property
    def doing(self) -> dict[str, tuple[str, ...]]:
        """The transitive verbs of each class of object."""
        return {
            name: tuple(
                word for word, uses in self.transitive.items() if any(name in objects for objects in uses.values())
            )
            for name in self.nouns
        }

    def find_subjects(self, part: str, word: str, object_class: str = "") -> frozenset[str]:
        """Return the classes of nouns that a verb or an adjective may be said of, with an object where it takes one."""
        uses = getattr(self, part)[word]
        return frozenset(name for name, objects in uses.items() if not object_class or object_class in objects)

    def find_classes(self, min_words: int) -> list[int]:
        """Return the indices of the rhyme classes with at least `min_words` words."""
        return [index for index, words in enumerate(self.ends) if len(words) >= min_words]


@cache
def find_stress(word: str) -> str:
    """Return one mark a syllable, of a word's first pronunciation: `+` strong, `-` weak, `.` either."""
    phones = pronouncing.phones_for_word(word.lower())
    return pronouncing.stresses(phones[0]).translate({48: "-", 49: "+", 50: "."}) if phones else ""


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
def load_lexicon() -> VerseLexicon:
    """Read the word lists; words whose syllable count is in doubt are left out."""
    text = resources.files("learnable.train.policy").joinpath("lexicon.toml").read_text(encoding="utf-8")
    lists = tomllib.loads(text)
    nouns: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    for name, words in lists["noun"].items():
        nouns[name] = tuple(word for word in dict.fromkeys(_split(words)) if word not in seen)
        seen |= set(nouns[name])
    parts = {name: _read_uses(lists[name]) for name in ("intransitive", "transitive", "adjective", "preposition")}
    determiners = ("natural", "owned", "uncounted", "possessed")
    names = ("adverb", "linking", "conjunction", "pronoun", "joining", *determiners)
    free = {name: tuple(_split(lists["free"][name])) for name in names}
    return VerseLexicon(nouns, free, **parts, ends=_find_rhyme_classes(nouns))


def _split(words: str) -> list[str]:
    return [word for word in words.split() if count_syllables(word) is not None]


def _read_uses(entries: Iterable[Mapping[str, Any]]) -> dict[str, Uses]:
    uses: defaultdict[str, Uses] = defaultdict(dict)
    for entry in entries:
        for word in _split(entry["words"]):
            for subject in entry["of"].split():
                uses[word][subject] = uses[word].get(subject, frozenset()) | set(entry.get("to", "").split())
    return dict(uses)


def _find_rhyme_classes(nouns: Mapping[str, tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    classes: dict[str, list[str]] = defaultdict(list)
    for word in dict.fromkeys(word for words in nouns.values() for word in words):
        if (sound := find_rhyme(word)) is not None:
            classes[sound].append(word)
    distinct = {sound: _drop_homophones(words) for sound, words in classes.items()}
    largest = sorted(distinct, key=lambda sound: (-len(distinct[sound]), sound))[:20]  # rhyme classes
    return tuple(distinct[sound] for sound in largest)


def _drop_homophones(words: Iterable[str]) -> tuple[str, ...]:
    """Return the first of the words that sound the same: they repeat one another and do not rhyme."""
    kept: list[str] = []
    seen: set[str] = set()
    for word in words:
        sounds = set(pronouncing.phones_for_word(word))
        if not sounds & seen:
            kept.append(word)
        seen |= sounds
    return tuple(kept)
