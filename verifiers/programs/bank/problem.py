"""The bank's loader: a programming problem, and the calls that tell right programs from wrong ones.

Each row of `problems.jsonl` is one form of the family `programs`, whose prompts the bundled policy was trained on, or
of `code`. A row of `cases.jsonl` has the judged calls of one form with one choice of its parameters. Nothing in them
is run: what is expected of a call was computed by a reference solution when its row was written, and the tests, where
the solutions and the mistakes are, hold every row against them (`tests/verifiers/programs/bank`).

The forms of `programs` alone have their `solutions` here: `train/policy` teaches the bundled policy to write them.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

Arguments = tuple[Any, ...]
Case = list[Any]  # [arguments, expected], as JSON values


@dataclass(frozen=True, slots=True)
class Problem:
    """One form of the family `programs` or `code`.

    `statement` says what the function returns, with `{0}`, `{1}` for the values of one of `parameters`. `solutions`
    are bodies with the same marks and `NAME` for the function's own name. `level` is the difficulty, 1 to 10.
    """

    family: str
    topic: str
    form: str
    level: float
    names: Sequence[str]
    signature: str
    statement: str
    solutions: Sequence[str] = ()

    @property
    def parameters(self) -> tuple[Arguments, ...]:
        """The values that the marks in the statement take; one empty choice where it has none."""
        return tuple(_read_cases()[self.form])

    def describe(self, parameters: Sequence[Any]) -> str:
        """Return the statement with its parameters filled in."""
        return fill(self.statement, parameters)

    def write(self, body: str, name: str, parameters: Sequence[Any]) -> str:
        """Return the source of a function called `name` with a body."""
        filled = fill(textwrap.dedent(body).strip("\n"), parameters).replace("NAME", name)
        return f"def {name}({self.signature}):\n{textwrap.indent(filled, '    ')}"

    def example(self, parameters: Sequence[Any]) -> Case:
        """Return `[arguments, expected]` of the one call that a prompt may show; it is in no hidden case."""
        return self._judged(parameters).example

    def cases(self, parameters: Sequence[Any], drawn: int = 0) -> list[Case]:
        """Return the hidden cases: the edges, and `drawn` more where the row has so many.

        The edges were chosen by hand: each mistake that people make fails one of them.
        They depend on the problem alone and not on a run's seed, so that the same problem is the same prompt in
        every run.
        """
        judged = self._judged(parameters)
        return [*judged.edges, *judged.drawn[:drawn]]

    def _judged(self, parameters: Sequence[Any]) -> JudgedCases:
        return _read_cases()[self.form][tuple(parameters)]


@dataclass(frozen=True, slots=True)
class JudgedCases:
    """The calls of one problem with one choice of parameters; `drawn` join the edges in their order."""

    example: Case
    edges: Sequence[Case]
    drawn: Sequence[Case]


def read_problems(family: str) -> dict[str, Problem]:
    """Return the problems of a family by form, in the order of the bank."""
    return {row["form"]: Problem(**row) for row in _read_rows("problems.jsonl") if row["family"] == family}


@cache
def _read_cases() -> Mapping[str, Mapping[Arguments, JudgedCases]]:
    """Read the cases by form and parameters, once, when the first prompt is made."""
    cases: dict[str, dict[Arguments, JudgedCases]] = {}
    for row in _read_rows("cases.jsonl"):
        form, parameters = row.pop("form"), tuple(row.pop("parameters"))
        cases.setdefault(form, {})[parameters] = JudgedCases(**row)
    return cases


def _read_rows(name: str) -> list[dict[str, Any]]:
    text = resources.files("learnable.verifiers.programs.bank").joinpath(name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def fill(text: str, parameters: Sequence[Any]) -> str:
    """Put the parameters in place of `{0}`, `{1}`; other braces stay, since solutions are code.

    >>> fill("n % {0} == 0", (3,))
    'n % 3 == 0'
    """
    for index, value in enumerate(parameters):
        text = text.replace(f"{{{index}}}", str(value))
    return text
