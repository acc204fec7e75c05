"""What a constraint judges: a poem laid out on one plan of its form, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from learnable.verifiers.poetry.forms import Count, Form, span
from learnable.verifiers.poetry.forms.plan import FormPlan
from learnable.verifiers.poetry.placement import Slots
from learnable.verifiers.poetry.poem import Poem, PoemLine


class Shares(NamedTuple):
    """What a constraint finds, both in [0, 1]: the `smooth` share for the reward, the `strict` one for the pass."""

    smooth: float
    strict: float

    @classmethod
    def both(cls, share: float) -> Shares:
        """Return a result whose smooth and strict shares are the same."""
        return cls(share, share)


@dataclass(frozen=True)
class PoemCase:
    """One poem, one plan of its form, and the line of the poem in each slot of the plan."""

    form: Form
    plan: FormPlan
    poem: Poem
    slots: Slots

    @cached_property
    def lines(self) -> tuple[PoemLine | None, ...]:
        """The poem's line for each line of the plan, or None where it is missing."""
        return tuple(None if index is None else self.poem.lines[index] for index in self.slots)

    @cached_property
    def extra(self) -> tuple[PoemLine, ...]:
        """The lines of the poem that have no slot in the plan."""
        used = set(self.slots)
        if len(used) == len(self.poem.lines) and None not in used:
            return ()
        return tuple(line for index, line in enumerate(self.poem.lines) if index not in used)

    @property
    def size(self) -> int:
        """The number of lines that shares refer to: those of the plan or of the poem, whichever are more."""
        return max(self.plan.size, len(self.poem.lines))

    @property
    def placed(self) -> list[PoemLine]:
        """The lines of the poem that have a slot in the plan, in the plan's order."""
        return [line for line in self.lines if line is not None]

    def grade_lines(self, credits: Sequence[float]) -> Shares:
        """Return the mean of the lines' credits, and the share of lines with full credit."""
        full = sum(credit >= 1.0 for credit in credits)
        return Shares(sum(credits) / self.size, full / self.size)


def credit_count(value: int, wanted: Count, slack: float | None = None) -> float:
    """Return 1 for a wanted count; beyond it the credit falls linearly and reaches 0 at `slack`.

    `slack` is half of the wanted count where it is not given.

    >>> credit_count(8, 8), credit_count(7, 8), credit_count(12, (8, 10))
    (1.0, 0.75, 0.5)
    """
    low, high = span(wanted)
    excess = max(low - value, value - high, 0)
    return 1.0 if not excess else max(0.0, 1.0 - excess / (max(1.0, low / 2) if slack is None else slack))
