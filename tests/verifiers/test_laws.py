"""Laws that every verifier keeps on any text at all."""

from __future__ import annotations

import math
import shutil
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from learnable.verifiers.domains import VERIFIERS
from learnable.verifiers.protocol import SpecError, verifier_notice
from learnable.verifiers.registry import find_verifier
from tests.support.domains import needs_poems

SPECS: dict[str, dict[str, Any]] = {
    "arithmetic": {"answer": 23},
    "choice": {"answer": "No", "choices": ["Yes", "No"]},
    "counting": {"answer": 3},
    "instructions": {
        "instructions": [{"id": "length_constraints:number_words", "num_words": 3, "relation": "at least"}]
    },
    "json": {"answer": 23},
    "mathematics": {"answer": "23"},
    "number": {"answer": 23},
    "poetry": {"form": "Villanelle", "topic": "the sea"},
    "programs": {"entry": "f", "cases": [[[1], 2]], "cpu_seconds": 0.2},
    "reasoning-gym": {"dataset": "chain_sum", "answer": "23", "metadata": {}},
    "regex": {"pattern": "^(?:Yes|No)$"},
    "text": {"answer": "Yes"},
}
IN_PROCESSES = (
    "mathematics",
    "programs",
    "reasoning-gym",
)  # what judges them may hang, and is tested where it can be killed
ODD_TEXT = (
    st.text() | st.text(alphabet="0123456789,.-+ <>`'\n\ta") | st.lists(st.text(alphabet="aeo st\n'")).map("".join)
)


@pytest.mark.parametrize("name", [name for name in VERIFIERS if name not in IN_PROCESSES])
@given(text=ODD_TEXT)
@example(text="9" * 10_000)
@example(text="a" * 30_000)
@example(text="a\n" * 20_000)
@example(text="\ud800\x00\u202e")
def test_any_text_gets_an_honest_reward(name: str, text: str) -> None:
    score = find_verifier(name).score(text, prompt="", spec=SPECS[name])
    assert score.verdict == "scored"
    assert score.reward is not None
    assert 0.0 <= score.reward <= 1.0
    assert all(0.0 <= value <= 1.0 and math.isfinite(value) for value in score.components.values())
    assert not score.passed or score.reward > 0.6
    assert score.passed or score.reason


@given(text=ODD_TEXT)
@settings(max_examples=15)
@example(text="def f(x):\n    return '\ud800'")
@example(text="x = '" + "\ud800" * 5 + "'")
@example(text="def f(x): return " + "(" * 5_000)
def test_any_text_is_a_program_or_none(text: str) -> None:
    score = find_verifier("programs").score(text, prompt="", spec=SPECS["programs"])
    assert (score.verdict, score.reward, score.passed) == ("scored", 0.0, False)
    assert score.reason


@pytest.mark.parametrize("name", list(VERIFIERS))
def test_specs_are_checked(name: str) -> None:
    verifier = find_verifier(name)
    verifier.check_spec(SPECS[name])
    for key in set(SPECS[name]) - {"choices", "topic", "cpu_seconds"}:
        with pytest.raises(SpecError, match=f"'{key}' is missing"):
            verifier.check_spec({k: v for k, v in SPECS[name].items() if k != key})
        if name != "json":  # an empty list is an answer there
            with pytest.raises(SpecError, match=f"'{key}' is"):
                verifier.check_spec(SPECS[name] | {key: []})
    with pytest.raises(SpecError, match="'unheard_of' is 1: no such key"):
        verifier.check_spec(SPECS[name] | {"unheard_of": 1})


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("arithmetic", {"answer": True}, "'answer' is True: give a whole number"),
        ("arithmetic", {"answer": "23"}, "'answer' is '23': give a whole number"),
        ("choice", {"answer": "Maybe"}, "give one of the choices"),
        ("choice", {"choices": "YesNo"}, "give a list"),
        pytest.param("poetry", {"lines": 0}, "'lines' is 0", marks=needs_poems),
        pytest.param("poetry", {"syllables": "8"}, "'syllables' is '8'", marks=needs_poems),
        pytest.param(
            "poetry", {"syllables": [8, 8], "lines": 19}, "one number for each of the 19 lines", marks=needs_poems
        ),
        pytest.param("poetry", {"schemes": ["abab"]}, "one label for each of the 19 lines", marks=needs_poems),
        pytest.param("poetry", {"form": "Couplet", "schemes": "a1"}, "use letters", marks=needs_poems),
        pytest.param("poetry", {"form": "Verse"}, "asks for nothing", marks=needs_poems),
        pytest.param("poetry", {"tolerance": -1}, "'tolerance' is -1", marks=needs_poems),
        ("programs", {"entry": "not a name"}, "the name of the function"),
        ("programs", {"cases": [[1, 2]]}, "case 0 must be"),
        ("programs", {"equality": "loose"}, "use one of plain, strict, close"),
        ("programs", {"cpu_seconds": 0}, "more than 0"),
    ],
)
def test_a_bad_value_is_named_with_its_fix(name: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        find_verifier(name).check_spec(SPECS[name] | change)


def test_only_programs_have_something_to_warn_of() -> None:
    notices = {name: verifier_notice(find_verifier(name)) for name in VERIFIERS}
    programs = notices.pop("programs")
    assert not any(notices.values())
    assert "learnable doctor" in programs or shutil.which("bwrap"), "only the best rung has nothing to tell"
