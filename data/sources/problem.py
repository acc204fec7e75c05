"""What a programming problem is: its statement, its cases and reference solutions."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Problem:
    """One form of the programs family.

    `statement` says what the function returns, with `{0}`, `{1}` for the values of one of `parameters`;
    `solutions` are bodies with the same marks and `NAME` for the function's own name. `answer` computes
    what is expected from the arguments followed by the parameters, apart from the solutions. `level` is
    the difficulty, 1 to 10. Arguments and answers are JSON values.
    """

    form: str
    names: tuple[str, ...]
    signature: str
    statement: str
    solutions: tuple[str, ...]
    answer: Callable[..., Any]
    inputs: Sequence[Sequence[Any]]
    parameters: Sequence[Sequence[Any]] = ((),)
    level: float = 3.0

    def describe(self, parameters: Sequence[Any]) -> str:
        """Return the statement with its parameters filled in."""
        return fill(self.statement, parameters)

    def write_solution(self, index: int, name: str, parameters: Sequence[Any]) -> str:
        """Return the source of one reference solution as a function called `name`."""
        body = fill(self.solutions[index], parameters).replace("NAME", name)
        return f"def {name}({self.signature}):\n" + "\n".join(f"    {line}" for line in body.split("\n"))

    def cases(self, parameters: Sequence[Any]) -> list[list[Any]]:
        """Return `[arguments, expected]` for every input."""
        return [[list(given), self.answer(*copy.deepcopy(given), *parameters)] for given in self.inputs]


def fill(text: str, parameters: Sequence[Any]) -> str:
    """Put the parameters in place of `{0}`, `{1}`; other braces stay, since solutions are code.

    >>> fill("n % {0} == 0", (3,))
    'n % 3 == 0'
    """
    for index, value in enumerate(parameters):
        text = text.replace(f"{{{index}}}", str(value))
    return text
