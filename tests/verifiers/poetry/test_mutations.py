"""A good poem made worse scores strictly lower, whatever is done to it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from learnable.verifiers.registry import find_verifier
from tests.support.paths import GOLDEN

EXAMPLES = GOLDEN / "poetry.jsonl"

Lines = list[str]
Mutation = Callable[[Lines], Lines]


def good_poems() -> dict[str, Lines]:
    """The first golden poem of each form that passes without anything around it."""
    poems: dict[str, Lines] = {}
    for case in map(json.loads, EXAMPLES.read_text(encoding="utf-8").splitlines()):
        if case["passed"] and list(case["spec"]) == ["form"]:
            poems.setdefault(case["spec"]["form"], case["completion"].split("\n"))
    return poems


def end_with(line: str, word: str) -> str:
    return " ".join([*line.split()[:-1], word])


# (mutation, whether it must also fail every form)
MUTATIONS: dict[str, tuple[Mutation, bool]] = {
    "drop the first line": (lambda lines: lines[1:], True),
    "drop the last line": (lambda lines: lines[:-1], True),
    "add a line": (lambda lines: [*lines, "And that is all there is to say of this"], True),
    "add a greeting": (lambda lines: ["Sure! Here is your poem:", *lines], True),
    "say it twice": (lambda lines: lines + lines, True),
    "all on one line": (lambda lines: [" ".join(lines)], True),
    "the first line throughout": (lambda lines: [lines[0]] * len(lines), True),
    "double every line": (lambda lines: [f"{line} {line}" for line in lines], True),
    "cut every line": (lambda lines: [line.split()[0] for line in lines], True),
    "lengthen a line": (lambda lines: [lines[0] + " unimaginably", *lines[1:]], False),
    "hide a number": (lambda lines: [lines[0] + " 777", *lines[1:]], False),
    "only numbers": (lambda lines: ["7 7 7 7 7" for _ in lines], True),
    "gibberish": (lambda lines: [" ".join("zq" + word[:2] + "x" for word in line.split()) for line in lines], True),
    "lose the words": (lambda lines: ["the " * (len(line.split()) + 2) for line in lines], True),
}
RHYME_MUTATIONS: dict[str, tuple[Mutation, bool]] = {
    "break the last rhyme": (lambda lines: [*lines[:-1], end_with(lines[-1], "month")], True),
    "an unknown word at the end": (lambda lines: [*lines[:-1], end_with(lines[-1], "vrontch")], True),
    "the second line for the third": (lambda lines: [*lines[:2], lines[1], *lines[3:]], True),
    "one end word throughout": (lambda lines: [end_with(line, "day") for line in lines], True),
}


def cases() -> list[tuple[str, str]]:
    rhymed = [(form, name) for form in good_poems() if form != "Haiku" for name in RHYME_MUTATIONS]
    return [(form, name) for form in good_poems() for name in MUTATIONS] + rhymed


@pytest.mark.parametrize(("form", "name"), cases())
def test_a_worse_poem_scores_lower(form: str, name: str) -> None:
    mutate, fails = (MUTATIONS | RHYME_MUTATIONS)[name]
    poem = good_poems()[form]
    verifier = find_verifier("poetry")
    good = verifier.score("\n".join(poem), prompt="", spec={"form": form})
    worse = verifier.score("\n".join(mutate(poem)), prompt="", spec={"form": form})
    assert good.passed
    assert good.reward is not None
    assert worse.reward is not None
    assert worse.reward < good.reward
    assert not (worse.passed and fails), worse


def test_every_form_has_a_good_poem() -> None:
    assert set(good_poems()) >= {"Couplet", "Quatrain", "Haiku", "Limerick", "Sonnet", "Villanelle"}


def test_the_reward_falls_step_by_step_as_rhymes_break() -> None:
    lines = good_poems()["Sonnet"]
    verifier = find_verifier("poetry")
    rewards = []
    for place, word in [(2, "month"), (3, "silver"), (6, "orange"), (7, "film"), (10, "depth")]:
        rewards.append(verifier.score("\n".join(lines), prompt="", spec={"form": "Sonnet"}).reward)
        lines = [end_with(line, word) if index == place else line for index, line in enumerate(lines)]
    assert rewards == sorted(set(rewards), reverse=True)
