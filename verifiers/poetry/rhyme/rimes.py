"""The rimes of one word: what in its sound and spelling decides which words it rhymes with."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache

from learnable.verifiers.poetry.sound.lexicon import load_lexicon
from learnable.verifiers.poetry.sound.phones import Phones, drop_stresses
from learnable.verifiers.poetry.sound.pronunciation import pronounce
from learnable.verifiers.poetry.sound.unknown_words import guess_by_ending

_FULL_VOWELS = frozenset("AA AE AO AW AY EY OW OY UW".split())
_SPELLED_RIME = re.compile(r"[aeiouy]+[^aeiouy]*(?:e|es|ed)?$")
_MANNER = {  # consonants by manner, voiced and voiceless together: any two that rhyme nearly (`pairs`) are in one group
    phone: manner
    for manner, group in enumerate(("B D G P T K", "V DH Z ZH JH F TH S SH CH", "M N NG", "L R"))
    for phone in group.split()
}


@dataclass(frozen=True, slots=True)
class RhymeSounds:
    """A word's sounds without stress marks, in all its pronunciations.

    `whole` has all the sounds, `full` those from the last stressed vowel on, `last` those from the last vowel on.
    `beats` has the last syllables that can carry a beat: by their own stress or, where none is stressed, by a full
    vowel (ex-PORT) or by standing two syllables after the stress (har-mo-NY). `stressed` says that some last syllable
    is stressed, `known` that the sounds are not guessed from the spelling. `spelled` has the letters from the last
    vowel group on.
    """

    whole: frozenset[Phones]
    full: frozenset[Phones]
    last: frozenset[Phones]
    beats: frozenset[Phones]
    stressed: bool
    known: bool
    spelled: str


@lru_cache(maxsize=65_536)
def find_rhyme_sounds(word: str) -> RhymeSounds:
    """Return what decides a word's rhymes; for an unknown word, the last syllable is guessed by its ending."""
    whole, full, last, stressed, promoted = set(), set(), set(), set(), set()
    for phones in map(_one_syllable_glides, pronounce(word)):
        plain, vowels = drop_stresses(phones), [index for index, phone in enumerate(phones) if phone[-1] in "012"]
        marks = "".join(phones[index][-1] for index in vowels)
        rime, main = plain[vowels[-1] :] if vowels else (), max(marks.rfind("1"), marks.rfind("2"))
        whole.add(plain)
        full.add(plain[vowels[main] :] if main >= 0 else rime)
        last.add(rime)
        if marks and main == len(marks) - 1:
            stressed.add(rime)
        elif marks[1:][-2:] == "00" or _is_heavy(rime):
            promoted.add(rime)
    letters = word.replace("'", "")
    spelled = _SPELLED_RIME.search(letters)
    return RhymeSounds(
        whole=frozenset(whole),
        full=frozenset(full),
        last=frozenset(last - {()}) or frozenset([_guessed_rime(letters)]),
        beats=frozenset(stressed or promoted),
        stressed=bool(stressed),
        known=bool(whole),
        spelled=spelled[0] if spelled else letters,
    )


def _is_heavy(rime: Phones) -> bool:
    """Whether a last syllable has a full vowel and a consonant after it, as in discourse and export."""
    return len(rime) > 1 and rime[0] in _FULL_VOWELS


def _guessed_rime(letters: str) -> Phones:
    return _one_syllable_glides(guess_by_ending(load_lexicon().rimes, letters))


@lru_cache(maxsize=65_536)
def _one_syllable_glides(phones: Phones) -> Phones:
    """Return the phones with fire, hour and the like as one syllable: the dictionary does so for aspire, not desire."""
    joined = list(phones)
    for index in range(len(joined) - 1, 0, -1):
        if joined[index] == "ER0" and joined[index - 1][:-1] in ("AY", "AW"):
            joined[index] = "R"
    return tuple(joined)


@lru_cache(maxsize=65_536)
def find_traits(word: str) -> frozenset[Hashable]:
    """Return the features of a word that a rhyming word would share; it is a quick test before `pairs.find_bond`.

    Two words without a common trait have at most the bond `open`, `assonance` or `none`. Words with a common trait may
    still not rhyme.
    """
    if not word:
        return frozenset()
    sounds = find_rhyme_sounds(word)
    found: set[Hashable] = {word, *sounds.whole, *sounds.full, *sounds.last}
    if len(sounds.spelled) > 1:
        found.add(sounds.spelled)
    for vowel, *ending in map(split_r, filter(None, sounds.last)):
        if ending:
            found.add(("ending", *ending))
            found.add((vowel, *(_MANNER.get(phone, phone) for phone in ending)))
    return frozenset(found)


def split_r(rime: Phones) -> Phones:
    """Return the rime with an r-coloured vowel as vowel and r, so that word and lord have the same consonants."""
    return ("AH", "R", *rime[1:]) if rime[0] == "ER" else rime
