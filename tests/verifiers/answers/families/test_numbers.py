"""The number tasks: every space is counted to the problem, drawn without repeats, and judged as it should be."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learnable.data.errors import LearnableError
from learnable.data.records import Prompt, Score
from learnable.verifiers.answers.families.mixed import read_shares
from learnable.verifiers.families.prompts import builtin_prompts, count_problems, require_problems
from learnable.verifiers.families.registry import find_family
from learnable.verifiers.registry import find_verifier
from tests.support.domains import needs_poems

SPACES = st.one_of(
    st.tuples(st.just("arithmetic"), st.fixed_dictionaries({"largest": st.integers(1, 25), "digits": st.just(2)})),
    st.tuples(
        st.just("comparison"),
        st.fixed_dictionaries(
            {"largest": st.integers(1, 9), "gap": st.integers(80, 90), "decimals": st.integers(0, 1)}
        ),
    ),
    st.tuples(st.just("parity"), st.fixed_dictionaries({"largest": st.integers(1, 20)})),
    st.tuples(st.just("binary"), st.fixed_dictionaries({"bits": st.integers(1, 7)})),
    st.tuples(st.just("counting"), st.fixed_dictionaries({"word_length": st.integers(2, 3)})),
)
ENDLESS = {"WordCount", "ShortList", "LargeSums", "LargeProducts"}  # too many to be listed in a test
NUMBER_FAMILIES = ("arithmetic", "comparison", "counting", "parity", "binary")


def judge(prompt: Prompt, answer: str) -> Score:
    return find_verifier(prompt.verifier).score(answer, prompt=prompt.text, spec=prompt.spec)


def find_problems(forms: list[str], text: str) -> set[str]:
    """Return the problems of the prompts that hold a text, whole numbers whole."""
    whole = re.compile(rf"(?<!\d){re.escape(text)}(?!\d)")
    return {prompt.problem_id for prompt in builtin_prompts(forms) if whole.search(prompt.text)}


@st.composite
def spaces(draw: st.DrawFn) -> tuple[list[str], dict[str, int]]:
    """Some forms of one family, with knobs that leave them small enough to be listed."""
    family, knobs = draw(SPACES)
    forms = sorted(set(find_family(family).known_forms()) - ENDLESS)
    chosen = draw(st.lists(st.sampled_from(forms), min_size=1, unique=True))
    return chosen, knobs


@settings(max_examples=25, deadline=None)
@given(spaces(), st.integers(0, 99))
def test_a_space_is_counted_to_the_problem_and_each_comes_once_first(
    space: tuple[list[str], dict[str, int]], seed: int
) -> None:
    forms, knobs = space
    prompts = list(builtin_prompts(forms, seed=seed, knobs=knobs))
    count = count_problems(forms, knobs=knobs)
    problems = [prompt.problem_id for prompt in prompts]
    assert len(set(problems)) == len(set(problems[:count])) == count
    assert len({prompt.prompt_id for prompt in prompts}) == len(prompts)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([*NUMBER_FAMILIES, "mixed"]), st.integers(0, 99), st.integers(1, 40), st.integers(1, 40))
def test_a_longer_draw_begins_with_the_shorter_one(family: str, seed: int, few: int, more: int) -> None:
    short, long = (list(builtin_prompts(families=[family], limit=n, seed=seed)) for n in (few, few + more))
    assert long[:few] == short
    assert len({prompt.problem_id for prompt in long}) == few + more


@pytest.mark.parametrize("form", [form for name in NUMBER_FAMILIES for form in find_family(name).known_forms()])
def test_the_right_answer_passes_and_no_other_does(form: str) -> None:
    for prompt in builtin_prompts([form], limit=40, seed=5):
        find_verifier(prompt.verifier).check_spec(prompt.spec)
        answer = prompt.spec["answer"]
        assert judge(prompt, str(answer)).reward == 1
        wrong = [str(answer + 1), str(answer - 1), f"{answer} or {answer + 1}"] if isinstance(answer, int) else []
        choices = prompt.spec.get("choices", [])
        wrong += [*({*choices} - {answer}), " and ".join(choices), " ".join(choices), "\n".join(choices)]
        for other in [*wrong, "", prompt.text]:
            assert judge(prompt, other).reward == 0, (prompt.text, other)


@pytest.mark.parametrize(
    ("forms", "one", "other"),
    [
        (["Addition"], "3 + 4", "4 + 3"),
        (["Multiplication"], "3 * 4", "4 * 3"),
        (["GreaterThan", "LessThan"], "3 greater than 4", "4 less than 3"),
        (["Larger"], "larger, 3 or 4", "larger, 4 or 3"),
        (["ParityOfSum"], "3 + 4", "4 + 3"),
    ],
)
def test_the_other_order_is_the_same_problem_where_the_answer_is(forms: list[str], one: str, other: str) -> None:
    assert find_problems(forms, one) == find_problems(forms, other)
    assert len(find_problems(forms, one)) == 1


@pytest.mark.parametrize(
    ("forms", "one", "other"),
    [
        (["Subtraction"], "3 - 4", "4 - 3"),
        (["GreaterThan"], "3 greater than 4", "4 greater than 3"),
        (["Larger", "Smaller"], "larger, 3 or 4", "smaller, 3 or 4"),
        (["ToBinary", "FromBinary"], "Write 10 in", "number 1010 in decimal"),
    ],
)
def test_another_answer_is_another_problem(forms: list[str], one: str, other: str) -> None:
    first, second = find_problems(forms, one), find_problems(forms, other)
    assert len(first) == len(second) == 1
    assert not first & second


@pytest.mark.parametrize(
    ("form", "limit", "message"),
    [
        ("Subtraction", 500, "has 441 distinct problems; you asked for 500: set `knobs` arithmetic.largest above 20"),
        ("WideGap", 3000, "has 2,550 distinct problems; you asked for 3,000: set `knobs` comparison.gap below 50, or"),
        ("WordLength", 200, "has 140 distinct problems; you asked for 200: name more forms, or give `limit` 140"),
    ],
)
def test_more_than_the_space_has_is_refused_with_the_knob_to_change(form: str, limit: int, message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        require_problems(limit, [form])


@needs_poems
def test_what_the_space_has_is_not_refused_nor_what_is_not_counted() -> None:
    require_problems(441, ["Subtraction"])
    require_problems(500, ["Subtraction"], knobs={"largest": 22})
    require_problems(10**9, ["IsEven"])
    assert count_problems(families=["arithmetic", "poetry"]) is None


@pytest.mark.parametrize(
    ("shares", "first"), [("50/25/25", (20, 10, 10)), ("0/1/3", (0, 10, 30)), ("1/1/1", (14, 13, 13))]
)
def test_a_mixture_keeps_its_shares_in_every_stretch(shares: str, first: tuple[int, ...]) -> None:
    prompts = list(builtin_prompts(families=["mixed"], limit=400, knobs={"shares": shares}))
    counts = Counter(prompt.family for prompt in prompts[:40])
    assert tuple(counts[name] for name in ("arithmetic", "comparison", "counting")) == first
    total = sum(read_shares(shares))
    for length in range(1, 401, 7):
        some = Counter(prompt.family for prompt in prompts[:length])
        for name, share in zip(("arithmetic", "comparison", "counting"), read_shares(shares), strict=True):
            assert abs(some[name] - length * share / total) <= 1


@pytest.mark.parametrize("shares", ["50/50", "0/0/0", "a/b/c", "50/25/-25", ""])
def test_shares_that_are_none_are_refused(shares: str) -> None:
    with pytest.raises(LearnableError, match="give the shares of arithmetic, comparison, counting"):
        builtin_prompts(families=["mixed"], knobs={"shares": shares})


def test_a_part_that_runs_dry_leaves_its_share_to_the_others() -> None:
    mixed = find_family("mixed")
    knobs = mixed.set_knobs({"shares": "0/1/1", "largest": 1, "gap": 90})
    some = Counter(p.family for p in islice(mixed.draw(["Mixed"], 0, knobs), 2000))
    assert some["comparison"] < some["counting"]
    assert some.total() == 2000


def test_decimals_are_compared_by_value_and_not_by_their_length() -> None:
    prompts = list(islice(builtin_prompts(["Larger"], knobs={"decimals": 2, "largest": 12}), 400))
    for prompt in prompts:
        one, other = prompt.spec["choices"]
        assert float(prompt.spec["answer"]) == max(float(one), float(other))
        assert not {one, other} & {text for text in (one, other) if "." in text and text.endswith("0")}


@pytest.mark.parametrize(
    "name", [*NUMBER_FAMILIES, "mixed", pytest.param("poetry", marks=needs_poems), "programs", "simulated", "code"]
)
def test_every_knob_is_refused_just_outside_its_declared_range(name: str) -> None:
    family = find_family(name)
    assert [knob.default for knob in family.list_knobs()] == list(family.knob_defaults().values())
    for knob in family.list_knobs():
        if knob.low is None or knob.high is None:
            continue
        assert knob.low <= float(knob.default) <= knob.high
        family.set_knobs({knob.name: knob.kind(knob.high)})
        for beyond in (knob.low - 1, knob.high + 1):
            with pytest.raises(LearnableError, match=f"{knob.name}=.* is out of range: give {knob.low}"):
                family.set_knobs({knob.name: knob.kind(beyond)})


def test_a_fraction_is_no_whole_number() -> None:
    with pytest.raises(LearnableError, match=r"most_words=4\.5 is not int: give a whole number"):
        find_family("counting").set_knobs({"most_words": 4.5})
