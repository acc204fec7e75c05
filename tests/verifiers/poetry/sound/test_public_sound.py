"""Syllables, stresses and rhymes against human annotation, where that public data is at hand."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.poetry.rhyme import schemes, walker
from benchmarks.poetry.run import DATA
from benchmarks.poetry.sound import scansion, syllables

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no public data in {DATA}")


def test_syllables_and_stresses_agree_with_annotators() -> None:
    figures: dict[str, Any] = syllables(DATA) | scansion(DATA)
    for name, least in {
        "litlab: target reachable": 0.94,
        "4B4V: target reachable": 0.94,
        "litlab: exact, metre class known": 0.86,
        "4B4V: syllables right, first reading, lengths agreeing": 0.88,
    }.items():
        assert figures[name] >= least, name
    assert figures["litlab: reachable counts a line"] < 2
    assert figures["litlab: target reachable"] > figures["litlab: pronouncing, then syllables"]


def test_rhymes_agree_with_annotators() -> None:
    figures = schemes(DATA)
    assert figures["all: pairs F1"] >= 0.93
    assert figures["all: pairs F1"] > figures["pronouncing, all: pairs F1"]
    assert walker(DATA)["pairs of other classes that are full"] < 0.01
