"""A score explained, in the shape that every domain gives it: what is in each line, and what each part is worth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from learnable.data.records import JsonObject, Score

Styled = Sequence[tuple[str, str]]  # pieces of text, each with its style: a colour, "dim", or none


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One component of the score.

    `value` in [0, 1] counts for the reward, with `weight`. `strict` in [0, 1] counts for the pass and must reach
    `needs`; both are None where the component does not decide the pass.
    """

    name: str
    value: float
    weight: float
    strict: float | None
    needs: float | None

    @property
    def fails(self) -> bool:
        """Whether this component prevents the pass."""
        return self.strict is not None and self.needs is not None and self.strict < self.needs - 1e-9


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line of a completion: `marks` stand over its `text`, and a figure under each heading beside it.

    `ends_block` is set for the last line of a stanza that another follows.
    """

    text: str
    marks: str
    figures: Sequence[Styled]
    ends_block: bool


class Explanation(Protocol):
    """A score explained: `form` is what it is judged as, and `hints` say what would raise the reward."""

    @property
    def form(self) -> str: ...  # noqa: D102
    @property
    def score(self) -> Score: ...  # noqa: D102
    @property
    def parts(self) -> Sequence[ScorePart]: ...  # noqa: D102
    @property
    def hints(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def headings(self) -> Sequence[str]: ...  # noqa: D102
    def list_lines(self) -> Iterable[ShownLine]: ...  # noqa: D102
    def as_dict(self) -> JsonObject: ...  # noqa: D102
