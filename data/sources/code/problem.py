"""What a problem of the bank is: its statement, solutions right and wrong, and the calls that tell them apart."""

from __future__ import annotations

import copy
import random
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from learnable.data.sources.code.inputs import Draw
from learnable.data.sources.code.problem import fill

TRIES = 20  # for each call that is drawn: some draws repeat, as short lists do

Arguments = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeProblem:
    """One form of the family `code`.

    `statement` says what the function returns, with `{0}`, `{1}` for the values of one of `parameters`. `solutions`
    and `wrong` are bodies with the same marks and `NAME` for the function's own name. The first solution says what is
    expected; the tests hold the others, and answers written by hand, against it. The wrong ones are mistakes that
    people make: each fails at one of `edges` at least. `example` is the one call that a prompt may show; it is in no
    hidden case. `draw` makes further calls. `level` is the difficulty, 1 to 10. Values are JSON values.
    """

    form: str
    names: tuple[str, ...]
    signature: str
    statement: str
    level: float
    solutions: tuple[str, ...]
    wrong: tuple[str, ...]
    example: Arguments
    edges: tuple[Arguments, ...]
    draw: Draw
    parameters: tuple[Arguments, ...] = ((),)

    def describe(self, parameters: Arguments) -> str:
        """Return the statement with its parameters filled in."""
        return fill(self.statement, parameters)

    def write(self, body: str, name: str, parameters: Arguments) -> str:
        """Return the source of a function called `name` with one of the bodies."""
        filled = fill(textwrap.dedent(body).strip("\n"), parameters).replace("NAME", name)
        return f"def {name}({self.signature}):\n{textwrap.indent(filled, '    ')}\n"

    def answer(self, arguments: Arguments, parameters: Arguments) -> Any:
        """Return what is expected of one call."""
        return compiled(self.write(self.solutions[0], "answer", parameters), "answer")(*copy.deepcopy(arguments))

    def cases(self, parameters: Arguments, drawn: int) -> list[list[Any]]:
        """Return the hidden `[arguments, expected]`: the edges, and `drawn` more where there are so many.

        They depend on the problem alone and not on a run's seed, so that the same problem is the same prompt in
        every run.
        """
        calls = [*map(list, self.edges), *self._draws(parameters, drawn)]
        return [[copy.deepcopy(given), self.answer(tuple(given), parameters)] for given in calls]

    def _draws(self, parameters: Arguments, drawn: int) -> list[list[Any]]:
        rng = random.Random(f"{self.form}:{parameters}")
        seen = [*map(list, self.edges), list(self.example)]
        for _ in range(TRIES * drawn):
            if len(seen) == len(self.edges) + 1 + drawn:
                break
            if (given := self.draw(rng)) not in seen:
                seen.append(given)
        return seen[len(self.edges) + 1 :]


@lru_cache(maxsize=512)
def compiled(source: str, name: str) -> Callable[..., Any]:
    """Return the function `name` of a source that this project wrote."""
    scope: dict[str, Any] = {}
    exec(source, scope)
    function: Callable[..., Any] = scope[name]
    return function
