"""Whether a poem is in its metre: against the rhythm of prose, and against the metres that are its rivals.

A line's cost in a metre is a negative log odds (`metres`), so the costs of a poem's lines add up. English alternates
by itself, and a single line of prose may well scan; but over a poem the costs of verse and of prose part clearly. So
what decides is the mean cost of a place (a syllable of the metre) over the whole poem. A line that another metre suits
better costs more by what it would save there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from learnable.verifiers.poetry.bounds import METRE
from learnable.verifiers.poetry.forms.wording import FEET_NAMES
from learnable.verifiers.poetry.metre.costs import find_metre_cost, price_words
from learnable.verifiers.poetry.metre.duple import DUPLES, TOO_DEAR, DupleCosts, find_duple_costs, lay_out
from learnable.verifiers.poetry.metre.metres import METRES, WRONG_FEET, find_metre
from learnable.verifiers.poetry.metre.scansion import scan

PER_FOOT = {"iambic": 2, "trochaic": 2, "anapaestic": 3, "amphibrachic": 3, "dactylic": 3}
MAX_FITTED_WORDS = 40  # a longer line is prose and is judged by its beginning

_MARK = re.compile(r"[-,;:.!?()\u2013\u2014]")
_PAUSE = re.compile(r"[,;:.!?)\u2013\u2014]['\"\u2019\u201d]?\s|--|\s[-\u2013(]")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")


class LineFit(NamedTuple):
    """What a line costs in its metre (`own`) and in the best rival, and how many places the metre gives it.

    `cost` is what counts: with what a rival would save, and never more than that of no metre. A line that begins and
    ends on a beat is headless in one metre and lacks its end in the other, so here it has no rival; the poem tells.
    """

    own: float
    rival: float
    cost: float
    places: int

    @property
    def keeps(self) -> bool:
        """Whether the line by itself may count as in its metre."""
        return self.cost / self.places <= METRE.keeps


Feet = tuple[int | None, ...]  # of each line; None for any number


@dataclass(frozen=True)
class MetreReading:
    """The lines of a poem in its metre; None for a line that is not there."""

    lines: tuple[LineFit | None, ...]

    @cached_property
    def fitted(self) -> list[LineFit]:
        """The lines that are there."""
        return [line for line in self.lines if line is not None]

    @cached_property
    def places(self) -> int:
        """How many places the metre gives the lines that are there."""
        return sum([line.places for line in self.fitted])

    @cached_property
    def rate(self) -> float:
        """The mean cost of a place."""
        return sum([line.cost for line in self.fitted]) / self.places if self.fitted else METRE.most

    @property
    def needed(self) -> float:
        """The rate that a poem of this length may have."""
        return METRE.needed + METRE.lenience / max(1, self.places)

    @property
    def strict(self) -> float:
        """How surely the poem is in its metre, in [0, 1]: .5 is where it begins."""
        if not self.fitted:
            return 0.0
        against_prose = 0.5 + (self.needed - self.rate) / (2 * METRE.doubt)
        against_rival = 0.5 + self.lead / 2
        return min(1.0, max(0.0, min(against_prose, against_rival)))

    @property
    def lead(self) -> float:
        """What a line costs more in the rival metre, on average."""
        return sum([line.rival - line.own for line in self.fitted]) / max(1, len(self.fitted))

    @cached_property
    def credits(self) -> list[float]:
        """How well each line keeps the metre, in [0, 1], leaned towards the poem; 0 for one that is not there."""
        borrowed = METRE.line_leaning * self.rate
        return [
            0.0 if line is None else credit_rate((line.cost + borrowed) / (line.places + METRE.line_leaning))
            for line in self.lines
        ]


def credit_rate(rate: float) -> float:
    """Return the credit of a line that costs so much a place, in [0, 1]."""
    if rate > METRE.needed:
        return (1 - METRE.last_part) * max(0.0, (METRE.no_credit - rate) / (METRE.no_credit - METRE.needed))
    return 1 - METRE.last_part + METRE.last_part * min(1.0, (METRE.needed - rate) / (METRE.needed - METRE.regular))


def credit_metre(words: Sequence[str], metre: str, feet: int) -> float:
    """Return how well a line by itself keeps a metre with this number of feet, in [0, 1].

    A line that departs from the metre no more than most lines of good verse do earns .97 and more. Each departure earns
    less, and so does a line that another metre would suit better.

    >>> credit_metre("the plowman homeward plods his weary way".split(), "iambic", 5) > 0.97
    True
    >>> credit_metre("silent rivers carry golden lanterns".split(), "iambic", 5) < 0.5
    True

    Raises `LearnableError` for an unknown metre.
    """
    fit = fit_line(tuple(words), find_metre(metre).name, feet)
    return credit_rate(fit.cost / fit.places)


@lru_cache(maxsize=16_384)
def fit_line(words: tuple[str, ...], metre: str, feet: int | None, pauses: tuple[int, ...] = ()) -> LineFit:
    """Return how a line fits a metre, by the metre's own name.

    With `feet` None it may have any number. `pauses` are the indices of the words that stand after a pause.
    """
    if len(words) > MAX_FITTED_WORDS:
        words, pauses = words[:MAX_FITTED_WORDS], tuple(index for index in pauses if index < MAX_FITTED_WORDS)
    laid = lay_out(words)
    if metre in DUPLES:
        costs = find_duple_costs(laid, metre, feet, pauses)
    else:
        rival = min(find_duple_costs(laid, "iambic", None, pauses))
        costs = DupleCosts(_find_triple_cost(words, metre, feet), rival, rival)
    places = max(1, count_syllables(words) if feet is None else PER_FOOT[metre] * feet)
    cost = costs.own + METRE.rivalry * max(0.0, costs.own - costs.full_rival)
    return LineFit(costs.own, costs.rival, min(cost, METRE.most * places), places)


def _find_triple_cost(words: tuple[str, ...], metre: str, feet: int | None) -> float:
    syllables = count_syllables(words)
    if not syllables:
        return TOO_DEAR
    wanted = max(1, round(syllables / PER_FOOT[metre])) if feet is None else feet
    return find_metre_cost(price_words(words), METRES[metre], wanted)


def name_rhythm(words: tuple[str, ...], metre: str, feet: int | None) -> str:
    """Return what a line reads as that does not keep its metre: other feet, another metre, or prose.

    >>> name_rhythm(tuple("silent rivers carry golden lanterns".split()), "iambic", 5)
    'trochaic'
    >>> name_rhythm(tuple("the plowman homeward plods".split()), "iambic", 5)
    'iambic trimeter'
    """
    free = fit_line(words, metre, None)
    if feet is not None and fit_line(words, metre, feet).own - free.own >= WRONG_FEET / 2 and free.keeps:
        beats = scan(words, metre).stress.count("+")
        return f"{metre} {FEET_NAMES[beats]}" if 0 < beats < len(FEET_NAMES) else f"{metre} of {beats} feet"
    others = {name: fit_line(words, name, None) for name in METRES if name != metre}
    best = min(others, key=lambda name: others[name].own / others[name].places)
    return best if others[best].own <= METRE.reads_as * others[best].places and others[best].own < free.own else "prose"


def count_syllables(words: tuple[str, ...]) -> int:
    """Return the syllables of a line, each word said in its usual way."""
    return sum(len(word[0][1]) for word in price_words(words))


def find_pauses(text: str, words: Sequence[str]) -> tuple[int, ...]:
    """Return the indices of the words of a line that stand after a mark of punctuation.

    >>> find_pauses("Admit impediments. Love is not love,", "admit impediments love is not love".split())
    (2,)
    """
    if not _MARK.search(text, 0, len(text) - 1):
        return ()  # as most lines
    pauses: list[int] = []
    for mark in _PAUSE.finditer(text):
        index = len(_WORD.findall(text, 0, mark.end()))
        if 0 < index < len(words) and index not in pauses:
            pauses.append(index)
    return tuple(pauses)


@lru_cache(maxsize=64)
def read_metre(lines: tuple[tuple[str, tuple[str, ...]] | None, ...], metre: str, feet: Feet) -> MetreReading:
    """Return how the lines of a poem, each as its text and its words, fit a metre with so many feet a line."""
    readings = [
        None if line is None else fit_line(line[1], metre, count, find_pauses(*line))
        for line, count in zip(lines, feet, strict=True)
    ]
    return MetreReading(tuple(readings))
