from __future__ import annotations

import json
from typing import Any

import pytest

from learnable.verifiers.families.registry import DEFAULT_FAMILIES
from learnable.verifiers.programs.family import PROBLEMS, PROGRAM_TEMPLATES, ProgramKnobs, make_prompt
from learnable.verifiers.registry import find_verifier


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=lambda problem: problem.form)
def test_every_reference_solution_passes_every_case(problem):
    for parameters in problem.parameters:
        cases = json.dumps([*problem.cases(parameters), problem.example(parameters)])
        for body in problem.solutions:
            for name in problem.names:
                scope: dict[str, Any] = {}
                exec(problem.write(body, name, parameters), scope)
                for arguments, expected in json.loads(cases):
                    answer = scope[name](*arguments)
                    assert (answer, type(answer)) == (expected, type(expected))


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=lambda problem: problem.form)
def test_no_constant_passes_the_cases(problem):
    for parameters in problem.parameters:
        answers = [json.dumps(expected) for _, expected in problem.cases(parameters)]
        assert len(set(answers)) > 1 or problem.form == "CountLetter"


def test_the_verifier_passes_a_reference_solution():
    problem = PROBLEMS["BalancedParentheses"]
    prompt = make_prompt(problem, "balanced", (), PROGRAM_TEMPLATES[0], ProgramKnobs())
    verifier = find_verifier(prompt.verifier)
    solution = problem.write(problem.solutions[0], "balanced", ())
    assert verifier.score(solution, prompt=prompt.text, spec=prompt.spec).reward == 1.0
    constant = "def balanced(s):\n    return True"
    assert verifier.score(constant, prompt=prompt.text, spec=prompt.spec).passed is False


def test_a_prompt_shows_one_case_at_most():
    family = DEFAULT_FAMILIES["programs"]
    for form in family.forms:
        for prompt in family.generate(form, 0, family.knobs()):
            assert prompt.text.count(f"{prompt.spec['entry']}(") <= 2
            assert len(prompt.spec["cases"]) >= 5


def test_no_judged_case_is_in_the_prompt():
    family = DEFAULT_FAMILIES["programs"]
    shown = 0
    for form in family.forms:
        for prompt in family.generate(form, 0, family.knobs()):
            shown += "For example" in prompt.text
            for arguments, _ in prompt.spec["cases"]:
                assert f"{prompt.spec['entry']}({', '.join(map(repr, arguments))})" not in prompt.text
    assert shown == 206
