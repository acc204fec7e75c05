"""Programming prompts: write a Python function; hidden cases decide whether it is right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from learnable.data.records import Prompt
from learnable.data.sources.family import Family, check_knobs, knob, read_levels, shuffled_grid
from learnable.data.sources.wording import QuestionKind
from learnable.verifiers.programs.bank.problem import Problem, read_problems

PROBLEMS = read_problems("programs")
PROGRAM_TEMPLATES = (
    "Write a Python function {name}({signature}) that {statement}.",
    "Define a function {name}({signature}) that {statement}.",
    "Write a Python function {name}({signature}) that {statement}. For example, {example}.",
)


@dataclass(frozen=True, slots=True)
class ProgramKnobs:
    """`cpu_seconds`: what one program may use for all its cases. `difficulty`: the levels to use, `3` or `2-5`."""

    cpu_seconds: int = knob(2, 1, 60)
    difficulty: str = "1-10"

    def __post_init__(self) -> None:
        check_knobs("programs", self)
        read_levels("programs", self.difficulty)


def generate(form: str, seed: int, knobs: ProgramKnobs) -> Iterator[Prompt]:
    """Yield the prompts of one problem: every name, parameter and template; none where it is of another difficulty."""
    problem = PROBLEMS[form]
    low, high = read_levels("programs", knobs.difficulty)
    if not low <= problem.level <= high:
        return
    axes = (problem.names, problem.parameters, PROGRAM_TEMPLATES)
    for name, parameters, template in shuffled_grid(f"{form}:{seed}", *axes):
        yield make_prompt(problem, name, parameters, template, knobs)


def make_prompt(problem: Problem, name: str, parameters: Sequence[Any], template: str, knobs: ProgramKnobs) -> Prompt:
    """Write one prompt; the example that it may show is none of the cases in its spec."""
    arguments, expected = problem.example(parameters)
    text = template.format(
        name=name,
        signature=problem.signature,
        statement=problem.describe(parameters),
        example=f"{name}({', '.join(map(repr, arguments))}) == {expected!r}",
    )
    spec = {"entry": name, "cases": problem.cases(parameters), "equality": "plain", "cpu_seconds": knobs.cpu_seconds}
    return Prompt(text, "programs", spec, "programs", problem.form, problem.level)


PROGRAMS = Family(
    "programs",
    tuple(PROBLEMS),
    ProgramKnobs,
    generate,
    {"parentheses": "BalancedParentheses"},
    usual_ranges={"difficulty": "1..7"},
    readable=("difficulty",),
    kinds={
        "programs": QuestionKind(
            re.compile(
                r"function (?P<name>\w+)\((?P<signature>[^)]*)\) that (?P<statement>.+?)\."
                r"(?: For example, (?P<example>.+)\.)?$",
                re.DOTALL,
            ),
            (("name",), ("signature",), ("statement",)),
            ("example",),
        )
    },
    natural=Path(str(resources.files("learnable.verifiers.programs"))) / "natural.toml",
)
