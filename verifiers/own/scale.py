"""The range that a judge's numbers lie in, and the line through it from 0 to 1 that makes rewards of them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from learnable.data.errors import LearnableError
from learnable.data.records import Score

NUMBER_PATTERN = r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({NUMBER_PATTERN})\.\.({NUMBER_PATTERN})")
HOW = "write LOW..HIGH, as in 0..2 or -1..1"


@dataclass(frozen=True, slots=True)
class RewardScale:
    """Numbers from `lowest` to `highest`, of which those from `passes_at` on have passed.

    Raises `LearnableError` for a range that is none, and for a threshold outside of it.
    """

    lowest: float = 0.0
    highest: float = 1.0
    passes_at: float = 1.0

    def __post_init__(self) -> None:
        if not -math.inf < self.lowest < self.highest < math.inf:
            raise LearnableError(f"the range of rewards {self.lowest:g}..{self.highest:g} is none: {HOW}")
        if not self.lowest <= self.passes_at <= self.highest:
            raise LearnableError(
                f"a reward of {self.passes_at:g} is to pass, which is outside {self.lowest:g}..{self.highest:g}: give "
                "one of the range"
            )

    @property
    def label(self) -> str:
        """The scale as part of a judge's version: nothing for the usual one.

        >>> RewardScale().label, RewardScale(-1, 1, 0.5).label
        ('', '-range-1..1-pass0.5')
        """
        numbers = map(write_number, (self.lowest, self.highest, self.passes_at))
        return "" if self == USUAL_SCALE else "-range{}..{}-pass{}".format(*numbers)

    def score(self, value: float) -> Score:
        """Return what a judge's number is worth; outside of the range it is no reward, and nothing is cut off.

        >>> RewardScale(-1, 1, 1).score(0.5)
        Score(reward=0.75, passed=False, components={}, verdict='scored', reason='raw 0.5')
        """
        if not self.lowest <= value <= self.highest:  # NaN fails both
            return Score.unscored(
                f"reward {value} is outside [{self.lowest:g}, {self.highest:g}]: `verifier_range` LOW..HIGH says where "
                "rewards lie"
            )
        reward = (value - self.lowest) / (self.highest - self.lowest)
        return Score(reward, value >= self.passes_at, reason="" if self == USUAL_SCALE else f"raw {value!r}")


USUAL_SCALE = RewardScale()


def write_number(value: float) -> str:
    """Return a number as it is read again, without what says nothing.

    >>> write_number(3.0), write_number(0.1234567)
    ('3', '0.1234567')
    """
    return repr(float(value)).removesuffix(".0")


def read_scale(reward_range: str | None, passes_at: str | None, usual: RewardScale = USUAL_SCALE) -> RewardScale:
    """Return the scale that two texts say; what they leave open is as in `usual`, or passes at its highest.

    Raises `LearnableError` for texts that are no range or no number.

    >>> read_scale("-1..1", None), read_scale("0..2", "1.5").passes_at
    (RewardScale(lowest=-1.0, highest=1.0, passes_at=1.0), 1.5)
    """
    lowest, highest, passes = usual.lowest, usual.highest, usual.passes_at
    if reward_range is not None:
        match = _RANGE.fullmatch(reward_range.strip())
        if not match:
            raise LearnableError(f"`verifier_range` {reward_range!r} is no range of rewards: {HOW}")
        lowest, highest = map(float, match.groups())
        passes = highest
    try:
        return RewardScale(lowest, highest, passes if passes_at is None else float(passes_at))
    except ValueError as error:
        raise LearnableError(f"`verifier_pass` {passes_at!r} is no number: give a reward, as in 1.5") from error


def declared_scale(judge: object, usual: RewardScale = USUAL_SCALE) -> RewardScale:
    """Return the scale that a judge declares by its attributes `reward_range` (lowest, highest) and `passes_at`.

    Raises `LearnableError` for attributes that are none.
    """
    declared, passes = getattr(judge, "reward_range", None), getattr(judge, "passes_at", None)
    try:
        if declared is None:
            return usual if passes is None else replace(usual, passes_at=float(passes))
        lowest, highest = map(float, declared)
        return RewardScale(lowest, highest, highest if passes is None else float(passes))
    except (TypeError, ValueError) as error:
        raise LearnableError(
            f"reward_range is {declared!r} and passes_at {passes!r}: give numbers, as in reward_range = (0, 2) and "
            "passes_at = 1.5"
        ) from error
