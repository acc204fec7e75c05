"""A verifier that fails from the start, or hangs, stops a run; so does a spike of errors. A few errors do not."""

from __future__ import annotations

import pytest

from learnable.data.errors import LearnableError
from learnable.data.records import Score
from learnable.flows.sampling.error_watch import ErrorWatch, FailingVerifierError
from learnable.verifiers.pool.jobs import ScoreJob, time_out_score

GOOD = Score(1.0, True)
BAD = Score.unscored("RuntimeError: out of ink")
LATE = time_out_score(3)
CUT = Score(0.0, False, verdict="truncated")


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
    scattered = [*errors(9, "a"), *errors(30, "b"), *errors(20, "c"), *errors(5, "d"), *[GOOD] * 136]
    with pytest.raises(LearnableError) as stopped:
        ErrorWatch().add(scattered)
    assert "30 x verifier_error: b; 20 x verifier_error: c; 9 x verifier_error: a." in str(stopped.value)
    assert "the same command goes on" in str(stopped.value)


def test_wrong_answers_and_cut_ones_are_no_errors() -> None:
    watch = ErrorWatch()
    watch.add([Score(0.0, False)] * 400)
    watch.add([Score(0.0, False, verdict="truncated")] * 400)


def show(watch: ErrorWatch, scores: list[Score], verifier: str = "judge") -> None:
    for score in scores:
        watch.see(ScoreJob(verifier, "", "", "{}"), score)


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
