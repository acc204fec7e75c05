"""The judge: lines are placed before they are judged, and specs change what is judged."""

from __future__ import annotations

from itertools import pairwise

import pytest

from learnable.data.records import Score
from learnable.verifiers.poetry.forms import constrain_form, find_form
from learnable.verifiers.poetry.forms.plan import plans
from learnable.verifiers.poetry.placement import place_lines
from learnable.verifiers.poetry.poem import read_poem
from learnable.verifiers.registry import find_verifier
from tests.verifiers.poetry.poems_for_tests import build_poem, without_language


def judged(text: str, **spec: object) -> Score:
    find_verifier("poetry").check_spec(spec)
    return find_verifier("poetry").score(text, prompt="", spec=spec)


def built(name: str) -> list[str]:
    return [line for line in build_poem(constrain_form(find_form(name), {}), 1).split("\n") if line]


@pytest.mark.parametrize("name", ["ShakespeareanSonnet", "Villanelle", "Rondeau", "Etheree", "Limerick"])
def test_a_missing_line_costs_one_line_wherever_it_is(name: str) -> None:
    lines = built(name)
    whole = judged("\n".join(lines), **without_language(name))
    for index in range(len(lines)):
        score = judged("\n".join([*lines[:index], *lines[index + 1 :]]), **without_language(name))
        assert not score.passed
        if "syllables" in whole.components and name != "Limerick":
            assert score.components["syllables"] >= whole.components["syllables"] - 1.5 / len(lines)


def test_an_added_line_is_left_out_of_the_alignment() -> None:
    lines = built("Etheree")
    plan = plans(find_form("Etheree"), 11)[0]
    slots = place_lines(read_poem([[*lines[:4], "something else that is far too long for here", *lines[4:]]]), plan)
    assert slots == (0, 1, 2, 3, 5, 6, 7, 8, 9, 10)


def test_stanza_breaks_in_the_right_place_earn_most_and_none_is_no_fault() -> None:
    poem = build_poem(constrain_form(find_form("Villanelle"), {}), 1)
    lines = [line for line in poem.split("\n") if line]
    spec = without_language("Villanelle")
    right, flat = judged(poem, **spec), judged("\n".join(lines), **spec)
    wrong = judged("\n".join([*lines[:8], "", *lines[8:10], "", *lines[10:]]), **spec)
    assert right.reward is not None
    assert flat.reward is not None
    assert wrong.reward is not None
    assert right.reward > flat.reward > wrong.reward
    assert right.passed
    assert flat.passed
    assert not wrong.passed


def test_only_the_chosen_components_count_and_the_language() -> None:
    poem = "\n".join(built("Rondelet"))
    chosen = {"asked": ["syllables"]}
    score = judged(poem, form="Rondelet", **chosen)
    assert set(score.components) == {"lines", "syllables", "language", "validity"}
    score = judged(poem, **without_language("Rondelet"), **chosen)
    assert set(score.components) == {"lines", "syllables", "validity"}


def test_a_declaration_in_the_spec_is_judged() -> None:
    spec = {"form": "Lantern", "declaration": {"title": "lantern", "syllables": [1, 2, 3, 4, 1]}}
    assert judged("lamp\nyellow\nin the dark\na window waits\nhome", **spec).passed
    assert not judged("lamp\nyellow\nin the dark\na window\nhome", **spec).passed


def test_a_form_may_need_more_language_and_its_reward_asks_for_as_much() -> None:
    poem = "The baker sweeps the flour from the floor\nand hangs his apron on the kitchen door"

    def read(**defining: float) -> Score:
        return judged(poem, form="Pair", declaration={"title": "pair", "syllables": [10, 10], "defining": defining})

    usual, strict, none = read(), read(language=1.0), read(language=0.0)
    assert [one.passed for one in (usual, strict, none)] == [True, False, True]
    assert strict.components["language"] < usual.components["language"] == none.components["language"]


def test_no_line_is_said_twice_running_where_syllables_are_counted() -> None:
    lines, spec = built("ReverseEtheree"), without_language("ReverseEtheree")
    assert judged("\n".join(lines), **spec).passed
    found = judged("\n".join([lines[0], lines[0], *lines[2:]]), **spec)
    assert "a line is said again" in (found.reason or "")
    assert not found.passed


def test_a_form_may_want_a_line_twice_running() -> None:
    lines = built("BluesPoem")
    assert any(one == other for one, other in pairwise(lines))
    assert "a line is said again" not in (judged("\n".join(lines), **without_language("BluesPoem")).reason or "")
