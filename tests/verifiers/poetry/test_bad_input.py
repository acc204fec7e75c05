"""Whatever a policy writes gets a score, and what is no poem never passes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.verifiers.poetry.forms import poem_forms
from learnable.verifiers.registry import find_verifier
from tests.support.paths import GOLDEN

HACKS = [json.loads(line) for line in (GOLDEN / "poetry_hacks.jsonl").read_text(encoding="utf-8").splitlines()]
BAD = {
    "empty": "",
    "white space": " \n\t \r\n \u00a0 \u2028",
    "a line of 100 KB": "the rain " * 11_000,
    "a word of 100 KB": "x" * 100_000,
    "10,000 lines": "the rain is falling on the sea\n" * 10_000,
    "10,000 short lines": "a\n" * 10_000,
    "10,000 different lines": "\n".join(f"rain {number}" for number in range(10_000)),
    "emoji": "\U0001f327\U0001f408 \U0001f6aa\n" * 14,
    "Cyrillic": "\u0434\u043e\u0436\u0434\u044c \u043d\u0430 \u043a\u0440\u044b\u0448\u0435\n" * 3,
    "zero-width": "\u200b\u200c\u200d\n" * 14,
    "combining marks": "r\u0301\u0302\u0303a\u0300\u0301in\u0323\u0324 \u0300\u0301\u0302\n" * 14,
    "CRLF": "rain\r\nrain\r\nrain\r\n",
    "NUL": "ra\x00in \x00\x00\n" * 14,
    "lone surrogates": "\ud800 rain \udfff\n" * 14,
    "apostrophes": "' '' ''' 'n' o''er\n" * 14,
    "dashes": "---- - -- \u2014 \u2014\n" * 14,
    "only marks": ".\n?\n!\n" * 14,
    "an open think block": "<think> the rain is falling",
    "many fences": "```\n" * 2000,
    "many quotes": "'\"`\u201c\u201d" * 2000,
}
FORMS = """
    Haiku Limerick ShakespeareanSonnet PetrarchanSonnet Villanelle Ballad Pantoum Sestina Ghazal FreeVerse
    BlankVerse Mesostic Skeltonic PindaricOde SapphicOde ProsePoem
""".split()


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_scored_and_fails(name: str) -> None:
    for form in FORMS:
        score = find_verifier("poetry").score(BAD[name], prompt="", spec={"form": form})
        assert score.verdict == "scored", (form, score)
        assert score.passed is False, (form, score)
        assert score.reward is not None, form
        assert 0.0 <= score.reward < 0.7, (form, score)


def test_line_ends_of_any_kind_part_lines() -> None:
    lines = ["Rain on the tin roof", "the old cat turns in her sleep", "a door somewhere shuts"]
    for end in ("\n", "\r\n", "\r", "\u2028"):
        assert find_verifier("poetry").score(end.join(lines), prompt="", spec={"form": "Haiku"}).passed


@given(st.text(max_size=400), st.sampled_from(sorted(name for name, form in poem_forms().items() if form.is_reward)))
def test_any_text_gets_a_score(text: str, form: str) -> None:
    spec = {"form": form} | ({"lines": 4} if form == "Verse" else {})
    score = find_verifier("poetry").score(text, prompt=text, spec=spec)
    assert score.reward is not None
    assert 0.0 <= score.reward <= 1.0
    assert all(0.0 <= value <= 1.0 for value in score.components.values()), score


@pytest.mark.parametrize("hack", HACKS, ids=lambda hack: f"{hack['form']}: {hack['hack']}")
def test_no_trick_passes(hack: dict[str, str]) -> None:
    score = find_verifier("poetry").score(hack["text"], prompt=hack.get("prompt", ""), spec={"form": hack["form"]})
    assert score.passed is False, score


def test_few_tricks_earn_half() -> None:
    verifier = find_verifier("poetry")
    rewards = [verifier.score(h["text"], prompt=h.get("prompt", ""), spec={"form": h["form"]}).reward for h in HACKS]
    assert len(rewards) >= 160
    assert sum((reward or 0.0) >= 0.5 for reward in rewards) <= 2
