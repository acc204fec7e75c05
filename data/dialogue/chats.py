"""Chat templates and chats: whether a policy has turns of its own, and a text prompt as a user's turn."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from learnable.data.records import SIMULATED_VERIFIER, Message, Prompt

_TAGS = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", re.DOTALL)


def read_chat_template(policy: str, *, download: bool = True) -> str | None:
    """Return the chat template of a policy's tokenizer, a folder's or one on the hub; None where there is none.

    Without `download` the hub is not asked for what is not in its cache here. Neither the tokenizer nor transformers
    is loaded for it.
    """
    # Where transformers looks, in its order: each may have the template, alone or under a key.
    for name in ("chat_template.jinja", "chat_template.json", "tokenizer_config.json"):
        if (file := _find_file(policy, name, download)) is not None and (template := _read_template(file)):
            return template
    return None


def has_turns(template: str | None) -> bool:
    """Whether a chat template marks turns, and does not just join what was said.

    >>> has_turns("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}")
    True
    >>> has_turns("{% for message in messages %}{{ message['content'] }}{% endfor %}"), has_turns(None)
    (False, False)
    """
    if template is None:
        return False
    marks = ("role", "add_generation_prompt")
    return any(mark in template for mark in marks) or bool(_TAGS.sub("", template).strip())


def as_chat(prompt: Prompt, system_prompt: str = "") -> Prompt:
    """Return a text prompt as a user's turn, after the system's words; a chat that has none gets those too.

    It is the same problem, whatever is said around it. A simulated prompt stays as it is.

    >>> prompt = Prompt("2 + 2 = ", "arithmetic", {"answer": 4}, family="arithmetic", form="Addition")
    >>> [turn.role for turn in as_chat(prompt, "Be brief.").prompt], as_chat(prompt).problem_id == prompt.problem_id
    (['system', 'user'], True)
    """
    first = (Message("system", system_prompt),) if system_prompt else ()
    if prompt.verifier == SIMULATED_VERIFIER:
        return prompt
    if isinstance(prompt.prompt, str):
        turns: tuple[Message, ...] = (Message("user", prompt.prompt),)
    elif first and prompt.prompt[0].role != "system":
        turns = prompt.prompt
    else:
        return prompt
    return replace(prompt, prompt=(*first, *turns), named_problem=prompt.problem_id)


def _find_file(policy: str, name: str, download: bool) -> Path | None:
    folder = Path(policy)
    if folder.is_dir():
        return folder / name if (folder / name).is_file() else None
    from huggingface_hub import constants, hf_hub_download, try_to_load_from_cache

    with suppress(Exception):  # no such file, no such name, no network: each is an error of its own
        if isinstance(cached := try_to_load_from_cache(policy, name), str):
            return Path(cached)
        if download and not constants.HF_HUB_OFFLINE:
            return Path(hf_hub_download(policy, name))
    return None


def _read_template(file: Path) -> str | None:
    try:
        text = file.read_text(encoding="utf-8")
        template = text if file.suffix == ".jinja" else json.loads(text).get("chat_template")
    except (OSError, ValueError, AttributeError):
        return None
    if isinstance(template, list):  # several, by name
        named = {each.get("name"): each.get("template") for each in template if isinstance(each, dict)}
        template = named.get("default")
    return template if isinstance(template, str) and template.strip() else None
