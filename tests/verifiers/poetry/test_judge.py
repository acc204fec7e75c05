"""The judge: lines are placed before they are judged, and specs change what is asked."""

from __future__ import annotations

import pytest

from learnable.data.forms import constrain_form, find_form
from learnable.data.forms.plan import plans
from learnable.data.records import Score
from learnable.verifiers.poetry.extraction import poem_blocks
from learnable.verifiers.poetry.placement import align
from learnable.verifiers.poetry.poem import read_poem
from learnable.verifiers.protocol import SpecError
from learnable.verifiers.registry import find_verifier
from tests.verifiers.poetry.constructor import Builder

HAIKU = ["Rain on the tin roof", "the old cat turns in her sleep", "a door somewhere shuts"]


def judged(text: str, **spec: object) -> Score:
    find_verifier("poetry").check_spec(spec)
    return find_verifier("poetry").score(text, prompt="", spec=spec)


def built(name: str) -> list[str]:
    return [line for line in Builder(constrain_form(find_form(name), {}), 1).poem().split("\n") if line]


@pytest.mark.parametrize("name", ["ShakespeareanSonnet", "Villanelle", "Rondeau", "Etheree", "Limerick"])
def test_a_missing_line_costs_one_line_wherever_it_is(name: str) -> None:
    lines = built(name)
    whole = judged("\n".join(lines), form=name)
    for index in range(len(lines)):
        score = judged("\n".join([*lines[:index], *lines[index + 1 :]]), form=name)
        assert not score.passed
        if "syllables" in whole.components and name != "Limerick":
            assert score.components["syllables"] >= whole.components["syllables"] - 1.5 / len(lines)


def test_an_added_line_is_left_out_of_the_alignment() -> None:
    lines = built("Etheree")
    plan = plans(find_form("Etheree"), 11)[0]
    slots = align(read_poem([[*lines[:4], "something else that is far too long for here", *lines[4:]]]), plan)
    assert slots == (0, 1, 2, 3, 5, 6, 7, 8, 9, 10)


def test_stanza_breaks_in_the_right_place_earn_most_and_none_is_no_fault() -> None:
    poem = Builder(constrain_form(find_form("Villanelle"), {}), 1).poem()
    lines = [line for line in poem.split("\n") if line]
    right, flat = judged(poem, form="Villanelle"), judged("\n".join(lines), form="Villanelle")
    wrong = judged("\n".join([*lines[:8], "", *lines[8:10], "", *lines[10:]]), form="Villanelle")
    assert right.reward is not None
    assert flat.reward is not None
    assert wrong.reward is not None
    assert right.reward > flat.reward > wrong.reward
    assert right.passed
    assert flat.passed
    assert not wrong.passed


def test_what_is_asked_alone_counts() -> None:
    spec = {"form": "Rondelet", "asked": ["syllables"]}
    score = judged("\n".join(built("Rondelet")), **spec)
    assert set(score.components) == {"lines", "syllables", "validity"}


def test_a_declaration_in_the_spec_is_judged() -> None:
    spec = {"form": "Lantern", "declaration": {"title": "lantern", "syllables": [1, 2, 3, 4, 1]}}
    assert judged("lamp\nyellow\nin the dark\na window waits\nhome", **spec).passed
    assert not judged("lamp\nyellow\nin the dark\na window\nhome", **spec).passed


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"form": "Ode"}, "is no reward"),
        ({"form": "Haiku", "stanzas": 3}, "repeats no stanza"),
        ({"form": "Ghazal", "stanzas": 2}, "whole number from 5 to 15"),
        ({"form": "Haiku", "asked": ["metrics"]}, "no such component"),
        ({"form": "Mine", "declaration": {"title": "mine", "lins": 3}}, "'lins' is not known"),
        ({"form": "Mine", "declaration": "mine"}, "give the table"),
        ({"form": "Acrostic", "word": ""}, "non-empty"),
    ],
)
def test_a_spec_that_cannot_be_judged_is_told(spec: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        find_verifier("poetry").check_spec(spec)


@pytest.mark.parametrize(
    "around",
    [
        "{poem}",
        "Here is a haiku for you:\n\n{poem}",
        "Sure! Here's one\n\n{poem}",
        "# Rain\n\n{poem}",
        "**Rain**\n{poem}",
        "Title: Rain\n{poem}",
        "Rain at Night\n\n{poem}",
        "```text\n{poem}\n```",
        "{poem}\n\nI hope you like it!",
        "{poem}\n\nLet me know if you would like another.",
        "<think>five, seven, five</think>\n{poem}",
    ],
)
def test_what_stands_around_a_poem_is_no_line(around: str) -> None:
    text = around.format(poem="\n".join(HAIKU))
    assert poem_blocks(text) == [HAIKU]
    assert judged(text, form="Haiku").passed


@pytest.mark.parametrize(
    "around",
    [
        "Here is a haiku for you:\n{poem}",
        "{poem}\nI hope you like it!",
        "{poem}\n\n{poem}",
        "{poem}\n\nAnd now the wind as well",
        "One line more before it,\n\n{poem}",
    ],
)
def test_what_is_not_set_apart_is_a_line(around: str) -> None:
    text = around.format(poem="\n".join(HAIKU))
    assert not judged(text, form="Haiku").passed
