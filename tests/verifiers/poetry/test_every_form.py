"""Every form of the table: a prompt, a poem built from the declaration that passes, and worse ones that do not."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import islice

import pytest

from learnable.data.errors import LearnableError
from learnable.data.records import Score
from learnable.verifiers.families.prompts import builtin_prompts
from learnable.verifiers.poetry.forms import Form, constrain_form, poem_forms
from learnable.verifiers.poetry.forms.plan import NO_RHYME, plans
from learnable.verifiers.registry import find_verifier
from tests.verifiers.poetry.builder_for_tests import choose_plan
from tests.verifiers.poetry.poems_for_tests import build_poem, without_language

FORMS = poem_forms()
REWARDS = [name for name, form in FORMS.items() if form.is_reward and name != "Verse"]
TABLES = sorted({FORMS[name].group for name in REWARDS})
THEMES = [name for name, form in FORMS.items() if not form.is_reward]
SEEDS = range(8)
GOOD = 0.8  # the reward of a good poem; where two classes happen to rhyme a poem may pass with less
JUNK = "Zorb blat krem fneg drop plish"

Lines = list[str]


def judged(name: str, lines: Lines) -> Score:
    return find_verifier("poetry").score("\n".join(lines), prompt="", spec=without_language(name))


@cache
def good_poem(name: str) -> tuple[str, ...]:
    """The first good poem that the constructor builds and the judge passes, blank lines included."""
    form = constrain_form(FORMS[name], {})
    for seed in SEEDS:
        lines = build_poem(form, seed).split("\n")
        score = judged(name, lines)
        if score.passed and (score.reward or 0.0) > GOOD:
            return tuple(lines)
    raise AssertionError(f"{name}: {judged(name, lines).reason}\n" + "\n".join(lines))


def is_open(form: Form) -> bool:
    """Whether a line more or less may be as good."""
    if any(len({len(s) for s in part.schemes}) > 1 for part in (form.opening, form.closing) if part is not None):
        return True
    if form.repeat is not None:
        return form.part_lines() == 1
    return form.line_count is None and not isinstance(form.lines, int)


def rewards_of(table: str) -> list[str]:
    return [name for name in REWARDS if FORMS[name].group == table]


@pytest.mark.parametrize("table", TABLES)
def test_a_poem_built_from_the_declaration_passes(table: str) -> None:
    for name in rewards_of(table):
        score = judged(name, list(good_poem(name)))
        assert score.passed, (name, score)


def test_the_prompts_specs_are_accepted() -> None:
    for name in REWARDS:
        prompts = list(islice(builtin_prompts(forms=[name]), 20))
        assert len(prompts) == 20, name
        for prompt in prompts:
            find_verifier("poetry").check_spec(prompt.spec)


@pytest.mark.parametrize("name", THEMES)
def test_a_theme_is_refused_with_its_reason(name: str) -> None:
    why = FORMS[name].why
    with pytest.raises(LearnableError) as refused:
        find_verifier("poetry").check_spec({"form": name})
    assert why in str(refused.value)
    with pytest.raises(LearnableError) as refused:
        next(builtin_prompts(forms=[name]))
    assert why in str(refused.value)


def said(lines: Lines) -> Lines:
    return [line for line in lines if line.strip()]


def end_with(line: str, word: str) -> str:
    return " ".join([*line.split()[:-1], word])


# (mutation, forms it applies to, whether it must fail)
MUTATIONS: dict[str, tuple[Callable[[Lines], Lines], Callable[[Form], bool], bool]] = {
    "drop the last line": (lambda lines: lines[:-1], lambda form: not is_open(form), True),
    "drop the first line": (lambda lines: lines[1:], lambda form: not is_open(form), True),
    "append junk": (lambda lines: [*lines, JUNK], lambda form: True, False),
    "append junk to a form of fixed length": (lambda lines: [*lines, JUNK], lambda form: not is_open(form), True),
    "say it twice": (lambda lines: [*lines, *lines], lambda form: True, True),
    "the first line throughout": (
        lambda lines: [said(lines)[0]] * len(said(lines)),
        lambda form: form.line_count != 1,
        True,
    ),
    "gibberish": (lambda lines: [JUNK[:4] + str(len(line)) if line else "" for line in lines], lambda form: True, True),
    "nonsense words": (
        lambda lines: [" ".join("zq" + word[:2] + "x" for word in line.split()) for line in lines],
        lambda form: True,
        True,
    ),
    "the end words alone": (
        lambda lines: [line.split()[-1] if line else "" for line in lines],
        lambda form: bool(form.syllables or form.metre or form.least_words),
        True,
    ),
    "no rhymes": (
        lambda lines: [end_with(line, word) if line else "" for line, word in zip(lines, UNRHYMED * 9, strict=False)],
        lambda form: bool(form.schemes) and form.rhyme != "none" and needs_rhyme(form),
        True,
    ),
    "one end word throughout": (
        lambda lines: [end_with(line, "day") if line else "" for line in lines],
        lambda form: bool(form.schemes) and form.rhyme != "none" and needs_rhyme(form),
        True,
    ),
    "flatten the stanzas": (said, lambda form: len(form.stanzas) > 1 and not form.stichic, False),
}


def alter_a_refrain(lines: Lines) -> Lines:
    """Change the last line that repeats an earlier one."""
    spoken = said(lines)
    index = max(i for i, line in enumerate(lines) if line and lines.index(line) < i)
    assert len(set(spoken)) < len(spoken)
    return [*lines[:index], " ".join(["But something", *lines[index].split()[1:]]), *lines[index + 1 :]]


def break_a_rhyme(lines: Lines) -> Lines:
    """Give the last line that rhymes an end that rhymes with nothing."""
    return [*lines[:-1], end_with(lines[-1], "month")]


def has_refrains(form: Form) -> bool:
    return bool(choose_plan(form).groups)


def ends_in_rhyme(form: Form) -> bool:
    """Whether the last line rhymes with another and is no refrain."""
    found = plans(form, choose_plan(form).size)
    return all(
        plan.classes[-1] != NO_RHYME
        and plan.classes.count(plan.classes[-1]) > 1
        and not any(plan.size - 1 in group for group in plan.groups)
        for plan in found
    )


UNRHYMED = "month silver orange film depth wolf bulb golf scarce wasp angst gulf".split()


MUTATIONS |= {
    "alter a refrain": (alter_a_refrain, lambda form: has_refrains(form) and form.threshold("refrains", 1) > 0.8, True),
    "break the last rhyme": (break_a_rhyme, lambda form: form.rhyme == "full" and ends_in_rhyme(form), False),
}


def needs_rhyme(form: Form) -> bool:
    classes = [label[0].lower() for label in form.schemes[0] if label[0] not in "xX"]
    return len(classes) > len(set(classes))


@pytest.mark.parametrize("table", TABLES)
def test_a_worse_poem_scores_strictly_lower(table: str) -> None:
    for name in rewards_of(table):
        check_that_worse_poems_score_lower(name)


def check_that_worse_poems_score_lower(name: str) -> None:
    form, poem = constrain_form(FORMS[name], {}), list(good_poem(name))
    good = judged(name, poem)
    assert good.reward is not None, name
    mutations = [mutation for mutation, (_, applies, _) in MUTATIONS.items() if applies(form)]
    assert len(mutations) >= 4, name
    for mutation in mutations:
        mutate, _, fails = MUTATIONS[mutation]
        worse = judged(name, mutate(poem))
        assert worse.reward is not None, (name, mutation)
        assert worse.reward < good.reward, (name, mutation)
        assert not (worse.passed and fails), (name, mutation, worse)


def test_every_mutation_is_tried_on_some_form() -> None:
    forms = [constrain_form(FORMS[name], {}) for name in REWARDS]
    assert not [mutation for mutation, (_, applies, _) in MUTATIONS.items() if not any(map(applies, forms))]
