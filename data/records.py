"""The records that travel through the pipeline.

Glossary. A *prompt* is one thing to ask, with the verifier that judges it and what that verifier needs
(`spec`). Its *question* is what the policy sees of it. A *completion* is the text a policy answered. A *rollout* is one sampled completion with its
tokens, finish reason and seed. A *group* is every rollout of one prompt by one policy under one sampling.
A *score* is what a verifier says of a completion. A *verdict* says whether that score is honest:

- `scored`: the verifier judged a finished completion;
- `truncated`: it judged a completion that ran out of tokens, so the text may be cut short;
- `verifier_error`: the verifier failed; there is no reward, and that is not a zero;
- `engine_error`: no completion was produced; there is no reward either.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Verdict = Literal["scored", "truncated", "verifier_error", "engine_error"]
FinishReason = Literal["stop", "length"]
Truncated = Literal["count", "exclude"]  # what a completion that ran out of tokens does in its group
Split = Literal["train", "test"]
Spec = Mapping[str, Any]
SIMULATED = "simulated"  # the verifier of prompts that no model answers


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat prompt."""

    role: str
    content: str


PromptText = str | tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One thing to ask. Two prompts with the same text, verifier and spec are the same prompt.

    `family` groups forms ("arithmetic", "poetry"); `form` is the finest named kind ("Addition", "Haiku").
    The form travels as data: no verifier guesses it from the text. `difficulty` is the source's own
    scale, 1 (easiest) to 10, or None where it has none. `columns` holds what else the source's row had, JSON-ready: it
    is carried into the curated set and changes neither the question nor the judgement.

    `question_id` is the content id of what the policy sees: the text or the messages. Prompts that differ in verifier
    or spec alone share it, and so their rollouts. A simulated policy sees the spec too.
    """

    prompt: PromptText
    verifier: str
    spec: Spec
    family: str
    form: str
    difficulty: float | None = None
    source: str = "builtin"
    split: Split = "train"
    columns: Mapping[str, Any] = field(default_factory=dict, compare=False)
    prompt_id: str = field(init=False)
    question_id: str = field(init=False)

    def __post_init__(self) -> None:
        seen = message_list(self.prompt)
        object.__setattr__(self, "prompt_id", content_id(seen, self.verifier, self.spec))
        object.__setattr__(self, "question_id", self.prompt_id if self.verifier == SIMULATED else content_id(seen))

    @property
    def spec_json(self) -> str:
        """The spec as canonical JSON: sorted keys, no spaces."""
        return canonical_json(self.spec)

    @property
    def text(self) -> str:
        """The words a verifier may look at: the text itself, or the last message of a chat."""
        return self.prompt if isinstance(self.prompt, str) else self.prompt[-1].content


@dataclass(frozen=True, slots=True)
class Sampling:
    """How completions are drawn. `max_tokens` caps each completion, in tokens."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    max_tokens: int = 256

    @property
    def sampling_id(self) -> str:
        """These settings as a name, without the cap: a completion that ended by itself is the same under a higher one.

        >>> Sampling(temperature=0.7).sampling_id
        't0.7-p1.0-k0'
        """
        return f"t{float(self.temperature)!r}-p{float(self.top_p)!r}-k{self.top_k}"


@dataclass(frozen=True, slots=True)
class Rollout:
    """One completion of one question, cut at `max_tokens`. `seed` is None where the engine could not take one.

    `stored_id` is its key in the ledger that it was read from, if it was: earlier versions keyed rollouts otherwise.
    """

    question_id: str
    policy_id: str
    sampling_id: str
    max_tokens: int
    rollout_index: int
    completion: str
    finish_reason: FinishReason
    num_tokens: int
    seed: int | None = None
    cumulative_logprob: float | None = None
    round: int = 0
    stored_id: str = ""

    @property
    def rollout_id(self) -> str:
        """Content id of the question and the draw, not of the answer: the key of the ledger."""
        draw = (weights_id(self.policy_id), self.sampling_id, self.max_tokens, self.rollout_index)
        return self.stored_id or content_id(self.question_id, *draw)

    @property
    def completion_id(self) -> str:
        """Content id of the answer: a score belongs to it, since a rollout that is made again may read differently."""
        return hashlib.sha256(self.completion.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Score:
    """What a verifier says of one completion.

    `reward` is in [0, 1], or None when nothing honest can be said; `passed` is the verifier's own yes or
    no, and need not be a threshold of the reward; `components` are named parts of the reward in [0, 1].
    """

    reward: float | None
    passed: bool | None
    components: Mapping[str, float] = field(default_factory=dict)
    verdict: Verdict = "scored"
    reason: str = ""

    @classmethod
    def unscored(cls, reason: str, verdict: Verdict = "verifier_error") -> Score:
        """A verdict without a reward: a failure of ours, never a zero of the policy's."""
        return cls(reward=None, passed=None, verdict=verdict, reason=reason)


def is_own_verifier(name: str) -> bool:
    """Whether a verifier is a user's own, named as `FILE.py:OBJECT` or `MODULE:OBJECT`, and not one of ours."""
    return ":" in name


def weights_id(policy_id: str) -> str:
    """Return the part of a policy's id that follows from its weights, whatever it is called.

    >>> weights_id("checkpoint-60@3f9a0c1d2b4e5f60")
    '3f9a0c1d2b4e5f60'
    """
    return policy_id.rpartition("@")[2]


def canonical_json(value: object) -> str:
    """Serialise `value` so that equal contents give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def content_id(*parts: object) -> str:
    """Return 20 hex digits (80 bits) of the SHA-256 of the parts' canonical JSON."""
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()[:20]


def message_list(prompt: PromptText) -> str | list[dict[str, str]]:
    """Return the prompt as JSON-ready text or chat messages, the shape that TRL reads."""
    return prompt if isinstance(prompt, str) else [asdict(message) for message in prompt]
