"""How two words rhyme: a finer division than full or not, with the credit that each kind earns."""

from __future__ import annotations

from collections.abc import Hashable
from enum import StrEnum
from functools import lru_cache
from itertools import product

from learnable.verifiers.poetry.rhyme.rimes import RhymeSounds, rhyme_sounds
from learnable.verifiers.poetry.sound.phones import Phones


class Bond(StrEnum):
    """What joins two words' ends, from the same word to nothing.

    `promoted`: the last syllables rhyme and both can carry a beat (me, eternity). `guessed`: one word is unknown and sounds
    alike by its ending; `guessed_spelled` where the spelling agrees too. `eye`: alike in spelling from the last
    vowel letters on (love, move). `weak_spelled` and `weak`: the last, unstressed syllables rhyme (singing,
    morning), spelled alike or not. `family`: the same vowel before consonants of a family (home, stone).
    `shifted`: the same consonants after vowels that were one or have been confused in some age or region (moor, more).
    `open`: so for vowels at the very end (wearily, sky). `consonance`, `assonance`: only the consonants or only the vowel.
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


# Families of sounds by manner; rhymes within a family of consonants are Pattison's "family rhyme" (1991).
_FAMILIES = ("B D G", "P T K", "V DH Z ZH JH", "F TH S SH CH", "M N NG", "L R")
_FAMILY = {phone: number for number, family in enumerate(_FAMILIES) for phone in family.split()}
_MANNER = {  # families joined with their voiceless ones: all that `_akin` may find alike is in one
    phone: manner
    for manner, group in enumerate(("B D G P T K", "V DH Z ZH JH F TH S SH CH", "M N NG", "L R"))
    for phone in group.split()
}
_VOICELESS = {"B": "P", "D": "T", "G": "K", "V": "F", "DH": "TH", "Z": "S", "ZH": "SH", "JH": "CH"}
# Vowels that rhymed once or still do somewhere: lot and north and goat and strut; face, fleece, dress; price, choice.
_CONFUSED = tuple(
    frozenset(group.split())
    for group in ("AA AO OW AH UW UH AW", "AE EH EY IY IH AA", "AY IH OY IY", "ER AH AO AA EH IH UH")
)


_RANK = {found: rank for rank, found in enumerate(Bond)}


@lru_cache(maxsize=65_536)
def bond(first: str, second: str) -> Bond:
    """Return what joins the ends of two words; it does not depend on their order."""
    if not first or not second:
        return Bond.NONE
    if first == second:
        return Bond.SAME
    one, other = rhyme_sounds(first), rhyme_sounds(second)
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
def traits(word: str) -> frozenset[Hashable]:
    """Return what of a word can join it to another by more than a vowel.

    Words that have no trait in common are joined by `open`, `assonance` or `none`: so pairs that cannot rhyme are told
    by a glance. Words that have one may still not rhyme.
    """
    if not word:
        return frozenset()
    sounds = rhyme_sounds(word)
    found: set[Hashable] = {word, *sounds.whole, *sounds.full, *sounds.last}
    if len(sounds.spelled) > 1:
        found.add(sounds.spelled)
    for vowel, *ending in map(_split_r, filter(None, sounds.last)):
        if ending:
            found.add(("ending", *ending))
            found.add((vowel, *(_MANNER.get(phone, phone) for phone in ending)))
    return frozenset(found)


@lru_cache(maxsize=65_536)
def _rime_bond(one: Phones, other: Phones) -> Bond:
    """Return how two different rimes of one syllable agree."""
    if not one or not other:
        return Bond.NONE
    vowel, *ending = _split_r(one)
    other_vowel, *other_ending = _split_r(other)
    confused = any(vowel in group and other_vowel in group for group in _CONFUSED)
    if ending == other_ending:
        if confused:
            return Bond.SHIFTED if ending else Bond.OPEN
        return Bond.CONSONANCE if ending else Bond.NONE
    if vowel == other_vowel:
        return Bond.FAMILY if _akin(ending, other_ending) else Bond.ASSONANCE
    return Bond.NONE


def _split_r(rime: Phones) -> Phones:
    """Return the rime with the r-coloured vowel as vowel and r, so that word and lord agree in their consonants."""
    return ("AH", "R", *rime[1:]) if rime[0] == "ER" else rime


def _akin(ending: list[str], other: list[str]) -> bool:
    return len(ending) == len(other) > 0 and all(
        _FAMILY.get(one, one) == _FAMILY.get(two, two) or _VOICELESS.get(one, one) == _VOICELESS.get(two, two)
        for one, two in zip(ending, other, strict=True)
    )
