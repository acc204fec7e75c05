"""How many prompts to read for a goal, and whether it was reached."""

from __future__ import annotations

from dataclasses import dataclass

from learnable.filters.stopping.schedule import MIN_YIELD
from learnable.flows.sampling.sampler import Collected
from learnable.flows.settings import CurateSettings
from learnable.flows.settings.curation import BUILTIN_LIMIT

READ_PER_KEPT = 8  # prompts to read at first for each one wanted
MAX_PER_KEPT = 256  # and at most


@dataclass(frozen=True, slots=True)
class Goal:
    """How many kept prompts were wanted, how many there are, and why not more."""

    want: int
    got: int
    why: str = ""

    @property
    def reached(self) -> bool:
        """Whether there are enough."""
        return self.got >= self.want


def first_limit(want: int | None) -> int:
    """Return how many prompts of a source without end to read at first."""
    return BUILTIN_LIMIT if want is None else max(BUILTIN_LIMIT, READ_PER_KEPT * want)


def is_endless(settings: CurateSettings, read: int) -> bool:
    """Whether there are more prompts than the `read` ones for a goal to be reached with."""
    want, wanted = settings.budget.want, settings.prompts
    return want is not None and wanted.is_generated and wanted.limit is None and read >= first_limit(want)


def next_limit(settings: CurateSettings, read: int, collected: Collected) -> int | None:
    """Return how many prompts to read instead of `read`, or None where no more are needed or to be had."""
    want, limit = settings.budget.want, first_limit(settings.budget.want)
    if want is None or collected.certified >= want or collected.gave_up:
        return None
    if not settings.prompts.is_generated or settings.prompts.limit:
        return None
    while limit < read:
        limit *= 2
    return None if read < limit or limit >= MAX_PER_KEPT * want else 2 * limit


def judge_goal(settings: CurateSettings, looked_at: int, kept: int, *, gave_up: bool) -> Goal | None:
    """Say whether the goal was reached, and if not, what ended the search; None where there is no goal."""
    want = settings.budget.want
    if want is None:
        return None
    if kept >= want:
        return Goal(want, kept)
    seen = f"{looked_at:,} prompts were looked at"
    if gave_up:
        why = f"{seen}, and fewer than 1 in {1 / MIN_YIELD:.0f} is kept: "
        why += "this policy can hardly learn from these prompts"
    elif settings.prompts.limit:
        why = f"{seen}, all that `limit` {settings.prompts.limit} allows"
    else:
        why = f"{seen}, then the source ran dry"
    return Goal(want, kept, why)
