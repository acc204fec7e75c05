"""The records that travel through the pipeline.

Glossary: the words of this project, one meaning each. First, what is asked and answered.

- prompt: one thing to ask, with the verifier that judges the answer and what that verifier needs (`spec`).
- question: what the policy sees of a prompt, the text or the chat messages. Prompts may share one.
- problem: what a prompt is about, whatever its words: prompts that are judged by the same cases are one problem. What
  is held out is held out by problem.
- completion: the text that a policy answered.
- rollout: one sampled completion of one question, with its number of tokens, finish reason and seed.
- requested: said of rollouts that an engine was told to make; missing: requested, and not in the ledger yet;
  stored: in the ledger.
- group: every rollout of one prompt by one policy under one sampling. `group_size` is TRL's `num_generations`.
- policy: the model that is trained. Its id ends in a hash of its weights.
- family, form: the kinds of prompts. Priors are fitted per family ("poetry"); reports are made per form ("Haiku").

What is said of the answers.

- score: what a verifier says of a completion: a reward in [0, 1] or none, passed or not, named components, a verdict.
- verdict: whether there is a reward, and what it rests on.
  `scored`: the verifier judged a finished completion.
  `truncated`: it judged a completion that ran out of tokens, so the text may be cut short.
  `verifier_error`: the verifier failed. There is no reward, and that is not a zero.
  `engine_error`: no completion was made. There is no reward either.
- pass rate: share of the completions of a group that passed. Of graded rewards, say mean reward.
- graded: said of rewards that are not only 0 and 1. Bernoulli: said of rewards that are.
- std: population standard deviation (ddof 0) of the rewards of one group; within-std and between-std are its
  averages inside groups and between their means.
- zero-std group: a group whose rewards are all equal. It has no advantage and no gradient.

What is concluded.

- band: the interval of the mean reward (or pass rate) in which a prompt is kept.
- prior, posterior: what is believed of a prompt's true mean reward before and after its rollouts: a Beta distribution
  with point masses at 0 and 1. `FamilyPrior` is the prior of a family, with its `VarianceModel`: how the variance
  inside a group depends on the mean.
- effective sample size (`n_eff`; per rollout `ess_per_rollout`): how many 0/1 rewards tell as much as these rewards.
- certificate: the columns of a prompt's posterior (`alpha` to `usable_at_g`). It is a posterior, not a proof.
- `p_in_band`, `p_min_std`, `p_keep`: chance that the true mean is in the band; that the true std is at least the
  smallest one that is accepted; of both.
- decision: `keep`, or the reason why not. Triage: what the evidence says of a prompt that was never solved.
- sampling budget: which prompts get more rollouts, and how many. Round: one request for more rollouts of many prompts.
- curated set: versioned Parquet shards of kept prompts, with rejects, a control part, a manifest and a card.
- drift: how far a newer policy's mean rewards moved. Anchors: the few prompts that are sampled again to measure it.
- staleness: how much less a certificate is worth under a newer policy; `share_still_in_band` is its measure.
- forecast: what groups of the trainer's size are expected to give.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cache, lru_cache
from math import inf
from typing import Annotated, Any, Literal, get_args

from learnable.data.errors import LearnableError
from learnable.data.plain_text import whole_characters
from learnable.data.settings import Setting

Verdict = Literal["scored", "truncated", "verifier_error", "engine_error"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
REWARDED_VERDICTS: tuple[Verdict, ...] = ("scored", "truncated")  # the verdicts of scores that have a reward
Truncated = Literal["count", "exclude"]  # what a completion that ran out of tokens does in its group
FinishReason = Literal["stop", "length"]
Split = Literal["train", "test"]
JsonObject = dict[str, Any]  # as `json.loads` gives it and `json.dumps` takes it; a TOML table too
Spec = Mapping[str, Any]  # a JSON object: what a verifier needs to judge a prompt
Row = Mapping[str, Any]  # one row of a table, by column
SIMULATED_VERIFIER = "simulated"  # the verifier of prompts that no model answers
RECORDED = "recorded-"  # what the names of verifiers begin with whose rewards were imported, and nobody makes here
# What tokenizers take beside what a template is told: engines and trainers set these themselves.
OWN_ARGUMENTS = frozenset(
    """
    conversation messages tools documents chat_template add_generation_prompt continue_final_message tokenize padding
    truncation max_length return_tensors return_dict return_assistant_tokens_mask tokenizer_kwargs
    """.split()
)


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
    or spec alone share it, and so their rollouts. A simulated policy sees the spec too. `problem_id` says what the
    prompt is about: whoever makes prompts may `name_problem`, and else it follows from the cases or the question.
    """

    prompt: PromptText
    verifier: str
    spec: Spec
    family: str
    form: str
    difficulty: float | None = None
    source: str = "builtin"
    split: Split = "train"
    columns: JsonObject = field(default_factory=dict, compare=False)
    named_problem: str = field(default="", compare=False)
    prompt_id: str = field(init=False)
    question_id: str = field(init=False)

    def __post_init__(self) -> None:
        messages = message_list(self.prompt)
        object.__setattr__(self, "prompt_id", content_id(messages, self.verifier, self.spec))
        object.__setattr__(
            self, "question_id", self.prompt_id if self.verifier == SIMULATED_VERIFIER else content_id(messages)
        )

    @property
    def problem_id(self) -> str:
        """Content id of the problem: as it was named, or else of what is judged, without the words that ask for it.

        Cases say what is judged. An answer alone does not, for many questions have it: there the question is the
        problem, without its case and white space.
        """
        if self.named_problem:
            return self.named_problem
        if self.verifier == SIMULATED_VERIFIER:
            return self.prompt_id
        # A spec with such a key says itself what is judged.
        if any(key in self.spec for key in ("cases", "stdin", "test_code")):
            wording = ("entry", "stub", "equality", "cpu_seconds", "partial_credit")  # or the price of what is judged
            return name_problem(self.verifier, {key: value for key, value in self.spec.items() if key not in wording})
        return name_problem("question", " ".join(self.whole_text.casefold().split()))

    @property
    def spec_json(self) -> str:
        """The spec as canonical JSON: sorted keys, no spaces."""
        return canonical_json(self.spec)

    @property
    def whole_text(self) -> str:
        """The question as one text: the text itself, or every turn of a chat on a line."""
        return self.prompt if isinstance(self.prompt, str) else "\n".join(turn.content for turn in self.prompt)

    @property
    def text(self) -> str:
        """The words a verifier may look at: the text itself, or the last message of a chat."""
        return self.prompt if isinstance(self.prompt, str) else self.prompt[-1].content


@dataclass(frozen=True, slots=True)
class Sampling:
    """How completions are drawn.

    `repetition_penalty` divides the scores of tokens that were there before. A completion ends with the first text of
    `stop` that it comes to. `template_args` are JSON-ready, `think_tags` as `dialogue.thinking.find_tags` takes them.
    """

    temperature: Annotated[
        float, Setting("Sampling temperature; use the one you train with.", above=0, below=inf, advice="such as 1")
    ] = 1.0
    top_p: Annotated[float, Setting("Nucleus sampling.", above=0, at_most=1, advice="which cuts nothing")] = 1.0
    top_k: Annotated[int, Setting("Draw from so many of the likeliest tokens; 0 for all.", at_least=0)] = 0
    max_tokens: Annotated[int, Setting("Most tokens of a completion.", at_least=1)] = 256
    min_p: Annotated[
        float, Setting("Drop tokens less likely than this share of the likeliest one; 0 for none.", at_least=0, below=1)
    ] = 0.0
    repetition_penalty: Annotated[
        float, Setting("Above 1, tokens come back less often.", above=0, below=inf, advice="1 for none")
    ] = 1.0
    stop: Annotated[tuple[str, ...], Setting("A text that ends a completion; repeatable.")] = ()
    template_args: Annotated[
        Mapping[str, Any],
        Setting("For its chat template, such as enable_thinking=false; repeatable.", flag="--template-arg"),
    ] = field(default_factory=dict, hash=False)
    think_tags: Annotated[
        str,
        Setting("Around its thoughts, as '<think> </think>'; none, or auto: those of its chat template.", usual="auto"),
    ] = ""

    def __post_init__(self) -> None:
        """Raise `LearnableError` for a template argument that engines and trainers set themselves."""
        if reserved := sorted(OWN_ARGUMENTS & self.template_args.keys()):
            raise LearnableError(f"template argument {reserved[0]!r} is not the template's own: leave it out")

    @property
    def sampling_id(self) -> str:
        """These settings as a name, without the cap: a completion that ended by itself is the same under a higher one.

        What is at its default is left out but for the first three. Of texts there is a hash.

        >>> Sampling(temperature=0.7).sampling_id, Sampling(min_p=0.05).sampling_id
        ('t0.7-p1.0-k0', 't1.0-p1.0-k0-m0.05')
        """
        return _name_sampling(self)

    @property
    def as_greedy(self) -> Sampling:
        """These settings with the likeliest token at each place: what ends a completion, and what is seen, stay."""
        return replace(self, temperature=0.0, top_p=1.0, top_k=0, min_p=0.0)

    def to_json(self) -> JsonObject:
        """Return the settings as plain data; the last five only where they are given."""
        plain = {name: getattr(self, name) for name in ("temperature", "top_p", "top_k", "max_tokens")}
        given = {
            "min_p": self.min_p,
            "repetition_penalty": self.repetition_penalty if self.repetition_penalty != 1 else 0,
            "stop": list(self.stop),
            "template_args": dict(self.template_args),
            "think_tags": self.think_tags,
        }
        more = {name: value for name, value in given.items() if value}
        return plain | more | ({"sampling_id": self.sampling_id} if more else {})

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Sampling:
        """Read what `to_json` wrote."""
        values = {name: given[name] for name in cls.__dataclass_fields__ if name in given}
        return cls(**{**values, "stop": tuple(values.get("stop", ()))})


@dataclass(frozen=True, slots=True)
class Rollout:
    """One completion of one question, cut at `max_tokens`. `seed` is None where the engine could not take one.

    Where the policy thought first, `reasoning` is its thought with the tags around it, `reasoning_tokens` of the
    `num_tokens`, and `completion` the answer after it. Text has U+FFFD where an engine gave half of a surrogate pair:
    what is judged is then what can be stored. `token_ids` are the tokens that the policy drew, the end token among
    them; None where the engine does not tell. One that is `ahead` counts once a run asks for it.
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
    reasoning: str = ""
    reasoning_tokens: int = 0
    token_ids: Sequence[int] | None = field(default=None, compare=False, repr=False)
    ahead: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("completion", "reasoning"):
            object.__setattr__(self, name, whole_characters(getattr(self, name)))

    @property
    def judged_as(self) -> FinishReason:
        """How the answer ended: a thought that no answer follows is as good as cut short."""
        return "length" if self.reasoning and not self.completion.strip() else self.finish_reason

    @property
    def rollout_id(self) -> str:
        """The rollout's key in the ledger: a content id of the question and how it was sampled, not of the answer."""
        # As `content_id` of these five, in a third of the time: every rollout needs it twice.
        names = f"{_quote(self.question_id)},{_quote(weights_id(self.policy_id))},{_quote(self.sampling_id)}"
        return _hash_text(f"[{names},{self.max_tokens},{self.rollout_index}]")

    @property
    def completion_id(self) -> str:
        """Content id of the answer: a score belongs to it, since a rollout that is made again may read differently."""
        return hashlib.sha256(self.completion.encode()).hexdigest()[:16]


class FailureKind(StrEnum):
    """What a run must tell from other failures; stored reasons begin with it."""

    TIME_LIMIT = "time limit"  # no score in time
    UNREAD = "extraction_failed"  # nothing in the completion that could be judged


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure of a known kind, and what happened.

    >>> str(Failure(FailureKind.UNREAD, "no number found"))
    'extraction_failed: no number found'
    """

    kind: FailureKind
    why: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.why}"


@dataclass(frozen=True, slots=True)
class Score:
    """What a verifier says of one completion.

    `reward` is in [0, 1], or None when nothing honest can be said; `passed` is the verifier's own yes or
    no, and need not be a threshold of the reward; `components` are named parts of the reward in [0, 1].
    A `failure` is the reason, and is stored as that.
    """

    reward: float | None
    passed: bool | None
    components: Mapping[str, float] = field(default_factory=dict)
    verdict: Verdict = "scored"
    reason: str = ""
    failure: Failure | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.failure is not None:
            object.__setattr__(self, "reason", str(self.failure))

    @classmethod
    def unscored(cls, reason: str, verdict: Verdict = "verifier_error") -> Score:
        """A verdict without a reward: a failure of ours, never a zero of the policy's."""
        return cls(reward=None, passed=None, verdict=verdict, reason=reason)


@dataclass(frozen=True, slots=True)
class PassCount:
    """How many of its `k` completions of a prompt a model passed with; `key` is a prompt's id, or `text_key`."""

    key: str
    model: str
    k: int
    passes: int


def is_own_verifier(name: str) -> bool:
    """Whether a verifier is not one of ours: `FILE.py:OBJECT`, `MODULE:OBJECT`, or one that a package offers."""
    return ":" in name or name.partition("?")[0] in installed_verifiers()


@cache
def installed_verifiers() -> Mapping[str, str]:
    """Return the verifiers that installed packages offer as entry points, by name, each as `MODULE:OBJECT`."""
    from importlib.metadata import entry_points

    return {point.name: f"{point.module}:{point.attr}" for point in entry_points(group="learnable.verifiers")}


def weights_id(policy_id: str) -> str:
    """Return the part of a policy's id that follows from its weights, whatever it is called.

    >>> weights_id("checkpoint-60@3f9a0c1d2b4e5f60")
    '3f9a0c1d2b4e5f60'
    """
    return policy_id.rpartition("@")[2]


def canonical_json(value: object) -> str:
    """Serialise `value` so that equal contents give equal text."""
    return _CANONICAL.encode(value)


def content_id(*parts: object) -> str:
    """Return 20 hex digits (80 bits) of the SHA-256 of the parts' canonical JSON."""
    return _hash_text(canonical_json(parts))


def text_key(text: str) -> str:
    """Return the key of a prompt by its text, whatever its white space; of a chat, by its last message."""
    return content_id("text", " ".join(text.split()))


def name_problem(*parts: object) -> str:
    """Return the id of the problem that JSON-ready parts describe."""
    return content_id("problem", *parts)


def message_list(prompt: PromptText) -> str | list[dict[str, str]]:
    """Return the prompt as JSON-ready text or chat messages, the shape that TRL reads."""
    return prompt if isinstance(prompt, str) else [asdict(message) for message in prompt]


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
_quote = lru_cache(4096)(_CANONICAL.encode)


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


@lru_cache
def _name_sampling(drawn: Sampling) -> str:
    parts = [f"t{float(drawn.temperature)!r}-p{float(drawn.top_p)!r}-k{drawn.top_k}"]
    parts += [f"m{float(drawn.min_p)!r}"] if drawn.min_p else []
    parts += [f"r{float(drawn.repetition_penalty)!r}"] if drawn.repetition_penalty != 1 else []
    parts += [f"s{content_id(sorted(set(drawn.stop)))[:12]}"] if drawn.stop else []
    parts += [f"a{content_id(canonical_json(drawn.template_args))[:12]}"] if drawn.template_args else []
    parts += [f"h{content_id(drawn.think_tags.split())[:12]}"] if drawn.think_tags else []
    return "-".join(parts)
