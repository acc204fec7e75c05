"""What a constraint looks at: a poem laid against one plan of its form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from learnable.data.forms import Count, Form, span
from learnable.data.forms.plan import Plan
from learnable.verifiers.poetry.placement import Slots
from learnable.verifiers.poetry.poem import Poem, PoemLine

Result = tuple[float, float]  # the smooth share, for the reward, and the strict one, for the pass; both in [0, 1]


@dataclass(frozen=True)
class Case:
    """One poem, one plan, and which line stands where."""

    form: Form
    plan: Plan
    poem: Poem
    slots: Slots

    @cached_property
    def lines(self) -> tuple[PoemLine | None, ...]:
        """The poem's line for each line of the plan, or None where it is missing."""
        return tuple(None if index is None else self.poem.lines[index] for index in self.slots)

    @cached_property
    def extra(self) -> tuple[PoemLine, ...]:
        """Lines of the poem that stand for none of the plan's."""
        used = set(self.slots)
        if len(used) == len(self.poem.lines) and None not in used:
            return ()
        return tuple(line for index, line in enumerate(self.poem.lines) if index not in used)

    @property
    def size(self) -> int:
        """What shares are of: the lines that should be there or that are, whichever is more."""
        return max(self.plan.size, len(self.poem.lines))

    def said(self) -> list[PoemLine]:
        """Return the lines that stand for one of the plan's."""
        return [line for line in self.lines if line is not None]

    def per_line(self, credits: Sequence[float]) -> Result:
        """Return the mean of the lines' credits, and the share of lines with full credit."""
        full = sum(credit >= 1.0 for credit in credits)
        return sum(credits) / self.size, full / self.size


def near(value: int, wanted: Count, slack: float | None = None) -> float:
    """Return 1 where `value` is as wanted, then a straight fall to 0 at `slack` beyond (half of what is wanted).

    >>> near(8, 8), near(7, 8), near(12, (8, 10))
    (1.0, 0.75, 0.5)
    """
    low, high = span(wanted)
    excess = max(low - value, value - high, 0)
    return 1.0 if not excess else max(0.0, 1.0 - excess / (max(1.0, low / 2) if slack is None else slack))


def each_line(judge: Callable[[Case, PoemLine], float]) -> Callable[[Case], Result]:
    """Return a constraint that judges every line by itself."""

    def constraint(case: Case) -> Result:
        return case.per_line([judge(case, line) for line in case.said()])

    return constraint
