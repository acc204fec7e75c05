"""The cost of a line in feet of two syllables, iambic or trochaic, with the licences that readers grant.

A line is laid on places numbered from 0: even ones are weak, odd ones strong. Each syllable goes to the next place, and
costs there what `metres` says of its class; so two strong syllables in a foot, or two weak ones, are cheap. Beyond that
a foot may be inverted, at the beginning of a line or after a pause; a weak syllable may be added before a strong one;
and a line may begin or end with a syllable less or more, as its metre says. Elisions are readings of words (`stress`).

The words of verse are few and come again. So what each may do to a path is stored, and the dynamic programme goes from
word to word: this is the inner loop of judging metre. A path is known by four times its next place, plus its state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from learnable.verifiers.poetry.metre.metres import OFF_BEAT, ON_BEAT, WRONG_FEET
from learnable.verifiers.poetry.metre.stress import MERGING, Reading, find_readings, gives_syllable
from learnable.verifiers.poetry.sound.pronunciation import find_word_counts

INVERTED_FIRST, INVERTED_LATER = 1.5, 2.5  # a foot turned round: the first one, one after a pause
EXTRA = 2.0  # a weak syllable more between beats
TOO_DEAR = 24.0  # no line costs more
BEAM = 4.0  # a path that costs so much more than another is given up: what would make up for it is more than a licence
_FROM_STRONG = 4096  # added to the number of a path that began at place 1
_WEAK, _STRONG, _TURNED = 0, 1, 2  # states: before a weak place, before a strong one, inside an inverted foot

_HEAVY = "PFcb"  # classes of syllables that are too strong to be added between beats

Moves = tuple[tuple[int, float], ...]  # what is added to a path's number, and to its cost
Word = tuple[tuple[Moves, Moves, Moves], ...]  # by what may be inverted: nothing, the first foot, another; by state


class Duple(NamedTuple):
    """What it costs to begin a line on a weak place and on a strong one, and to end it on a beat and past it."""

    first: tuple[float, float]
    last: tuple[float, float]


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
    line = []
    before: _Sound | None = None
    for index, word in enumerate(words):
        sound = _hear(word)
        moves = sound.alone
        if before is not None and before.ends_open and sound.begins_open:
            if words[index - 1] not in ("the", "to"):
                moves = sound.merged if sound.gives else moves
            elif before.gives:
                line[-1] = before.merged
        line.append(moves)
        before = sound
    return line


@lru_cache(maxsize=65_536)
def _hear(word: str) -> _Sound:
    readings, counts = find_readings(word), find_word_counts(word)
    merged = _list_moves((*readings, MERGING))
    return _Sound(_list_moves(readings), merged, gives_syllable(readings), counts.begins_open, counts.ends_open)


@lru_cache(maxsize=65_536)
def _list_moves(readings: tuple[Reading, ...]) -> Word:
    return tuple(
        (_cheapest(readings, _WEAK, inverted), _cheapest(readings, _STRONG, None), _cheapest(readings, _TURNED, None))
        for inverted in (None, INVERTED_FIRST, INVERTED_LATER)
    )


def _cheapest(readings: Iterable[Reading], state: int, inverted: float | None) -> Moves:
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
) -> tuple[float, float]:
    """Return the least costs of a line in the metre and in its rival, each at most `TOO_DEAR`.

    Each foot more or less than `feet` costs `WRONG_FEET`; None wants no number, as the rival does. `pauses` are the
    indices of the words that stand after a pause.
    """
    paths = {_WEAK: 0.0, _FROM_STRONG + 4 + _STRONG: 0.0}
    for index, word in enumerate(line):
        moves = word[2 if index in pauses else 0 if index else 1]
        following: dict[int, float] = {}
        cost_of = following.get
        limit = min(paths.values(), default=0.0) + BEAM
        for number, cost in paths.items():
            if cost > limit:
                continue
            for step, price in moves[number & 3]:
                total = cost + price
                if total < cost_of(number + step, TOO_DEAR):
                    following[number + step] = total
        paths = following
    return _close(paths, *DUPLES[metre], feet)


def _close(paths: dict[int, float], own: Duple, rival: Duple, feet: int | None) -> tuple[float, float]:
    own_cost = rival_cost = TOO_DEAR
    for number, cost in paths.items():
        first, beats, state = number >= _FROM_STRONG, (number & (_FROM_STRONG - 1)) >> 3, number & 3
        if state != _TURNED and beats:
            departure = WRONG_FEET * abs(beats - feet) if feet is not None else 0.0
            own_cost = min(own_cost, cost + own.first[first] + own.last[state] + departure)
            rival_cost = min(rival_cost, cost + rival.first[first] + rival.last[state])
    return own_cost, rival_cost
