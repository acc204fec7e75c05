from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.verifiers.families.prompts import builtin_prompts
from learnable.verifiers.families.registry import DEFAULT_FAMILIES, find_family, find_forms
from learnable.verifiers.programs.bank.family import BANK
from learnable.verifiers.registry import find_verifier
from tests.support.domains import needs_poems

ALL_FORMS = [(family, form) for family in DEFAULT_FAMILIES.values() for form in family.forms]


@pytest.mark.parametrize(("family", "form"), ALL_FORMS, ids=lambda value: getattr(value, "name", value))
def test_every_form_yields_distinct_prompts_its_verifier_accepts(family, form):
    prompts = list(islice(family.generate(form, 7, family.knobs()), 60))
    assert len({prompt.prompt_id for prompt in prompts}) == len(prompts) > 0
    for prompt in prompts:
        find_verifier(prompt.verifier).check_spec(prompt.spec)
        assert (prompt.family, prompt.form) == (family.name, form)
        assert prompt.difficulty is not None
        assert 1 <= prompt.difficulty <= 10


@given(limit=st.integers(0, 300), seed=st.integers(0, 2**32))
def test_any_prefix_is_balanced_over_families(limit, seed):
    counts = Counter(prompt.family for prompt in builtin_prompts(limit=limit, seed=seed))
    assert counts.total() == limit
    assert max(counts.values(), default=0) - min((counts[name] for name in DEFAULT_FAMILIES), default=0) <= 1


def test_forms_take_turns_inside_a_family():
    known = DEFAULT_FAMILIES["counting"].forms
    forms = Counter(prompt.form for prompt in builtin_prompts(families=["counting"], limit=10 * len(known)))
    assert forms == dict.fromkeys(known, 10)


def test_a_form_that_runs_dry_leaves_its_turns_to_the_others():
    even = len(list(builtin_prompts(forms=["IsEven"])))
    both = Counter(p.form for p in islice(builtin_prompts(forms=["IsEven", "Addition"]), 3 * even))
    assert both == {"IsEven": even, "Addition": 2 * even}


def test_the_seed_fixes_the_order():
    first, again, other = (list(builtin_prompts(limit=100, seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert {p.prompt_id for p in first} != {p.prompt_id for p in other}


def test_the_first_forms_of_a_family_are_drawn_from_all_topics_and_levels():
    first, other = (list(builtin_prompts(families=["code"], limit=64, seed=seed)) for seed in (0, 1))
    assert {BANK[p.form].topic for p in first} == {problem.topic for problem in BANK.values()}
    assert {int(p.difficulty) for p in first} == set(range(1, 11))
    assert {p.form for p in first} != {p.form for p in other}


@needs_poems
def test_form_and_family_together_ask_for_both():
    chosen = list(builtin_prompts(forms=["haiku"], families=["comparison"], limit=40))
    assert Counter(p.family for p in chosen) == {"poetry": 20, "comparison": 20}
    assert {p.form for p in chosen if p.family == "poetry"} == {"Haiku"}


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("fizz-buzz", "FizzBuzz"),
        ("Fizz Buzz", "FizzBuzz"),
        ("fizz_buzz", "FizzBuzz"),
        ("ADDITION", "Addition"),
        pytest.param("rhyming couplet", "Couplet", marks=needs_poems),
    ],
)
def test_names_of_forms_are_forgiving(name, form):
    assert [found for _, found in find_forms([name, name])] == [form]


@needs_poems
def test_the_generic_sonnet_accepts_every_named_one():
    from learnable.verifiers.poetry.forms import find_form

    assert set(find_form("ShakespeareanSonnet").schemes) <= set(find_form("sonnet").schemes)


@pytest.mark.parametrize(("wrong", "near"), [("additon", "Addition"), ("fizbuz", "FizzBuzz")])
def test_an_unknown_form_offers_the_nearest(wrong, near):
    with pytest.raises(UnknownNameError, match=near):
        find_forms([wrong])


def test_an_unknown_family_offers_the_nearest():
    with pytest.raises(UnknownNameError, match="arithmetic"):
        find_family("arithmetics")


def test_knobs_reach_the_families_that_have_them():
    prompts = builtin_prompts(families=["arithmetic", "counting"], limit=400, knobs={"arithmetic.largest": "3"})
    small = [p for p in prompts if p.family == "arithmetic" and not p.form.startswith("Large")]
    assert max(p.spec["answer"] for p in small) <= 9


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"largst": 3}, "did you mean 'largest'"),
        ({"arithmetic.most_words": 3}, "no knob 'arithmetic.most_words'"),
        ({"largest": "many"}, "largest='many' is not int"),
        ({"largest": 0}, "out of range"),
    ],
)
def test_bad_knobs_are_named_before_the_first_prompt(knobs, message):
    with pytest.raises(LearnableError, match=message):
        builtin_prompts(families=["arithmetic", "counting"], knobs=knobs)


@needs_poems
def test_all_is_every_poem_form_that_can_be_a_reward():
    from learnable.verifiers.poetry.forms import poem_forms

    names = {form for _, form in find_forms(["all"])}
    assert names == {name for name, form in poem_forms().items() if form.is_reward}
    assert names < set(DEFAULT_FAMILIES["poetry"].known_forms())


@needs_poems
def test_a_theme_is_refused():
    with pytest.raises(LearnableError, match="cannot be a reward"):
        find_forms(["ode"])


@needs_poems
def test_a_users_forms_carry_their_declaration(tmp_path):
    from learnable.verifiers.poetry.forms import load_forms

    file = tmp_path / "mine.toml"
    file.write_text('[Lantern]\ntitle = "lantern"\nsyllables = [1, 2, 3, 4, 1]\n', encoding="utf-8")
    own = load_forms(file)
    for prompts in (builtin_prompts(own=own, limit=5), builtin_prompts(forms=["lantern"], own=own, limit=5)):
        for prompt in prompts:
            assert (prompt.family, prompt.form) == ("poetry", "Lantern")
            assert "1, 2, 3, 4 and 1 syllables" in prompt.text
            assert prompt.spec["declaration"] == own["Lantern"].declaration()
            find_verifier(prompt.verifier).check_spec(prompt.spec)
    with pytest.raises(UnknownNameError):
        builtin_prompts(forms=["lantern"])


@needs_poems
@pytest.mark.parametrize(
    ("knobs", "key", "value"),
    [
        ({"tolerance": 2}, "tolerance", 2),
        ({"stanzas": 5}, "stanzas", 5),
        ({"constraints": 2}, "asked", ["lines", "syllables"]),
    ],
)
def test_poetry_knobs_set_the_spec(knobs, key, value):
    for prompt in builtin_prompts(forms=["ballad"], knobs=knobs, limit=10):
        assert prompt.spec[key] == value
        find_verifier(prompt.verifier).check_spec(prompt.spec)
