"""Mixed prompts: arithmetic, comparison and counting in fixed shares, as one stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.records import Prompt
from learnable.data.sources.family import Family, UsualNumber, check_knobs, knob
from learnable.verifiers.answers.families.arithmetic import ARITHMETIC
from learnable.verifiers.answers.families.comparison import COMPARISON
from learnable.verifiers.answers.families.counting import COUNTING

MIXED_FAMILIES = (ARITHMETIC, COMPARISON, COUNTING)


@dataclass(frozen=True, slots=True)
class MixedKnobs:
    """`shares`: of arithmetic, comparison and counting, in every stretch of the stream.

    `largest`, `digits`, `gap` and `most_words` are those of the three families, in whose questions they hold. Raises
    `LearnableError` for a value out of range, and for shares that are none.
    """

    largest: int = knob(UsualNumber(20), 1, 10**9)
    digits: int = knob(UsualNumber(4), 2, 12)
    gap: int = knob(UsualNumber(50), 1, 90)
    most_words: int = knob(12, 3, 200)
    shares: str = knob("50/25/25")

    def __post_init__(self) -> None:
        check_knobs("mixed", self)
        read_shares(self.shares)

    def of(self, family: Family) -> Any:
        """Return these knobs as one of the families has them."""
        return family.set_knobs({name: getattr(self, name) for name in family.knob_names() if hasattr(self, name)})


def generate(form: str, seed: int, knobs: MixedKnobs) -> Iterator[Prompt]:
    """Yield prompts of the three families in the form's shares; a family that runs dry leaves its share to the others.

    Each keeps its own family and form, for they are judged and counted as what they are.
    """
    parts = _with_share(knobs)
    streams = {part.name: part.draw(part.forms, seed, knobs.of(part)) for part, _ in parts}
    shares, given = {part.name: share for part, share in parts}, dict.fromkeys(streams, 0)
    while streams:
        # The next is of the family that is furthest behind its share.
        name = min(streams, key=lambda name: (given[name] + 0.5) / shares[name])
        if (prompt := next(streams[name], None)) is None:
            del streams[name]
            continue
        given[name] += 1
        yield prompt


def count_problems(forms: Sequence[str], knobs: MixedKnobs) -> int:
    """Return how many problems there are in the families that have a share."""
    return sum(part.count(part.forms, knobs.of(part)) for part, _ in _with_share(knobs) if part.count)


def _with_share(knobs: MixedKnobs) -> list[tuple[Family, int]]:
    return [(part, share) for part, share in zip(MIXED_FAMILIES, read_shares(knobs.shares), strict=True) if share]


def read_shares(text: str) -> tuple[int, ...]:
    """Return the shares of arithmetic, comparison and counting. Raises `LearnableError` unless there are three.

    >>> read_shares("50/25/25")
    (50, 25, 25)
    """
    parts = text.split("/")
    if (
        len(parts) != len(MIXED_FAMILIES)
        or not all(part.isascii() and part.isdigit() for part in parts)
        or not any(map(int, parts))
    ):
        raise LearnableError(
            f"mixed knob shares={text!r} is not three whole numbers, at least one above 0: give the shares of "
            f"{', '.join(part.name for part in MIXED_FAMILIES)}, as in 50/25/25"
        )
    return tuple(map(int, parts))


MIXED = Family(
    "mixed",
    ("Mixed",),
    MixedKnobs,
    generate,
    count=count_problems,
    readable=("largest", "digits", "gap", "most_words"),
    parts=tuple(family.name for family in MIXED_FAMILIES),
)
