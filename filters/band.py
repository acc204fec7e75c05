"""Which mean rewards are worth training on: the band, and the least standard deviation within a group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal

from learnable.data.errors import LearnableError

Signal = Literal["reward", "pass"]


@dataclass(frozen=True, slots=True)
class Band:
    """Keep a prompt whose group has a mean in [low, high] and a standard deviation of at least `min_std`.

    `signal` says of what: the graded reward, or pass and fail. Raises `LearnableError` for an impossible band.
    """

    low: float = 0.2
    high: float = 0.8
    min_std: float = 0.1
    signal: Signal = "reward"

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high <= 1:
            raise LearnableError(
                f"--band {self.low:g} {self.high:g} keeps nothing: give two numbers in [0, 1], the lower one first"
            )
        if not 0 <= self.min_std <= 0.5:
            raise LearnableError(
                f"--min-std {self.min_std:g} is out of range: rewards in [0, 1] spread by at most 0.5; give 0 to 0.5"
            )
        if self.signal not in ("reward", "pass"):
            raise LearnableError(f"--by {self.signal!r} is not known: use reward or pass")

    @property
    def with_min_std(self) -> Band:
        """The part of the band in which a 0/1 reward has a standard deviation of `min_std`: p (1 - p) >= min_std^2."""
        reach = sqrt(max(0.25 - self.min_std**2, 0.0))
        low, high = max(self.low, 0.5 - reach), min(self.high, 0.5 + reach)
        return self if (low, high) == (self.low, self.high) else replace(self, low=low, high=max(high, low + 1e-9))
