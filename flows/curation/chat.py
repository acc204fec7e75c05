"""Whether a run's text prompts are turns of a chat, said once, and one prompt as the policy sees it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from learnable.data.dialogue.chats import as_chat, has_turns, read_chat_template
from learnable.data.errors import LearnableError
from learnable.data.policies import Policy, bundled_policy_path, is_adapter
from learnable.data.progress import progress
from learnable.data.records import Prompt, Sampling, weights_id
from learnable.flows.engines import policy_for
from learnable.flows.settings import CurateSettings
from learnable.rollouts.policy_tokens import read_tokenizer, render_prompt
from learnable.rollouts.server.models import UNHASHED

TEMPLATE_UNSEEN = "whether the server's model has a chat template cannot be seen from here"
TOLD_BY_TEMPLATE = "the text prompts go to the policy as a user's turn, for it has a chat template"


@dataclass(frozen=True, slots=True)
class Chat:
    """Whether text prompts become a user's turn, what the system says before it, and why, in a sentence or none."""

    is_on: bool
    system_prompt: str = ""
    why: str = ""

    def dress(self, prompt: Prompt) -> Prompt:
        """Return the prompt as the policy is asked it."""
        if self.is_on or not isinstance(prompt.prompt, str):
            return as_chat(prompt, self.system_prompt)
        return prompt


def decide_chat(settings: CurateSettings) -> Chat:
    """Decide by the settings and, where they leave it to the policy, by its chat template.

    Raises `LearnableError` where the policy is needed and cannot be found.
    """
    chat = settings.chat
    if not settings.engine.asks_model or chat.mode == "off":
        return Chat(is_on=False)
    if chat.mode == "on":
        return Chat(True, chat.system_prompt)
    where = _find_tokenizer(settings)
    if where is None:
        return Chat(False, chat.system_prompt, TEMPLATE_UNSEEN)
    if has_turns(read_chat_template(where)):
        return Chat(True, chat.system_prompt, TOLD_BY_TEMPLATE)
    return Chat(False, chat.system_prompt, f"policy {where!r} has no chat template that marks turns")


def check_chat(chat: Chat, prompts: Sequence[Prompt], sampling: Sampling) -> None:
    """Say that text prompts were made turns of a chat, where the policy decided it.

    Raises `LearnableError` where something is said to a chat, and the prompts are none.
    """
    if any(isinstance(prompt.prompt, str) for prompt in prompts):
        if chat.why == TEMPLATE_UNSEEN:
            progress().note(f"{TEMPLATE_UNSEEN}: give `mode` on where it is an instruct model")
        for name, given in (("system_prompt", chat.system_prompt), ("template_args", sampling.template_args)):
            if given:
                why = f", and {chat.why}" if chat.why else ""
                raise LearnableError(f"`{name}` is for chats{why}: give `mode` on, or leave it out")
    elif chat.is_on and chat.why and any(prompt.named_problem for prompt in prompts):
        progress().note(f"{chat.why} (`mode` off sends them as they are)")


def render_first(settings: CurateSettings, policy: Policy, prompts: Sequence[Prompt]) -> str:
    """Return the first prompt as the policy sees it: a chat with the marks of its template.

    Where its tokenizer is not here, as behind a server, the turns stand behind their roles.
    No model sees those of an engine that asks none.
    """
    if not prompts or not settings.engine.asks_model:
        return ""
    return render(settings, policy, prompts[0])


def render(settings: CurateSettings, policy: Policy, prompt: Prompt) -> str:
    """Return a prompt as the policy sees it, as far as that can be known here (see `render_first`)."""
    if isinstance(prompt.prompt, str):
        return prompt.prompt
    options = settings.engine.options
    given = options.get("tokenizer")
    if (given or _is_here(policy)) and read_chat_template(str(given or policy.path)) is not None:
        with suppress(LearnableError):  # there is a template and no tokenizer
            return render_prompt(read_tokenizer(policy.path, options), prompt, settings.sampling.template_args)
    return "\n".join(f"{turn.role}: {turn.content}" for turn in prompt.prompt)


def _find_tokenizer(settings: CurateSettings) -> str | None:
    """Return the folder or hub id whose tokenizer writes the prompts; None where only a server has it.

    A folder's weights are not looked at.
    """
    if given := settings.engine.options.get("tokenizer"):
        return str(given)
    if settings.policy is None and settings.engine.loads_policies:
        return str(bundled_policy_path())
    if settings.policy is not None and Path(settings.policy).is_dir() and not is_adapter(Path(settings.policy)):
        return settings.policy
    policy = policy_for(settings)
    return policy.path if _is_here(policy) else None


def _is_here(policy: Policy) -> bool:
    """Whether the policy's files are in a folder or on the hub, and not a server's alone."""
    return Path(policy.path).is_dir() or not weights_id(policy.policy_id).startswith(f"{UNHASHED}-")
