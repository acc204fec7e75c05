from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.records import Message, Prompt, Sampling
from learnable.rollouts.protocol import Answer, GroupRequest, Refusal
from learnable.rollouts.server.answers import make_answer, read_choices, share_tokens, write_body
from learnable.rollouts.server.failures import ServerFailedError
from learnable.rollouts.server.models import Served

COMPLETIONS = st.lists(st.tuples(st.text(max_size=30), st.booleans()), min_size=1, max_size=8)


@given(COMPLETIONS, st.integers(0, 400))
def test_shared_tokens_add_up(completions: list[tuple[str, bool]], spare: int) -> None:
    texts, cut = [text for text, _ in completions], [is_cut for _, is_cut in completions]
    total = 9 * sum(cut) + (0 if all(cut) else spare)
    tokens = share_tokens(texts, cut, total, max_tokens=9)
    assert sum(tokens) == total
    assert [count for count, is_cut in zip(tokens, cut, strict=True) if is_cut] == [9] * sum(cut)
    assert all(count >= 0 for count in tokens)


def test_tokens_are_guessed_where_nothing_is_told() -> None:
    assert share_tokens(["", "x" * 40, "y"], [False, False, True], None, max_tokens=9) == [1, 9, 9]


def choice(index: int, text: str, reason: str = "stop", **fields: object) -> dict[str, Any]:
    return {"index": index, "text": text, "finish_reason": reason, **fields}


def test_choices_are_put_in_order() -> None:
    answer = {"choices": [choice(1, "b", token_ids=[1, 2]), choice(0, "a", "length", token_ids=[7])]}
    first, second = read_choices(answer, 2, max_tokens=9)
    assert (first.text, first.finish_reason, first.num_tokens) == ("a", "length", 1)
    assert (second.text, second.num_tokens) == ("b", 2)
    assert (first.token_ids, second.token_ids) == ([7], [1, 2])


@pytest.mark.parametrize("ids", [["a"], [True], [-1], [1 << 31], [1.5], [1] * 10], ids=str)
def test_tokens_that_cannot_be_are_not_kept(ids: list[Any]) -> None:
    [only] = read_choices({"choices": [choice(0, "a", token_ids=ids)]}, 1, max_tokens=9)
    assert only.token_ids is None


def chat(content: object, reason: object = "stop", **message: object) -> dict[str, Any]:
    return {"index": 0, "message": {"content": content, **message}, "finish_reason": reason}


def answer_one(choice: dict[str, Any]) -> Answer:
    request = GroupRequest(Prompt("p", "choice", {"answer": "x"}, family="f", form="F"), 1)
    choices = read_choices({"choices": [choice], "usage": None}, 1, max_tokens=9)
    return make_answer(request, choices, Sampling(), "p@w")


@pytest.mark.parametrize(
    ("missing", "reason"),
    [
        (chat(None), "no text"),
        (chat(None, "length"), "no text"),
        (chat([]), "no text"),
        (chat(None, refusal="I will not"), "no text"),
        (chat(None, reasoning_content="so it is 7"), "no text"),
        ({"index": 0, "message": {}, "finish_reason": "stop"}, "no text"),
        ({"index": 0, "text": None, "finish_reason": "stop"}, "no text"),
        (chat(None, "tool_calls", tool_calls=[{}]), "'tool_calls'"),
        (chat("a", "abort"), "'abort'"),
        (chat("a", None), "'None'"),
        (chat("a", {"x": 1}), "'x'"),
        ({"index": 0, "text": "a"}, "'None'"),
    ],
)
def test_what_is_no_completion_is_not_an_empty_one(missing: dict[str, Any], reason: str) -> None:
    refusal = answer_one(missing)
    assert isinstance(refusal, Refusal)
    assert reason in refusal.reason


@pytest.mark.parametrize(
    ("given", "text", "thought"),
    [
        (chat(""), "", ""),
        (chat("", reasoning_content="7"), "", "<think>7</think>"),
        (chat(None, "length", reasoning_content="so it"), "", "<think>so it"),
        (chat([{"type": "text", "text": "a "}, {"type": "text", "text": "b"}]), "a b", ""),
        (chat("a\ud800b", reasoning_content="\udfff"), "a\ufffdb", "<think>\ufffd</think>"),
        (chat("\ud83d\ude00"), "\U0001f600", ""),
    ],
)
def test_what_is_one_has_text_that_can_be_stored(given: dict[str, Any], text: str, thought: str) -> None:
    group = answer_one(given)
    assert isinstance(group, list)
    assert (group[0].completion, group[0].reasoning) == (text, thought)


@pytest.mark.parametrize(
    "usage",
    [None, 3, [], {}, *({"completion_tokens": n} for n in (-1, "9", float("nan"), float("inf"), 10**30, [], 2.5))],
)
def test_tokens_that_cannot_be_are_not_believed(usage: object) -> None:
    for reason in ("stop", "length"):
        [only] = read_choices({"choices": [choice(0, "a", reason)], "usage": usage}, 1, max_tokens=9)
        assert 0 <= only.num_tokens <= 9


@pytest.mark.parametrize(
    "odd",
    [
        choice(0, "a") | {"index": float("inf")},
        choice(0, "a") | {"index": float("nan")},
        choice(0, "a") | {"index": None},
        chat({"text": "a"}),
        chat([{"type": "image"}, 5]),
        chat(5),
        chat("a", reasoning_content={"x": 1}),
        {"index": 0, "message": "a", "finish_reason": "stop"},
        {"index": 0, "finish_reason": "stop"},
        "a",
        None,
    ],
)
def test_a_choice_of_other_types_is_a_failure(odd: object) -> None:
    with pytest.raises(ServerFailedError, match="makes no sense"):
        read_choices({"choices": [odd]}, 1, max_tokens=9)


@pytest.mark.parametrize("error", ["no memory, key-1", {"message": "no memory, key-1", "code": 1}])
def test_an_error_that_calls_itself_a_success_is_told(error: object) -> None:
    with pytest.raises(ServerFailedError, match=r"an error in place of an answer: no memory, \[key\]"):
        read_choices({"error": error}, 1, max_tokens=9, key="key-1")


@pytest.mark.parametrize(
    "choices",
    [[], [choice(0, "a"), choice(0, "b"), choice(1, "c")], [choice(0, "a"), choice(1, "b")], [choice(1, "a")], None],
)
def test_choices_that_were_not_requested_are_a_failure(choices: object) -> None:
    with pytest.raises(ServerFailedError, match="makes no sense"):
        read_choices({"choices": choices}, 3, max_tokens=9)


def test_top_k_is_told_to_others_only_where_it_is_set() -> None:
    request = GroupRequest(Prompt("p", "choice", {"answer": "x"}, family="f", form="F"), 4, redraw_seed=70)
    served = Served("http://h/v1", "m")
    assert "top_k" not in write_body(request, 0, 4, Sampling(), served)[1]
    path, body = write_body(request, 2, 1, Sampling(top_k=5, temperature=0.7, top_p=0.9, max_tokens=30), served)
    assert path == "/completions"
    assert body == {
        "model": "m", "n": 1, "seed": 72, "temperature": 0.7, "top_p": 0.9, "max_tokens": 30, "top_k": 5, "prompt": "p",
    }  # fmt: skip


def test_what_else_changes_completions_is_told_where_it_is_set() -> None:
    chat = (Message("user", "p"),)
    request = GroupRequest(Prompt(chat, "choice", {"answer": "x"}, family="f", form="F"), 4)
    sampling = Sampling(min_p=0.1, repetition_penalty=1.2, stop=("END",), template_args={"enable_thinking": False})
    told = {
        "min_p": 0.1,
        "repetition_penalty": 1.2,
        "stop": ["END"],
        "chat_template_kwargs": {"enable_thinking": False},
    }
    path, body = write_body(request, 0, 4, sampling, Served("http://h/v1", "m", is_vllm=True))
    assert path == "/chat/completions"
    assert {name: body[name] for name in told} == told
    assert body["include_stop_str_in_output"] is True
    assert "include_stop_str_in_output" not in write_body(request, 0, 4, sampling, Served("http://h/v1", "m"))[1]
    usual = write_body(request, 0, 4, Sampling(), Served("http://h/v1", "m"))[1]
    assert not {*told, "include_stop_str_in_output"} & usual.keys()


def test_a_thought_that_the_server_tells_apart_is_kept_apart() -> None:
    messages = [
        {"reasoning_content": "3 + 4", "content": "7"},
        {"reasoning": "hmm", "content": None},
        {"reasoning_content": None, "content": "<think>a</think>8"},
    ]
    ends = ["stop", "length", "stop"]
    choices = [
        {"index": i, "message": message, "finish_reason": end, "token_ids": [1] * 8}
        for i, (message, end) in enumerate(zip(messages, ends, strict=True))
    ]
    request = GroupRequest(Prompt("p", "choice", {"answer": "x"}, family="f", form="F"), 3)
    read = read_choices({"choices": choices}, 3, max_tokens=9)
    group = make_answer(request, read, Sampling(), "p@w")
    assert isinstance(group, list)
    assert [(one.reasoning, one.completion) for one in group] == [
        ("<think>3 + 4</think>", "7"),
        ("<think>hmm", ""),
        ("", "<think>a</think>8"),
    ]
    assert [one.judged_as for one in group] == ends
    assert [one.reasoning_tokens for one in group] == [7, 8, 0]
    known = make_answer(request, read, Sampling(), "p@w", "{{ '<think>' }}")
    assert isinstance(known, list)
    assert (known[2].reasoning, known[2].completion) == ("<think>a</think>", "8")
    left = make_answer(request, read, Sampling(think_tags="none"), "p@w", "{{ '<think>' }}")
    assert isinstance(left, list)
    assert [one.completion for one in left] == ["<think>3 + 4</think>7", "<think>hmm", "<think>a</think>8"]
