"""The cheapest way to lay the syllables of a line on a metre's beats, by dynamic programming."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import NamedTuple

from learnable.verifiers.poetry.metre.metres import Metre
from learnable.verifiers.poetry.metre.stress import MERGED, Reading, readings
from learnable.verifiers.poetry.sound.pronunciation import may_merge

# Cost of a syllable of each class (see `stress`) on a beat and off it: minus the logarithm of the share in
# annotated verse, rounded.
ON_BEAT = {
    "P": 0.05, "F": 0.15, "S": 1.2, "u": 3.0, "U": 1.2, "c": 0.15, "b": 0.5, "n": 0.7,
    "i": 0.6, "v": 1.4, "o": 1.4, "q": 1.8, "p": 1.7, "d": 3.0, "a": 4.5,
}  # fmt: skip
OFF_BEAT = {
    "P": 3.2, "F": 2.0, "S": 0.3, "u": 0.05, "U": 0.25, "c": 1.6, "b": 0.9, "n": 0.7,
    "i": 0.7, "v": 0.3, "o": 0.3, "q": 0.15, "p": 0.2, "d": 0.05, "a": 0.02,
}  # fmt: skip
PATTERN_FIRST = 0.5  # trust in the words where the metre is given: annotators keep to the pattern then
WRONG_FEET = 4.0  # a foot more or less than asked
_MERGING = Reading("", MERGED)  # the word gives up its syllable to its neighbour: th'expense, many a


@dataclass(frozen=True, slots=True)
class Alignment:
    """The marks of a line on a metre, `+` on a beat and `-` off it, the syllables' classes and the cost."""

    beats: str
    classes: str
    cost: float


class _State(NamedTuple):
    """Where a partial alignment stands: weak syllables since the last beat, and beats so far."""

    weak: int
    beats: int


_Path = tuple[float, str, str]  # cost, marks, classes
_Paths = dict[_State, _Path]


@lru_cache(maxsize=16_384)
def align(words: tuple[str, ...], metre: Metre, feet: int | None = None, trust: float = 1.0) -> Alignment:
    """Return the cheapest alignment of the words with the metre, and with a number of feet if one is asked.

    `trust` is the weight of the words' own sounds against the metre's pattern. The cost is 0 where every syllable stands in its natural place; no words cost nothing.
    """
    paths: _Paths = {_State(0, 0): (0.0, "", "")}
    for options in line_readings(words):
        following: _Paths = {}
        for reading in options:
            for state, path in _said(paths, reading, metre, trust).items():
                if state not in following or path < following[state]:
                    following[state] = path
        paths = following
    cost, marks, classes = min(_closed(state, path, metre, feet) for state, path in paths.items())
    return Alignment(marks, classes, cost)


def line_readings(words: Sequence[str]) -> list[tuple[Reading, ...]]:
    """Return the ways to say each word, among its neighbours."""
    found = [readings(word) for word in words]
    for index in range(1, len(words)):
        if may_merge(words[index - 1], words[index]):
            giver = index - 1 if words[index - 1] in ("the", "to") else index
            if len(found[giver][0].syllables) == 1 and found[giver][0].syllables not in "cb":
                found[giver] = (*found[giver], _MERGING)
    return found


def _said(paths: _Paths, reading: Reading, metre: Metre, trust: float) -> _Paths:
    if reading.cost:
        paths = {
            state: (cost + trust * reading.cost, marks, classes) for state, (cost, marks, classes) in paths.items()
        }
    for letter in reading.syllables:
        paths = _step(paths, letter, metre, trust)
    return paths


def _step(paths: _Paths, letter: str, metre: Metre, trust: float) -> _Paths:
    """Return the paths with one syllable more, off the beat and on it."""
    following: _Paths = {}
    off, on = trust * OFF_BEAT[letter], trust * ON_BEAT[letter]
    for (weak, beats), (cost, marks, classes) in paths.items():
        gap = (metre.between if beats else metre.opening)[weak]
        if marks == "+--":
            gap -= metre.inversion
        if weak < 2:
            _keep(following, _State(weak + 1, beats), (cost + off, marks + "-", classes + letter))
        _keep(following, _State(0, beats + 1), (cost + on + gap, marks + "+", classes + letter))
    return following


def _keep(paths: _Paths, state: _State, path: _Path) -> None:
    if state not in paths or path < paths[state]:
        paths[state] = path


def _closed(state: _State, path: _Path, metre: Metre, feet: int | None) -> _Path:
    cost, marks, classes = path
    if not state.beats:
        return (inf if marks else 0.0), marks, classes
    cost += metre.closing[state.weak]
    if marks.endswith(("+-+", "+-+-")):
        cost += metre.hurried if state.weak else metre.cramped
    return (cost + WRONG_FEET * abs(state.beats - feet) if feet else cost), marks, classes
