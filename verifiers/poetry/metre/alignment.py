"""The cheapest way to place the syllables of a line on and off a metre's beats, by dynamic programming."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import NamedTuple

from learnable.verifiers.poetry.metre.metres import OFF_BEAT, ON_BEAT, Metre
from learnable.verifiers.poetry.metre.stress import StressPattern, find_line_readings


@dataclass(frozen=True, slots=True)
class Alignment:
    """A line placed on a metre: one mark per syllable (`+` on a beat, `-` off it), one class per syllable, the cost."""

    beats: str
    classes: str
    cost: float


class _State(NamedTuple):
    """The state of a partial alignment: weak syllables since the last beat, and beats so far."""

    weak: int
    beats: int


_Path = tuple[float, str, str]  # cost, marks, classes
_Paths = dict[_State, _Path]


@lru_cache(maxsize=16_384)
def align(words: tuple[str, ...], metre: Metre, trust: float = 1.0) -> Alignment:
    """Return the cheapest alignment of the words with the metre.

    `trust` is the weight of the words' own sounds against the metre's pattern. The cost is a negative log odds: 0 where
    every syllable is in its natural place, and 0 for no words.
    """
    paths: _Paths = {_State(0, 0): (0.0, "", "")}
    for options in find_line_readings(words):
        following: _Paths = {}
        for reading in options:
            for state, path in _say(paths, reading, metre, trust).items():
                if state not in following or path < following[state]:
                    following[state] = path
        paths = following
    cost, marks, classes = min(_close(state, path, metre) for state, path in paths.items())
    return Alignment(marks, classes, cost)


def _say(paths: _Paths, reading: StressPattern, metre: Metre, trust: float) -> _Paths:
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


def _close(state: _State, path: _Path, metre: Metre) -> _Path:
    cost, marks, classes = path
    if not state.beats:
        return (inf if marks else 0.0), marks, classes
    cost += metre.closing[state.weak]
    if marks.endswith(("+-+", "+-+-")):
        cost += metre.hurried if state.weak else metre.cramped
    return cost, marks, classes
