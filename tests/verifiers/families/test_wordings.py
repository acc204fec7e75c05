"""Other words for the same problems: ours are enough, and each holds all that its question is about."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.data.records import Prompt
from learnable.data.sources.family import Knobs
from learnable.data.sources.wording import Wording
from learnable.verifiers.families.prompts import builtin_prompts
from learnable.verifiers.families.registry import ALL_FAMILIES, DEFAULT_FAMILIES
from learnable.verifiers.families.wordings import find_wording, list_kinds, read_wording, reword
from tests.support.domains import needs_poems

LAMPS = """
[Lamp]
title = "lamp"
lines = 3
syllables = [3, 4, 3]
"""


def natural() -> Wording:
    wording = find_wording("natural")
    assert wording is not None
    return wording


def reworded(
    family: str, wording: Wording, count: int = 120, knobs: Knobs | None = None
) -> list[tuple[Prompt, Prompt]]:
    """Return plain prompts of a family and what becomes of each."""

    def each(prompt: Prompt) -> Iterator[Prompt]:
        return reword([prompt], wording, knobs or {}, {})

    return [(plain, next(each(plain))) for plain in builtin_prompts(families=[family], limit=count)]


@needs_poems
def test_there_are_words_enough_for_every_family() -> None:
    wording = natural()
    for family in (*DEFAULT_FAMILIES, "binary", "parity"):
        kinds = ALL_FAMILIES[family].kinds
        assert sum(len(wording.texts[kind]) for kind in kinds) >= 25, family
    assert set(wording.texts) == {*list_kinds(), "topics"}
    assert len(wording.texts["topics"]) == len(set(wording.texts["topics"])) == 400


@pytest.mark.parametrize(
    "family", [*(name for name in DEFAULT_FAMILIES if name != "poetry"), "binary", "mixed", "parity"]
)
def test_other_words_ask_the_same_problem_and_are_judged_alike(family: str) -> None:
    for plain, other in reworded(family, natural()):
        assert other.text != plain.text
        assert (other.problem_id, other.spec, other.verifier) == (plain.problem_id, plain.spec, plain.verifier)
        assert (other.family, other.form, other.difficulty) == (plain.family, plain.form, plain.difficulty)
    pairs = reworded(family, natural())
    assert len({other.text for _, other in pairs}) > 100


def test_every_part_of_a_question_is_in_its_other_words() -> None:
    for name in ("arithmetic", "comparison"):
        for plain, other in reworded(name, natural(), 60):
            parts = list_kinds()[name].read(plain.text)
            assert parts is not None
            assert parts["a"] in other.text
            assert parts["b"] in other.text
    for plain, other in reworded("programs", natural(), 60):
        assert plain.spec["entry"] in other.text
        parts = list_kinds()["programs"].read(plain.text)
        assert parts is not None
        assert parts["statement"] in other.text


@needs_poems
def test_a_poem_is_about_one_of_the_phrases_and_its_rules_are_said() -> None:
    wording = natural()
    for plain, other in reworded("poetry", wording):
        assert other.spec["topic"] in wording.texts["topics"]
        assert other.spec["topic"] in other.text
        assert "lines" in other.text
        assert {**other.spec, "topic": ""} == {**plain.spec, "topic": ""}


@needs_poems
def test_a_poem_is_about_one_of_as_many_topics_as_are_wanted() -> None:
    wording = natural()
    few = {other.spec["topic"] for _, other in reworded("poetry", wording, knobs={"topics": 3})}
    assert few == set(wording.texts["topics"][:3])


def test_the_same_prompts_get_the_same_words_and_none_comes_twice() -> None:
    first, second = (
        [prompt.prompt_id for prompt in islice(reword(builtin_prompts(), natural(), {}, {}), 300)] for _ in range(2)
    )
    assert first == second
    assert len(set(first)) == 300


@needs_poems
def test_a_form_of_one_s_own_is_reworded_too(tmp_path: Path) -> None:
    from learnable.verifiers.poetry.forms import load_forms

    (tmp_path / "forms.toml").write_text(LAMPS)
    own = load_forms(str(tmp_path / "forms.toml"))
    [plain] = builtin_prompts(["Lamp"], limit=1, own=own)
    [other] = reword([plain], natural(), {}, own)
    assert other.spec["declaration"] == plain.spec["declaration"]
    assert other.text != plain.text


@needs_poems
def test_a_file_says_what_is_worded_otherwise_and_the_rest_stays_plain(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('arithmetic = ["Na, {a} {said} {b}?"]\ntopics = ["my hat"]\n')
    wording = find_wording(str(file))
    assert wording is not None
    plain, other = reworded("arithmetic", wording, 1)[0]
    assert other.text.startswith("Na, ")
    plain, other = reworded("comparison", wording, 1)[0]
    assert other == plain
    _, poem = reworded("poetry", wording, 1)[0]
    assert " about my hat with " in poem.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("arithmetics = ['x']", "did you mean 'arithmetic'"),
        ("arithmetic = 'x'", "arithmetic is no list of texts"),
        ("arithmetic = []", "arithmetic is no list of texts"),
        ("arithmetic = ['{a} {sign}']", r"leaves out \{b\}: add it"),
        ("arithmetic = ['{a} {b}']", r"leaves out \{sign\} or \{said\}"),
        ("arithmetic = ['{a} {sign} {b} {c}']", r"has \{c\}, which the question does not"),
        ("arithmetic = ['{a} {sign} {b']", "braces that do not match"),
        pytest.param("topics = [3]", "topics is no list of texts", marks=needs_poems),
        ("x", "cannot be read"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(LearnableError, match=said):
        read_wording(tmp_path / "mine.toml")


def test_a_name_that_is_no_wording_is_refused() -> None:
    with pytest.raises(LearnableError, match="neither natural nor plain nor a file"):
        find_wording("naturl")
    assert find_wording("plain") is None
