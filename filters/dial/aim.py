"""At which pass rate a search for the right difficulty aims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from learnable.data.settings import Setting, check_settings

if TYPE_CHECKING:
    from learnable.filters.arrays import Flags, Values


@dataclass(frozen=True, slots=True)
class Aim:
    """The wanted pass rate, and how far off it may be. Raises `LearnableError` for what cannot work."""

    target: Annotated[float, Setting("The wanted share of passes.", above=0, below=1)] = 0.5
    tolerance: Annotated[
        float, Setting("How far off the pass rate may be.", at_least=0.01, at_most=0.5, advice=".1 is usual")
    ] = 0.1

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def low(self) -> float:
        """The least pass rate that will do."""
        return max(self.target - self.tolerance, 0.0)

    @property
    def high(self) -> float:
        """The largest pass rate that will do."""
        return min(self.target + self.tolerance, 1.0)

    def covers(self, low: Values, high: Values) -> Flags:
        """Return which intervals lie within the tolerance."""
        return (low >= self.low) & (high <= self.high)
