"""The judge of instructions: components, refusals of specs, and answers that are made to be slow to judge."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.verifiers.instructions.counting import count_sentences, count_words
from learnable.verifiers.instructions.kinds import INSTRUCTION_KINDS
from learnable.verifiers.instructions.verifier import InstructionsVerifier
from learnable.verifiers.protocol import SpecError
from tests.support.paths import GOLDEN

JUDGE = InstructionsVerifier()
GIVEN: dict[str, Any] = {
    "capital_frequency": 2,
    "capital_relation": "at least",
    "end_phrase": "The end.",
    "first_word": "rain",
    "forbidden_words": ["rock", "a b"],
    "frequency": 2,
    "keyword": "rain",
    "keywords": ["rain", "a b"],
    "language": "de",
    "let_frequency": 3,
    "let_relation": "less than",
    "letter": "q",
    "nth_paragraph": 1,
    "num_bullets": 2,
    "num_highlights": 2,
    "num_paragraphs": 2,
    "num_placeholders": 2,
    "num_sections": 2,
    "num_sentences": 3,
    "num_words": 5,
    "postscript_marker": "P.S.",
    "prompt_to_repeat": "Say it.",
    "relation": "at least",
    "section_spliter": "Section",
}
ALL = [{"id": name, **{each: GIVEN[each] for each in kind.arguments}} for name, kind in INSTRUCTION_KINDS.items()]
COMMA, KEYWORDS = {"id": "punctuation:no_comma"}, {"id": "keywords:existence", "keywords": ["sea"]}
PIECES = [
    "*",
    "**",
    "***",
    "******",
    " ",
    "\n",
    "\n\n",
    ".",
    "...",
    "P.S.",
    "[",
    "]",
    "<<",
    ">>",
    '"',
    "Section 1",
    "- ",
]
HOSTILE = [
    "*",
    "* ",
    "- ",
    ".",
    "[",
    "[a",
    "<<a",
    "\n",
    "\n ",
    " ",
    "P.S. -",
    "a",
    "a ",
    "A-",
    '"',
    "Section 1\n",
    "Dr. ",
]


def judge(completion: str, *instructions: dict[str, Any], **options: Any) -> Any:
    spec = {"instructions": list(instructions), **options}
    JUDGE.check_spec(spec)
    return JUDGE.score(completion, prompt="", spec=spec)


def test_there_are_three_golden_answers_of_each_kind_followed_and_not() -> None:
    cases = map(json.loads, (GOLDEN / "instructions.jsonl").read_text(encoding="utf-8").splitlines())
    seen = Counter((one["id"], case["passed"]) for case in cases for one in case["spec"]["instructions"])
    assert len(INSTRUCTION_KINDS) == 25
    assert [name for name in INSTRUCTION_KINDS if not (seen[name, True] and seen[name, False])] == []
    assert min(seen[name, True] + seen[name, False] for name in INSTRUCTION_KINDS) >= 3


def test_every_instruction_is_a_component_by_its_name() -> None:
    again = {"id": "keywords:existence", "keywords": ["wind"]}
    score = judge("The sea is calm.", COMMA, KEYWORDS, again)
    names = ["punctuation:no_comma", "keywords:existence", "keywords:existence 2"]
    assert dict(score.components) == dict(zip(names, (1, 1, 0), strict=True))
    assert (score.reward, score.passed) == (pytest.approx(2 / 3), False)
    assert score.reason == "keywords:existence 2: no 'wind'"


@pytest.mark.parametrize("completion", ["", " \n", "<think>The sea", "<think>The sea.</think>"])
def test_an_empty_answer_follows_nothing(completion: str) -> None:
    score = judge(completion, *ALL)
    assert (score.reward, score.passed) == (0.0, False)
    assert set(score.components.values()) == {0.0}


@pytest.mark.parametrize("loose", [False, True])
@pytest.mark.parametrize("completion", ["Nein", "Zürich", "42 Berlin!"])
def test_what_cannot_be_told_is_no_zero(completion: str, loose: bool) -> None:
    english = {"id": "language:response_language", "language": "en"}
    score = judge(completion, COMMA, english, loose=loose)
    if completion == "Nein":  # which is German, and said so
        assert score.components == {"punctuation:no_comma": 1.0, "language:response_language": 0.0}
    else:
        assert (score.reward, score.passed, score.verdict) == (None, None, "verifier_error")
        assert "so few words do not tell whether they are en" in score.reason


def test_what_is_left_of_an_answer_may_be_too_short_to_tell() -> None:
    german = {"id": "language:response_language", "language": "de"}
    score = judge("The library opens at nine and the readers are there.\nBerlin", german, loose=True)
    assert (score.reward, score.verdict) == (0.0, "scored")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"instructions": [COMMA], "lose": True}, "'lose' is True: no such key; did you mean 'loose'"),
        ({"instructions": [COMMA], "loose": 1}, "'loose' is 1: give true or false"),
        ({"instructions": {}}, "'instructions' is {}: give a list"),
        ({"instructions": ["punctuation:no_comma"]}, "'instructions' is .*: give a list of objects"),
        ({"instructions": [COMMA, {}]}, r"'instructions.1.id' is None: no such instruction"),
        ({"instructions": [{"id": "punctuation:comma"}]}, "did you mean 'punctuation:no_comma'"),
        ({"instructions": [{"id": "x:y"}]}, "'x:y': no such instruction; use one of keywords:existence"),
        ({"instructions": [{"id": "keywords:existence"}]}, "0.keywords' is None: 'keywords:existence' needs it: give"),
        ({"instructions": [KEYWORDS | {"keywords": "sea"}]}, "0.keywords' is 'sea': give a list of texts"),
        ({"instructions": [KEYWORDS | {"keywords": [""]}]}, r"0.keywords' is \[''\]: give a list of texts"),
        ({"instructions": [COMMA | {"num_words": 3}]}, "0.num_words' is 3: no argument of .*, which takes none"),
    ],
)
def test_a_spec_of_no_use_is_refused(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        JUDGE.check_spec(spec)


@pytest.mark.parametrize(
    ("name", "value", "fix"),
    [
        ("num_words", "300", "whole number"),
        ("num_words", 2.5, "whole number"),
        ("num_words", -1, "whole number"),
        ("num_words", True, "whole number"),
        ("num_paragraphs", 0, "from 1 on"),
        ("nth_paragraph", 3, "there are 2 paragraphs"),
        ("relation", "at most", '"less than" or "at least"'),
        ("letter", "qu", "one letter"),
        ("language", "zu", "can are ar, bg, bn, de"),
        ("language", 7, "can are ar"),
        ("end_phrase", " ", "non-empty"),
    ],
)
def test_an_argument_of_no_use_is_refused_with_its_fix(name: str, value: object, fix: str) -> None:
    users = [one for one in ALL if name in one]
    assert users
    for one in users:
        with pytest.raises(SpecError, match=rf"'instructions\.0\.{name}' is {re.escape(repr(value))}: .*{fix}"):
            JUDGE.check_spec({"instructions": [one | {name: value}]})


@pytest.mark.parametrize("lacking", sorted(GIVEN))
def test_every_argument_is_needed(lacking: str) -> None:
    for one in ALL:
        if lacking in one:
            with pytest.raises(SpecError, match=f"0.{lacking}' is None: {one['id']!r} needs it"):
                JUDGE.check_spec({"instructions": [one | {lacking: None}]})


@given(text=st.text() | st.lists(st.sampled_from(PIECES) | st.text(max_size=5)).map("".join), loose=st.booleans())
def test_any_text_is_judged_by_every_kind(text: str, loose: bool) -> None:
    language = [one for one in ALL if "language" in one]
    for some in (language, [one for one in ALL if one not in language]):
        score = judge(text, *some, loose=loose)
        assert score.verdict == "scored" or some is language
        assert bool(score.reason) is not bool(score.passed)
        if score.verdict == "scored":
            failed = [name for name, value in score.components.items() if not value]
            assert score.reward == pytest.approx(1 - len(failed) / len(some))
            assert all(f"{name}: " in score.reason for name in failed)


@given(text=st.lists(st.sampled_from(PIECES) | st.text(max_size=5)).map("".join))
def test_loosely_whatever_is_followed_strictly_is_followed(text: str) -> None:
    strict, loose = judge(text, *ALL), judge(text, *ALL, loose=True)
    assert strict.verdict == loose.verdict
    assert all(loose.components[name] >= value for name, value in strict.components.items())


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_very_long_answer_is_judged_too(piece: str) -> None:
    """Each piece is what one of the patterns begins with and never ends."""
    score = judge(piece * 5_000, *(one for one in ALL if "language" not in one), loose=True)
    assert (score.verdict, score.passed) == ("scored", False)


def test_counts_by_plainer_ways() -> None:
    text = "It rains. Does it pour? It does!\n\nIt is over."
    assert count_sentences(text) == len(re.findall(r"[.?!]", text))
    assert count_words(text) == len(re.sub(r"[.?!]", "", text).split())
