"""Whether a poem is in its metre: against the rhythm of prose, and against the metres that are its rivals.

A line's cost in a metre is a negative log odds (`metres`), so the costs of a poem's lines add up. English alternates
by itself, and a single line of prose may well scan; but over a poem the costs of verse and of prose part clearly. So
what decides is the mean cost of a place (a syllable of the metre) over the whole poem. A line that another metre suits
better costs more by what it would save there.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from learnable.data.forms.wording import FEET_NAMES
from learnable.verifiers.poetry.metre.costs import find_metre_cost, price_words
from learnable.verifiers.poetry.metre.duple import DUPLES, TOO_DEAR, find_duple_costs, lay_out
from learnable.verifiers.poetry.metre.metres import METRES, WRONG_FEET, find_metre
from learnable.verifiers.poetry.metre.scansion import scan

PER_FOOT = {"iambic": 2, "trochaic": 2, "anapaestic": 3, "amphibrachic": 3, "dactylic": 3}
MAX_WORDS = 40  # a longer line is prose and is judged by its beginning
RIVALRY = 3.0  # what a line costs more for each unit of cost that a rival would save
MAX_RATE = 1.6  # cost of a place: a line that has nothing of the metre costs no more

# Cost of a place. Human stanzas have about .5, and 95 of 100 less than .75; fourteen lines of prose have about 1.2,
# and 99 of 100 more than .89. What a poem may have is `NEEDED + LENIENCE / places`: of a short one less can be told.
NEEDED, LENIENCE = 0.73, 5.0
RIVAL_SAVES = 0.8  # on average a line: where a rival saves more, the poem is in that metre
DOUBT = 0.3  # above and below what is needed, over which the share goes from 0 to 1
FULL_CREDIT, NO_CREDIT = 0.7, 1.1  # for a line, leaned towards the poem
KEEPS = 0.5  # credit of a line by itself, from which it counts as in its metre
READS_AS = 0.55  # cost of a place up to which a line is said to be in another metre
LEAN = 3.0  # places that each line borrows from the poem as a whole

_PAUSE = re.compile(r"[,;:.!?)\u2013\u2014]['\"\u2019\u201d]?\s|--|\s[-\u2013(]")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class LineFit:
    """What a line costs in its metre (`own`) and in the best rival, and how many places the metre gives it."""

    own: float
    rival: float
    places: int

    @property
    def cost(self) -> float:
        """The cost that counts: with what a rival would save, and never more than that of no metre."""
        return min(self.own + RIVALRY * max(0.0, self.own - self.rival), MAX_RATE * self.places)

    @property
    def keeps(self) -> bool:
        """Whether the line by itself may count as in its metre."""
        return credit_rate(self.cost / self.places) >= KEEPS


@dataclass(frozen=True)
class MetreReading:
    """The lines of a poem in its metre; None for a line that is not there."""

    lines: tuple[LineFit | None, ...]

    @cached_property
    def rate(self) -> float:
        """The mean cost of a place."""
        found = [line for line in self.lines if line is not None]
        return sum(line.cost for line in found) / sum(line.places for line in found) if found else MAX_RATE

    @property
    def needed(self) -> float:
        """The rate that a poem of this length may have."""
        return NEEDED + LENIENCE / max(1, sum(line.places for line in self.lines if line is not None))

    @property
    def strict(self) -> float:
        """How surely the poem is in its metre, in [0, 1]: .5 is where it begins."""
        if not any(self.lines):
            return 0.0
        against_prose = 0.5 + (self.needed - self.rate) / (2 * DOUBT)
        against_rival = 0.5 + (self.lead + RIVAL_SAVES) / 2
        return min(1.0, max(0.0, min(against_prose, against_rival)))

    @property
    def lead(self) -> float:
        """What a line costs more in the rival metre, on average."""
        return mean_of([line.rival - line.own for line in self.lines if line is not None])

    @cached_property
    def credits(self) -> list[float]:
        """How well each line keeps the metre, in [0, 1]; 0 for one that is not there."""
        return [0.0 if line is None else credit_rate(self._lean(line)) for line in self.lines]

    def _lean(self, line: LineFit) -> float:
        return (line.cost + LEAN * self.rate) / (line.places + LEAN)


def mean_of(values: Sequence[float]) -> float:
    """Return the mean, 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def credit_rate(rate: float) -> float:
    """Return the credit of a line that costs so much a place, in [0, 1]."""
    return min(1.0, max(0.0, (NO_CREDIT - rate) / (NO_CREDIT - FULL_CREDIT)))


def credit_metre(words: Sequence[str], metre: str, feet: int) -> float:
    """Return how well a line by itself keeps a metre with this number of feet, in [0, 1].

    A line that departs from the metre no more than most lines of good verse do earns 1. Each departure earns less,
    and so does a line that another metre would suit better.

    >>> credit_metre("the plowman homeward plods his weary way".split(), "iambic", 5)
    1.0
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
    words = words[:MAX_WORDS]
    laid = lay_out(words)
    if metre in DUPLES:
        own, rival = find_duple_costs(laid, metre, feet, pauses)
    else:
        own = _find_triple_cost(words, metre, feet)
        rival = min(find_duple_costs(laid, "iambic", None, pauses))
    places = count_syllables(words) if feet is None else PER_FOOT[metre] * feet
    return LineFit(own, rival, max(1, places))


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
    return best if others[best].own <= READS_AS * others[best].places and others[best].own < free.own else "prose"


def count_syllables(words: tuple[str, ...]) -> int:
    """Return the syllables of a line, each word said in its usual way."""
    return sum(len(word[0][1]) for word in price_words(words))


def find_pauses(text: str, words: Sequence[str]) -> tuple[int, ...]:
    """Return the indices of the words of a line that stand after a mark of punctuation.

    >>> find_pauses("Admit impediments. Love is not love,", "admit impediments love is not love".split())
    (2,)
    """
    marks = [match.end() for match in _PAUSE.finditer(text)]
    if not marks:
        return ()
    starts = [match.start() for match in _WORD.finditer(text)]
    return tuple(sorted({index for mark in marks if 0 < (index := bisect_left(starts, mark)) < len(words)}))


def read_metre(
    lines: Sequence[tuple[str, tuple[str, ...]] | None], metre: str, feet: Sequence[int | None]
) -> MetreReading:
    """Return how the lines of a poem, each as its text and its words, fit a metre with so many feet a line."""
    return MetreReading(
        tuple(
            None if line is None else fit_line(line[1], metre, count, find_pauses(*line))
            for line, count in zip(lines, feet, strict=True)
        )
    )
