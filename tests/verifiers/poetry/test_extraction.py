"""What of a completion is the poem."""

from __future__ import annotations

import pytest

from learnable.data.records import Score
from learnable.verifiers.poetry.extraction import extract_blocks
from learnable.verifiers.registry import find_verifier

HAIKU = ["Rain on the tin roof", "the old cat turns in her sleep", "a door somewhere shuts"]


def judged(text: str, **spec: object) -> Score:
    find_verifier("poetry").check_spec(spec)
    return find_verifier("poetry").score(text, prompt="", spec=spec)


def test_a_poem_ends_where_thinking_never_does() -> None:
    assert extract_blocks("<think>An old silent pond") == []
    assert extract_blocks("plan</think>\nAn old silent pond") == [["An old silent pond"]]


@pytest.mark.parametrize(
    "around",
    [
        "{poem}",
        "Here is a haiku for you:\n\n{poem}",
        "Sure! Here's one\n\n{poem}",
        "# Rain\n\n{poem}",
        "**Rain**\n{poem}",
        "Title: Rain\n{poem}",
        "Rain at Night\n\n{poem}",
        "```text\n{poem}\n```",
        "{poem}\n\nI hope you like it!",
        "{poem}\n\nLet me know if you would like another.",
        "<think>five, seven, five</think>\n{poem}",
    ],
)
def test_what_stands_around_a_poem_is_no_line(around: str) -> None:
    text = around.format(poem="\n".join(HAIKU))
    assert extract_blocks(text) == [HAIKU]
    assert judged(text, form="Haiku").passed


@pytest.mark.parametrize(
    "around",
    [
        "Here is a haiku for you:\n{poem}",
        "{poem}\nI hope you like it!",
        "{poem}\n\n{poem}",
        "{poem}\n\nAnd now the wind as well",
        "One line more before it,\n\n{poem}",
    ],
)
def test_what_is_not_set_apart_is_a_line(around: str) -> None:
    text = around.format(poem="\n".join(HAIKU))
    assert not judged(text, form="Haiku").passed
