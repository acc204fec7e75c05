"""How lines end: on a stressed syllable or on an unstressed one."""

from __future__ import annotations

import pytest

from learnable.verifiers.poetry.constraints.sounds import find_endings


@pytest.mark.parametrize(
    ("line", "endings"),
    [
        ("beside the river", "f"), ("upon the hill", "m"), ("he walked away", "m"), ("lost in memory", "m"),
        ("nobody could have found it", "fm"), ("the water of it", "m"), ("a tower of stone", "m"),
        ("his own undoing", "f"), ("the river mm", "f"), ("mm", ""),  # without a vowel it is no syllable
        ("", ""),
    ],
)  # fmt: skip
def test_masculine_and_feminine_endings(line: str, endings: str) -> None:
    assert "".join(sorted(find_endings(tuple(line.split())) - {"x"})) == endings
