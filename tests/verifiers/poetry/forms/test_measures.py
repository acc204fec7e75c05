"""Forms with several measures, short lines and kinds of endings: as they are read, laid out and asked for."""

from __future__ import annotations

from itertools import islice

import pytest

from learnable.verifiers.families.prompts import builtin_prompts
from learnable.verifiers.poetry.family import PLAIN_PROMPTS
from learnable.verifiers.poetry.forms import find_form, requirement
from learnable.verifiers.poetry.forms.plan import measured_plans
from learnable.verifiers.poetry.forms.reading import FormKeyError, read_form


@pytest.mark.parametrize(
    ("key", "value"),
    [("measures", [[8, 6]]), ("measures", ["ten"]), ("shorter", "3 > 1"), ("endings", "fmq"), ("endings", "fm")],
)
def test_a_wrong_value_is_an_error_that_names_the_key(key: str, value: object) -> None:
    table = {"title": "song", "schemes": ["abab"], "syllables": 8, key: value}
    with pytest.raises(FormKeyError) as error:
        read_form("Song", table)
    assert key in str(error.value)


def test_a_plan_stands_beside_its_like_in_each_measure() -> None:
    form = find_form("Quatrain")
    for first, *others in measured_plans(form, 4):
        assert [plan.syllables for plan in others] == [(measure * 4)[:4] for measure in form.measures]
        assert {plan.classes for plan in others} == {first.classes}


def test_stanzas_may_be_linked_or_not() -> None:
    classes = {plan[0].classes for plan in measured_plans(find_form("Rubaiyat"), 8)}
    assert {(0, 0, 1, 0, 2, 2, 3, 2), (0, 0, 1, 0, 1, 1, 2, 1)} == {_renumbered(found) for found in classes}


def _renumbered(classes: tuple[int, ...]) -> tuple[int, ...]:
    order = list(dict.fromkeys(classes))
    return tuple(map(order.index, classes))


def test_a_prompt_names_every_measure_and_pins_the_one_that_it_names_alone() -> None:
    assert "8 syllables or of about 10 syllables" in requirement(find_form("Ballade"))
    for prompt in islice(builtin_prompts(forms=["Couplet"]), 60):
        assert ("10 syllables" in prompt.text) is ("syllables" in prompt.spec)
        assert prompt.spec.get("syllables", [10, 10]) == [10, 10]
    assert PLAIN_PROMPTS
