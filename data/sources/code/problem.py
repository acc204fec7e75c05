"""What a programming problem is: its statement, its solutions, and the calls that tell right from wrong ones.

`Problem` is one of the family `programs`, whose prompts the bundled policy was trained on; `CodeProblem` one of `code`.
"""

from __future__ import annotations

import copy
import random
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from learnable.data.sources.code.inputs import Draw

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
        calls = [*map(list, self.edges), *self._inputs(parameters, drawn)]
        return [[copy.deepcopy(given), self.answer(tuple(given), parameters)] for given in calls]

    def _inputs(self, parameters: Arguments, drawn: int) -> list[list[Any]]:
        rng = random.Random(f"{self.form}:{parameters}")
        seen = [*map(list, self.edges), list(self.example)]
        for _ in range(TRIES * drawn):
            if len(seen) == len(self.edges) + 1 + drawn:
                break
            if (given := self.draw(rng)) not in seen:
                seen.append(given)
        return seen[len(self.edges) + 1 :]


@dataclass(frozen=True, slots=True)
class Problem:
    """One form of the family `programs`.

    `statement` says what the function returns, with `{0}`, `{1}` for the values of one of `parameters`;
    `solutions` are bodies with the same marks and `NAME` for the function's own name. `answer` computes
    what is expected from the arguments followed by the parameters, apart from the solutions. The call in the
    middle of `inputs` is the one that a prompt may show; it is no hidden case. `level` is the difficulty, 1 to 10.
    Arguments and answers are JSON values.
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

    def example(self, parameters: Sequence[Any]) -> list[Any]:
        """Return `[arguments, expected]` of the call that a prompt may show."""
        return self._case(self.inputs[self._shown], parameters)

    def cases(self, parameters: Sequence[Any]) -> list[list[Any]]:
        """Return the hidden `[arguments, expected]`: those of every other input."""
        hidden = [given for index, given in enumerate(self.inputs) if index != self._shown]
        return [self._case(given, parameters) for given in hidden]

    @property
    def _shown(self) -> int:
        return len(self.inputs) // 2

    def _case(self, given: Sequence[Any], parameters: Sequence[Any]) -> list[Any]:
        return [list(given), self.answer(*copy.deepcopy(given), *parameters)]


@lru_cache(maxsize=512)
def compiled(source: str, name: str) -> Callable[..., Any]:
    """Return the function `name` of a source that this project wrote."""
    scope: dict[str, Any] = {}
    exec(source, scope)
    function: Callable[..., Any] = scope[name]
    return function


def fill(text: str, parameters: Sequence[Any]) -> str:
    """Put the parameters in place of `{0}`, `{1}`; other braces stay, since solutions are code.

    >>> fill("n % {0} == 0", (3,))
    'n % 3 == 0'
    """
    for index, value in enumerate(parameters):
        text = text.replace(f"{{{index}}}", str(value))
    return text
