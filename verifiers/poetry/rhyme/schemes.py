"""The rhyme scheme of a stanza, from the sounds of its lines' ends.

The result is the most likely scheme. Each pair of lines in one class adds the log odds that two words with that bond
rhyme (`EVIDENCE`). The stanza is divided into customary units (couplet, alternate, enclosed, ...), each with its own
log odds (`UNITS`). Classes of different units are then joined where their words rhyme, as in the octave of an Italian
sonnet. So a doubtful pair counts as a rhyme only where the pattern has one.

The odds are learned from human schemes of the 15th to 20th century (Sravana Reddy and Kevin Knight, "Unsupervised
discovery of rhyme schemes", 2011) by `benchmarks.poetry.held_out`, which also says what they are worth on authors that
they were not learned from. The units are those of handbooks of prosody that at least three of its authors use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from math import inf

from learnable.verifiers.poetry.rhyme.pairs import Bond, find_bond

UNRHYMED = "x"


@dataclass(frozen=True, slots=True)
class Odds:
    """The log odds of schemes: by the bond of two lines, that they rhyme; of each unit, `x` in it a line without one.

    Those of a bond are the log of how much more common it is among rhymes than among other pairs of a stanza's lines,
    those of a unit the log of its share among all units; those of a line without a rhyme are set by hand.
    """

    bonds: Mapping[Bond, float]
    units: Mapping[str, float]


ODDS = Odds(
    bonds={
        Bond.SAME: 2.5,
        Bond.HOMOPHONE: 4.5,
        Bond.PERFECT: 5.0,
        Bond.PROMOTED: 3.5,
        Bond.GUESSED_SPELLED: 4.5,
        Bond.GUESSED: 3.5,
        Bond.EYE: 4.5,
        Bond.VOICED: 3.0,
        Bond.OLDER: 3.5,
        Bond.OLD_Y: 2.5,
        Bond.OLD_ED: 4.0,
        Bond.EASY: 3.0,
        Bond.DOUBLE: 4.0,
        Bond.WEAK_SPELLED: 1.5,
        Bond.WEAK: 1.0,
        Bond.SHIFTED: 0.5,
        Bond.OPEN: -0.5,
        Bond.FAMILY: -1.0,
        Bond.CONSONANCE: -2.0,
        Bond.ASSONANCE: -3.5,
        Bond.NONE: -4.5,
    },
    units={
        "x": -1.0,
        "aa": -1.5,
        "aaa": -3.0,
        "abab": -1.5,
        "abba": -4.0,
        "xaxa": -2.5,
        "axa": -4.5,
        "aaxa": -5.5,
        "ababb": -3.0,
        "abaab": -5.0,
        "ababa": -5.0,
        "aabba": -7.0,
        "aabab": -6.0,
        "xabba": -3.5,
        "abcabc": -5.5,
        "ababab": -3.0,
        "aabccb": -4.0,
        "ababcc": -2.5,
        "ababbcc": -3.5,
        "ababbcbc": -6.5,
        "aabbccdd": -5.5,
        "abbaabba": -4.5,
        "aaabcccb": -6.0,
    },
)
_LETTERS = "abcdefghijklmnopqrstuvwyz"

PairOdds = Callable[[int, int], float]


def infer_scheme(ends: Sequence[str], known: Odds = ODDS) -> list[str]:
    """Return a letter for each line's end word, `x` for a word without a rhyme.

    >>> "".join(infer_scheme(["night", "stone", "light", "alone", "sea", "me"]))
    'ababcc'
    """

    @cache
    def odds(first: int, second: int) -> float:
        return known.bonds[find_bond(ends[first], ends[second])]

    units, start = divide_stanza(len(ends), odds, known.units), 0
    classes: list[list[int]] = []
    for unit in units:
        classes += _place(unit, start)
        start += len(unit)
    return _give_letters(_join_classes(classes, odds), len(ends))


def divide_stanza(lines: int, odds: PairOdds, units: Mapping[str, float]) -> list[str]:
    """Return the most likely division of a stanza into units: `odds` of two lines by their numbers, `units` of each."""
    best: list[tuple[float, list[str]]] = [(0.0, [])]
    for end in range(1, lines + 1):
        likeliest: tuple[float, list[str]] = (-inf, [])
        for unit, prior in units.items():
            start = end - len(unit)
            if start >= 0:
                cohesion = sum(_cohesion(members, odds) for members in _place(unit, start))
                score = best[start][0] + prior + cohesion
                if score > likeliest[0]:
                    likeliest = (score, [*best[start][1], unit])
        best.append(likeliest)
    return best[-1][1]


def _place(unit: str, start: int) -> list[list[int]]:
    """Return the classes of a unit that begins at a line, as lists of line numbers."""
    return [[start + offset for offset in members] for members in _classes(unit)]


@cache
def _classes(unit: str) -> list[list[int]]:
    members: dict[str, list[int]] = {}
    for index, letter in enumerate(unit):
        members.setdefault(letter if letter != UNRHYMED else f"{UNRHYMED}{index}", []).append(index)
    return list(members.values())


def _cohesion(members: Sequence[int], odds: PairOdds) -> float:
    """Return the log odds of a class: the mean over its pairs, times its number of members less one."""
    if len(members) < 2:
        return 0.0
    return _mean(odds(*pair) for pair in combinations(members, 2)) * (len(members) - 1)


def _join_classes(classes: list[list[int]], odds: PairOdds) -> list[list[int]]:
    """Return the classes after joining those that rhyme with each other, the most likely pair first."""
    while True:
        # Rhymes more than six lines apart are mostly chance.
        gains = [
            (_mean(odds(*pair) for pair in product(one, other)), one, other)
            for one, other in combinations(classes, 2)
            if min(abs(i - j) for i, j in product(one, other)) <= 6
        ]
        gain, one, other = max(gains, key=lambda candidate: candidate[0], default=(-inf, [], []))
        # From these log odds on, classes of different units are joined.
        if gain < 2.0:
            return classes
        classes = [members for members in classes if members not in (one, other)] + [sorted(one + other)]


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)


def _give_letters(classes: list[list[int]], lines: int) -> list[str]:
    scheme = [UNRHYMED] * lines
    rhymed = sorted(members for members in classes if len(members) > 1)
    for number, members in enumerate(rhymed):
        round_, letter = divmod(number, len(_LETTERS))
        for index in members:
            scheme[index] = _LETTERS[letter] + (str(round_) if round_ else "")
    return scheme
