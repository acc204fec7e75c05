"""Where a thought ends, and what of it the prompt has opened."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.dialogue.thinking import USUAL_TAGS, ThinkTags, find_tags, split_thought
from learnable.data.errors import LearnableError
from learnable.data.records import Rollout, Sampling
from learnable.rollouts.protocol import with_thought

PIECES = st.lists(st.sampled_from(["<think>", "</think>", "so ", "7", "\n", " "]), max_size=6).map("".join)


def wrote(text: str, num_tokens: int = 10) -> Rollout:
    return Rollout("q", "p@w", Sampling().sampling_id, 256, 0, text, "stop", num_tokens)


@given(PIECES, st.booleans())
def test_thought_and_answer_are_all_that_was_written(text: str, is_open: bool) -> None:
    thought, answer = split_thought(text, USUAL_TAGS, is_open=is_open)
    assert thought + answer == text
    assert "</think>" not in thought[: -len("</think>")]
    assert not answer.startswith("<think>") or "</think>" in thought


def test_tags_come_from_the_template_or_from_the_user() -> None:
    assert find_tags("", "{% if enable_thinking %}<think>{% endif %}") == USUAL_TAGS
    assert find_tags("", "{{ content.split('</think>') }}") == USUAL_TAGS
    assert find_tags("", "{{ content }}") is find_tags("", None) is find_tags("none", "<think>") is None
    assert find_tags("[A] [B]", None) == ThinkTags("[A]", "[B]")


@pytest.mark.parametrize("given", ["<think>", "a b c", "a a", " "])
def test_tags_that_are_not_two_are_refused(given: str) -> None:
    with pytest.raises(LearnableError, match="are not two words"):
        find_tags(given, None)


def test_a_rollout_keeps_its_thought_apart_and_counts_it() -> None:
    told = with_thought(wrote("<think>3 + 4</think>7"), USUAL_TAGS, len, is_open=False)
    assert (told.reasoning, told.completion, told.reasoning_tokens) == ("<think>3 + 4</think>", "7", 10)
    assert with_thought(wrote("<think>a</think>7", 40), USUAL_TAGS, len, is_open=False).reasoning_tokens == 16
    assert (told.rollout_id, told.completion_id) == (wrote("7").rollout_id, wrote("7").completion_id)
    assert with_thought(wrote("7"), USUAL_TAGS, len, is_open=False) == wrote("7")
    assert with_thought(wrote("<think>a</think>7"), None, len, is_open=False) == wrote("<think>a</think>7")


@pytest.mark.parametrize(
    ("text", "is_open", "judged_as"),
    [
        ("<think>hmm", False, "length"),
        ("hmm", True, "length"),
        ("hmm</think> \n", True, "length"),
        ("hmm</think>7", True, "stop"),
        ("7", False, "stop"),
        ("", False, "stop"),
    ],
)
def test_a_thought_without_an_answer_is_as_good_as_cut_short(text: str, is_open: bool, judged_as: str) -> None:
    assert with_thought(wrote(text), USUAL_TAGS, len, is_open=is_open).judged_as == judged_as
