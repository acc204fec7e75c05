"""Verse of today, which the model has not learned from, reads as language."""

from __future__ import annotations

import json

import pytest

from benchmarks.poetry.language import VERSE_OF_TODAY
from learnable.verifiers.poetry.verifier import examine

POEMS = [json.loads(line) for line in VERSE_OF_TODAY.read_text(encoding="utf-8").splitlines()]
SHORT = ("Haiku", "Cinquain")  # of so few words less can be told


@pytest.mark.parametrize(("is_short", "share"), [(True, 0.85), (False, 0.97)])
def test_verse_of_today_reads_as_language(is_short: bool, share: float) -> None:
    poems = [poem for poem in POEMS if (poem["form"] in SHORT) == is_short]
    fails = [poem for poem in poems if _fails_for_language(poem["form"], poem["lines"])]
    assert len(poems) > 60
    assert len(fails) <= (1 - share) * len(poems), fails


def _fails_for_language(form: str, lines: list[str]) -> bool:
    found = examine("\n".join(lines), "", {"form": form})
    return found is None or any(failure.startswith("language") for failure in found.failures)
