from __future__ import annotations

from itertools import islice

import pytest

from learnable.verifiers.families.registry import DEFAULT_FAMILIES
from learnable.verifiers.poetry.family import verse_scheme
from learnable.verifiers.poetry.forms import constrain_form, find_form, poem_forms, requirement

POETRY = DEFAULT_FAMILIES["poetry"]


def draw(form, count):
    return list(islice(POETRY.generate(form, 1, POETRY.knobs()), count))


def test_what_a_spec_pins_the_prompt_says():
    forms = [name for name, form in poem_forms().items() if form.is_reward]
    assert len(forms) >= 200
    for prompt in (prompt for form in forms for prompt in draw(form, 100)):
        for scheme in prompt.spec.get("schemes", ()):
            assert f"rhyming {scheme}" in prompt.text
        if "lines" in prompt.spec:
            assert requirement(constrain_form(find_form(prompt.form), prompt.spec)) in prompt.text
        assert prompt.spec["topic"] in prompt.text.split() or f"{prompt.spec['topic']}." in prompt.text.replace(
            ",", "."
        )


def test_requirements_follow_the_declaration():
    assert requirement(find_form("limerick")) == "5 lines of about 8, 8, 5, 5 and 8 syllables rhyming aabba"
    verse = constrain_form(find_form("verse"), {"lines": 1, "syllables": 6, "tolerance": 1})
    assert requirement(verse) == "1 line of about 6 syllables"


def test_verses_differ_in_difficulty():
    ratings = [prompt.difficulty for prompt in draw("Verse", 200)]
    assert max(ratings) - min(ratings) > 3


@pytest.mark.parametrize(
    ("rhyme", "lines", "scheme"),
    [("couplets", 6, "aabbcc"), ("alternate", 8, "ababcdcd"), ("same", 3, "aaa"), ("couplets", 3, ""), ("", 4, "")],
)
def test_verse_schemes(rhyme, lines, scheme):
    assert verse_scheme(rhyme, lines) == scheme
