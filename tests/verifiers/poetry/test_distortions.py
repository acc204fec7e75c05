"""Damage to metre and sense: what makes it does so, and it costs reward."""

from __future__ import annotations

import random
from itertools import chain

import pytest

from benchmarks.poetry import mutations
from benchmarks.poetry.data import human_poems
from benchmarks.poetry.mutations import (
    DISTORTIONS,
    HALF,
    SALAD,
    UNNOTICED,
    distort,
    distortions,
    drop_foot,
    exchange_stresses,
    is_regular,
    write_prose,
)
from benchmarks.poetry.salads import Pantry
from learnable.verifiers.poetry.forms import find_form
from learnable.verifiers.poetry.sound.pronunciation import find_line_counts
from learnable.verifiers.registry import find_verifier
from tests.support.paths import PUBLIC_DATA
from tests.verifiers.poetry.test_mutations import good_poems

DATA = PUBLIC_DATA / "poetry"
PANTRY = Pantry(tuple(word for poem in good_poems().values() for line in poem for word in line.lower().split()))
LINE = ("the", "winter", "evening", "settles", "on", "the", "town")

needs_verse = pytest.mark.skipif(not DATA.is_dir(), reason=f"no public data in {DATA}")


def test_exchanged_stresses_keep_words_and_end() -> None:
    changed = exchange_stresses(LINE)
    assert sorted(changed) == sorted(LINE)
    assert changed[-1] == LINE[-1]
    assert is_regular(LINE)
    assert not is_regular(changed)


def test_a_dropped_foot_has_its_syllables() -> None:
    shorter = drop_foot(LINE, 2)
    assert shorter == ("the", "evening", "settles", "on", "the", "town")
    assert max(find_line_counts(shorter)) == max(find_line_counts(LINE)) - 2
    assert drop_foot(("unimaginably", "long"), 2) == ()


def test_prose_ends_as_the_line_and_is_about_as_long() -> None:
    prose = write_prose(LINE)
    assert prose[-1] == LINE[-1]
    assert min(abs(one - other) for one in find_line_counts(prose) for other in find_line_counts(LINE)) <= 1


def count_salads(form: str, kind: str) -> list[bool]:
    """Return for each salad of a poem of our own whether its reward is no lower."""
    poem, verifier = good_poems()[form], find_verifier("poetry")
    made = [*distort(find_form(form), poem, PANTRY, random.Random(3))]
    assert {one for one, _ in made} <= set(DISTORTIONS)
    whole, *rewards = (
        verifier.score("\n".join(lines), prompt="", spec={"form": form}).reward or 0.0
        for lines in (poem, *(lines for one, lines in made if one == kind))
    )
    return [reward >= whole for reward in rewards]


@pytest.mark.parametrize("form", sorted(good_poems()))
def test_half_a_poem_of_salad_costs_reward(form: str) -> None:
    assert not any(count_salads(form, HALF))


def test_a_line_of_salad_costs_reward_unless_it_reads_better_by_chance() -> None:
    unnoticed = [one for form in good_poems() for one in count_salads(form, SALAD)]
    assert len(unnoticed) > 30
    assert sum(unnoticed) <= len(unnoticed) / 15


def test_only_forms_with_a_metre_have_their_metre_damaged() -> None:
    haiku = {kind for kind, _ in distort(find_form("Haiku"), good_poems()["Haiku"], PANTRY, random.Random(3))}
    sonnet = {kind for kind, _ in distort(find_form("Sonnet"), good_poems()["Sonnet"], PANTRY, random.Random(3))}
    assert haiku == {SALAD, HALF}
    assert sonnet == set(DISTORTIONS)


@needs_verse
def test_damage_to_metre_and_sense_costs_reward_in_human_verse() -> None:
    found = distortions(DATA, every=40)
    assert found["poems"] > 15
    for kind in DISTORTIONS:
        assert found[f"{kind}: mutants"] >= (1 if kind == HALF else 5) * found["poems"] // 2
    assert found[f"{HALF}: {UNNOTICED}"] == 0
    # A line of salad may scan better than the poet's.
    assert found[f"{SALAD}: {UNNOTICED}"] <= 0.03 * found[f"{SALAD}: mutants"]
    assert sum(found[f"{kind}: {UNNOTICED}"] for kind in DISTORTIONS) < 0.1 * sum(
        found[f"{kind}: mutants"] for kind in DISTORTIONS
    )


@needs_verse
def test_forms_named_as_metrical_exist() -> None:
    assert mutations.TERNARY <= mutations.METRICAL
    assert {find_form(name).name for name in chain(mutations.METRICAL, human_poems(DATA))} == mutations.METRICAL
