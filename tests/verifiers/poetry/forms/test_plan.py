"""Forms laid out: which lines rhyme, which are the same, for a given length."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.verifiers.poetry.forms import constrain_form, find_form, poem_forms
from learnable.verifiers.poetry.forms.plan import NO_RHYME, FormPlan, plans

OPEN = [name for name, form in poem_forms().items() if form.is_reward and form.repeat is not None]


def layout(name: str, lines: int) -> FormPlan:
    return plans(constrain_form(find_form(name), {}), lines)[0]


def letters(plan: FormPlan) -> str:
    """The classes as letters in order of appearance."""
    names: dict[int, str] = {}
    for name in plan.classes:
        names.setdefault(name, "x" if name == NO_RHYME else chr(ord("a") + len(set(names) - {NO_RHYME})))
    return "".join(names[name] for name in plan.classes)


@pytest.mark.parametrize(
    ("name", "lines", "scheme"),
    [
        ("TerzaRima", 10, "ababcbcdcd"),
        ("TerzaRima", 11, "ababcbcdcdd"),
        ("Rubaiyat", 8, "aabaccdc"),
        ("Ghazal", 10, "aaxaxaxaxa"),
        ("Kyrielle", 12, "aabbccbbddbb"),
        ("Virelai", 18, "aabaabaabbbabbabba"),
        ("HeroicCouplet", 6, "aabbcc"),
        ("CaudateSonnet", 17, "abbaabbacdecdeeff"),
        ("Pantoum", 12, "ababbcbccaca"),
        ("Ballade", 28, "ababbcbc" * 3 + "bcbc"),
        ("Villanelle", 19, "aba" * 5 + "abaa"),
        ("Roundel", 11, "ababbabababab"[:0] + "abab" + "bab" + "abab"),
    ],
)
def test_schemes_of_any_length(name: str, lines: int, scheme: str) -> None:
    assert letters(layout(name, lines)) == scheme


def test_a_pantoum_ends_as_it_began() -> None:
    groups = set(layout("Pantoum", 12).groups)
    assert {(1, 4), (3, 6), (5, 8), (7, 10)} <= groups
    assert {(0, 11), (2, 9)} <= groups
    both = {frozenset(plan.groups) for plan in plans(find_form("Pantoum"), 12)}
    assert len(both) > 1  # the two closing lines may be swapped


def test_refrains_return_in_every_stanza() -> None:
    assert layout("Kyrielle", 16).groups == ((3, 7, 11, 15),)
    assert layout("Villanelle", 19).groups == ((0, 5, 11, 17), (2, 8, 14, 18))


@cache
def find_limits(name: str) -> tuple[int, int]:
    """The sizes that are taken for one line and for far too many."""
    form = constrain_form(poem_forms()[name], {})
    smallest, largest = (min(plan.size for plan in plans(form, size)) for size in (1, 100_000))
    return smallest, largest


@pytest.mark.parametrize("name", OPEN)
@given(lines=st.integers(1, 120))
def test_the_nearest_number_of_stanzas_is_taken(name: str, lines: int) -> None:
    form = constrain_form(poem_forms()[name], {})
    found = plans(form, lines)
    assert len({abs(plan.size - lines) for plan in found}) == 1
    unit = form.part_lines() or 1
    allowed = form.repeat_range()
    smallest, largest = find_limits(name)
    if smallest <= lines <= largest:
        assert abs(found[0].size - lines) <= (unit + 1) // 2
    assert sum(found[0].stanzas) == found[0].size
    assert allowed.start <= found[0].size


def test_a_spec_pins_the_number_of_stanzas() -> None:
    form = find_form("Ghazal")
    assert {plan.size for plan in plans(constrain_form(form, {"stanzas": 7}), 3)} == {14}
    assert {plan.size for plan in plans(constrain_form(find_form("Ballad"), {"stanzas": 3}), 40)} == {12}


def test_parameters_fill_letters() -> None:
    assert constrain_form(find_form("Acrostic"), {"word": "OCEAN"}).line_count == 5
    assert find_form("Acrostic").line_count == 4
