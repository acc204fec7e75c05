"""Which syllables verse may drop or add: the licences a reader takes for granted in metred lines.

Dropped: a weak vowel before r, l, n or m and another weak vowel (mem'ry, wand'ring); a weak i or u before a
weak vowel (glor-yous); a weak vowel right after a stressed one (flow'r, be'ng); the last vowel of words such
as heaven, fallen, spirit. Added: an -ed spoken out (bless-ed), a fire or hour of two syllables. Each is
described on sounds, so that it holds for words no list has. See Paul Kiparsky, "The rhythmic structure of
English verse" (1977), section 4, on these prosodic rules.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from learnable.verifiers.poetry.sound.phones import Phones

_WEAK = frozenset(["AH0", "IH0", "ER0", "EH0"])
_GLIDING = frozenset(["IY0", "IH0", "UW0", "OW0"])
_SONORANTS = frozenset(["R", "L", "N", "M"])
_OPEN = frozenset("AA AH AO AW AY EY IY OW OY UW".split())
_BEFORE_N = frozenset(["V", "L", "Z", "R", "DH", "K", "P"])  # heaven, fallen, risen, barren, heathen, taken, open


@lru_cache(maxsize=65_536)
def shortened(phones: Phones) -> frozenset[Phones]:
    """Return the pronunciations with one syllable less that verse allows; none for most words.

    >>> sorted(shortened(("G", "L", "AO1", "R", "IY0", "AH0", "S")))
    [('G', 'L', 'AO1', 'R', 'AH0', 'S')]
    """
    return frozenset(
        _without(phones, index)
        for index, phone in enumerate(phones)
        if phone[-1] == "0" and sum(other[-1].isdigit() for other in phones) > 1 and _may_fall(phones, index)
    )


def _may_fall(phones: Phones, index: int) -> bool:
    phone, before = phones[index], phones[index - 1] if index else ""
    after, then = (*phones[index + 1 : index + 3], "", "")[:2]
    if phone in _GLIDING and after[-1:] == "0":
        return bool(before)
    if phone in _WEAK and before[-1:] in ("1", "2") and before[:-1] in _OPEN:
        return True
    if phone == "ER0":
        return after[-1:] == "0" and bool(before)
    if phone not in _WEAK or index < 2:
        return False
    if after in _SONORANTS and then[-1:] == "0":
        return not before[-1:].isdigit()
    return _falls_at_the_end(phones, index)


def _falls_at_the_end(phones: Phones, index: int) -> bool:
    before, rest = phones[index - 1], phones[index + 1 :]
    if rest[:1] == ("N",) and len(rest) <= 2:
        return before in _BEFORE_N
    if rest == ("L",):
        return before == "V"  # evil, devil
    return rest == ("T",) and before == "R"  # spirit


def _without(phones: Phones, index: int) -> Phones:
    if phones[index] == "ER0":
        return (*phones[:index], "R", *phones[index + 1 :])
    return phones[:index] + phones[index + 1 :]


@lru_cache(maxsize=65_536)
def lengthened(word: str, phones: Phones) -> frozenset[Phones]:
    """Return the pronunciations with one syllable more that verse allows.

    >>> sorted(lengthened("blessed", ("B", "L", "EH1", "S", "T")))
    [('B', 'L', 'EH1', 'S', 'IH0', 'D')]
    """
    found: set[Phones] = set()
    if word.endswith("ed") and phones[-1] in ("T", "D") and phones[-2][-1] != "0":
        found.add((*phones[:-1], "IH0", "D"))
    for index, (phone, after) in enumerate(pairwise(phones)):
        if after == "R" and phone in ("AY1", "AW1") and phones[index + 2 : index + 3] in ((), ("Z",), ("D",)):
            found.add((*phones[: index + 1], "ER0", *phones[index + 2 :]))
    return frozenset(found)


def ends_open(phones: Phones) -> bool:
    """Whether a word ends in a weak vowel that may run into the next word's: th'expense, many a."""
    return phones[-1] in ("IY0", "UW0", "AH0", "OW0")


def begins_open(phones: Phones) -> bool:
    """Whether a word begins with a vowel."""
    return phones[0][-1].isdigit()
