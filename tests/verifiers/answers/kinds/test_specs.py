"""Specs of the judges of answers: what cannot be used is named with its key and its fix, before anything is scored."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from learnable.verifiers.answers.kinds.number import NumberVerifier
from learnable.verifiers.answers.kinds.schema import find_misfit, same_json
from learnable.verifiers.protocol import SpecError
from learnable.verifiers.registry import find_verifier


@pytest.mark.parametrize(
    ("name", "spec", "message"),
    [
        ("number", {"answer": "three or four"}, "'answer' is"),
        ("number", {"answer": "3 or 4"}, "give one number"),
        ("number", {"answer": True}, "give one number"),
        ("number", {"answer": None}, "give one number"),
        ("number", {"answer": 1, "tolerance": -1}, "'tolerance' is -1"),
        ("number", {"answer": 1, "relative": float("inf")}, "'relative' is inf"),
        ("number", {"answer": 1, "unit": "apples"}, "'unit' is 'apples'"),
        ("number", {"answer": 1, "unit_needed": 1}, "'unit_needed' is 1"),
        ("number", {"answer": 1, "decimal": ";"}, "'decimal' is ';'"),
        ("number", {"answer": 1, "extract": "letter"}, "a letter is no number"),
        ("number", {"answer": 1, "extarct": "boxed"}, "did you mean 'extract'"),
        ("arithmetic", {"answer": 1, "extract": "letter:AB"}, "a letter is no number"),
        ("text", {"answer": ["a", ""]}, "'answer' is"),
        ("text", {"answer": "?!"}, "give letters or digits"),
        ("text", {"answer": "a", "ignore": ["vowels"]}, "'ignore' is"),
        ("text", {"answer": "a", "match": "date"}, "give a date"),
        ("text", {"answer": "a", "match": "year"}, "'match' is 'year'"),
        ("text", {"answer": "2024-01-01", "match": "date", "date_order": "ymd"}, "'date_order' is 'ymd'"),
        ("json", {"fields": {}}, "'fields' is"),
        ("json", {"partial_credit": 0.5}, "add it, or 'fields' or 'schema'"),
        ("json", {"answer": 1, "partial_credit": 2}, "'partial_credit' is 2"),
        ("json", {"schema": {"properties": {"a": {"format": "email"}}}}, "'schema.properties.a.format' is 'email'"),
        ("json", {"schema": {"type": "text"}}, "'schema.type' is 'text'"),
        ("json", {"schema": {"minimum": "3"}}, "'schema.minimum' is '3'"),
        ("json", {"schema": {"items": 3}}, "'schema.items' is 3"),
        ("json", {"schema": {"pattern": "(a+)+"}}, "'schema.pattern' is"),
        ("regex", {"pattern": "("}, "no regular expression"),
        ("regex", {"pattern": "a", "where": "end"}, "'where' is 'end'"),
        ("regex", {"pattern": "a", "thinking": "yes"}, "'thinking' is 'yes'"),
    ],
)
def test_a_spec_of_no_use_is_named_with_its_fix(name: str, spec: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        find_verifier(name).check_spec(spec)


def test_a_text_of_too_many_brackets_is_wrong_and_no_crash() -> None:
    assert not find_verifier("text").score('{"a":' * 4000, prompt="", spec={"answer": "a"}).passed


@given(
    value=st.fractions(max_denominator=1000) | st.integers(-(10**30), 10**30) | st.decimals(-1000, 1000, places=4),
    frame=st.sampled_from(["{}", "The answer is {}.", r"\boxed{{{}}}", "#### {}", "<answer>{}</answer>", "= {}"]),
)
@example(value=-0.5, frame="{}")
def test_every_number_is_read_as_itself_in_every_frame(value: object, frame: str) -> None:
    judge, spec = NumberVerifier(), {"answer": str(value)}
    judge.check_spec(spec)
    assert judge.score(frame.format(value), prompt="", spec=spec).passed
    assert judge.extract(str(judge.extract(frame.format(value), spec=spec)), spec=spec) == judge.extract(
        str(value), spec=spec
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(one=json_values, other=json_values)
def test_json_is_the_same_as_itself_alone(one: Any, other: Any) -> None:
    assert same_json(one, one)
    assert find_misfit(one, {"const": one}) == ""
    assert same_json(one, other) is same_json(other, one)
    assert (find_misfit(one, {"enum": [other]}) == "") is same_json(one, other)
