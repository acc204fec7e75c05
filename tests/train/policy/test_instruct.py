"""The tiny instruct policy: its template marks turns, and a turn alone reads as a text does."""

from __future__ import annotations

from pathlib import Path

from learnable.data.dialogue.chats import as_chat, has_turns, read_chat_template
from learnable.data.policies import bundled_policy_path
from learnable.data.records import Message, Prompt
from learnable.rollouts.policy_tokens import encode_prompt, read_tokenizer, render_prompt
from learnable.train.policy.instruct import make_instruct_policy

TEXT = Prompt("Calculate: 2 + 3 = ", "arithmetic", {"answer": 5}, family="f", form="F")


def test_a_turn_alone_reads_as_the_text_does(tmp_path: Path) -> None:
    policy = make_instruct_policy(tmp_path / "instruct")
    assert has_turns(read_chat_template(str(policy)))
    tokenizer = read_tokenizer(str(policy))
    as_text = encode_prompt(read_tokenizer(str(bundled_policy_path())), TEXT)
    assert encode_prompt(tokenizer, as_chat(TEXT)) == as_text
    assert as_text.count(tokenizer.bos_token_id) == 1


def test_roles_and_what_the_template_is_told_are_seen(tmp_path: Path) -> None:
    tokenizer = read_tokenizer(str(make_instruct_policy(tmp_path)))
    chat = as_chat(TEXT, "Be terse.")
    assert render_prompt(tokenizer, chat) == "<bos>[Be terse.]\nCalculate: 2 + 3 = "
    assert render_prompt(tokenizer, chat, {"enable_thinking": True}) == f"{render_prompt(tokenizer, chat)}<think>\n"
    assert render_prompt(tokenizer, chat, {"enable_thinking": False}) == render_prompt(tokenizer, chat)
    longer = Prompt((*chat.prompt, Message("assistant", "5")), "arithmetic", {}, "f", "F")  # type: ignore[misc]
    assert render_prompt(tokenizer, longer).endswith("5<eos>")
