"""The rhyme scheme of a stanza, from the sounds of its lines' ends.

The likeliest scheme: each pair of lines in one class adds the log odds that two words so joined rhyme
(`EVIDENCE`), and the stanza is cut into customary units (couplet, alternate, enclosed, ...), each with its own
odds (`UNITS`). Classes of different units are then joined where their words rhyme, as in the octave of an
Italian sonnet. So a doubtful pair counts as a rhyme where the pattern asks for one and nowhere else.

The odds are rounded from counts over human schemes of the 15th to 20th century (Sravana Reddy and
Kevin Knight, "Unsupervised discovery of rhyme schemes", 2011); the units are those of prosody handbooks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import combinations, product
from math import inf

from learnable.verifiers.poetry.rhyme.pairs import Bond, bond

UNRHYMED = "x"
EVIDENCE = {
    Bond.SAME: 2.5,
    Bond.HOMOPHONE: 4.0,
    Bond.PERFECT: 5.0,
    Bond.PROMOTED: 3.0,
    Bond.GUESSED_SPELLED: 4.5,
    Bond.GUESSED: 3.5,
    Bond.EYE: 4.5,
    Bond.WEAK_SPELLED: 2.0,
    Bond.WEAK: 1.0,
    Bond.SHIFTED: 1.0,
    Bond.OPEN: 0.5,
    Bond.FAMILY: 0.0,
    Bond.CONSONANCE: -1.5,
    Bond.ASSONANCE: -3.0,
    Bond.NONE: -4.5,
}
# Units and the log odds of meeting one, the commonest first; `x` stands for a line without a rhyme.
UNITS = {
    "aa": -1.5,
    "abab": -1.0,
    "xaxa": -2.0,
    "abba": -2.5,
    "ababb": -4.0,
    "abaab": -4.0,
    "ababa": -4.5,
    "aabba": -4.5,
    "aabab": -4.5,
    "aaa": -3.5,
    "aab": -8.0,
    "axa": -3.0,
    "aaxa": -3.5,
    "aabccb": -3.0,
    "abcabc": -5.0,
    "ababab": -4.0,
    "abaabb": -5.0,
    "ababbcc": -3.0,
    "abababcc": -3.0,
    "ababbcbc": -4.0,
    "ababbcbcc": -3.0,
    "aaabcccb": -4.0,
    "aaabab": -4.5,
    "cdecde": -5.0,
    "cdedce": -5.5,
    "xabba": -5.0,
    "x": -1.0,
}
_JOIN = 2.0  # log odds that classes of different units must reach together to be one
_FARTHEST = 6  # lines between two members of a joined class; farther rhymes are mostly chance
_LETTERS = "abcdefghijklmnopqrstuvwyz"

Odds = Callable[[int, int], float]


def infer_scheme(ends: Sequence[str]) -> list[str]:
    """Return a letter for each line's end word, `x` for the unrhymed.

    >>> "".join(infer_scheme(["night", "stone", "light", "alone", "sea", "me"]))
    'ababcc'
    """

    @cache
    def odds(first: int, second: int) -> float:
        return EVIDENCE[bond(ends[first], ends[second])]

    return _lettered(_joined(_units(len(ends), odds), odds), len(ends))


def _units(lines: int, odds: Odds) -> list[list[int]]:
    """Return the classes, as line numbers, of the likeliest division into units."""
    best: list[tuple[float, list[list[int]]]] = [(0.0, [])]
    for end in range(1, lines + 1):
        likeliest: tuple[float, list[list[int]]] = (-inf, [])
        for unit, prior in UNITS.items():
            start = end - len(unit)
            if start >= 0:
                classes = [[start + offset for offset in members] for members in _classes(unit)]
                score = best[start][0] + prior + sum(_cohesion(members, odds) for members in classes)
                if score > likeliest[0]:
                    likeliest = (score, [*best[start][1], *classes])
        best.append(likeliest)
    return best[-1][1]


@cache
def _classes(unit: str) -> list[list[int]]:
    members: dict[str, list[int]] = {}
    for index, letter in enumerate(unit):
        members.setdefault(letter if letter != UNRHYMED else f"{UNRHYMED}{index}", []).append(index)
    return list(members.values())


def _cohesion(members: Sequence[int], odds: Odds) -> float:
    """Return the log odds of a class: the mean over its pairs, once for each member beyond the first."""
    if len(members) < 2:
        return 0.0
    return _mean(odds(*pair) for pair in combinations(members, 2)) * (len(members) - 1)


def _joined(classes: list[list[int]], odds: Odds) -> list[list[int]]:
    """Return the classes with those that rhyme with each other made one, the likeliest first."""
    while True:
        gains = [
            (_mean(odds(*pair) for pair in product(one, other)), one, other)
            for one, other in combinations(classes, 2)
            if min(abs(i - j) for i, j in product(one, other)) <= _FARTHEST
        ]
        gain, one, other = max(gains, key=lambda found: found[0], default=(-inf, [], []))
        if gain < _JOIN:
            return classes
        classes = [members for members in classes if members not in (one, other)] + [sorted(one + other)]


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)


def _lettered(classes: list[list[int]], lines: int) -> list[str]:
    scheme = [UNRHYMED] * lines
    rhymed = sorted(members for members in classes if len(members) > 1)
    for number, members in enumerate(rhymed):
        round_, letter = divmod(number, len(_LETTERS))
        for index in members:
            scheme[index] = _LETTERS[letter] + (str(round_) if round_ else "")
    return scheme
