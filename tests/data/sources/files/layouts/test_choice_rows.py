"""Rows of multiple choice: how a question is put together, and where the right choice stands."""

from __future__ import annotations

import pytest

from learnable.data.sources.files.bad_rows import BadRowError
from tests.data.sources.files.layouts.rows_for_tests import find, read

SCIQ = {"question": "?", "correct_answer": "water", "distractor1": "wood", "distractor2": "air", "distractor3": "fire"}


def test_a_file_of_yes_and_no_has_them_below_each_question() -> None:
    rows = [{"passage": "It is.", "question": "Is it?", "answer": answer} for answer in (True, False)]
    assert [prompt.text for prompt in read(rows)] == ["It is.\n\nIs it?\n\nAnswer with yes or no."] * 2
    assert find([*rows, {"question": "Who?", "answer": "Ann"}]) is None


def test_where_the_right_choice_has_a_column_its_place_says_nothing() -> None:
    [prompt] = read([SCIQ])
    assert prompt.text == "?\n\nA. air\nB. fire\nC. water\nD. wood\n\nAnswer with A, B, C or D."
    with pytest.raises(BadRowError, match="no two of them the same"):
        read([SCIQ | {"distractor1": "water"}])


def test_a_place_from_1_on() -> None:
    row = {"sentence": "_ is.", "option1": "x", "option2": "y"}
    with pytest.raises(BadRowError, match="a place from 1 to 2"):
        read([row | {"answer": "1"}, row | {"answer": "0"}])


def test_a_question_about_a_premise() -> None:
    row = {"premise": "It fell.", "choice1": "x", "choice2": "y", "question": "cause", "label": 0}
    [prompt] = read([row])
    assert prompt.text == "It fell.\n\nWhat was its cause?\n\nA. x\nB. y\n\nAnswer with A or B."
