"""What a check of `benchmarks.truth` is: a function of a seed that yields figures with their bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure, the bound it must hold, as a phrase such as "at most .05", and whether it does.

    `note` says what else a reader needs: sizes, counts, what the figure was before.
    """

    name: str
    figure: float
    bound: str
    holds: bool
    note: str = ""


Check = Callable[[int], Iterator[Figure]]
"""Measures from a seed. It yields one figure or several, and never nothing."""


def at_most(name: str, figure: float, bound: float, note: str = "") -> Figure:
    """Return a figure that holds where it is no more than the bound; NaN never holds."""
    return Figure(name, float(figure), f"at most {bound:g}", bool(figure <= bound), note)


def at_least(name: str, figure: float, bound: float, note: str = "") -> Figure:
    """Return a figure that holds where it is no less than the bound; NaN never holds."""
    return Figure(name, float(figure), f"at least {bound:g}", bool(figure >= bound), note)


def between(name: str, figure: float, low: float, high: float, note: str = "") -> Figure:
    """Return a figure that holds from `low` to `high`; NaN never holds."""
    return Figure(name, float(figure), f"{low:g} to {high:g}", bool(low <= figure <= high), note)
