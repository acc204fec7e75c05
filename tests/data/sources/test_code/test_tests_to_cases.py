from __future__ import annotations

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.records import canonical_json
from learnable.data.sources.test_code.literals import NotConstantError, constant_value, literal_value
from learnable.data.sources.test_code.tests_to_cases import find_entry, json_cases, parse, read_cases, survives_json

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


def sort(items: dict[str, object]) -> dict[str, object]:
    return dict(sorted(items.items()))


JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4).map(sort)
)
ANY = st.recursive(
    LEAVES | st.binary() | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.integers() | st.text(), inner, max_size=3)
    ),
)
HUMANEVAL = """
METADATA = {'author': 'x'}

def check(candidate):
    "Hidden tests."
    import math
    assert candidate([1, -2], "a") == 3 * 5, "wrong"
    assert [1] == candidate([], "")
    assert candidate([0], "b") is None
    assert True, "done"

check(add)
"""


def test_the_tests_of_humaneval_become_cases() -> None:
    assert json_cases(HUMANEVAL, "add") == [[[[1, -2], "a"], 15], [[[], ""], [1]], [[[0], "b"], None]]


def test_asserts_at_the_top_become_cases() -> None:
    assert json_cases("import math\nassert f(1) == 2\nassert f(2) == 4", "f") == [[[1], 2], [[2], 4]]


@pytest.mark.parametrize(
    "test_code",
    [
        "assert f(1) == g(2)",
        "assert f(g(1)) == 2",
        "assert abs(f(1) - 0.5) < 1e-6",
        "assert f(1)",
        "assert not f(1)",
        "assert f(1) is True",
        "assert f(1) != 2",
        "assert 0 < f(1) < 2",
        "assert f(1)[0] == 2",
        "assert f(x=1) == 2",
        "assert f(*[1]) == 2",
        "assert f(1) == 2 and f(2) == 3",
        "xs = [1]\nassert f(xs) == 2",
        "for n in range(3):\n    assert f(n) == n",
        "f = print\nassert f(1) == None",
        "from math import factorial as f\nassert f(3) == 6",
        "def f(n):\n    return n\nassert f(1) == 1",
        "assert f(10 ** 10 ** 10) == 1",
        "assert f('%999999999d' % 1) == 1",
        "assert f([[0] * 9999] * 9999) == 1",
        "assert f({[1]: 2}) == 1",
        "assert f(1) ==",
        "print('no test')",
        "",
    ],
)
def test_what_says_more_than_cases_can_is_left_as_code(test_code: str) -> None:
    assert read_cases(test_code, "f") is None


@pytest.mark.parametrize(
    "value",
    ["(1, 2)", "[(1,)]", "{1, 2}", "{1: 2}", "{None: 2}", "b'a'", "1j", "1e999", "'\\ud800'", "{'b': 1, 'a': 2}"],
)
def test_values_that_json_changes_are_cases_in_python_alone(value: str) -> None:
    for test_code in (f"assert f({value}) == 1", f"assert f(1) == {value}"):
        assert read_cases(test_code, "f") is not None
        assert json_cases(test_code, "f") is None


@given(arguments=st.lists(JSON, max_size=3), expected=JSON)
def test_json_values_come_back_as_they_were(arguments: list[object], expected: object) -> None:
    test_code = f"assert f({', '.join(map(repr, arguments))}) == {expected!r}"
    assert json_cases(test_code, "f") == [[arguments, expected]]


@given(value=ANY)
def test_json_keeps_every_value_that_is_said_to_survive_it(value: object) -> None:
    if survives_json(value):
        assert repr(json.loads(canonical_json(value))) == repr(value)


@given(code=st.text(alphabet="f(1)[]{}=*+-,.'\" \nasertdefcheckimport:", max_size=60))
def test_no_text_makes_it_fail(code: str) -> None:
    read_cases(code, "f")
    find_entry(code)


NUMBERS = st.integers(-50, 50)
OPERATORS = st.sampled_from(["+", "-", "*", "/", "//", "%"])


@given(first=NUMBERS, middle=OPERATORS, second=NUMBERS, last=OPERATORS, third=NUMBERS)
def test_arithmetic_on_literals_is_what_python_makes_of_it(
    first: int, middle: str, second: int, last: str, third: int
) -> None:
    code = f"[{first} {middle} ({second} {last} {third})]"
    [statement] = parse(f"value = {code}")
    try:
        expected = eval(code)
    except ZeroDivisionError:
        for read in (literal_value, lambda node: constant_value(node, {})):
            with pytest.raises(NotConstantError, match="not a constant"):
                read(statement.value)  # type: ignore[attr-defined]
    else:
        assert literal_value(statement.value) == expected  # type: ignore[attr-defined]
        assert constant_value(statement.value, {}) == expected  # type: ignore[attr-defined]


def expression(code: str) -> ast.expr:
    return ast.parse(code, mode="eval").body


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("[[0] * 2] * 2", [[0, 0], [0, 0]]),
        ("sorted({3, 1})", [1, 3]),
        ("not --x", False),
        ("dict([('a', x)])", {"a": 7}),
    ],
)
def test_a_constant_is_more_than_a_literal(code: str, value: object) -> None:
    assert constant_value(expression(code), {"x": 7}) == value
    with pytest.raises(NotConstantError):
        literal_value(expression(code))


@pytest.mark.parametrize(
    "code",
    ["2**5000", "'a' * 100_001", "[0] * 10**6", "'%9999s' % 'a'", "y", "f(1)", "{[1]}", "[*x]", "f'{x}'", "int('a')"],
)
def test_what_is_not_constant_or_very_large_is_refused(code: str) -> None:
    for read in (literal_value, lambda node: constant_value(node, {"x": 7})):
        with pytest.raises(NotConstantError):
            read(expression(code))


@pytest.mark.parametrize(
    ("test_code", "solution", "entry"),
    [
        ("assert f(1) == 2\nassert f(2) == 3", None, "f"),
        ("assert sorted(f(1)) == [2]", None, "f"),
        ("from math import isclose\nassert isclose(f(1), 2)", None, "f"),
        ("assert f(Pair(1, 2)) == 3", None, None),
        ("assert f(Pair(1, 2)) == 3", "class Pair: ...\ndef f(p):\n    return 3", "f"),
        ("assert f(1) == 2\nassert g(1) == 2", None, None),
        ("x = 1", None, None),
    ],
)
def test_the_function_under_test_is_found(test_code: str, solution: str | None, entry: str | None) -> None:
    assert find_entry(test_code, solution) == entry
