"""Human verse and known tricks, where that public data is at hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.poetry.mutations import UNNOTICED, mutations
from learnable.verifiers.poetry.forms import find_form, poem_forms
from learnable.verifiers.registry import find_verifier
from tests.support.paths import PUBLIC_DATA

DATA = PUBLIC_DATA / "poetry"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no public data in {DATA}")


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def test_no_trick_passes() -> None:
    verifier = find_verifier("poetry")
    tricks = [row for row in rows("hacks.jsonl") if row["form"] in poem_forms()]
    scores = {row["hack"]: verifier.score(row["text"], prompt="", spec={"form": row["form"]}) for row in tricks}
    assert len(scores) >= 8
    assert not [hack for hack, score in scores.items() if score.passed]
    assert max(score.reward or 0.0 for score in scores.values()) < 0.6
    assert sum((score.reward or 0.0) >= 0.5 for score in scores.values()) <= 1


def test_most_of_shakespeares_sonnets_pass() -> None:
    verifier = find_verifier("poetry")
    scores = [
        verifier.score("\n".join(row["lines"]), prompt="", spec={"form": "Shakespearean Sonnet"})
        for row in rows("shakespeare_sonnets.jsonl")
    ]
    assert sum(bool(score.passed) for score in scores) / len(scores) > 0.9


def test_a_sonnet_is_no_other_form() -> None:
    verifier = find_verifier("poetry")
    text = "\n".join(rows("shakespeare_sonnets.jsonl")[0]["lines"])
    for name in poem_forms():
        if "Sonnet" not in name and find_form(name).line_count:
            assert not verifier.score(text, prompt="", spec={"form": name}).passed


def test_damage_costs_reward_and_what_breaks_the_form_fails() -> None:
    found = mutations(DATA, every=4)
    assert found["poems"] > 200
    assert sum(count for name, count in found.items() if name.endswith(UNNOTICED)) <= 2  # of some 6,000
    fatal = ("drop a line", "add junk", "break a rhyme", "swap a refrain", "alter a refrain")
    assert [found.get(f"{kind}: pass", 0) for kind in fatal] == [0] * len(fatal)
    assert found["repeat a line: pass"] < 0.01 * found["repeat a line: mutants"]
