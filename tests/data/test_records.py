from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.plain_text import whole_characters
from learnable.data.records import (
    REWARDED_VERDICTS,
    VERDICTS,
    Message,
    Prompt,
    Rollout,
    Sampling,
    Score,
    canonical_json,
    content_id,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def addition(**changes: object) -> Prompt:
    return replace(Prompt("2 + 2 = ", "arithmetic", {"answer": 4}, family="arithmetic", form="Addition"), **changes)  # type: ignore[arg-type]


def test_what_matters_changes_the_id_and_nothing_else_does() -> None:
    prompt = addition()
    for change in ({"prompt": "2 + 3 = "}, {"verifier": "counting"}, {"spec": {"answer": 5}}):
        assert addition(**change).prompt_id != prompt.prompt_id
    for change in ({"family": "x"}, {"form": "x"}, {"difficulty": 3.0}, {"source": "x"}, {"split": "test"}):
        assert addition(**change).prompt_id == prompt.prompt_id


def test_ids_are_stable_across_releases() -> None:
    assert addition().prompt_id == content_id("2 + 2 = ", "arithmetic", {"answer": 4}) == "e0bb1096377e244a90a9"


def test_the_problem_is_the_question_where_an_answer_alone_is_judged() -> None:
    prompt = addition()
    for change in ({"prompt": "2  + 2 =\n"}, {"verifier": "counting"}, {"spec": {"answer": 5}}, {"split": "test"}):
        assert addition(**change).problem_id == prompt.problem_id
    chat = addition(prompt=(Message("system", "Be terse."), Message("user", "2 + 2 = ")))
    others = [addition(prompt="2 + 3 = "), chat, addition(verifier="simulated")]
    assert len({other.problem_id for other in [prompt, *others]}) == 4


@pytest.mark.parametrize("key", ["cases", "stdin", "test_code"])
def test_the_problem_is_what_is_judged_where_there_are_cases(key: str) -> None:
    spec = {key: [["1", "2"]], "entry": "f", "cpu_seconds": 2}
    prompt = addition(verifier="programs", spec=spec)
    for change in ({"prompt": "Other words."}, {"spec": spec | {"entry": "g", "cpu_seconds": 1}}):
        assert addition(**{"verifier": "programs", "spec": spec, **change}).problem_id == prompt.problem_id
    assert addition(verifier="programs", spec=spec | {key: [["1", "3"]]}).problem_id != prompt.problem_id


def test_a_named_problem_is_the_problem() -> None:
    assert addition(named_problem="p").problem_id == "p"
    assert addition(named_problem="p").prompt_id == addition().prompt_id


@given(st.dictionaries(st.text(), JSON))
def test_key_order_of_a_spec_does_not_matter(spec: dict[str, object]) -> None:
    backwards = dict(reversed(spec.items()))
    assert canonical_json(spec) == canonical_json(backwards)


def test_a_chat_and_its_text_are_two_prompts() -> None:
    chat = addition(prompt=(Message("system", "Be terse."), Message("user", "2 + 2 = ")))
    assert chat.text == "2 + 2 = "
    assert chat.prompt_id != addition().prompt_id


def test_a_rollout_is_keyed_by_the_draw_not_by_the_answer() -> None:
    rollout = Rollout("p", "policy", "s", 64, 0, "4", "stop", 1)
    assert replace(rollout, completion="5", seed=9).rollout_id == rollout.rollout_id
    assert replace(rollout, rollout_index=1).rollout_id != rollout.rollout_id
    assert Sampling(temperature=0.7).sampling_id != Sampling().sampling_id


def test_unscored_is_not_zero() -> None:
    score = Score.unscored("sandbox: gone")
    assert score.reward is None
    assert score.passed is None
    assert score.verdict == "verifier_error"


def test_the_verdicts_with_a_reward_are_those_of_a_judged_completion() -> None:
    assert VERDICTS == ("scored", "truncated", "verifier_error", "engine_error")
    assert VERDICTS[:2] == REWARDED_VERDICTS
    assert Score.unscored("broken").verdict not in REWARDED_VERDICTS


@given(st.text(st.characters() | st.characters(categories=["Cs"])))
def test_text_is_whole_and_nothing_else_changes(text: str) -> None:
    whole = whole_characters(text)
    assert whole.encode().decode() == whole == whole_characters(whole)
    try:
        text.encode()
    except UnicodeEncodeError:
        others = "".join(sign for sign in text if not 0xD800 <= ord(sign) < 0xE000)
        kept = iter(whole)
        assert all(sign in kept for sign in others)  # in their order
        assert len(whole) <= len(text)
    else:
        assert whole == text


def test_what_any_engine_wrote_can_be_stored() -> None:
    rollout = Rollout("q", "p", "s", 8, 0, "a\ud800", "stop", 1, reasoning="\udfff\ud83d\ude00")
    assert (rollout.completion, rollout.reasoning) == ("a\ufffd", "\ufffd\U0001f600")
    assert rollout.completion_id == replace(rollout, completion="a\ufffd").completion_id
