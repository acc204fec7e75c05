"""What a policy's files say about tokens: the tokens of a prompt, those that end a completion, how many fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from learnable.data.dialogue.thinking import find_tags, leaves_open
from learnable.data.errors import LearnableError
from learnable.data.policies import Policy, read_context_length
from learnable.data.records import Prompt, Rollout, Sampling, message_list
from learnable.rollouts.protocol import with_thought

NO_OPTIONS: Mapping[str, object] = {}
NO_WARNING = {"verbose": False}  # no warning about prompts that are too long: the caller counts the tokens


class PolicyTokens:
    """A policy's tokenizer and its limits, read without loading any weights.

    `options` are vLLM's, of which `tokenizer`, `trust_remote_code` and `max_model_len` count. `stops` are the tokens
    at which vLLM ends a completion by itself. Raises `LearnableError` for a policy that cannot be read.
    """

    def __init__(self, policy: Policy, options: Mapping[str, object]) -> None:
        from transformers import AutoConfig, GenerationConfig

        trusted = {"trust_remote_code": bool(options.get("trust_remote_code"))}
        self._tokenizer = read_tokenizer(policy.path, options)
        try:
            config = AutoConfig.from_pretrained(policy.path, **trusted)
        except (OSError, ValueError) as error:
            raise LearnableError(f"policy {policy.path!r} cannot be read: {error}") from error
        try:
            ends = GenerationConfig.from_pretrained(policy.path).eos_token_id
        except OSError:  # it has none
            ends = config.eos_token_id
        listed = ends if isinstance(ends, list) else [ends]
        self.stops = frozenset(token for token in [self._tokenizer.eos_token_id, *listed] if token is not None)
        length = options.get("max_model_len") or read_context_length(policy)
        length = length or getattr(config.get_text_config(), "max_position_embeddings", None)
        if not isinstance(length, int) or length < 1:
            raise LearnableError(
                f"policy {policy.path!r} has a context of {length!r} tokens: give `engine_options` max_model_len=N"
            )
        self.max_context = length

    def tell_apart(self, rollouts: Sequence[Rollout], prompt: Prompt, sampling: Sampling) -> list[Rollout]:
        """Return the rollouts of one prompt with thoughts and answers told apart, as `tell_thoughts_apart` does."""
        ids = self.encode(prompt, sampling.template_args)
        return tell_thoughts_apart(self._tokenizer, rollouts, ids, sampling.think_tags)

    def encode(self, prompt: Prompt, template_args: Mapping[str, object] = NO_OPTIONS) -> list[int]:
        """Return the tokens of a prompt, as `encode_prompt` does."""
        return encode_prompt(self._tokenizer, prompt, template_args)


def tell_thoughts_apart(
    tokenizer: Any, rollouts: Sequence[Rollout], prompt_ids: Sequence[int], think_tags: str
) -> list[Rollout]:
    """Return a group's rollouts with the thoughts of a policy that thinks apart from its answers.

    `prompt_ids` are the prompt's tokens, whose end says whether it has opened a thought; the sampling has the tags.
    """
    template = getattr(tokenizer, "chat_template", None)
    tags = find_tags(think_tags, template if isinstance(template, str) else None)
    if tags is None:
        return list(rollouts)
    end = tokenizer.decode(list(prompt_ids[-32:]), skip_special_tokens=False)  # where a template would open a thought
    is_open = leaves_open(end, tags)
    return [with_thought(rollout, tags, partial(count_tokens, tokenizer), is_open=is_open) for rollout in rollouts]


def count_tokens(tokenizer: Any, text: str) -> int:
    """Return how many tokens a text takes, without those that begin or end one."""
    return len(tokenizer(text, add_special_tokens=False, **NO_WARNING).input_ids)


def read_tokenizer(policy: str, options: Mapping[str, object] = NO_OPTIONS) -> Any:
    """Return the tokenizer of a policy, or the one that vLLM's options name. Raises `LearnableError` where none is."""
    from transformers import AutoTokenizer

    load: Any = AutoTokenizer.from_pretrained
    try:
        return load(options.get("tokenizer") or policy, trust_remote_code=bool(options.get("trust_remote_code")))
    except (OSError, ValueError) as error:
        raise LearnableError(f"policy {policy!r} cannot be read: {error}") from error


def encode_prompt(tokenizer: Any, prompt: Prompt, template_args: Mapping[str, object] = NO_OPTIONS) -> list[int]:
    """Return the tokens of a prompt as every engine sees it, chat template and special tokens included.

    `template_args` is what the chat template is told; a prompt that is text has no use for it.
    """
    messages = message_list(prompt.prompt)
    if isinstance(messages, str):
        return list(tokenizer(messages, **NO_WARNING).input_ids)
    encoded = tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, return_dict=True, tokenizer_kwargs=NO_WARNING, **template_args
    )
    return list(encoded["input_ids"])


def render_prompt(tokenizer: Any, prompt: Prompt, template_args: Mapping[str, object] = NO_OPTIONS) -> str:
    """Return the text of `encode_prompt`'s tokens, special ones included."""
    return str(tokenizer.decode(encode_prompt(tokenizer, prompt, template_args), skip_special_tokens=False))
