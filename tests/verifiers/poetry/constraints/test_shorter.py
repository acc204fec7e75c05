"""Lines that the form wants shorter than others: by their readings, the nearest to what it wants."""

from __future__ import annotations

import pytest

from learnable.verifiers.poetry.constraints.case import PoemCase
from learnable.verifiers.poetry.constraints.lengths import judge_shorter
from learnable.verifiers.poetry.forms import form_of_spec
from learnable.verifiers.poetry.forms.plan import plans
from learnable.verifiers.poetry.placement import place_lines
from learnable.verifiers.poetry.poem import read_poem


def shorter(first: str, second: str) -> float:
    """The credit of a first line of six syllables that shall be shorter than a second of eight."""
    declared = {"title": "mine", "lines": 2, "syllables": [6, 8], "shorter": ["1 < 2"], "schemes": ["xx"]}
    form = form_of_spec({"form": "Mine", "declaration": declared})
    poem, (plan,) = read_poem([[first, second]]), plans(form, 2)
    return judge_shorter(PoemCase(form, plan, poem, place_lines(poem, plan))).strict


@pytest.mark.parametrize(
    ("first", "second", "credit"),
    [
        ("a lamp upon the hill", "a lamp and then the moon above", 1.0),
        ("a lamp upon the hill", "a lamp upon a hill", 0.0),
        ("a lamp and then the moon above", "a lamp upon the hill", 0.0),
        ("a lamp upon the hill", "a lamp upon that old hill", 1.0),  # shorter in any reading
        ("a lamp upon heaven", "a lamp upon that old hill", 1.0),
        ("every lamp on the hill", "a lamp upon that old hill", 0.5),  # six, as the form wants, or seven
        ("heaven and every flower", "a lamp and then the moon above", 1.0),  # six to eight
    ],
)
def test_credit(first: str, second: str, credit: float) -> None:
    assert shorter(first, second) == credit
