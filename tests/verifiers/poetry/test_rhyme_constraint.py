"""The rhymes of a poem against those its form asks for."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.forms import form_of_spec
from learnable.data.forms.plan import plans
from learnable.verifiers.poetry.constraints.case import Case
from learnable.verifiers.poetry.constraints.rhymes import heard_pairs, rhyme, sound
from learnable.verifiers.poetry.placement import align
from learnable.verifiers.poetry.poem import read_poem
from learnable.verifiers.poetry.rhyme.pairs import FULL, Bond, bond, rhyme_credit, traits
from learnable.verifiers.poetry.sound.lexicon import lexicon

ENDS = st.sampled_from(
    "light night tonight knight moon june silver singing morning zzight zrun time rhyme a the".split()
)
ODD_ENDS = ["azzight", "pzzight", "zz", "b4", "x", "heav'n", "wing\u00e8d", ""]
ANY_ENDS = st.deferred(lambda: st.sampled_from([*sorted(lexicon().entries)[::20], *ODD_ENDS]))


def heard(ends: list[str], scheme: str) -> tuple[float, float]:
    form = form_of_spec({"form": "Mine", "declaration": {"title": "mine", "lines": len(scheme), "schemes": [scheme]}})
    poem, (plan,) = read_poem([[f"so {end}" for end in ends]]), plans(form, len(scheme))
    return rhyme(Case(form, plan, poem, align(poem, plan)))


@given(ANY_ENDS, ANY_ENDS)
def test_words_without_a_common_trait_do_not_rhyme(first: str, second: str) -> None:
    if traits(first).isdisjoint(traits(second)):
        assert bond(first, second) in (Bond.NONE, Bond.ASSONANCE, Bond.OPEN)
        assert rhyme_credit(first, second) == 0.0


@given(st.lists(ANY_ENDS, max_size=14))
def test_the_pairs_heard_are_those_that_rhyme_or_repeat(ends: list[str]) -> None:
    pairs = [(i, j, *sound(ends[i], ends[j])) for i, j in combinations(range(len(ends)), 2)]
    assert heard_pairs(ends) == [pair for pair in pairs if pair[2] or pair[4]]


@given(st.lists(ENDS, min_size=1, max_size=8))
def test_rhyme_is_a_share(ends: list[str]) -> None:
    smooth, strict = heard(ends, "abab")
    assert 0.0 <= strict <= 1.0
    assert 0.0 <= smooth <= 1.0


def test_only_the_right_order_of_rhymes_is_perfect() -> None:
    ends = ["light", "moon", "night", "tune"]
    perfect = {order for order in permutations(ends) if heard(list(order), "abab") == (FULL, FULL)}
    assert all({order[0], order[2]} in ({"light", "night"}, {"moon", "tune"}) for order in perfect)
    assert len(perfect) == 8


def test_unrhymed_lines_must_not_rhyme() -> None:
    assert heard(["light", "moon", "stone", "june"], "abcb")[1] == 1.0
    assert heard(["light", "moon", "night", "june"], "abcb")[1] < 1.0


def test_lines_beyond_the_scheme_dilute_it() -> None:
    assert heard(["light", "night", "stone"], "aa")[0] == pytest.approx(2 / 3)
