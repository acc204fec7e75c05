"""A knob that is set holds in every question of its family, as read out of the question alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import combinations, islice

import pytest

from learnable.data.records import Prompt
from learnable.verifiers.families.curriculum import read_curriculum, shipped_curricula
from learnable.verifiers.families.prompts import builtin_prompts, count_problems
from learnable.verifiers.families.registry import find_family
from tests.support.domains import needs_poems

Bound = Callable[[Prompt, float], bool]
DRAWN = 600


def numbers(prompt: Prompt) -> list[float]:
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", prompt.text)]


def counted_word(prompt: Prompt) -> str | None:
    """The word whose letters are to be counted."""
    found = re.search(r"(?:in|of) '(\w+)'", prompt.text)
    return found[1] if found else None


def listed(prompt: Prompt) -> int:
    """The words of a list that is to be counted."""
    found = re.search(r"(?:words:|list\?) (.+)$", prompt.text)
    return len(found[1].split()) if found else 0


def digits(number: float) -> int:
    return len(str(int(number)))


def said_lines(prompt: Prompt) -> int:
    """The lines that a poem is asked for, by its own words or by what is known of sonnets and the like."""
    known = {"couplet": 2, "quatrain": 4, "haiku": 3, "limerick": 5, "sonnet": 14, "villanelle": 19}
    said = [int(count) for count in re.findall(r"(\d+) lines?\b", prompt.text)]
    return max(said, default=0) or next((lines for name, lines in known.items() if name in prompt.text), 0)


LARGEST: Bound = lambda prompt, most: max(numbers(prompt), default=0) <= most  # noqa: E731
BOUNDS: Mapping[str, Mapping[str, Bound]] = {
    "arithmetic": {"largest": LARGEST, "digits": lambda prompt, most: max(map(digits, numbers(prompt))) <= most},
    "comparison": {
        "largest": LARGEST,
        "gap": lambda prompt, least: abs(numbers(prompt)[0] - numbers(prompt)[1]) >= least,
        "decimals": lambda prompt, most: all(len(part) <= most for part in re.findall(r"\d\.(\d+)", prompt.text)),
    },
    "counting": {
        "most_words": lambda prompt, most: listed(prompt) <= most,
        "word_length": lambda prompt, most: len(counted_word(prompt) or "") <= most,
    },
    "parity": {"largest": LARGEST},
    "binary": {
        "bits": lambda prompt, most: all(
            number < 2**most for number in ([int(str(prompt.spec["answer"]), 2 if "in binary" in prompt.text else 10)])
        )
    },
    "poetry": {"lines": lambda prompt, most: said_lines(prompt) <= most},
    "programs": {"difficulty": lambda prompt, level: int(prompt.difficulty or 0) == level},
    "code": {"difficulty": lambda prompt, level: int(prompt.difficulty or 0) == level},
}
SETTINGS = [
    *(("arithmetic", {"largest": most}) for most in (1, 10, 20, 50, 1500)),
    *(("arithmetic", {"digits": most}) for most in (2, 3, 6)),
    ("arithmetic", {"largest": 1000, "digits": 2}),
    ("arithmetic", {"largest": 70, "digits": 2}),
    *(("comparison", {"largest": most}) for most in (5, 20, 60, 1000)),
    *(("comparison", {"gap": least}) for least in (2, 50, 85)),
    ("comparison", {"largest": 80, "gap": 60, "decimals": 2}),
    *(("counting", {"most_words": most}) for most in (3, 30)),
    *(("counting", {"word_length": most}) for most in (3, 5, 8, 12)),
    *(("parity", {"largest": most}) for most in (3, 99, 500)),
    *(("binary", {"bits": most}) for most in (2, 9)),
    *(("mixed", {"largest": most}) for most in (3, 10, 20, 300)),
    *(("mixed", {"digits": most, "gap": 60, "most_words": 4}) for most in (2, 5)),
    *(pytest.param("poetry", {"lines": most}, marks=needs_poems) for most in (1, 4, 8)),
    *((family, {"difficulty": level}) for family in ("programs", "code") for level in (2, 5)),
]


def bounds_of(prompt: Prompt) -> Mapping[str, Bound]:
    return BOUNDS[str(prompt.family)]


@pytest.mark.parametrize(("family", "knobs"), SETTINGS)
def test_what_a_knob_says_holds_in_every_question(family: str, knobs: Mapping[str, int]) -> None:
    forms = [] if family in ("mixed", "poetry") else find_family(family).known_forms()
    drawn = list(islice(builtin_prompts(forms, [family], knobs=knobs, seed=3), DRAWN))
    assert drawn
    for prompt in drawn:
        for name, value in knobs.items():
            if holds := bounds_of(prompt).get(name):
                assert holds(prompt, value), (name, value, prompt.text)


def test_a_knob_that_nobody_sets_binds_the_usual_forms_alone() -> None:
    biggest = [max(numbers(prompt)) for prompt in builtin_prompts(families=["arithmetic"], limit=100)]
    assert max(biggest) > 999
    assert find_family("arithmetic").knob_defaults() == {"largest": 20, "digits": 4}


@pytest.mark.parametrize("name", shipped_curricula())
def test_no_stage_asks_beyond_its_knobs_and_each_goes_further(name: str) -> None:
    curriculum = read_curriculum(name)
    drawn = [
        list(builtin_prompts(families=[curriculum.family], limit=300, knobs=stage.knobs)) for stage in curriculum.stages
    ]
    for stage, prompts in zip(curriculum.stages, drawn, strict=True):
        for prompt in prompts:
            for knob, value in stage.knobs.items():
                assert bounds_of(prompt)[knob](prompt, float(value)), (stage.name, prompt.text)
    for one, other in zip(curriculum.stages, curriculum.stages[1:], strict=False):
        assert any(float(other.knobs[knob]) > float(value) for knob, value in one.knobs.items())


@pytest.mark.parametrize("forms", list(combinations(("GreaterThan", "WideGap", "Larger"), 2)))
@pytest.mark.parametrize("knobs", [{"gap": 3, "largest": 6}, {"gap": 70, "largest": 75}, {"largest": 4}])
def test_what_is_left_is_counted(forms: tuple[str, ...], knobs: Mapping[str, int]) -> None:
    problems = {prompt.problem_id for prompt in builtin_prompts(forms, knobs=knobs)}
    assert len(problems) == count_problems(forms, knobs=knobs)


@pytest.mark.parametrize("forms", [("LargeSums", "Addition"), ("Addition", "LargeSums")])
def test_the_order_of_forms_changes_no_count(forms: tuple[str, ...]) -> None:
    problems = {prompt.problem_id for prompt in builtin_prompts(forms, knobs={"largest": 30, "digits": 2})}
    assert len(problems) == count_problems(forms, knobs={"largest": 30, "digits": 2})


@needs_poems
@pytest.mark.parametrize("tolerance", [0, 2])
def test_a_tolerance_holds_in_verse_too(tolerance: int) -> None:
    for prompt in builtin_prompts(["Verse", "Haiku"], limit=60, knobs={"tolerance": tolerance}):
        assert prompt.spec["tolerance"] == tolerance


@needs_poems
def test_verse_asks_for_no_more_than_the_knob_says() -> None:
    assert not any(
        "syllables" in prompt.text for prompt in builtin_prompts(["Verse"], limit=60, knobs={"constraints": 1})
    )


@needs_poems
def test_forms_of_any_length_have_so_many_stanzas_or_no_prompts() -> None:
    from learnable.verifiers.poetry.forms import poem_forms

    open_forms = [form.name for form in poem_forms().values() if form.is_reward and form.repeat is not None]
    drawn = [p for name in open_forms for p in builtin_prompts([name], limit=2, knobs={"stanzas": 4})]
    said = [re.search(r"(\d+) stanzas", prompt.text) for prompt in drawn]
    assert len(drawn) > 10
    assert {int(found[1]) for found in said if found} == {4}
