"""Rhyme between two words, and how well a poem's rhymes follow a scheme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Literal

from learnable.verifiers.poetry.rhyme_kinds import Bond, bond
from learnable.verifiers.poetry.rhyme_sounds import rhyme_sounds

RhymeKind = Literal["identical", "perfect", "family", "last", "eye", "slant", "none"]

FULL = 1.0
LIGHT = 0.7  # both words end in a beat by promotion only ("memory", "eternity")
SPELLED = 0.5  # alike to the eye, or one word is unknown and seems to sound alike: never a full rhyme
NEAR = 0.3  # the last syllables rhyme but the stressed ones do not ("singing", "morning"), or their sounds are akin
FAINT = 0.15  # the consonants alone agree

_CREDIT = {
    Bond.PERFECT: FULL,
    Bond.PROMOTED: LIGHT,
    Bond.EYE: SPELLED,
    Bond.GUESSED_SPELLED: SPELLED,
    Bond.GUESSED: SPELLED,
    Bond.WEAK_SPELLED: NEAR,
    Bond.WEAK: NEAR,
    Bond.SHIFTED: NEAR,
    Bond.FAMILY: NEAR,
    Bond.CONSONANCE: FAINT,
}
_KINDS: dict[Bond, RhymeKind] = {
    Bond.SAME: "identical",
    Bond.HOMOPHONE: "identical",
    Bond.PERFECT: "perfect",
    Bond.PROMOTED: "last",
    Bond.WEAK: "last",
    Bond.WEAK_SPELLED: "last",
    Bond.GUESSED: "last",
    Bond.GUESSED_SPELLED: "last",
    Bond.EYE: "eye",
    Bond.FAMILY: "family",
    Bond.SHIFTED: "slant",
    Bond.CONSONANCE: "slant",
}


@lru_cache(maxsize=262_144)
def rhyme_credit(first: str, second: str) -> float:
    """Return how well two words rhyme, in [0, 1].

    1 needs the same sounds from the last stressed vowel on, in some pronunciation of each; a last syllable that
    only the metre stresses may answer a stressed one (me, eternity). The same word, or one that sounds the same
    throughout, is a repetition and earns nothing.

    >>> rhyme_credit("light", "tonight"), rhyme_credit("light", "light"), rhyme_credit("light", "moon")
    (1.0, 0.0, 0.0)
    """
    found = bond(first, second)
    if found is Bond.PROMOTED and (rhyme_sounds(first).stressed or rhyme_sounds(second).stressed):
        return FULL
    return _CREDIT.get(found, 0.0)


def rhyme_kind(first: str, second: str) -> RhymeKind:
    """Return the kind of rhyme between two words; `slant` for what agrees only in consonants or kindred vowels.

    >>> rhyme_kind("me", "eternity"), rhyme_kind("love", "move"), rhyme_kind("night", "knight")
    ('perfect', 'eye', 'identical')
    """
    if rhyme_credit(first, second) == FULL:
        return "perfect"
    return _KINDS.get(bond(first, second), "none")


def repeats(first: str, second: str) -> bool:
    """Whether two words are the same or sound the same."""
    return bond(first, second) in (Bond.SAME, Bond.HOMOPHONE)


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
