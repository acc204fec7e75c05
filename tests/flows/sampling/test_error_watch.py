"""A verifier that fails from the start, or hangs, stops a run; so does a spike of errors. A few errors do not."""

from __future__ import annotations

import itertools

import pytest

from learnable.data.errors import LearnableError
from learnable.data.records import Score
from learnable.flows.sampling.error_watch import ErrorWatch, FailingVerifierError
from learnable.verifiers.pool.jobs import ScoreJob, time_out_score

GOOD = Score(1.0, True)
BAD = Score.unscored("RuntimeError: out of ink")
LATE = time_out_score(3)
NUMBERS = itertools.count()
CUT = Score(0.0, False, verdict="truncated")


def errors(count: int, reason: str = "RuntimeError: out of ink") -> list[tuple[str, Score]]:
    """Return errors of as many prompts."""
    return [(f"{reason} {number}", Score.unscored(reason)) for number in range(count)]


def good(count: int) -> list[tuple[str, Score]]:
    return [(f"good {number % 10}", GOOD) for number in range(count)]


def test_two_percent_is_not_over_two_percent() -> None:
    watch = ErrorWatch()
    watch.add([*errors(4), *good(196)])
    with pytest.raises(LearnableError, match=r"6 of 200 scores in a row are errors \(3\.0%, over 2%\)"):
        watch.add([*errors(6), *good(194)])


def test_a_chunk_is_judged_when_it_has_two_hundred_scores() -> None:
    watch = ErrorWatch()
    watch.add(errors(150))
    with pytest.raises(LearnableError, match="199 of 200"):
        watch.add([*errors(49), *good(1)])


def test_each_chunk_is_judged_by_itself() -> None:
    watch = ErrorWatch()
    for _ in range(50):
        watch.add(good(200))
    with pytest.raises(LearnableError, match="10 of 200"):
        watch.add([*errors(10), *good(190)])


def test_the_three_most_common_reasons_are_named() -> None:
    scattered = [*errors(9, "a"), *errors(30, "b"), *errors(20, "c"), *errors(5, "d"), *good(136)]
    with pytest.raises(LearnableError) as stopped:
        ErrorWatch().add(scattered)
    assert "30 x verifier_error: b; 20 x verifier_error: c; 9 x verifier_error: a." in str(stopped.value)
    assert "the same command goes on" in str(stopped.value)


def test_wrong_answers_and_cut_ones_are_no_errors() -> None:
    watch = ErrorWatch()
    watch.add([("wrong", Score(0.0, False))] * 400)
    watch.add([("cut", Score(0.0, False, verdict="truncated"))] * 400)


def test_one_prompt_whose_scores_are_all_errors_stops_nothing() -> None:
    watch = ErrorWatch()
    for _ in range(10):
        watch.add([*[("bad row", BAD)] * 64, *good(136)])
    watch.add([("bad row", BAD)] * 400)
    with pytest.raises(LearnableError, match="69 of 200"):
        watch.add([*[("bad row", BAD)] * 64, *errors(5), *good(131)])


def test_one_prompt_whose_first_scores_are_all_errors_stops_nothing() -> None:
    watch = ErrorWatch()
    for score in (BAD, LATE) * 16:
        watch.see(ScoreJob("judge", "", "its prompt", "{}"), score)
    with pytest.raises(FailingVerifierError, match="'judge' hangs"):
        watch.see(ScoreJob("judge", "", "another prompt", "{}"), LATE)


def show(watch: ErrorWatch, scores: list[Score], verifier: str = "judge") -> None:
    """Show the watch scores of as many prompts."""
    for score in scores:
        watch.see(ScoreJob(verifier, "", f"prompt {next(NUMBERS)}", "{}"), score)


@pytest.mark.parametrize(
    ("fine", "last", "message"),
    [
        (
            [BAD] * 7,
            BAD,
            r"'judge' fails: none of its first 8 completions got a score \(8 x RuntimeError: out of ink\)",
        ),
        ([LATE] * 2, LATE, "'judge' hangs: no score for 3 completions"),
        ([BAD, LATE, BAD, LATE], LATE, "'judge' hangs: no score for 5 completions"),
        ([GOOD, *[LATE] * 4], LATE, "'judge' hangs: no score for 5 completions"),
        ([GOOD, *[LATE] * 4, CUT, *[LATE] * 4, GOOD, *[LATE] * 4], LATE, r"5 completions .*\(5 x time limit"),
    ],
)
def test_a_verifier_that_gives_no_score_stops_the_run(fine: list[Score], last: Score, message: str) -> None:
    watch = ErrorWatch()
    show(watch, fine)
    with pytest.raises(FailingVerifierError, match=message):
        show(watch, [last])


def test_each_verifier_is_tried_by_itself() -> None:
    watch = ErrorWatch()
    for _ in range(7):
        show(watch, [GOOD], "fine")
        show(watch, [BAD], "broken")
    assert (watch.has_scored("fine"), watch.has_scored("broken")) == (True, False)
    with pytest.raises(FailingVerifierError, match="'broken' fails"):
        show(watch, [BAD], "broken")


def test_errors_after_the_first_score_are_left_to_the_spike_rule() -> None:
    watch = ErrorWatch()
    show(watch, [*[BAD] * 7, GOOD, *[BAD] * 100])
