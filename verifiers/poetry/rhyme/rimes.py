"""What of a word's sound and spelling decides its rhymes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from learnable.verifiers.poetry.sound.lexicon import lexicon
from learnable.verifiers.poetry.sound.phones import Phones, unstressed
from learnable.verifiers.poetry.sound.pronunciation import pronunciations
from learnable.verifiers.poetry.sound.unknown_words import guess

_FULL_VOWELS = frozenset("AA AE AO AW AY EY OW OY UW".split())
_SPELLED_RIME = re.compile(r"[aeiouy]+[^aeiouy]*(?:e|es|ed)?$")


@dataclass(frozen=True, slots=True)
class RhymeSounds:
    """A word's sounds without stress marks, over all its pronunciations.

    `full` from the last stressed vowel on, `last` from the last vowel on, `whole` throughout. `beats`: the last
    syllables that can carry a beat, by their own stress or, where none has any, by a full vowel (ex-PORT) or two
    syllables after the stress (har-mo-NY).
    `stressed`: some last syllable has a stress. `known`: not guessed from the spelling. `spelled`: the letters
    from the last vowel group on.
    """

    whole: frozenset[Phones]
    full: frozenset[Phones]
    last: frozenset[Phones]
    beats: frozenset[Phones]
    stressed: bool
    known: bool
    spelled: str


@lru_cache(maxsize=65_536)
def rhyme_sounds(word: str) -> RhymeSounds:
    """Return what decides a word's rhymes; of an unknown word, the last syllable's sounds as its ending suggests."""
    whole, full, last, stressed, promoted = set(), set(), set(), set(), set()
    for phones in map(_one_syllable_glides, pronunciations(word)):
        plain, vowels = unstressed(phones), [index for index, phone in enumerate(phones) if phone[-1] in "012"]
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
    return _one_syllable_glides(guess(lexicon().rimes, letters))


@lru_cache(maxsize=65_536)
def _one_syllable_glides(phones: Phones) -> Phones:
    """Return the phones with fire, hour and their kin as one syllable: the dictionary has aspire so, desire not."""
    joined = list(phones)
    for index in range(len(joined) - 1, 0, -1):
        if joined[index] == "ER0" and joined[index - 1][:-1] in ("AY", "AW"):
            joined[index] = "R"
    return tuple(joined)
