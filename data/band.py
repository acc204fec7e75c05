"""Which mean rewards are worth training on: the band, and the least standard deviation within a group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Annotated, Literal

from learnable.data.errors import LearnableError
from learnable.data.settings import Setting, check_settings

Signal = Literal["reward", "pass"]


@dataclass(frozen=True, slots=True)
class Band:
    """Keep a prompt whose group has a mean in [low, high] and a standard deviation of at least `min_std`.

    Raises `LearnableError` for an impossible band.
    """

    low: float = 0.2
    high: float = 0.8
    min_std: Annotated[
        float,
        Setting(
            "Keep prompts whose group spreads at least this much.",
            usual="the preset's, 0.1",
            at_least=0,
            at_most=0.5,
            advice="the most that rewards in [0, 1] can spread",
        ),
    ] = 0.1
    signal: Annotated[
        Signal, Setting("Mean of what: reward, or pass.", flag="--by --signal", usual="the preset's, reward")
    ] = "reward"

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high <= 1:
            raise LearnableError(
                f"`band` {self.low:g} {self.high:g} keeps nothing: give two numbers in [0, 1], the lower one first"
            )
        check_settings(self)

    @property
    def with_min_std(self) -> Band:
        """The part of the band in which a 0/1 reward has a standard deviation of `min_std`: p (1 - p) >= min_std^2."""
        reach = sqrt(max(0.25 - self.min_std**2, 0.0))
        low, high = max(self.low, 0.5 - reach), min(self.high, 0.5 + reach)
        return self if (low, high) == (self.low, self.high) else replace(self, low=low, high=max(high, low + 1e-9))
