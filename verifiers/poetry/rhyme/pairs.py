"""How two words rhyme: the bond between their ends, the kind of rhyme it makes and the credit it earns."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from itertools import product
from typing import Literal

from learnable.verifiers.poetry.rhyme.rimes import SPOKEN_ED_RIME, RhymeSounds, find_rhyme_sounds, split_r
from learnable.verifiers.poetry.sound.phones import Phones


class Bond(StrEnum):
    """What the ends of two words have in common, from the same word (first) to nothing (last).

    - `promoted`: the last syllables rhyme and both can carry a beat (me, eternity).
    - `guessed`: a word is unknown, and by its ending sounds alike; `guessed_spelled` where the spelling agrees too.
    - `eye`: the spelling is the same from the last vowel letters on (love, move).
    - `voiced`: the same but for the voice of a last fricative (eyes, paradise).
    - `older`: the same consonants, after vowels that older or regional speech has as one (join, mine; lost, coast).
    - `old_y`: a last -y or -ies that only the metre stresses, and the sound of sky, skies (wearily, sky).
    - `old_ed`: a last -ed that only older verse says, and the sound of red (garnished, red).
    - `easy`: alike in easy speech, without r and g (Calcutta, butter; muffin, stuffing).
    - `double`: two last syllables rhyme, but the vowels of the first are only similar (over, lover).
    - `weak`: the last, unstressed syllables rhyme; `weak_spelled` where they are also spelled alike (singing, morning).
    - `shifted`: the same consonants, after vowels that may have been the same in some age or region (seek, break).
    - `open`: such vowels at the very end (day, sea).
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
    VOICED = "voiced"
    OLDER = "older"
    OLD_Y = "old_y"
    OLD_ED = "old_ed"
    EASY = "easy"
    DOUBLE = "double"
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
_UNVOICED = {"V": "F", "DH": "TH", "Z": "S", "ZH": "SH"}
# Vowels that once rhymed or still do in some region: lot, north, goat, strut; face, fleece, dress; price, choice.
_CONFUSED = tuple(
    frozenset(group.split())
    for group in ("AA AO OW AH UW UH AW", "AE EH EY IY IH AA", "AY IH OY IY", "ER AH AO AA EH IH UH")
)
# The vowels of these for which human schemes leave little doubt, with the consonants after them that the bond needs.
_OLDER = tuple(
    (frozenset(vowels.split("/")), re.compile(after))
    for vowels, after in (
        ("AO/OW", r""),  # lost, coast
        ("AA/OW", r""),  # on, shone
        ("AA/AO", r"(?!R)"),  # con, gone
        ("AW/OW", r""),  # vnfould, gold
        ("AY/OY", r""),  # mine, join
        ("UH/UW", r""),  # wood, food
        ("AO/UH", r"R"),  # more, moor
        ("AH/AO", r"NG|R ."),  # tongue, wrong; return, mourn
        ("AA/AH", r"R ."),  # regard, heard
        ("AE/EY", r"S T|[TM]$"),  # past, waste
        ("AH/UW", r"M"),  # come, tomb
        ("OW/UW", r"M"),  # Rome, doom
    )
)

RhymeKind = Literal["identical", "perfect", "family", "last", "eye", "slant", "none"]

FULL_RHYME = 1.0
LIGHT_RHYME = 0.7  # both last syllables are stressed by the metre only ("memory", "eternity")
SPELLED_RHYME = 0.5  # the same spelling, or an unknown word that seems to sound alike: never a full rhyme
NEAR_RHYME = 0.3  # the last syllables rhyme but not the stressed ones ("singing", "morning"), or sounds are similar
FAINT_RHYME = 0.15  # only the consonants agree

_CREDIT = {
    Bond.PERFECT: FULL_RHYME,
    Bond.PROMOTED: LIGHT_RHYME,
    Bond.EYE: SPELLED_RHYME,
    Bond.VOICED: SPELLED_RHYME,
    Bond.OLDER: SPELLED_RHYME,
    Bond.OLD_Y: SPELLED_RHYME,
    Bond.OLD_ED: SPELLED_RHYME,
    Bond.EASY: SPELLED_RHYME,
    Bond.DOUBLE: SPELLED_RHYME,
    Bond.GUESSED_SPELLED: SPELLED_RHYME,
    Bond.GUESSED: SPELLED_RHYME,
    Bond.WEAK_SPELLED: NEAR_RHYME,
    Bond.WEAK: NEAR_RHYME,
    Bond.SHIFTED: NEAR_RHYME,
    Bond.FAMILY: NEAR_RHYME,
    Bond.CONSONANCE: FAINT_RHYME,
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
    Bond.VOICED: "family",
    Bond.OLDER: "slant",
    Bond.OLD_Y: "last",
    Bond.OLD_ED: "last",
    Bond.EASY: "slant",
    Bond.DOUBLE: "slant",
    Bond.FAMILY: "family",
    Bond.SHIFTED: "slant",
    Bond.CONSONANCE: "slant",
}
_RANK = {bond: rank for rank, bond in enumerate(Bond)}


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
    if spelled:
        return Bond.EYE
    return _older_bond(one, other) or _loose_bond(one, other)


def _last_bond(one: RhymeSounds, other: RhymeSounds, spelled: bool) -> Bond:
    if not (one.known and other.known):
        return Bond.GUESSED_SPELLED if spelled else Bond.GUESSED
    if one.beats & other.beats:
        return Bond.PROMOTED
    if any(is_double(*tails) for tails in product(one.full, other.full)):
        return Bond.DOUBLE
    return Bond.WEAK_SPELLED if spelled else Bond.WEAK


def _older_bond(one: RhymeSounds, other: RhymeSounds) -> Bond | None:
    """Return the bond that older or easy speech makes between two words, if it makes one."""
    if _rhyme_in_y(one, other) or _rhyme_in_y(other, one):
        return Bond.OLD_Y
    if one.easy & other.easy:
        return Bond.EASY
    return Bond.OLD_ED if _rhyme_in_ed(one, other) or _rhyme_in_ed(other, one) else None


def _rhyme_in_y(lifted: RhymeSounds, stressed: RhymeSounds) -> bool:
    """Whether the first word ends in a y that only the metre stresses, and the second in that of sky."""
    if lifted.stressed or not stressed.stressed or not (lifted.known and stressed.known):
        return False
    return any(rime[0] == "IY" and ("AY", *rime[1:]) in stressed.beats for rime in lifted.beats)


def _rhyme_in_ed(lifted: RhymeSounds, spoken: RhymeSounds) -> bool:
    """Whether the first word ends in an -ed that only older verse says, and the second in the sound of red."""
    return lifted.speaks_ed and SPOKEN_ED_RIME in spoken.beats


def is_double(one: Phones, other: Phones) -> bool:
    """Whether two ends of two syllables or more differ only in their first vowels, and these are similar."""
    return one[1:] == other[1:] and one != other and _similar(one[0], other[0])


def _similar(one: str, other: str) -> bool:
    return any(one in group and other in group for group in _CONFUSED)


def _loose_bond(one: RhymeSounds, other: RhymeSounds) -> Bond:
    bond = min((_rime_bond(*rimes) for rimes in product(one.last, other.last)), key=_RANK.__getitem__)
    return Bond.FAMILY if bond is Bond.VOICED and not (one.stressed and other.stressed) else bond


@lru_cache(maxsize=65_536)
def _rime_bond(one: Phones, other: Phones) -> Bond:
    """Return the bond of two different rimes of one syllable."""
    if not one or not other:
        return Bond.NONE
    vowel, *ending = split_r(one)
    other_vowel, *other_ending = split_r(other)
    if ending == other_ending:
        return _vowel_bond(vowel, other_vowel, ending)
    if vowel != other_vowel:
        return Bond.NONE
    if [_UNVOICED.get(phone, phone) for phone in ending] == [_UNVOICED.get(phone, phone) for phone in other_ending]:
        return Bond.VOICED
    return Bond.FAMILY if _akin(ending, other_ending) else Bond.ASSONANCE


def find_older_vowels(first: str, second: str) -> str:
    """Return the two vowels, such as `AO/OW`, of two words with the bond `older`; an empty text for any others."""
    rimes = product(find_rhyme_sounds(first).last, find_rhyme_sounds(second).last)
    for (one, *ending), (other, *other_ending) in (tuple(map(split_r, pair)) for pair in rimes):
        if ending == other_ending and _rime_bond((one, *ending), (other, *ending)) is Bond.OLDER:
            return "/".join(sorted((one, other)))
    return ""


def _vowel_bond(one: str, other: str, ending: list[str]) -> Bond:
    """Return the bond of two rimes that differ in their vowels alone."""
    if not ending:
        return Bond.OPEN if _similar(one, other) else Bond.NONE
    if any({one, other} == vowels and after.match(" ".join(ending)) for vowels, after in _OLDER):
        return Bond.OLDER
    return Bond.SHIFTED if _similar(one, other) else Bond.CONSONANCE


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
    bond = find_bond(first, second)
    if bond is Bond.PROMOTED and (find_rhyme_sounds(first).stressed or find_rhyme_sounds(second).stressed):
        return FULL_RHYME
    return _CREDIT.get(bond, 0.0)


def classify_rhyme(first: str, second: str) -> RhymeKind:
    """Return the kind of rhyme between two words; `slant` means that only consonants or similar vowels agree.

    >>> classify_rhyme("me", "eternity"), classify_rhyme("love", "move"), classify_rhyme("night", "knight")
    ('perfect', 'eye', 'identical')
    """
    if credit_rhyme(first, second) == FULL_RHYME:
        return "perfect"
    return _KINDS.get(find_bond(first, second), "none")


def is_repetition(first: str, second: str) -> bool:
    """Whether two words are the same, or sound the same throughout."""
    return find_bond(first, second) in (Bond.SAME, Bond.HOMOPHONE)
