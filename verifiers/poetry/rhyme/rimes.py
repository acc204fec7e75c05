"""The rimes of one word: what in its sound and spelling decides which words it rhymes with."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache

from learnable.verifiers.poetry.sound.lexicon import load_lexicon
from learnable.verifiers.poetry.sound.phones import VOWELS, Phones, drop_stresses, read_stresses
from learnable.verifiers.poetry.sound.pronunciation import pronounce
from learnable.verifiers.poetry.sound.unknown_words import guess_by_ending

SPOKEN_ED_RIME = ("EH", "D")  # the rime of a silent -ed that a beat lifts
_FULL_VOWELS = frozenset("AA AE AO AW AY EY OW OY UW".split())
_SPOKEN_VOWELS = ("IH0", "AH0", "EH0")  # of an -ed that is a syllable today
_REDUCED = ("AH", "IH")
_WEAKENED = frozenset(["AH", "IH", "ER"])  # in weak syllables
_BEFORE_VOWEL = frozenset((vowel,) for vowel in VOWELS)
_SPELLED_VOWELS = {"a": "AE", "e": "EH", "i": "IH"}  # what a reduced vowel is under a beat: influence, asphodel
_LAST_VOWEL_LETTER = re.compile(r"([aei])[^aeiouy]+e?s?$")
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
    vowel (ex-PORT) or by standing two syllables after the stress (har-mo-NY). There a reduced vowel may also have the
    sound of its letter (in-flu-ENCE). `easy` has `full` as easy speech says it (see `relax`). `stressed` says that some
    last syllable is stressed, `speaks_ed` that a beat may lift an -ed that is silent today (gar-nish-ED), `known` that
    the sounds are not guessed from the spelling. `spelled` has the letters from the last vowel group on.
    """

    whole: frozenset[Phones]
    full: frozenset[Phones]
    last: frozenset[Phones]
    beats: frozenset[Phones]
    easy: frozenset[Phones]
    stressed: bool
    speaks_ed: bool
    known: bool
    spelled: str


@lru_cache(maxsize=65_536)
def find_rhyme_sounds(word: str) -> RhymeSounds:
    """Return what decides a word's rhymes; for an unknown word, the last syllable is guessed by its ending."""
    whole, full, last, stressed, promoted = set(), set(), set(), set(), set()
    letters = word.replace("'", "")
    for phones in map(_alike_for_rhyme, pronounce(word)):
        plain, vowels = drop_stresses(phones), [index for index, phone in enumerate(phones) if phone[-1] in "012"]
        marks = "".join(phones[index][-1] for index in vowels)
        rime, main = plain[vowels[-1] :] if vowels else (), max(marks.rfind("1"), marks.rfind("2"))
        whole.add(plain)
        # The dictionary has borrow with a secondary stress, sorrow with none: from the main stress on they rhyme.
        full.update({plain[vowels[start] :] for start in (main, marks.rfind("1")) if start >= 0} or {rime})
        last.add(rime)
        if marks and main == len(marks) - 1:
            stressed.add(rime)
        elif marks[1:][-2:] == "00":
            promoted.update({rime, _unreduced(rime, letters)})
        elif _is_heavy(rime):
            promoted.add(rime)
    last.update(promoted)
    spelled = _SPELLED_RIME.search(letters)
    return RhymeSounds(
        whole=frozenset(whole),
        full=frozenset(full),
        last=frozenset(last - {()}) or frozenset([_guessed_rime(letters)]),
        beats=frozenset(stressed or promoted),
        easy=frozenset(map(relax, full)),
        stressed=bool(stressed),
        speaks_ed=not stressed and may_speak_ed(word),
        known=bool(whole),
        spelled=spelled[0] if spelled else letters,
    )


def find_tail(phones: Phones) -> Phones:
    """Return the sounds, without stress marks, from the main stress on; all of them where there is none."""
    marked = [index for index, phone in enumerate(phones) if phone[-1] in "12"]
    main = [index for index in marked if phones[index][-1] == "1"]
    return drop_stresses(phones[(main or marked or [0])[-1] :])


def may_speak_ed(word: str) -> bool:
    """Whether a beat may lift an -ed that is silent today: not in lov-ed, right after the stress.

    >>> may_speak_ed("garnished"), may_speak_ed("loved"), may_speak_ed("wounded")
    (True, False, False)
    """
    return word.endswith("ed") and any(
        phones[-2] not in _SPOKEN_VOWELS and read_stresses(phones).endswith("0") for phones in pronounce(word)
    )


@lru_cache(maxsize=65_536)
def relax(tail: Phones) -> Phones:
    """Return the sounds of a word from its stressed vowel on as easy speech says them.

    It drops an r that no vowel follows, after the vowel of north and in weak syllables, has one vowel in these, and
    -in' for -ing: so Calcutta and butter, walker and Majorca, muffin and stuffing end alike. Comic verse rhymes so.

    >>> relax(("AH", "T", "ER")), relax(("AO", "R", "TH"))
    (('AH', 'T', 'AH'), ('AO', 'TH'))
    """
    sounds = list(tail[:1])
    for index, phone in enumerate(tail[1:], 1):
        if phone in _WEAKENED:
            sounds.append("AH")
        elif phone == "NG" and len(sounds) > 1 and sounds[-1] == "AH":
            sounds.append("N")
        elif phone != "R" or tail[index - 1] != "AO" or tail[index + 1 : index + 2] in _BEFORE_VOWEL:
            sounds.append(phone)
    return tuple(sounds)


def _is_heavy(rime: Phones) -> bool:
    """Whether a last syllable has a full vowel and a consonant after it, as in discourse and export."""
    return len(rime) > 1 and rime[0] in _FULL_VOWELS


def _unreduced(rime: Phones, letters: str) -> Phones:
    """Return the rime of a last syllable that a beat lifts, with the vowel of its letter: -ence as in sense."""
    match = _LAST_VOWEL_LETTER.search(letters)
    if not match or len(rime) < 2 or rime[0] not in _REDUCED or rime[1] in ("R", "NG"):
        return rime
    vowel = "AO" if rime[1] == "L" and match[1] == "a" else _SPELLED_VOWELS[match[1]]
    return (vowel, *rime[1:])


def _guessed_rime(letters: str) -> Phones:
    return _alike_for_rhyme(guess_by_ending(load_lexicon().rimes, letters))


@lru_cache(maxsize=65_536)
def _alike_for_rhyme(phones: Phones) -> Phones:
    """Return the phones without differences that the dictionary makes by chance.

    Fire, hour and the like have one syllable: the dictionary does so for aspire, not desire. Before r there is one
    vowel for here and fear, of which it writes the first with IY, the second with IH.
    """
    joined = list(phones)
    for index in range(len(joined) - 1, 0, -1):
        if joined[index] == "ER0" and joined[index - 1][:-1] in ("AY", "AW"):
            joined[index] = "R"
        elif joined[index] == "R" and joined[index - 1][:-1] == "IY":
            joined[index - 1] = "IH" + joined[index - 1][-1]
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
    traits: set[Hashable] = {
        word,
        *sounds.whole,
        *sounds.full,
        *sounds.last,
        *(("easy", *tail) for tail in sounds.easy),
    }
    if sounds.speaks_ed or SPOKEN_ED_RIME in sounds.beats:
        traits.add(SPOKEN_ED_RIME)
    if len(sounds.spelled) > 1:
        traits.add(sounds.spelled)
    for vowel, *ending in map(split_r, filter(None, sounds.last)):
        if vowel in ("AY", "IY"):
            traits.add(("y", *ending))
        if ending:
            traits.add(("ending", *ending))
            traits.add((vowel, *(_MANNER.get(phone, phone) for phone in ending)))
    return frozenset(traits)


def split_r(rime: Phones) -> Phones:
    """Return the rime with an r-coloured vowel as vowel and r, so that word and lord have the same consonants."""
    return ("AH", "R", *rime[1:]) if rime[0] == "ER" else rime
