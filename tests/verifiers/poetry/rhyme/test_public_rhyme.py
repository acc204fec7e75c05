"""The judge's rhyme and the schemes of explanations on human verse, where it is at hand; and on authors left out."""

from __future__ import annotations

import pytest

from benchmarks.poetry.held_out import judged_pairs, kinds_left_out, learn_odds, read_stanzas
from benchmarks.poetry.run import DATA
from learnable.verifiers.poetry.rhyme.schemes import ODDS

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no public data in {DATA}")


def test_the_judge_hears_most_rhymes_of_human_verse() -> None:
    found = judged_pairs(DATA)
    assert found["judge, pairs F1"] > 0.93
    assert found["judge, pairs precision"] > 0.95
    assert found["judge, pairs of different words F1"] > 0.94


def test_no_kind_of_rhyme_is_one_authors() -> None:
    found = kinds_left_out(DATA)
    assert found["judge, pairs F1"] - found["judge, pairs F1, kinds from other authors"] < 0.002


def test_the_odds_are_those_that_are_learned_and_no_unit_is_one_authors() -> None:
    assert learn_odds([*read_stanzas(DATA)]) == ODDS
    assert not {"abababcc", "ababbcbcc"} & set(ODDS.units)  # in this verse Byron's and, but for two stanzas, Spenser's
