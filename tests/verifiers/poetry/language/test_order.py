"""Lines out of order are remarked on where the last one stops within a sentence, and nothing else comes of it."""

from __future__ import annotations

import pytest

from learnable.verifiers.poetry.explanation import explain_poem
from learnable.verifiers.poetry.language.order import OUT_OF_ORDER, remark_on_order
from learnable.verifiers.registry import find_verifier

POEM = """\
The kettle clicks. You hand me back my keys
And say the car will need new brakes by spring.
I watch the neighbour's washing in the breeze
And cannot think of any other thing.""".split("\n")
MOVED = [POEM[1], POEM[3], POEM[0], POEM[2]]


def test_a_poem_in_order_has_no_remark() -> None:
    assert not remark_on_order(POEM)
    assert not remark_on_order([*POEM[:-1], POEM[-1][:-1] + '!"'])


def test_a_last_line_that_stops_within_a_sentence_has_one() -> None:
    assert remark_on_order(MOVED) == OUT_OF_ORDER


@pytest.mark.parametrize("lines", [[], POEM[:1], POEM[:3], [line.strip(".,") for line in POEM]])
def test_few_lines_and_verse_without_stops_have_none(lines: list[str]) -> None:
    assert not remark_on_order(lines)


def test_it_is_told_in_the_reason_and_in_the_hints_and_decides_nothing() -> None:
    spec = {"form": "Verse", "lines": 4, "syllables": 10, "tolerance": 1}
    first, moved = (find_verifier("poetry").score("\n".join(found), prompt="", spec=spec) for found in (POEM, MOVED))
    assert (moved.reward, moved.passed) == pytest.approx((first.reward, first.passed), abs=0.02)
    assert not first.reason
    assert OUT_OF_ORDER in (moved.reason or "")
    assert OUT_OF_ORDER in explain_poem("\n".join(MOVED), spec).hints
