"""The bank of problems: solutions right and wrong, prompts, knobs. `tests/golden/code.jsonl` has answers by hand.

`references_for_tests` says where the solutions are and writes the rows of judged calls.
"""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.errors import LearnableError
from learnable.data.records import Prompt
from learnable.data.sources.family import fold_name
from learnable.verifiers.families.prompts import builtin_prompts
from learnable.verifiers.families.registry import DEFAULT_FAMILIES, find_forms
from learnable.verifiers.programs.bank.family import BANK, CODE, CodeKnobs, generate
from learnable.verifiers.registry import find_verifier
from tests.support.paths import GOLDEN, ROOT
from tests.verifiers.programs.bank.references_for_tests import (
    CASES,
    MAX_DRAWN,
    compiled,
    judge,
    read_references,
    write_row,
    write_sources,
)

EXAMPLES = GOLDEN / "code.jsonl"
ANSWERS = [json.loads(line) for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]
TOPICS = {
    topic: [problem for problem in BANK.values() if problem.topic == topic]
    for topic in dict.fromkeys(problem.topic for problem in BANK.values())
}
every_topic = pytest.mark.parametrize("topic", TOPICS)


def call(source: str, arguments: Any) -> Any:
    answer = compiled(source)(*copy.deepcopy(arguments))
    return json.dumps(answer)  # 1, 1.0 and True differ here, as they do for the strictest judge


def passes(source: str, cases: list[list[Any]]) -> bool:
    try:
        return all(call(source, arguments) == json.dumps(expected) for arguments, expected in cases)
    except Exception:  # whatever a wrong program raises
        return False


def test_the_rows_are_as_their_references_write_them() -> None:
    for line in CASES.read_text(encoding="utf-8").splitlines():
        assert write_row(line) == line


def test_references_are_of_the_problems_there_are() -> None:
    assert read_references().keys() == BANK.keys()
    for form, bodies in read_references().items():
        assert len(bodies["solutions"]) >= 2, form
        assert len(bodies["wrong"]) >= 2, form


@every_topic
def test_every_solution_passes_every_case_and_the_example(topic: str) -> None:
    for problem in TOPICS[topic]:
        for parameters in problem.parameters:
            cases = [*problem.cases(parameters, MAX_DRAWN), problem.example(parameters)]
            for source in write_sources(problem.form, "solutions", parameters):
                for arguments, expected in cases:
                    assert call(source, arguments) == json.dumps(expected), (problem.form, arguments)


@every_topic
def test_every_mistake_fails_the_edge_cases(topic: str) -> None:
    for problem in TOPICS[topic]:
        for parameters in problem.parameters:
            for source in write_sources(problem.form, "wrong", parameters):
                compile(source, "mistake", "exec")
                assert not passes(source, problem.cases(parameters)), (problem.form, source)


@every_topic
def test_a_mistake_is_right_somewhere(topic: str) -> None:
    """Otherwise it would be no plausible one, and partial credit would have nothing to tell apart."""
    for problem in TOPICS[topic]:
        parameters = problem.parameters[0]
        cases = problem.cases(parameters, 20)
        sources = write_sources(problem.form, "wrong", parameters)
        assert any(passes(source, [case]) for source in sources for case in cases), problem.form


@every_topic
def test_no_constant_passes(topic: str) -> None:
    for problem in TOPICS[topic]:
        for parameters in problem.parameters:
            assert len({json.dumps(expected) for _, expected in problem.cases(parameters)}) > 1, problem.form


@every_topic
def test_cases_are_distinct_and_hidden(topic: str) -> None:
    for problem in TOPICS[topic]:
        for parameters in problem.parameters:
            calls = [json.dumps(arguments) for arguments, _ in problem.cases(parameters, MAX_DRAWN)]
            assert len(set(calls)) == len(calls) >= 5, problem.form
            assert json.dumps(problem.example(parameters)[0]) not in calls, problem.form


@pytest.mark.parametrize(("form", "parameters", "arguments", "expected"), ANSWERS, ids=[line[0] for line in ANSWERS])
def test_answers_by_hand(form: str, parameters: list[Any], arguments: list[Any], expected: Any) -> None:
    assert tuple(parameters) in BANK[form].parameters
    assert json.dumps(judge(form, tuple(parameters), arguments)[1]) == json.dumps(expected)


def test_every_problem_has_an_answer_by_hand() -> None:
    assert [line[0] for line in ANSWERS] == list(BANK)


def test_the_bank_is_large_and_spans_the_scale() -> None:
    new = [form for form in BANK if form not in {problem.form for problem in TOPICS["FizzBuzz"]}]
    assert len(BANK) == sum(map(len, TOPICS.values()))
    assert len([form for form in new if form not in {problem.form for problem in TOPICS["parentheses"]}]) >= 40
    levels = Counter(int(problem.level) for problem in BANK.values())
    assert sorted(levels) == list(range(1, 11))
    assert min(levels.values()) >= 3
    assert not {*map(fold_name, BANK)} & {
        fold_name(form) for family in DEFAULT_FAMILIES.values() for form in family.forms
    }


@every_topic
def test_prompts_are_distinct_whole_and_show_one_call_at_most(topic: str) -> None:
    for problem in TOPICS[topic]:
        prompts = list(generate(problem.form, 0, CodeKnobs()))
        assert len({prompt.text for prompt in prompts}) == len({prompt.prompt_id for prompt in prompts}) == len(prompts)
        assert len(prompts) == 4 * len(problem.names) * len(problem.parameters), problem.form
        for prompt in prompts:
            find_verifier(prompt.verifier).check_spec(prompt.spec)
            assert (prompt.verifier, prompt.family, prompt.form) == ("programs", "code", problem.form)
            assert not re.search(r"\{\d\}|NAME", prompt.text)
            assert prompt.text.count(f"{prompt.spec['entry']}(") <= 2


def test_no_hidden_case_is_in_the_prompt() -> None:
    for prompt in builtin_prompts(families=["code"], limit=500):
        for arguments, _ in prompt.spec["cases"]:
            assert f"{prompt.spec['entry']}({', '.join(map(repr, arguments))})" not in prompt.text


def test_without_examples_no_call_is_shown() -> None:
    prompts = list(builtin_prompts(families=["code"], knobs={"examples": 0}, limit=300))
    assert not [prompt.text for prompt in prompts if "For example" in prompt.text]


def test_the_seed_changes_the_order_alone() -> None:
    def draw(seed: int) -> list[Prompt]:
        return list(generate("CaesarShift", seed, CodeKnobs()))

    assert draw(1) == draw(1)
    assert [p.prompt_id for p in draw(1)] != [p.prompt_id for p in draw(2)]
    assert {p.prompt_id for p in draw(1)} == {p.prompt_id for p in draw(2)}


def test_more_cases_keep_the_former_ones() -> None:
    problem = BANK["EditDistance"]
    edges, few, many = (problem.cases((), drawn) for drawn in (0, 3, 30))
    assert len(few) == len(edges) + 3
    assert (few[: len(edges)], many[: len(few)]) == (edges, few)


@pytest.mark.parametrize("family", ["code", "programs"])
@given(bounds=st.tuples(st.integers(1, 10), st.integers(1, 10)).map(sorted))
def test_difficulty_picks_the_level(family: str, bounds: list[int]) -> None:
    low, high = bounds
    prompts = list(builtin_prompts(families=[family], knobs={"difficulty": f"{low}-{high}"}, limit=60))
    assert all(low <= (prompt.difficulty or 0) <= high for prompt in prompts)
    if family == "code":
        assert prompts


@pytest.mark.parametrize("text", ["0-3", "11", "5-2", "easy", "", "nan", "3-"])
@pytest.mark.parametrize("family", ["code", "programs"])
def test_a_bad_difficulty_is_named(family: str, text: str) -> None:
    with pytest.raises(LearnableError, match=f"{family} knob difficulty='{text}' is not a level"):
        list(builtin_prompts(families=[family], knobs={"difficulty": text}))


def test_the_bank_joins_only_where_it_is_named() -> None:
    assert "code" not in {prompt.family for prompt in builtin_prompts(limit=2000)}
    assert find_forms(["edit-distance", "fizz buzz"]) == [("code", "EditDistance"), ("programs", "FizzBuzz")]
    assert {prompt.form for prompt in builtin_prompts(families=["code"], limit=len(BANK))} == set(CODE.forms)


def test_the_verifier_tells_solutions_from_mistakes() -> None:
    problem = BANK["LongestBalanced"]
    prompt = next(generate(problem.form, 0, CodeKnobs()))
    verifier = find_verifier(prompt.verifier)
    right, wrong = (
        verifier.score(
            write_sources(problem.form, kind, (), prompt.spec["entry"])[place], prompt=prompt.text, spec=prompt.spec
        )
        for kind, place in (("solutions", 0), ("wrong", 1))
    )
    assert right.reward == 1.0
    assert wrong.passed is False
    assert wrong.reward is not None
    assert 0 < wrong.reward < 0.5


def test_the_documentation_lists_every_problem_with_its_difficulty() -> None:
    text = (ROOT / "docs" / "reference" / "families.md").read_text(encoding="utf-8")
    text = text.partition("## code")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([A-Z]\w+)` \| ([\d.]+) \| ", text, re.MULTILINE)
    assert {form: float(level) for form, level in rows} == {form: problem.level for form, problem in BANK.items()}
    assert len(rows) == len(BANK)
