"""Lines of verse with an exact number of syllables and a given last word."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

from learnable.train.policy.lexicon import Lexicon, count_syllables, load_lexicon

PARTS = {
    "D": "determiner",
    "J": "adjective",
    "N": "noun",
    "V": "transitive",
    "I": "intransitive",
    "R": "adverb",
    "B": "linking",
    "P": "preposition",
    "C": "conjunction",
    "S": "pronoun",
}
# What a line may say before its last word, by that word's part of speech.
BODIES = {
    "noun": ("D", "DJ", "SVD", "SVDJ", "DNVD", "DNVDJ", "DJNVD", "SIPD", "DNIPD", "DNIPDJ", "DJNIPD", "DJNIPDJ"),
    "intransitive": ("S", "DN", "DJN", "DNPDN", "DJNPDN", "DNIC", "DNVDNC"),
    "adverb": ("I", "DNI", "DJNI", "SI", "SVDN", "DNVDN", "SVDJN", "DNVDJN"),
    "adjective": ("B", "SB", "DNB", "DJNB", "DNPDNB", "DJNPDNB"),
}
OPENINGS = ("", "", "C", "PDN", "PDJN", "SIPDN", "DNIC", "DNVDNC", "SVDNC")
GROWING = {"N": 1, "J": 1, "V": 1, "I": 1, "R": 1, "P": 1}


@dataclass(frozen=True, slots=True)
class End:
    """The last word of a line and the part of speech it has there."""

    word: str
    part: str


def write_line(rng: random.Random, count: int, end: End, topic: str | None = None) -> str:
    """Return a line of `count` syllables (3 to 14) that ends on `end` and, where it fits, names the topic."""
    lexicon = load_lexicon()
    left = count - _measure(end.word)
    tags, topic_slot = _choose_body(rng, left, end.part, topic)
    sizes = [1] * len(tags)
    free = [slot for slot, tag in enumerate(tags) if tag in GROWING and slot != topic_slot]
    if topic is not None and topic_slot is not None:
        sizes[topic_slot] = _measure(topic)
    for slot in rng.sample(free, left - sum(sizes)):
        sizes[slot] += 1
    words = _choose_words(rng, lexicon, tags, sizes, end.word)
    if topic is not None and topic_slot is not None:
        words[topic_slot] = topic
    return _join([*words, end.word])


def draw_ends(rng: random.Random, rhyme: int, count: int) -> list[End]:
    """Return `count` different last words of one rhyme class."""
    return [End(word, rng.choice(parts)) for word, parts in rng.sample(load_lexicon().ends[rhyme], count)]


def _measure(word: str) -> int:
    count = count_syllables(word)
    assert count is not None, f"{word!r} has no single syllable count"
    return count


def _choose_body(rng: random.Random, left: int, part: str, topic: str | None) -> tuple[str, int | None]:
    size = _measure(topic) if topic is not None else 0
    if bodies := _find_bodies(left, part, size):
        tags = rng.choice(bodies)
        slots = [slot for slot, tag in enumerate(tags) if tag == "N"]
        return tags, rng.choice(slots) if topic is not None else None
    return rng.choice(_find_bodies(left, part, 0)), None


@cache
def _find_bodies(left: int, part: str, topic_size: int) -> tuple[str, ...]:
    """Return the tag strings that can fill `left` syllables, one noun of them having `topic_size` if it is not 0."""
    bodies = [opening + body for opening in OPENINGS for body in BODIES[part]]
    fixed = 1 if topic_size else 0
    return tuple(
        tags
        for tags in bodies
        if (not topic_size or "N" in tags)
        and len(tags) + max(0, topic_size - 1) <= left
        and left <= len(tags) + max(0, topic_size - 1) + sum(tag in GROWING for tag in tags) - fixed
    )


def _choose_words(rng: random.Random, lexicon: Lexicon, tags: str, sizes: list[int], last: str) -> list[str]:
    words: list[str] = []
    for tag, size in zip(tags, sizes, strict=True):
        choices = lexicon.words[PARTS[tag]].get(size) or lexicon.words["noun"][size]
        word = rng.choice(choices)
        while tag in "NJVI" and (word in words or word == last):
            word = rng.choice(choices)
        words.append(word)
    return words


def _join(words: list[str]) -> str:
    for place, following in enumerate(words[1:]):
        if words[place] == "a" and following[0] in "aeiou":
            words[place] = "an"
    line = " ".join(words)
    return line[0].upper() + line[1:]
