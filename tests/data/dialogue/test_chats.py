"""Chat templates as files have them, and text prompts as turns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from learnable.data.dialogue.chats import as_chat, has_turns, read_chat_template
from learnable.data.policies import bundled_policy_path
from learnable.data.records import Message, Prompt, Sampling

TURNS = "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}{% endfor %}"
TEXT = Prompt("2 + 2 = ", "arithmetic", {"answer": 4}, family="arithmetic", form="Addition", columns={"level": 1})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("chat_template.jinja", TURNS),
        ("chat_template.json", json.dumps({"chat_template": TURNS})),
        ("tokenizer_config.json", json.dumps({"chat_template": TURNS})),
        (
            "tokenizer_config.json",
            json.dumps(
                {"chat_template": [{"name": "tool_use", "template": "x"}, {"name": "default", "template": TURNS}]}
            ),
        ),
    ],
)
def test_a_template_is_found_where_tokenizers_keep_it(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert read_chat_template(str(tmp_path)) == TURNS


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"chat_template": 3}', '{"chat_template": [3]}', "no json"])
def test_a_tokenizer_without_a_template_has_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(text)
    assert read_chat_template(str(tmp_path)) is None


def test_the_template_of_the_bundled_policy_only_joins_what_was_said() -> None:
    template = read_chat_template(str(bundled_policy_path()))
    assert template is not None
    assert not has_turns(template)


def test_a_text_becomes_a_turn_and_stays_the_same_problem() -> None:
    chat = as_chat(TEXT, "Be brief.")
    assert chat.prompt == (Message("system", "Be brief."), Message("user", "2 + 2 = "))
    assert chat.question_id != TEXT.question_id
    assert (chat.problem_id, chat.text, chat.columns) == (TEXT.problem_id, TEXT.text, TEXT.columns)


def test_a_chat_gets_words_of_the_system_where_it_has_none() -> None:
    turn = as_chat(TEXT)
    assert as_chat(turn) is turn
    told = as_chat(turn, "Be brief.")
    assert [each.role for each in told.prompt if isinstance(each, Message)] == ["system", "user"]
    assert as_chat(told, "Be long.") is told


def test_what_is_not_given_leaves_the_id_of_a_sampling_as_it_was() -> None:
    assert Sampling(0.7, 0.9, 5, 12).sampling_id == "t0.7-p0.9-k5"
    assert Sampling().to_json() == {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 256}


@pytest.mark.parametrize(
    "given",
    [
        {"min_p": 0.1},
        {"repetition_penalty": 1.1},
        {"stop": ("\n",)},
        {"stop": ("\n", "END")},
        {"template_args": {"enable_thinking": False}},
        {"template_args": {"enable_thinking": True}},
    ],
)
def test_what_changes_completions_changes_the_id_and_comes_back_from_json(given: dict[str, object]) -> None:
    sampling = Sampling(**given)  # type: ignore[arg-type]
    assert sampling.sampling_id.startswith("t1.0-p1.0-k0-")
    assert Sampling.from_json(json.loads(json.dumps(sampling.to_json()))) == sampling
    assert hash(sampling) is not None
    others = [Sampling(), Sampling(stop=("END",)), Sampling(template_args={"enable_thinking": None})]
    assert sampling.sampling_id not in {other.sampling_id for other in others}


def test_the_order_of_texts_that_end_a_completion_does_not_matter() -> None:
    assert Sampling(stop=("a", "b")).sampling_id == Sampling(stop=("b", "a", "b")).sampling_id


def test_greedy_keeps_what_ends_a_completion_and_what_is_seen() -> None:
    sampling = Sampling(0.7, 0.9, 5, 12, 0.1, 1.1, ("\n",), {"enable_thinking": False})
    assert sampling.as_greedy == Sampling(0.0, 1.0, 0, 12, 0.0, 1.1, ("\n",), {"enable_thinking": False})
