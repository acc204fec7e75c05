"""Answers are compared whole, whatever is written in them: no text is too much, and nothing of one is passed over."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.verifiers.answers.expressions.comparison import equals, is_readable
from learnable.verifiers.answers.expressions.finding import find_last_expression
from learnable.verifiers.answers.expressions.whole import write_whole

PIECES = (
    "1", "23", "0.5", "x", "C", "i", "e", "+", "-", "=", "<", ",", ";", " or ", " ", "(", ")", "[", "]", "{", "}", "|",
    "/", "^", "_", "\\frac", "\\sqrt", "\\pm", "\\cup ", "\\text{", "\\text{km}", "\\{", "\\}", "\\overline{3}", "$",
    "\\ldots", "\\boxed{", "\\begin{pmatrix}", "\\end{pmatrix}", "\\\\", "&", "\u2461", "\uff13", "\\infty", "\\le ",
    "%", "\\%", "^\\circ", "\\in ",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


def never(_gold: str, _given: str) -> bool:
    return False


@given(texts)
def test_every_text_equals_itself_without_any_library(text: str) -> None:
    assert equals(text, text, never)


@given(texts, texts)
def test_any_text_is_read_and_only_whole_expressions_are_handed_over(gold: str, other: str) -> None:
    def same(one: str, another: str) -> bool:
        for written in write_whole((one, another)) or ():
            assert "text" not in written
        return False

    equals(gold, other, same)
    is_readable(gold)
    find_last_expression(gold)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 1000,
        "{" * 1000 + "}" * 1000,
        r"\{" * 400 + r"\}" * 400,
        r"1\text{a}" + "/ " * 900,
        "^(" * 900,
        r"\frac" * 390,
    ],
)
def test_brackets_without_end_are_no_answer_and_no_error(text: str) -> None:
    assert not equals("1", text, never)
    assert not equals(text, "1", never)


@pytest.mark.parametrize(
    "text",
    [
        "2516_{8}",
        r"\overline{AB}",
        r"\text{even}",
        "x'y_",
        "2 5",
        "3..5",
        r"\vec",
        "1+",
        r"\int x",
        "seven",
        "AB",
        "7 @ 8",
    ],
)
def test_what_would_be_read_in_part_is_not_handed_over(text: str) -> None:
    assert write_whole((text, "1")) is None
    assert write_whole(("1", text)) is None


@given(texts)
def test_one_more_value_is_another_answer(text: str) -> None:
    """What cannot be read in a list is no reason to drop it."""
    assert not equals("40", f"40, 7{text}" if text.count("{") == text.count("}") else "40, 7", never)
