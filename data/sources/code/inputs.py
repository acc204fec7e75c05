"""Where the hidden calls of a problem come from: each draw makes the arguments of one call."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

Draw = Callable[[random.Random], list[Any]]

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = "moon river stone apple small cloud green window seven tiger noon level paper orange ink door".split()


def numbers(low: int, high: int, count: int = 1) -> Draw:
    """Draw `count` whole numbers."""
    return lambda rng: [rng.randint(low, high) for _ in range(count)]


def lists(low: int, high: int, longest: int, shortest: int = 0) -> Draw:
    """Draw one list of whole numbers."""
    return lambda rng: [[rng.randint(low, high) for _ in range(rng.randint(shortest, longest))]]


def sorted_lists(low: int, high: int, longest: int) -> Draw:
    """Draw one list of whole numbers in rising order."""
    return mapped(lists(low, high, longest), lambda values: sorted(values))


def grids(values: Sequence[Any], widest: int) -> Draw:
    """Draw one list of rows of the same length."""

    def draw(rng: random.Random) -> list[Any]:
        height, width = rng.randint(1, widest), rng.randint(1, widest)
        return [[[rng.choice(values) for _ in range(width)] for _ in range(height)]]

    return draw


def texts(alphabet: str, longest: int, shortest: int = 0) -> Draw:
    """Draw one text."""
    return lambda rng: ["".join(rng.choice(alphabet) for _ in range(rng.randint(shortest, longest)))]


def sentences(longest: int, shortest: int = 1) -> Draw:
    """Draw one text of words with a space between them."""
    return mapped(word_lists(longest, shortest), " ".join)


def word_lists(longest: int, shortest: int = 0) -> Draw:
    """Draw one list of words."""
    return lambda rng: [[rng.choice(WORDS) for _ in range(rng.randint(shortest, longest))]]


def chosen(*values: Any) -> Draw:
    """Draw one of the values."""
    return lambda rng: [rng.choice(values)]


def together(*parts: Draw) -> Draw:
    """Draw the arguments of every draw, one after another."""
    return lambda rng: [value for draw in parts for value in draw(rng)]


def mapped(draw: Draw, change: Callable[..., Any]) -> Draw:
    """Draw one value made of the values of another draw."""
    return lambda rng: [change(*draw(rng))]


def dates(first_year: int = 1990, last_year: int = 2030) -> Draw:
    """Draw one date as YYYY-MM-DD; no day after the 28th."""
    return lambda rng: [f"{rng.randint(first_year, last_year)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"]


def clock_times() -> Draw:
    """Draw one time of day as HH:MM."""
    return lambda rng: [f"{rng.randrange(24):02}:{rng.randrange(60):02}"]
