"""Rhyme between two words, and how well a poem's rhymes follow a scheme."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from learnable.verifiers.poetry.phones import Phones
from learnable.verifiers.poetry.prosody import pronunciations

FULL = 1.0
SPELLED = 0.5  # at least one word is unknown, and both end alike in spelling: never a full rhyme
NEAR = 0.3  # the last syllables rhyme but the stressed ones do not ("singing", "morning")

_SPELLED_RIME = re.compile(r"[aeiouy]+[^aeiouy]*e?$")


@lru_cache(maxsize=262_144)
def rhyme_credit(first: str, second: str) -> float:
    """Return how well two words rhyme, in [0, 1].

    1 needs the same sounds from the last stressed vowel on, in some pronunciation of each. The same word, or
    one that sounds the same throughout, is a repetition and earns nothing.

    >>> rhyme_credit("light", "tonight"), rhyme_credit("light", "light"), rhyme_credit("light", "moon")
    (1.0, 0.0, 0.0)
    """
    if first == second or not first or not second:
        return 0.0
    one, other = pronunciations(first), pronunciations(second)
    if not one or not other:
        ending = _SPELLED_RIME.search(first)
        return SPELLED if ending and len(ending[0]) > 1 and second.endswith(ending[0]) else 0.0
    if not set(map(_unstressed, one)).isdisjoint(map(_unstressed, other)):
        return 0.0
    if not rhyming_parts(first).isdisjoint(rhyming_parts(second)):
        return FULL
    return NEAR if {_last_rime(p) for p in one} & {_last_rime(p) for p in other} else 0.0


@lru_cache(maxsize=65_536)
def rhyming_parts(word: str) -> frozenset[Phones]:
    """Return the sounds of `word` from its last stressed vowel on, for each pronunciation, without stress marks."""
    return frozenset(_from_vowel(phones, "12") for phones in pronunciations(word))


def repeats(first: str, second: str) -> bool:
    """Whether two words are the same or sound the same."""
    return first == second or bool(
        {_unstressed(p) for p in pronunciations(first)} & {_unstressed(p) for p in pronunciations(second)}
    )


@dataclass(frozen=True, slots=True)
class RhymeMatch:
    """How a poem follows a scheme. `credit` is smooth; `strict` counts full rhymes only. Both are in [0, 1]."""

    credit: float
    strict: float


def match_scheme(ends: Sequence[str], scheme: Sequence[str]) -> RhymeMatch:
    """Compare the end words of a poem with a scheme, as pairs of lines (F1).

    A pair the scheme asks for earns its rhyme's credit; a full rhyme or repetition between classes counts as
    a rhyme found where there should be none, so one rhyme throughout does not satisfy every class at once.
    Lines beyond the scheme belong to no class. Pairs of the same refrain are left to `refrains`.
    """
    labels = [*scheme, *"x" * (len(ends) - len(scheme))]
    wanted, credit, strict, stray = 0, 0.0, 0, 0
    for i, j in combinations(range(len(labels)), 2):
        if labels[i] == labels[j] and len(labels[i]) > 1:
            continue
        found = rhyme_credit(ends[i], ends[j]) if j < len(ends) else 0.0
        if rhyme_class(labels[i]) == rhyme_class(labels[j]) != "x":
            wanted += 1
            credit += found
            strict += found == FULL
        elif j < len(ends):
            stray += found == FULL or repeats(ends[i], ends[j])
    size = len(scheme) / max(len(scheme), len(ends))
    return RhymeMatch(size * _f1(credit, wanted, stray), size * _f1(strict, wanted, stray))


def rhyme_class(label: str) -> str:
    """Return the rhyme class of a line's label: the refrain `A1` rhymes with class `a`."""
    return label[0].lower()


def has_rhymes(scheme: Sequence[str]) -> bool:
    """Whether the scheme asks for any rhyme at all."""
    classes = [rhyme_class(label) for label in scheme]
    return any(name != "x" and classes.count(name) > 1 for name in classes)


def _f1(hits: float, wanted: int, stray: int) -> float:
    return 2 * hits / (wanted + hits + stray) if wanted else 1.0


@lru_cache(maxsize=65_536)
def _unstressed(phones: Phones) -> Phones:
    return tuple(phone.rstrip("012") for phone in phones)


def _from_vowel(phones: Phones, stresses: str) -> Phones:
    for index in range(len(phones) - 1, -1, -1):
        if phones[index][-1] in stresses:
            return _unstressed(phones[index:])
    return _last_rime(phones) if stresses == "12" else _unstressed(phones)


def _last_rime(phones: Phones) -> Phones:
    return _from_vowel(phones, "012")
