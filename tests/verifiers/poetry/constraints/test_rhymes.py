"""The rhymes of a poem against those of its form."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.verifiers.poetry.constraints import CONSTRAINTS
from learnable.verifiers.poetry.constraints.case import PoemCase
from learnable.verifiers.poetry.constraints.rhymes import (
    find_unanswered,
    hear_case,
    hear_pairs,
    hear_rhyme,
    judge_rhyme,
    judge_unrhymed,
)
from learnable.verifiers.poetry.forms import form_of_spec
from learnable.verifiers.poetry.forms.plan import plans
from learnable.verifiers.poetry.placement import place_lines
from learnable.verifiers.poetry.poem import read_poem
from learnable.verifiers.poetry.rhyme.pairs import FULL_RHYME
from learnable.verifiers.poetry.sound.lexicon import load_lexicon

ENDS = st.sampled_from(
    "light night tonight knight moon june silver singing morning zzight zrun time rhyme a the".split()
)


ODD_ENDS = ["azzight", "pzzight", "zz", "b4", "x", "heav'n", "wing\u00e8d", ""]


ANY_ENDS = st.deferred(lambda: st.sampled_from([*sorted(load_lexicon().entries)[::20], *ODD_ENDS]))


def heard(ends: list[str], scheme: str) -> tuple[float, float]:
    form = form_of_spec({"form": "Mine", "declaration": {"title": "mine", "lines": len(scheme), "schemes": [scheme]}})
    poem, (plan,) = read_poem([[f"so {end}" for end in ends]]), plans(form, len(scheme))
    return judge_rhyme(PoemCase(form, plan, poem, place_lines(poem, plan)))


@given(st.lists(ANY_ENDS, max_size=14))
def test_the_pairs_heard_are_those_that_rhyme_or_repeat(ends: list[str]) -> None:
    pairs = [(i, j, *hear_rhyme(ends[i], ends[j])) for i, j in combinations(range(len(ends)), 2)]
    assert hear_pairs(ends) == [pair for pair in pairs if pair[2] or pair[4]]


@given(st.lists(ENDS, min_size=1, max_size=8))
def test_rhyme_is_a_share(ends: list[str]) -> None:
    smooth, strict = heard(ends, "abab")
    assert 0.0 <= strict <= 1.0
    assert 0.0 <= smooth <= 1.0


def test_only_the_right_order_of_rhymes_is_perfect() -> None:
    ends = ["light", "moon", "night", "tune"]
    perfect = {order for order in permutations(ends) if heard(list(order), "abab") == (FULL_RHYME, FULL_RHYME)}
    assert all({order[0], order[2]} in ({"light", "night"}, {"moon", "tune"}) for order in perfect)
    assert len(perfect) == 8


def test_unrhymed_lines_must_not_rhyme() -> None:
    assert heard(["light", "moon", "stone", "june"], "abcb")[1] == 1.0
    assert heard(["light", "moon", "night", "june"], "abcb")[1] < 1.0


def test_lines_beyond_the_scheme_dilute_it() -> None:
    assert heard(["light", "night", "stone"], "aa")[0] == pytest.approx(2 / 3)


def judged(form: str, lines: list[str]) -> PoemCase:
    declared, poem = form_of_spec({"form": form}), read_poem([lines])
    plan = plans(declared, len(lines))[0]
    return PoemCase(declared, plan, poem, place_lines(poem, plan))


def test_a_feminine_rhyme_may_end_on_one_word_twice() -> None:
    lines = [
        "and what is mine, I show it",
        "a lamp beside the door",
        "to you, for I bestow it",
        "a lamp upon the floor",
    ]
    declared = form_of_spec(
        {"form": "Mine", "declaration": {"title": "mine", "lines": 4, "schemes": ["abab"], "syllables": "6-7"}}
    )
    poem, (plan,) = read_poem([lines]), plans(declared, 4)
    case = PoemCase(declared, plan, poem, place_lines(poem, plan))
    assert not find_unanswered(case, hear_case(case))
    assert judge_rhyme(case).strict == 1.0


BLANK = "river mountain evening shadow morning garden letter window kitchen summer table".split()


@pytest.mark.parametrize(
    ("changed", "stands"),
    [
        ({}, True),
        ({1: "night", 3: "light", 8: "stone", 10: "alone"}, True),  # two chance rhymes in eleven lines
        ({1: "night", 3: "night", 5: "night"}, True),  # a word said again
        ({1: "night", 3: "light", 5: "stone", 7: "alone", 8: "day", 10: "away"}, False),
        (dict.fromkeys(range(11), "night"), False),
    ],
)
def test_blank_verse_may_rhyme_by_chance(changed: dict[int, str], stands: bool) -> None:
    ends = [changed.get(index, word) for index, word in enumerate(BLANK)]
    found = judge_unrhymed(judged("BlankVerse", [f"and then the {end}" for end in ends])).strict
    assert (found >= (CONSTRAINTS["unrhymed"].needs or FULL_RHYME)) is stands
