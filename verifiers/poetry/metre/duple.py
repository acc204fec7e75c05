"""The cost of a line in feet of two syllables, iambic or trochaic, with the licences that readers grant.

A line is laid on places numbered from 0: even ones are weak, odd ones strong. Each syllable goes to the next place, and
costs there what `metres` says of its class; so two strong syllables in a foot, or two weak ones, are cheap. Beyond that
a foot may be inverted, at the beginning of a line or after a pause; a weak syllable may be added before a strong one;
and a line may begin or end with a syllable less or more, as its metre says. Elisions are readings of words (`stress`).

The words of verse are few and come again. So what each may do to a path is stored, and the dynamic programme goes from
word to word: this is the inner loop of judging metre. A path is known by four times its next place, plus its state.
What the line costs straight on, without a licence, bounds what is worth following.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from learnable.verifiers.poetry.metre.metres import OFF_BEAT, ON_BEAT, WRONG_FEET
from learnable.verifiers.poetry.metre.stress import MERGING, StressPattern, find_readings, gives_syllable
from learnable.verifiers.poetry.sound.pronunciation import find_word_counts
from learnable.verifiers.poetry.sound.word_table import WordTable

INVERTED_FIRST, INVERTED_LATER = 1.5, 2.5  # a foot turned round: the first one, one after a pause
EXTRA = 2.0  # a weak syllable more between beats
TOO_DEAR = 24.0  # no line costs more
BEAM = 4.0  # a path that costs so much more than another is given up: what would make up for it is more than a licence
_FROM_STRONG = 4096  # added to the number of a path that began at place 1
_WEAK, _STRONG, _TURNED = 0, 1, 2  # states: before a weak place, before a strong one, inside an inverted foot

_HEAVY = "PFcb"  # classes of syllables that are too strong to be added between beats

Moves = tuple[tuple[int, float], ...]  # what is added to a path's number, and to its cost
Path = tuple[int, float]  # its number, and its cost


class Word(NamedTuple):
    """What a word may do to a path, by its state and by what may be inverted: nothing, the first foot, another.

    `size`, `weak` and `strong` are its usual syllables, and what they cost straight on from a weak place and from a
    strong one; `least` is what it costs at best.
    """

    plain: tuple[Moves, Moves, Moves]
    first: tuple[Moves, Moves, Moves]
    later: tuple[Moves, Moves, Moves]
    size: int
    weak: float
    strong: float
    least: float


class Duple(NamedTuple):
    """What it costs to begin a line on a weak place and on a strong one, and to end it on a beat and past it."""

    first: tuple[float, float]
    last: tuple[float, float]


class DupleCosts(NamedTuple):
    """The least costs of a line, each at most `TOO_DEAR`: in the metre, and in its rival.

    `full_rival` leaves out the rival's lines that begin and end on a beat: these belong to either metre.
    """

    own: float
    rival: float
    full_rival: float


IAMBIC = Duple((0.0, 2.2), (0.0, 0.6))
TROCHAIC = Duple((1.2, 0.0), (0.2, 0.0))
DUPLES = {"iambic": (IAMBIC, TROCHAIC), "trochaic": (TROCHAIC, IAMBIC)}  # each with its rival


class _Sound(NamedTuple):
    """A word by itself, and as it may be where it gives up its syllable to a neighbour."""

    alone: Word
    merged: Word
    gives: bool
    begins_open: bool
    ends_open: bool


def lay_out(words: Sequence[str]) -> list[Word]:
    """Return what each word of a line may do to a path."""
    line: list[Word] = []
    before: _Sound | None = None
    for index, word in enumerate(words):
        sound = _SOUNDS[word]
        moves = sound.alone
        if before is not None and before.ends_open and sound.begins_open:
            if words[index - 1] not in ("the", "to"):
                moves = sound.merged if sound.gives else moves
            elif before.gives:
                line[-1] = before.merged
        line.append(moves)
        before = sound
    return line


def _hear(word: str) -> _Sound:
    readings, counts = find_readings(word), find_word_counts(word)
    merged = _make_word((*readings, MERGING))
    return _Sound(_make_word(readings), merged, gives_syllable(readings), counts.begins_open, counts.ends_open)


_SOUNDS = WordTable(_hear)


@lru_cache(maxsize=65_536)
def _make_word(readings: tuple[StressPattern, ...]) -> Word:
    on, turned = (_cheapest(readings, state, None) for state in (_STRONG, _TURNED))
    plain, first, later = (
        (_cheapest(readings, _WEAK, inverted), on, turned) for inverted in (None, INVERTED_FIRST, INVERTED_LATER)
    )
    size = len(readings[0].syllables)
    usual = [reading for reading in readings if len(reading.syllables) == size]
    weak, strong = (
        min(reading.cost + _alternate(reading.syllables, start) for reading in usual) for start in (_WEAK, _STRONG)
    )
    least = min((cost for table in (plain, first, later) for moves in table for _, cost in moves), default=0.0)
    return Word(plain, first, later, size, weak, strong, least)


def _cheapest(readings: Iterable[StressPattern], state: int, inverted: float | None) -> Moves:
    moves: dict[int, float] = {}
    for reading in readings:
        for places, after, cost in _say(reading.syllables, state, inverted):
            step, cost = 4 * places + after - state, cost + reading.cost
            moves[step] = min(cost, moves.get(step, cost))
    least = min(moves.values(), default=0.0)
    return tuple((step, cost) for step, cost in moves.items() if cost <= least + BEAM)


def _say(letters: str, state: int, inverted: float | None) -> Iterable[tuple[int, int, float]]:
    """Yield the places that the syllables take, the state after them, and their cost."""
    size = len(letters)
    if not size:
        yield 0, state, 0.0
    elif state == _TURNED:
        yield size, (size - 1) % 2, OFF_BEAT[letters[0]] + _alternate(letters[1:], _WEAK)
    else:
        yield size, (state + size) % 2, _alternate(letters, state)
        for index in [index for index in range(1 - state, size, 2) if letters[index] not in _HEAVY]:
            extra = EXTRA + _alternate(letters[:index], state) + OFF_BEAT[letters[index]]
            yield size - 1, (state + size - 1) % 2, extra + _alternate(letters[index + 1 :], _STRONG)
        if inverted is not None and size == 1:
            yield 1, _TURNED, inverted + ON_BEAT[letters]
        elif inverted is not None:
            turned = inverted + ON_BEAT[letters[0]] + OFF_BEAT[letters[1]]
            yield size, size % 2, turned + _alternate(letters[2:], _WEAK)


def _alternate(letters: str, start: int) -> float:
    return sum((ON_BEAT if (start + index) % 2 else OFF_BEAT)[letter] for index, letter in enumerate(letters))


def find_duple_costs(
    line: Sequence[Word], metre: str, feet: int | None = None, pauses: Collection[int] = ()
) -> DupleCosts:
    """Return the least costs of a line in the metre and in its rival.

    Each foot more or less than `feet` costs `WRONG_FEET`; None wants no number. `pauses` are the indices of the words
    that stand after a pause. The rival's licences are looked for only where it may cost less than the metre.
    """
    if not line:
        return DupleCosts(TOO_DEAR, TOO_DEAR, TOO_DEAR)
    own, rival = DUPLES[metre]
    plain, first, later, sizes, weak, strong, least = zip(*line, strict=True)
    tables = list(plain)
    for index in pauses:
        tables[index] = later[index]
    tables[0] = first[0]
    straight, other = _run_straight(sizes, weak, strong, (own, rival))
    known, _ = _find_least(straight, own, feet)
    cost = known
    # Where a path began is told only of the rival's, for `full_rival`; the metre's meet sooner without.
    if followed := _follow(tables, least, own, known, 0):
        cost = min(known, _find_least(followed.items(), own, feet)[0])
    other += _follow(tables, least, rival, cost, _FROM_STRONG).items()
    cheapest, full = _find_least(other, rival, feet)
    # A rival that costs more than the metre counts as 1.5 more at most.
    return DupleCosts(cost, min(cheapest, cost + 1.5), full)


def _follow(
    tables: Sequence[tuple[Moves, Moves, Moves]], least: Sequence[float], metre: Duple, known: float, from_strong: int
) -> dict[int, float]:
    """Return the paths through a line, with all licences, that may cost less than what is known.

    `from_strong` is added to the numbers of those that begin at place 1.
    """
    spare = known - sum(least) - min(metre.last)  # what a path may cost beyond the least of its words
    paths, best = {_WEAK: metre.first[0], from_strong + 4 + _STRONG: metre.first[1]}, 0.0
    for table, cheapest in zip(tables, least, strict=True):
        following: dict[int, float] = {}
        limit, best = best + BEAM, TOO_DEAR
        spare += cheapest
        for number, cost in paths.items():
            if cost > limit:
                continue
            for step, price in table[number & 3]:
                total, reached = cost + price, number + step
                if total < following.get(reached, spare):
                    following[reached] = total
                    if total < best:
                        best = total
        if not following:
            return following
        paths = following
    return paths


def _run_straight(
    sizes: Iterable[int], weak: Iterable[float], strong: Iterable[float], metres: tuple[Duple, Duple]
) -> tuple[list[Path], list[Path]]:
    """Return for each metre the two paths on which syllables and places alternate throughout."""
    (weak_one, strong_one), (weak_other, strong_other) = metres[0].first, metres[1].first
    total = 0
    for size, on_weak, on_strong in zip(sizes, weak, strong, strict=True):
        if total & 1:
            on_weak, on_strong = on_strong, on_weak
        weak_one += on_weak
        strong_one += on_strong
        weak_other += on_weak
        strong_other += on_strong
        total += size
    odd = total & 1
    from_weak, from_strong = 4 * total + odd, _FROM_STRONG + 4 * total + 5 - odd
    return (
        [(from_weak, weak_one), (from_strong, strong_one)],
        [(from_weak, weak_other), (from_strong, strong_other)],
    )


def _find_least(paths: Iterable[Path], metre: Duple, feet: int | None) -> tuple[float, float]:
    """Return the least cost of whole lines, and the least of those that do not begin and end on a beat."""
    least = full = TOO_DEAR
    last = metre.last
    for number, cost in paths:
        beats, state = (number & 4095) >> 3, number & 3
        if state == _TURNED or not beats:
            continue
        cost += last[state]
        if feet is not None and beats != feet:
            cost += WRONG_FEET * abs(beats - feet)
        if cost < least:
            least = cost
        if cost < full and (state or number < _FROM_STRONG):
            full = cost
    return least, full
