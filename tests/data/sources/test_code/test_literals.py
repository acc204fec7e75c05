"""Literals, and expressions that anyone can work out, come to what Python makes of them; nothing large is made."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.sources.test_code.literals import constant_value, literal_value


def expression(code: str) -> ast.expr:
    return ast.parse(code, mode="eval").body


NUMBERS = st.integers(-50, 50)
OPERATORS = st.sampled_from(["+", "-", "*", "/", "//", "%"])


@given(first=NUMBERS, middle=OPERATORS, second=NUMBERS, last=OPERATORS, third=NUMBERS)
def test_arithmetic_on_literals_is_what_python_makes_of_it(
    first: int, middle: str, second: int, last: str, third: int
) -> None:
    code = f"[{first} {middle} ({second} {last} {third})]"
    try:
        expected = eval(code)
    except ZeroDivisionError:
        with pytest.raises(ValueError, match="not a literal"):
            literal_value(expression(code))
    else:
        assert literal_value(expression(code)) == expected
        assert constant_value(expression(code), {}) == expected


@pytest.mark.parametrize(
    "code",
    ["set((1, 2))", "{*[1], 2}", "not 1", "-True", "--1", "n", "sorted([2, 1])", "[[0] * 3] * 3", "f'{1}'", "1 | 2"],
)
def test_a_literal_is_no_more_than_arithmetic(code: str) -> None:
    with pytest.raises(ValueError, match="not a literal"):
        literal_value(expression(code))


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("set((1, 2))", {1, 2}),
        ("not n", False),
        ("-True", -1),
        ("[n] * 2", [[1, 2], [1, 2]]),
        ("sorted([2, 1])", [1, 2]),
        ("sum(n) + len('ab')", 5),
        ("{'a': (n, b'b')}", {"a": ([1, 2], b"b")}),
    ],
)
def test_a_constant_may_use_names_and_constructors(code: str, value: Any) -> None:
    assert constant_value(expression(code), {"n": [1, 2]}) == value


@pytest.mark.parametrize(
    "code", ["2 ** 100_000", "'a' * 10 ** 9", "'%9999999d' % 1", "1 / 0", "{[]}", "m", "open('f')", "...", "int('x')"]
)
def test_what_is_large_or_unknown_is_not_worked_out(code: str) -> None:
    with pytest.raises(ValueError, match=r"not a literal|invalid literal"):
        constant_value(expression(code), {"n": 1})


@pytest.mark.parametrize("code", ["2 ** 100_000", "9 ** 999 * 9 ** 999", "'a' * 10 ** 9", "[0] * 10 ** 9", "'%9d' % 1"])
def test_a_literal_is_small(code: str) -> None:
    with pytest.raises(ValueError, match="not a literal"):
        literal_value(expression(code))
