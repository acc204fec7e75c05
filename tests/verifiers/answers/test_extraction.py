"""The answer a verifier reads out of a completion: canonical, and the very one that it judges."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from learnable.verifiers.domains import VERIFIERS
from learnable.verifiers.protocol import extract_answer, has_extractor
from learnable.verifiers.registry import find_verifier
from tests.support.domains import needs_poems

SPECS: dict[str, dict[str, Any]] = {
    "arithmetic": {"answer": 1024},
    "choice": {"answer": "New York", "choices": ["new", "New York", "<", "<="]},
    "counting": {"answer": 21},
}
LARGER = ("json", "mathematics", "number", "reasoning-gym", "text")  # they read more than one kind of words
WORDS = st.lists(
    st.sampled_from(["1,024", "+1024.0", "21", "twenty-one", "new york", "NEW", "<=", "<", "it is", "**", ".", "\n"]),
    max_size=5,
).map(" ".join)


@pytest.mark.parametrize(
    ("name", "completion", "answer"),
    [
        ("arithmetic", "**+1,024.50** of them", "1024.5"),
        ("arithmetic", "<think>7</think> -0012", "-12"),
        ("arithmetic", "I think it is 7", "7"),
        ("arithmetic", "I think of 7", None),
        ("counting", "There are Twenty-One of them.", "21"),
        ("counting", "There are Twenty-One, or 22.", None),
        ("counting", "There are 022 of them", "22"),
        ("counting", "none at all", None),
        ("choice", "NEW YORK, I say", "new york"),
        ("choice", "a <= b", "<="),
        ("choice", "it is < or <=", None),
        ("choice", "", None),
    ],
)
def test_answers_are_read_in_canonical_form(name: str, completion: str, answer: str | None) -> None:
    assert extract_answer(find_verifier(name), completion, SPECS[name]) == answer


@pytest.mark.parametrize("name", SPECS)
@given(text=WORDS | st.text())
@example(text="9" * 10_000)
def test_the_answer_read_is_the_one_judged(name: str, text: str) -> None:
    verifier = find_verifier(name)
    answer = extract_answer(verifier, text, SPECS[name])
    score = verifier.score(text, prompt="", spec=SPECS[name])
    assert score.passed is (answer == str(SPECS[name]["answer"]).casefold())
    assert score.components["format"] == float(answer is not None)


@pytest.mark.parametrize("name", SPECS)
@given(text=WORDS)
def test_an_answer_reads_as_itself(name: str, text: str) -> None:
    verifier = find_verifier(name)
    answer = extract_answer(verifier, text, SPECS[name])
    assert answer is None or extract_answer(verifier, answer, SPECS[name]) == answer


@needs_poems
def test_no_extractor_is_not_no_answer() -> None:
    assert [name for name in VERIFIERS if has_extractor(find_verifier(name))] == sorted([*SPECS, *LARGER])
    assert extract_answer(find_verifier("poetry"), "Rain on the tin roof", {"form": "Haiku"}) is None
