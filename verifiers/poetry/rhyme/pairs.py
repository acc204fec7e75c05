"""How two words rhyme: the bond between their ends, the kind of rhyme it makes and the credit it earns."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from itertools import product
from typing import Literal

from learnable.verifiers.poetry.rhyme.rimes import RhymeSounds, find_rhyme_sounds, split_r
from learnable.verifiers.poetry.sound.phones import Phones


class Bond(StrEnum):
    """What the ends of two words have in common, from the same word (first) to nothing (last).

    - `promoted`: the last syllables rhyme and both can carry a beat (me, eternity).
    - `guessed`: a word is unknown, and by its ending sounds alike; `guessed_spelled` where the spelling agrees too.
    - `eye`: the spelling is the same from the last vowel letters on (love, move).
    - `weak`: the last, unstressed syllables rhyme; `weak_spelled` where they are also spelled alike (singing, morning).
    - `shifted`: the same consonants, after vowels that are or were the same in some age or region (moor, more).
    - `open`: such vowels at the very end (wearily, sky).
    - `family`: the same vowel, before consonants of one family (home, stone).
    - `consonance`, `assonance`: only the consonants or only the vowel agree.
    """

    SAME = "same"
    HOMOPHONE = "homophone"
    PERFECT = "perfect"
    PROMOTED = "promoted"
    GUESSED_SPELLED = "guessed_spelled"
    GUESSED = "guessed"
    EYE = "eye"
    WEAK_SPELLED = "weak_spelled"
    WEAK = "weak"
    SHIFTED = "shifted"
    OPEN = "open"
    FAMILY = "family"
    CONSONANCE = "consonance"
    ASSONANCE = "assonance"
    NONE = "none"


# Consonants by manner of articulation; rhymes within such a family are Pattison's "family rhyme" (1991).
_FAMILIES = ("B D G", "P T K", "V DH Z ZH JH", "F TH S SH CH", "M N NG", "L R")
_FAMILY = {phone: number for number, family in enumerate(_FAMILIES) for phone in family.split()}
_VOICELESS = {"B": "P", "D": "T", "G": "K", "V": "F", "DH": "TH", "Z": "S", "ZH": "SH", "JH": "CH"}
# Vowels that once rhymed or still do in some region: lot, north, goat, strut; face, fleece, dress; price, choice.
_CONFUSED = tuple(
    frozenset(group.split())
    for group in ("AA AO OW AH UW UH AW", "AE EH EY IY IH AA", "AY IH OY IY", "ER AH AO AA EH IH UH")
)

RhymeKind = Literal["identical", "perfect", "family", "last", "eye", "slant", "none"]

FULL = 1.0
LIGHT = 0.7  # both last syllables are stressed by the metre only ("memory", "eternity")
SPELLED = 0.5  # the same spelling, or an unknown word that seems to sound alike: never a full rhyme
NEAR = 0.3  # the last syllables rhyme but the stressed ones do not ("singing", "morning"), or the sounds are similar
FAINT = 0.15  # only the consonants agree

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
_RANK = {found: rank for rank, found in enumerate(Bond)}


@lru_cache(maxsize=65_536)
def find_bond(first: str, second: str) -> Bond:
    """Return what the ends of two words have in common; their order does not matter."""
    if not first or not second:
        return Bond.NONE
    if first == second:
        return Bond.SAME
    one, other = find_rhyme_sounds(first), find_rhyme_sounds(second)
    if one.whole & other.whole:
        return Bond.HOMOPHONE
    if one.full & other.full:
        return Bond.PERFECT
    spelled = one.spelled == other.spelled and len(one.spelled) > 1
    if one.last & other.last:
        return _last_bond(one, other, spelled)
    return Bond.EYE if spelled else _loose_bond(one, other)


def _last_bond(one: RhymeSounds, other: RhymeSounds, spelled: bool) -> Bond:
    if not (one.known and other.known):
        return Bond.GUESSED_SPELLED if spelled else Bond.GUESSED
    if one.beats & other.beats:
        return Bond.PROMOTED
    return Bond.WEAK_SPELLED if spelled else Bond.WEAK


def _loose_bond(one: RhymeSounds, other: RhymeSounds) -> Bond:
    return min((_rime_bond(*rimes) for rimes in product(one.last, other.last)), key=_RANK.__getitem__)


@lru_cache(maxsize=65_536)
def _rime_bond(one: Phones, other: Phones) -> Bond:
    """Return the bond of two different rimes of one syllable."""
    if not one or not other:
        return Bond.NONE
    vowel, *ending = split_r(one)
    other_vowel, *other_ending = split_r(other)
    confused = any(vowel in group and other_vowel in group for group in _CONFUSED)
    if ending == other_ending:
        if confused:
            return Bond.SHIFTED if ending else Bond.OPEN
        return Bond.CONSONANCE if ending else Bond.NONE
    if vowel == other_vowel:
        return Bond.FAMILY if _akin(ending, other_ending) else Bond.ASSONANCE
    return Bond.NONE


def _akin(ending: list[str], other: list[str]) -> bool:
    return len(ending) == len(other) > 0 and all(
        _FAMILY.get(one, one) == _FAMILY.get(two, two) or _VOICELESS.get(one, one) == _VOICELESS.get(two, two)
        for one, two in zip(ending, other, strict=True)
    )


@lru_cache(maxsize=65_536)
def credit_rhyme(first: str, second: str) -> float:
    """Return how well two words rhyme, in [0, 1].

    1 needs the same sounds from the last stressed vowel on, in some pronunciation of each word; a last syllable that
    only the metre stresses may also rhyme with a stressed one (me, eternity). The same word, or a word with the same
    sounds throughout, is a repetition and earns 0.

    >>> credit_rhyme("light", "tonight"), credit_rhyme("light", "light"), credit_rhyme("light", "moon")
    (1.0, 0.0, 0.0)
    """
    found = find_bond(first, second)
    if found is Bond.PROMOTED and (find_rhyme_sounds(first).stressed or find_rhyme_sounds(second).stressed):
        return FULL
    return _CREDIT.get(found, 0.0)


def classify_rhyme(first: str, second: str) -> RhymeKind:
    """Return the kind of rhyme between two words; `slant` means that only consonants or similar vowels agree.

    >>> classify_rhyme("me", "eternity"), classify_rhyme("love", "move"), classify_rhyme("night", "knight")
    ('perfect', 'eye', 'identical')
    """
    if credit_rhyme(first, second) == FULL:
        return "perfect"
    return _KINDS.get(find_bond(first, second), "none")


def is_repetition(first: str, second: str) -> bool:
    """Whether two words are the same, or sound the same throughout."""
    return find_bond(first, second) in (Bond.SAME, Bond.HOMOPHONE)
