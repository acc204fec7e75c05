"""Rhyme between two words: its kind and what it earns."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from learnable.verifiers.poetry.rhyme.pairs import Bond, bond
from learnable.verifiers.poetry.rhyme.rimes import rhyme_sounds

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


@lru_cache(maxsize=65_536)
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
