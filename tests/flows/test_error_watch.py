"""A spike of errors stops a run; a few errors, or a small run, do not."""

from __future__ import annotations

import pytest

from learnable.data.errors import LearnableError
from learnable.data.records import Score
from learnable.flows.error_watch import ErrorWatch

GOOD = Score(1.0, True)


def errors(count: int, reason: str = "RuntimeError: out of ink") -> list[Score]:
    return [Score.unscored(reason)] * count


def test_two_percent_is_not_over_two_percent() -> None:
    watch = ErrorWatch()
    watch.add([*errors(4), *[GOOD] * 196])
    with pytest.raises(LearnableError, match=r"5 of 200 scores in a row are errors \(2\.5%, over 2%\)"):
        watch.add([*errors(5), *[GOOD] * 195])


def test_a_chunk_is_judged_when_it_has_two_hundred_scores() -> None:
    watch = ErrorWatch()
    watch.add(errors(150))
    with pytest.raises(LearnableError, match="199 of 200"):
        watch.add([*errors(49), GOOD])


def test_each_chunk_is_judged_by_itself() -> None:
    watch = ErrorWatch()
    for _ in range(50):
        watch.add([GOOD] * 200)
    with pytest.raises(LearnableError, match="10 of 200"):
        watch.add([*errors(10), *[GOOD] * 190])


def test_the_three_most_common_reasons_are_named() -> None:
    spread = [*errors(9, "a"), *errors(30, "b"), *errors(20, "c"), *errors(5, "d"), *[GOOD] * 136]
    with pytest.raises(LearnableError) as stopped:
        ErrorWatch().add(spread)
    assert "30 x verifier_error: b; 20 x verifier_error: c; 9 x verifier_error: a." in str(stopped.value)
    assert "the same command goes on" in str(stopped.value)


def test_wrong_answers_and_cut_ones_are_no_errors() -> None:
    watch = ErrorWatch()
    watch.add([Score(0.0, False)] * 400)
    watch.add([Score(0.0, False, verdict="truncated")] * 400)
