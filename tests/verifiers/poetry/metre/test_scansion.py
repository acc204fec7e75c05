"""Lines against metres: by hand, by brute force, and by the laws."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learnable.data.errors import LearnableError
from learnable.verifiers.poetry.metre.alignment import align
from learnable.verifiers.poetry.metre.costs import find_metre_cost, price_words
from learnable.verifiers.poetry.metre.fit import credit_metre
from learnable.verifiers.poetry.metre.metres import METRES, OFF_BEAT, ON_BEAT, WRONG_FEET, Metre
from learnable.verifiers.poetry.metre.scansion import scan
from learnable.verifiers.poetry.metre.stress import find_line_readings, find_readings

WORDS = st.lists(
    st.sampled_from("the a moon and silver upon heaven remember fire of not delight glorious xqzt th'".split()),
    min_size=1,
    max_size=5,
)
NAMES = st.sampled_from(list(METRES))
BRUTE_FORCE = settings().max_examples // 4  # examples: each is compared with thousands of placings


def brute_force(words: list[str], metre: Metre, feet: int | None) -> float:
    """Return the least cost over every reading and every placing of beats, one after the other."""
    costs = []
    for said in product(*find_line_readings(words)):
        letters = "".join(reading.syllables for reading in said)
        for marks in product("+-", repeat=len(letters)):
            costs.append(sum(reading.cost for reading in said) + add_costs(letters, "".join(marks), metre, feet))
    return min(costs)


def add_costs(letters: str, marks: str, metre: Metre, feet: int | None) -> float:
    first, *between, last = map(len, marks.split("+")) if "+" in marks else (9, 9)
    if max(first, last, *between) > 2:
        return float("inf")
    cost = metre.opening[first] + sum(metre.between[gap] for gap in between) + metre.closing[last]
    cost -= metre.inversion if marks.startswith("+--+") else 0.0
    if marks.endswith(("+-+", "+-+-")):
        cost += metre.hurried if last else metre.cramped
    cost += sum((ON_BEAT if mark == "+" else OFF_BEAT)[letter] for letter, mark in zip(letters, marks, strict=True))
    return cost + (WRONG_FEET * abs(marks.count("+") - feet) if feet else 0.0)


@settings(max_examples=BRUTE_FORCE)
@given(WORDS.filter(lambda words: set(words) != {"th'"}), st.sampled_from(["trochaic", "anapaestic"]))
def test_no_other_placing_of_beats_is_cheaper(words: list[str], name: str) -> None:
    metre = METRES[name]
    assert align(tuple(words), metre).cost == pytest.approx(brute_force(words, metre, None))


@settings(max_examples=BRUTE_FORCE)
@given(WORDS.filter(lambda words: set(words) != {"th'"}), st.sampled_from(["iambic", "trochaic", "anapaestic"]))
def test_the_fast_cost_is_the_cost_of_the_best_placing(words: list[str], name: str) -> None:
    assert find_metre_cost(price_words(words), METRES[name], 16) == pytest.approx(brute_force(words, METRES[name], 16))


@given(WORDS, st.none() | NAMES)
def test_a_scansion_has_a_mark_for_each_syllable(words: list[str], metre: str | None) -> None:
    found = scan(words, metre)
    lengths = {0}
    for options in find_line_readings(words):
        lengths = {total + len(reading.syllables) for total in lengths for reading in options}
    assert len(found.stress) == found.syllables
    assert found.syllables in lengths
    assert set(found.stress) <= {"+", "-"}
    assert found.metre == (metre or found.metre)


@given(WORDS, NAMES, st.integers(1, 8))
def test_credit_is_a_share(words: list[str], metre: str, feet: int) -> None:
    assert 0.0 <= credit_metre(words, metre, feet) <= 1.0


@pytest.mark.parametrize(
    ("line", "metre", "stress"),
    [
        ("a lantern burns above the silent bay", "iambic", "-+-+-+-+-+"),
        ("morning returns to find the window wide", "iambic", "+--+-+-+-+"),
        ("a lantern burns above the silent harbor", "iambic", "-+-+-+-+-+-"),
        ("golden shadows cross the meadow", "trochaic", "+-+-+-+-"),
        ("silver the river and quiet the valley", "dactylic", "+--+--+--+-"),
        ("in the dusk of the garden a lantern is lit", "anapaestic", "--+--+--+--+"),
        ("a sailor was dreaming of silver and amber", "amphibrachic", "-+--+--+--+-"),
    ],
)
def test_lines_by_hand(line: str, metre: str, stress: str) -> None:
    words = line.split()
    assert scan(words, metre).stress == stress
    assert scan(words).metre == metre
    assert credit_metre(words, metre, stress.count("+")) > 0.9


def test_a_performance_stresses_nouns_off_the_beat_and_not_articles() -> None:
    words = "a long street climbs to one tall hill".split()
    assert scan(words, "iambic").stress == "-+-+-+-+"
    assert scan(words).stress == "-+++-+++"


def test_the_wrong_metre_and_length_earn_less() -> None:
    words = "a lantern burns above the silent bay".split()
    right = credit_metre(words, "iambic", 5)
    assert right > 0.99
    assert max(credit_metre(words, "iambic", 3), credit_metre(words, "anapaestic", 4)) < 0.8 * right


def test_no_words_have_no_metre() -> None:
    assert (scan([]).stress, credit_metre([], "iambic", 5)) == ("", 0.0)
    assert scan(["th'"]).stress == ""
    assert credit_metre(["th'"], "iambic", 5) == 0.0


def test_anapestic_is_anapaestic_and_an_unknown_metre_an_error() -> None:
    assert scan(["moon"], "Anapestic").metre == "anapaestic"
    with pytest.raises(LearnableError, match=r"metre 'galloping' is unknown; give one of iambic, "):
        scan(["moon"], "galloping")


@pytest.mark.parametrize(
    ("word", "first"),
    [("the", "a"), ("moon", "c"), ("upon", "uF"), ("eternity", "uPuU"), ("delight", "uP"), ("not", "n")],
)
def test_syllables_have_the_class_of_their_word(word: str, first: str) -> None:
    assert find_readings(word)[0].syllables == first


def test_a_long_line_is_judged_by_its_beginning() -> None:
    assert scan(["moon"] * 500, "iambic").syllables == 40
