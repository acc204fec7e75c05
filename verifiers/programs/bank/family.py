"""The family `code`: prompts from the problem bank, over the whole range of difficulty.

It is a family of its own, drawn from only where it is named: the bundled policy was trained on the family `programs`
and solves little here, so that runs which name no family would mostly find prompts that it never solves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from learnable.data.records import Prompt
from learnable.data.sources.family import Family, check_knobs, knob, read_levels, shuffled_grid
from learnable.verifiers.programs.bank.problem import Arguments, Problem, read_problems

BANK = read_problems("code")
CODE_TEMPLATES = (
    "Write a Python function {name}({signature}) that {statement}.",
    "Implement {name}({signature}) in Python: a function that {statement}.",
)
EXAMPLE = " For example, {call} == {expected!r}."


@dataclass(frozen=True, slots=True)
class CodeKnobs:
    """`difficulty`: the levels to draw from, as `3` or `2-5`. `examples`: how many calls a prompt may show, 0 or 1.

    `drawn_cases`: hidden cases beside the edge cases, which are always there. `cpu_seconds`: what one program may use
    for all its cases; unless given, what `verifiers.programs.sandbox.limits.scaled_limit` allows where the reference
    solution takes up to 30 ms, as all of them do (`benchmarks/programs.py` measures them).
    """

    difficulty: str = "1-10"
    examples: int = knob(1, 0, 1)
    drawn_cases: int = knob(8, 0, 100)
    cpu_seconds: float = knob(0.3, 0.05, 60)

    def __post_init__(self) -> None:
        read_levels("code", self.difficulty)
        check_knobs("code", self)


def generate(form: str, seed: int, knobs: CodeKnobs) -> Iterator[Prompt]:
    """Yield the prompts of one problem: every name, parameter and wording, with and without an example.

    A problem of another difficulty yields none. The seed fixes the order; the prompts are the same under every seed.
    """
    problem = BANK[form]
    low, high = read_levels("code", knobs.difficulty)
    if not low <= problem.level <= high:
        return
    wordings = list(product(CODE_TEMPLATES, ["", EXAMPLE][: 1 + knobs.examples]))
    for name, parameters, wording in shuffled_grid(f"{form}:{seed}", problem.names, problem.parameters, wordings):
        yield make_prompt(problem, name, parameters, "".join(wording), knobs)


def make_prompt(problem: Problem, name: str, parameters: Arguments, template: str, knobs: CodeKnobs) -> Prompt:
    """Write one prompt; the example that it may show is none of the cases in its spec."""
    arguments, expected = problem.example(parameters)
    text = template.format(
        name=name,
        signature=problem.signature,
        statement=problem.describe(parameters),
        call=f"{name}({', '.join(map(repr, arguments))})",
        expected=expected,
    )
    cases = problem.cases(parameters, knobs.drawn_cases)
    spec: dict[str, Any] = {"entry": name, "cases": cases, "equality": "plain", "cpu_seconds": knobs.cpu_seconds}
    return Prompt(text, "programs", spec, "code", problem.form, problem.level)


CODE = Family("code", tuple(BANK), CodeKnobs, generate, usual_ranges={"difficulty": "1..10"}, readable=("difficulty",))
