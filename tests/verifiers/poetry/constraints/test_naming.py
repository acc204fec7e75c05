"""Names of persons: what handbooks call a clerihew's first line, and capitals that name nobody."""

from __future__ import annotations

import pytest

from learnable.verifiers.poetry.constraints.naming import names_person


@pytest.mark.parametrize(
    "line",
    [
        "Plato", "Sir Humphry Davy", "George the Third", "John Stuart Mill,", "The people of Spain think Cervantes",
        "It was a weakness of Voltaire's", "What I like about Clive", "I doubt if King John", "Dante Alighieri",
        "The art of Biography is known to old Blenkinsop", "Dr Seuss", "MRS. BEETON",
    ],
)  # fmt: skip
def test_a_person_is_named(line: str) -> None:
    assert names_person(line)


@pytest.mark.parametrize(
    "line",
    [
        "Whenever I go", "Potato", "The moon above the hill", "When I Was Young And The World Was Wide",
        "On Monday in May",
        "My cat and I", "Summer is in London now", "", "O Time, O Death", "The King of the hill",
    ],
)  # fmt: skip
def test_capitals_that_name_nobody(line: str) -> None:
    assert not names_person(line)
