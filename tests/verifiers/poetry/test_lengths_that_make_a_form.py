"""Poems in each measure that a form may have, and poems whose short lines are as long as the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from learnable.data.records import Score
from learnable.verifiers.poetry.forms import Count, Form, constrain_form, poem_forms, span
from learnable.verifiers.poetry.forms.coordinates import parse_comparison, place_pairs
from learnable.verifiers.registry import find_verifier
from tests.verifiers.poetry.poems_for_tests import build_poem, without_language

FORMS = poem_forms()
SEEDS = range(8)
MEASURES = [(name, measure) for name, form in FORMS.items() for measure in form.measures]
UNEVEN = [name for name, form in FORMS.items() if form.shorter]


def judged(name: str, poem: str) -> Score:
    return find_verifier("poetry").score(poem, prompt="", spec=without_language(name))


def judged_first(name: str, form: Form) -> list[Score]:
    """The scores of the poems of all seeds."""
    return [judged(name, build_poem(form, seed)) for seed in SEEDS]


def put_lengths(form: Form, syllables: tuple[Count, ...]) -> Form:
    """Return a form of other lengths, whose feet follow from them."""
    changed = replace(
        constrain_form(form, {}), syllables=syllables, feet=(), measures=(), shorter=(), pass_syllables=()
    )
    return replace(changed, template=())


def written(counts: tuple[Count, ...]) -> list[int | str]:
    return [count if isinstance(count, int) else f"{count[0]}-{count[1]}" for count in counts]


def level(form: Form) -> Form:
    """Return the form with its short lines as long as the lines that they should be shorter than."""
    lengths = list(form.syllables if len(form.syllables) > 1 else form.syllables * (form.part_lines() or 1))
    size = len(lengths)
    around = sum(form.opening.stanzas) if form.opening is not None else 0
    for rule in form.shorter:
        for one in parse_comparison(rule)[0]:
            for other in parse_comparison(rule)[1]:
                sizes = (*(form.opening.stanzas if form.opening else ()), *(form.stanzas or (size,)))
                for i, j in place_pairs(one, other, sizes):
                    lengths[i - around] = max(
                        lengths[i - around], lengths[j - around], key=lambda count: span(count)[1]
                    )
    return put_lengths(form, tuple(lengths))


@pytest.mark.parametrize(("name", "measure"), MEASURES, ids=[f"{name} {measure[0]}" for name, measure in MEASURES])
def test_a_poem_in_another_measure_is_as_good(name: str, measure: tuple[Count, ...]) -> None:
    scores = judged_first(name, put_lengths(FORMS[name], measure))
    best = max(scores, key=lambda score: score.reward or 0.0)
    assert best.passed, best
    assert (best.reward or 0.0) > 0.8


@pytest.mark.parametrize("name", UNEVEN)
def test_short_lines_as_long_as_the_others_are_another_form(name: str) -> None:
    good = max(score.reward or 0.0 for score in judged_first(name, constrain_form(FORMS[name], {})))
    for score in judged_first(name, level(FORMS[name])):
        assert not score.passed
        assert (score.reward or 0.0) < good


@pytest.mark.parametrize("name", [name for name, form in FORMS.items() if form.measures])
def test_a_prompt_that_names_a_length_wants_no_other(name: str) -> None:
    form = FORMS[name]
    named = constrain_form(form, {"syllables": written(form.syllables)})
    assert form.measures
    assert not named.measures
    assert named.feet == form.feet
    assert not constrain_form(form, {"syllables": written(form.measures[0])}).feet
