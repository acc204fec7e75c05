"""How many syllables a word can have: by its pronunciations, and by what verse may drop or add.

Verse may drop a weak vowel before r, l, n or m and another weak vowel (mem'ry, wand'ring); a weak i or u before a
weak vowel (glor-yous); a weak vowel right after a stressed one (flow'r, be'ng); the last vowel of words such as
heaven, fallen, spirit. It may add a spoken -ed (bless-ed), and a second syllable in fire and hour. The rules are
stated on sounds, so they also hold for words that no list has. See Paul Kiparsky, "The rhythmic structure of English
verse" (1977), section 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from learnable.verifiers.poetry.sound.phones import Phones, read_stresses

_WEAK = frozenset(["AH0", "IH0", "ER0", "EH0"])
_GLIDING = frozenset(["IY0", "IH0", "UW0", "OW0"])
_SONORANTS = frozenset(["R", "L", "N", "M"])
_SPOKEN = frozenset(["EH1", "EH2"])  # of bed, which is no bed-ded
_OPEN = frozenset("AA AH AO AW AY EY IY OW OY UW".split())
_BEFORE_N = frozenset(["V", "L", "Z", "R", "DH", "K", "P"])  # heaven, fallen, risen, barren, heathen, taken, open


class WordCounts(NamedTuple):
    """The numbers of syllables that a word can have.

    `free` numbers come from its pronunciations, `licensed` ones only from verse (heav'n, bless-ed); both are sorted.
    `only` is the single possible number, or None where there are several. `begins_open` and `ends_open` say whether
    the word may share a syllable with the word before or after it.
    """

    only: int | None
    free: tuple[int, ...]
    licensed: tuple[int, ...]
    begins_open: bool
    ends_open: bool

    def to_text(self) -> str:
        """Return the counts as text, for `parse_word_counts`."""
        return "/".join(
            (*(",".join(map(str, counts)) for counts in self[1:3]), f"{self.begins_open:d}{self.ends_open:d}")
        )


def derive_word_counts(word: str, known: Sequence[Phones]) -> WordCounts:
    """Return the counts of a word from its pronunciations, of which there must be at least one."""
    free = {len(read_stresses(phones)) for phones in known}
    forms = {form for phones in known for form in shorten(phones) | lengthen(word, phones)}
    licensed = {len(read_stresses(form)) for form in forms} - free
    return _make_counts(free, licensed, any(map(begins_open, known)), any(map(ends_open, known)))


def assume_word_counts(syllables: int) -> WordCounts:
    """Return the counts of an unknown word that is estimated to have this many syllables."""
    return _make_counts([syllables], [], begins=False, ends=False)


def parse_word_counts(text: str) -> WordCounts:
    """Return the counts that `WordCounts.to_text` wrote."""
    free, licensed, ends = text.split("/")
    return _make_counts(_numbers(free), _numbers(licensed), begins=ends[0] == "1", ends=ends[1] == "1")


def _make_counts(free: Iterable[int], licensed: Iterable[int], begins: bool, ends: bool) -> WordCounts:
    free, licensed = tuple(sorted(free)), tuple(sorted(licensed))
    only = free[0] if len(free) == 1 and not licensed else None
    return WordCounts(only, free, licensed, begins, ends)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


@lru_cache(maxsize=65_536)
def shorten(phones: Phones) -> frozenset[Phones]:
    """Return the pronunciations with one syllable less that verse allows; most words have none.

    >>> sorted(shorten(("G", "L", "AO1", "R", "IY0", "AH0", "S")))
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
def lengthen(word: str, phones: Phones) -> frozenset[Phones]:
    """Return the pronunciations with one syllable more that verse allows; most words have none.

    >>> sorted(lengthen("blessed", ("B", "L", "EH1", "S", "T")))
    [('B', 'L', 'EH1', 'S', 'IH0', 'D')]
    """
    longer: set[Phones] = set()
    if word.endswith("ed") and phones[-1] in ("T", "D") and phones[-2][-1] != "0" and phones[-2] not in _SPOKEN:
        longer.add((*phones[:-1], "IH0", "D"))
    for index, (phone, after) in enumerate(pairwise(phones)):
        if after == "R" and phone in ("AY1", "AW1") and phones[index + 2 : index + 3] in ((), ("Z",), ("D",)):
            longer.add((*phones[: index + 1], "ER0", *phones[index + 2 :]))
    return frozenset(longer)


def ends_open(phones: Phones) -> bool:
    """Whether a word ends in a weak vowel that may join the next word's first vowel: th'expense, many a."""
    return phones[-1] in ("IY0", "UW0", "AH0", "OW0")


def begins_open(phones: Phones) -> bool:
    """Whether a word begins with a vowel."""
    return phones[0][-1].isdigit()
