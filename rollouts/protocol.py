"""What an engine is: something that answers prompts with groups of completions by one policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from learnable.data.dialogue.thinking import ThinkTags, split_thought
from learnable.data.errors import LearnableError
from learnable.data.records import FinishReason, Prompt, Rollout, Sampling, content_id

FINISH_REASONS: dict[str, FinishReason] = {"stop": "stop", "length": "length"}  # as vLLM and OpenAI's servers say them


class EngineError(LearnableError):
    """The engine failed. The groups that it has not yielded are missing, and sending them again may help."""


@dataclass(frozen=True, slots=True)
class GroupRequest:
    """Ask for `group_size` rollouts of `prompt`, numbered from `first_index`.

    A group that grows from 8 to 16 is a request for eight with `first_index=8`. `seed` is the run's. `redraw_seed`
    is given where rollouts that ran out of tokens are drawn again with more: it is the seed of the first of them.

    `base_seed` is the seed of the first rollout; the others count up from it. It is spaced by a hash of question and
    first index, so that neighbouring groups share no random numbers.
    """

    prompt: Prompt
    group_size: int
    first_index: int = 0
    seed: int = 0
    redraw_seed: int | None = None
    base_seed: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if (base := self.redraw_seed) is None:
            base = int(content_id(self.seed, self.prompt.question_id, self.first_index)[:12], 16) % (2**31 - 2**16)
        object.__setattr__(self, "base_seed", base)

    def rollout(
        self,
        child: int,
        completion: str,
        finish_reason: FinishReason,
        num_tokens: int,
        *,
        policy_id: str,
        sampling: Sampling,
        token_ids: Sequence[int] | None = None,
    ) -> Rollout:
        """Return the rollout that answers this request as its `child`-th of `group_size`, counted from 0."""
        return Rollout(
            question_id=self.prompt.question_id,
            policy_id=policy_id,
            sampling_id=sampling.sampling_id,
            max_tokens=sampling.max_tokens,
            rollout_index=self.first_index + child,
            completion=completion,
            finish_reason=finish_reason,
            num_tokens=num_tokens,
            seed=self.base_seed + child,
            token_ids=token_ids,
        )


def with_thought(rollout: Rollout, tags: ThinkTags | None, count: Callable[[str], int], *, is_open: bool) -> Rollout:
    """Return a rollout with its thought told apart from its answer, where it has one.

    Args:
        rollout: as the engine wrote it, everything in `completion`.
        tags: around thoughts; None where the policy has none.
        count: how many tokens a text takes.
        is_open: whether the prompt has opened the thought.
    """
    thought, answer = split_thought(rollout.completion, tags, is_open=is_open) if tags else ("", rollout.completion)
    if not thought:
        return rollout
    tokens = min(count(thought), rollout.num_tokens) if answer else rollout.num_tokens
    return replace(rollout, completion=answer, reasoning=thought, reasoning_tokens=tokens)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The engine will never answer this request: sending it again does not help. Its group is not scored."""

    request: GroupRequest
    reason: str


Answer = list[Rollout] | Refusal


class Engine(Protocol):
    """Samples completions from one policy."""

    @property
    def policy_id(self) -> str:
        """Path or hub id with a hash of the weights: part of every rollout's key."""

    @property
    def max_context(self) -> int:
        """Tokens that a prompt and its completion may take together."""

    def count_tokens(self, prompts: Sequence[Prompt]) -> list[int] | None:
        """Return the tokens of each prompt, chat template and special tokens included; None where it cannot count."""

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        """Yield each group, whole, as soon as it is finished, in any order; or why a request is refused.

        `requests` is read lazily, so it may be long. It may end and go on again, as the scores of finished groups ask
        for more: an engine with room asks `next(requests, None)` after each group, also when there was nothing before.
        Closing the iterator drops what is in flight. Raises `EngineError` when the engine fails: every group that was
        not yielded is then missing.
        """

    # An engine may have a property `idle_slots` besides: see `count_idle`.

    def close(self) -> None:
        """Free the engine's memory. The engine cannot be used afterwards."""


def count_idle(engine: Engine) -> int:
    """Return how many sequences more an engine could work on at this moment: its `idle_slots`, 0 where it has none.

    While it reads requests and there is nothing to be requested, so many are made ahead of the decisions that need
    them. An engine whose rollouts are paid for one by one had better not have any.
    """
    return max(int(getattr(engine, "idle_slots", 0)), 0)
