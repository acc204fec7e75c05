"""The request for a group that is sent to a server, and what the answer says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

from learnable.data.dialogue.thinking import NONE, USUAL_TAGS, ThinkTags, find_tags
from learnable.data.records import JsonObject, Rollout, Sampling, message_list
from learnable.rollouts.protocol import FINISH_REASONS, Answer, GroupRequest, Refusal, with_thought
from learnable.rollouts.server.failures import ServerFailedError, read_words, shorten
from learnable.rollouts.server.models import Served

# vLLM and SGLang take what is not given from the model's generation_config.json, and would sample otherwise than we
# record. Older ones ignore the first.
GIVEN_FIELDS: dict[str, object] = {
    "return_token_ids": True,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}


@dataclass(frozen=True, slots=True)
class Choice:
    """One completion of an answer. `reasoning` is the thought that the server told apart, without tags.

    `text` is None where the server gave none: that is no completion, and not an empty one.
    """

    text: str | None
    finish_reason: str
    num_tokens: int
    reasoning: str = ""
    token_ids: list[int] | None = None


def write_body(
    request: GroupRequest, first: int, count: int, sampling: Sampling, served: Served
) -> tuple[str, JsonObject]:
    """Return the path and the JSON that request `count` completions of a group, from its `first` on."""
    body: dict[str, Any] = {
        "model": served.model,
        "n": count,
        "seed": request.base_seed + first,  # vLLM gives child i the seed + i
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": cap_tokens(sampling, served),
    }
    if served.is_vllm or served.is_sglang:
        body |= GIVEN_FIELDS
    body |= _name_rest(sampling, served)
    prompt = message_list(request.prompt.prompt)
    if isinstance(prompt, str):
        return "/completions", body | {"prompt": prompt}
    template = {"chat_template_kwargs": dict(sampling.template_args)} if sampling.template_args else {}
    return "/chat/completions", body | {"messages": prompt} | template


def cap_tokens(sampling: Sampling, served: Served) -> int:
    """Return the most tokens that a completion is asked for: vLLM and SGLang refuse more than their context."""
    return sampling.max_tokens if served.context is None else min(sampling.max_tokens, served.context)


def _name_rest(sampling: Sampling, served: Served) -> JsonObject:
    """Return what is sent only where it is given: OpenAI's own servers refuse fields that they do not know."""
    body: JsonObject = {}
    if served.is_sglang:
        body["top_k"] = sampling.top_k or -1  # it refuses 0
    elif served.is_vllm or sampling.top_k > 0:
        body["top_k"] = sampling.top_k
    if sampling.min_p:
        body["min_p"] = sampling.min_p
    if sampling.repetition_penalty != 1:
        body["repetition_penalty"] = sampling.repetition_penalty
    if sampling.stop:
        body["stop"] = list(sampling.stop)
        body |= {"include_stop_str_in_output": True} if served.is_vllm else {}
        body |= {"no_stop_trim": True} if served.is_sglang else {}
    return body


def read_choices(answer: object, count: int, max_tokens: int, key: str | None = None) -> list[Choice]:
    """Return the answer's completions in the order of their indices: `count`, or one from a server that ignores `n`.

    Raises `ServerFailedError` for anything else; it does not tell the `key`.
    """
    try:
        if isinstance(answer, Mapping) and answer.get("error") and not answer.get("choices"):
            words = shorten(read_words(answer["error"]), key)
            raise ServerFailedError(f"an error in place of an answer: {words}", blames_request=True)
        return _read_choices(answer, count, max_tokens)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        why = shorten(repr(error), key)
        raise ServerFailedError(f"an answer that makes no sense: {why}", blames_request=True) from None


def read_usage(answer: object, request: GroupRequest, choices: Sequence[Choice]) -> tuple[int, int]:
    """Return the tokens of the prompt and of the completions that a server counted, or about as many."""
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    counted = [usage.get(f"{what}_tokens") if isinstance(usage, Mapping) else None for what in ("prompt", "completion")]
    roughly = (len(request.prompt.text) // 4 + 1, sum(choice.num_tokens for choice in choices))
    prompt, completion = (
        number if type(number) is int and number >= 0 else rough for number, rough in zip(counted, roughly, strict=True)
    )
    return prompt, completion


def make_answer(
    request: GroupRequest, choices: Sequence[Choice], sampling: Sampling, policy_id: str, template: str | None = None
) -> Answer:
    """Return a group's rollouts from all its completions, or a refusal where one is missing or ended in another way.

    `template` is the policy's chat template, if it is known: it may tell that the policy thinks.
    """
    if odd := {choice.finish_reason for choice in choices} - set(FINISH_REASONS):
        return Refusal(request, f"the server ended a completion with {odd.pop()!r}")
    if any(choice.text is None for choice in choices):
        return Refusal(request, "the server gave no text for a completion")
    tags = find_tags(sampling.think_tags, template)
    rollouts = [
        request.rollout(
            index,
            _write_whole(choice, tags or USUAL_TAGS),
            FINISH_REASONS[choice.finish_reason],
            choice.num_tokens,
            policy_id=policy_id,
            sampling=sampling,
            token_ids=choice.token_ids,
        )
        for index, choice in enumerate(choices)
    ]
    return [_tell_apart(*pair, tags, sampling) for pair in zip(rollouts, choices, strict=True)]


def _write_whole(choice: Choice, tags: ThinkTags) -> str:
    """Return all that the policy wrote, with tags around the thought that the server told apart."""
    if not choice.reasoning:
        return choice.text or ""
    is_unfinished = choice.finish_reason == "length" and not choice.text
    return f"{tags.open}{choice.reasoning}{'' if is_unfinished else tags.close}{choice.text}"


def _tell_apart(rollout: Rollout, choice: Choice, tags: ThinkTags | None, sampling: Sampling) -> Rollout:
    """Return the rollout with its thought apart. Its tokens are its share of the letters: a server counts the whole."""
    if choice.reasoning and sampling.think_tags != NONE:
        tags = tags or USUAL_TAGS
    letters = max(len(rollout.completion), 1)
    count = partial(_share, tokens=rollout.num_tokens, letters=letters)
    return with_thought(rollout, tags, count, is_open=False)


def _share(text: str, tokens: int, letters: int) -> int:
    return tokens * len(text) // letters


def share_tokens(texts: Sequence[str], are_cut: Sequence[bool], total: int | None, max_tokens: int) -> list[int]:
    """Return the tokens of each completion where the server gives only their sum.

    One that ran out of tokens has `max_tokens`; the others share the rest by length of text, an end token counted in.
    Without a sum, four characters count as a token.

    >>> share_tokens(["abc", "a", "long"], [False, False, True], total=22, max_tokens=10)
    [8, 4, 10]
    """
    if total is None:
        pairs = zip(texts, are_cut, strict=True)
        return [max_tokens if cut else min(max_tokens, len(text) // 4 + 1) for text, cut in pairs]  # roughly
    if len(texts) == 1:
        return [total]
    rest = max(0, total - max_tokens * sum(are_cut))
    weights = [0 if cut else len(text) + 1 for text, cut in zip(texts, are_cut, strict=True)]
    total_weight = sum(weights) or 1
    ends = [rest * end // total_weight for end in accumulate(weights, initial=0)]  # rounded ends: the sum stays true
    return [max_tokens if cut else end - start for cut, (start, end) in zip(are_cut, pairwise(ends), strict=True)]


def _read_choices(answer: Any, count: int, max_tokens: int) -> list[Choice]:
    choices = sorted(answer["choices"], key=lambda choice: int(choice["index"]))
    if len(choices) not in (1, count) or [choice["index"] for choice in choices] != list(range(len(choices))):
        raise ValueError(f"choices {[choice['index'] for choice in choices]} where {count} were requested")
    reasons = [str(choice.get("finish_reason")) for choice in choices]
    thoughts = [_thought(choice) for choice in choices]
    texts = [_text(*row) for row in zip(choices, reasons, thoughts, strict=True)]
    if all(isinstance(choice.get("token_ids"), list) for choice in choices):
        tokens = [len(choice["token_ids"]) for choice in choices]
    else:
        wholes = [thought + (text or "") for thought, text in zip(thoughts, texts, strict=True)]
        tokens = share_tokens(wholes, [reason == "length" for reason in reasons], _total(answer), max_tokens)
    tokens = [min(number, max_tokens) for number in tokens]  # no server draws more than it was asked for
    ids = [_token_ids(*pair) for pair in zip(choices, tokens, strict=True)]
    return [Choice(*fields) for fields in zip(texts, reasons, tokens, thoughts, ids, strict=True)]


def _token_ids(choice: Mapping[str, Any], count: int) -> list[int] | None:
    """Return the completion's tokens where a server gives as many as it counts, and they can be stored."""
    ids = choice.get("token_ids")
    if not isinstance(ids, list) or len(ids) != count:
        return None
    fits = all(type(token) is int and 0 <= token < 1 << 31 for token in ids)  # a column of 32 bits
    return ids if fits else None


def _total(answer: Mapping[str, Any]) -> int | None:
    """Return the tokens of all completions, None where the server does not say or says what cannot be."""
    usage = answer.get("usage")
    total = usage.get("completion_tokens") if isinstance(usage, Mapping) else None
    return total if isinstance(total, int) and total >= 0 else None


def _thought(choice: Mapping[str, Any]) -> str:
    """Return the thought that the server told apart: servers have two names for it."""
    message = choice.get("message") or {}
    thought = message.get("reasoning_content") or message.get("reasoning") or ""
    if not isinstance(thought, str):
        raise TypeError(f"a thought of type {type(thought).__name__}")
    return thought


def _text(choice: Mapping[str, Any], reason: str, thought: str) -> str | None:
    """Return the completion, None where there is none: a thought alone is one only where the tokens ran out in it."""
    text = choice["message"].get("content") if "message" in choice else choice["text"]
    if isinstance(text, list):  # of parts, as a request may have them too
        text = "".join(part["text"] for part in text if part["type"] in ("text", "output_text")) if text else None
    if not isinstance(text, str | None):
        raise TypeError(f"a completion of type {type(text).__name__}")
    return "" if text is None and thought and reason == "length" else text
