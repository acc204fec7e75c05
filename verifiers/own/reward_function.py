"""Reward functions as TRL's trainers call them, unchanged: lists in, a list of numbers out, sync or async."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.records import Score, Spec
from learnable.verifiers.own.adapter import OwnJudge, as_score
from learnable.verifiers.own.loading import JudgeError, find_place
from learnable.verifiers.protocol import ChatTurns, SpecError

GIVEN = ("prompts", "completions", "completion_ids", "log_extra", "log_metric")
MARKS = frozenset(GIVEN[:3])  # a parameter of such a name is a list: who has one is called as TRL calls it
NOT_COLUMNS = frozenset((*GIVEN, "prompt", "completion", "trainer_state"))  # TRL passes these on from no row


@dataclass(frozen=True, slots=True)
class RewardFunction(OwnJudge):
    """A reward function behind the protocol of verifiers. It gets the items of the spec as columns.

    `needed` are the columns that it must be given; `takes_all` says whether it takes any (`**kwargs`), or `keywords`
    alone.
    """

    needed: tuple[str, ...] = ()
    takes_all: bool = False

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` for a row without a column that the function needs, and for what the judge refuses."""
        if missing := [name for name in self.needed if name not in spec or name in NOT_COLUMNS]:
            raise SpecError(
                f"verifier {self.name!r} needs the column {missing[0]!r}, which this row has not: it has "
                f"{', '.join(sorted(spec)) or 'none'}"
            )
        OwnJudge.check_spec(self, spec)

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Judge one completion of a prompt that is text. Raises whatever the function raises."""
        return self.score_group([completion], prompt=prompt, spec=spec, num_tokens=[None])[0]

    def score_group(
        self, completions: Sequence[str], *, prompt: str | ChatTurns, spec: Spec, num_tokens: Sequence[int | None]
    ) -> list[Score]:
        """Judge completions of one prompt in one call: messages where the prompt is a chat, else texts.

        Raises `TypeError` for an answer that is no list of numbers, and whatever the function raises.
        """
        size, is_chat = len(completions), not isinstance(prompt, str)
        told: dict[str, Any] = {name: [value] * size for name, value in spec.items() if name not in NOT_COLUMNS}
        told["prompts"] = [prompt] * size
        told["completions"] = [
            [{"role": "assistant", "content": completion}] if is_chat else completion for completion in completions
        ]
        told["completion_ids"] = [CountedTokens(count) for count in num_tokens]
        told |= {"log_extra": _log_nothing, "log_metric": _log_nothing}
        rewards = self._call({name: told[name] for name in told if self.takes_all or name in self.keywords})
        if len(rewards) != size:
            return [
                Score.unscored(f"the reward function returned {len(rewards)} rewards for {size} completions")
            ] * size
        return [as_score(reward, self.scale) for reward in rewards]

    def _call(self, told: Mapping[str, Any]) -> list[object]:
        try:
            answer = self.call(**told)
            if inspect.isawaitable(answer):
                answer = _event_loop().run(_awaited(answer))
            return _listed(answer)
        except (SystemExit, asyncio.CancelledError) as leaving:  # they would end the process, and tell nothing
            raise RuntimeError(f"the reward function raised {leaving!r}") from leaving
        except Exception as error:
            if isinstance(error, TypeError) and "string indices" in str(error):
                # Short, since reports cut long reasons.
                error.add_note("the prompt is text: `mode` on makes messages of it")
            if place := find_place(error, self.file):
                error.add_note(place)
            raise


class CountedTokens(Sequence[int]):
    """Stands for the tokens of a completion where only their number is known. Raises `LearnableError` for more."""

    def __init__(self, count: int | None) -> None:
        self._count = count

    def __len__(self) -> int:
        """The number of tokens. Raises `LearnableError` where nobody counted them."""
        if self._count is None:
            raise LearnableError("completion_ids: how many tokens this completion has is not known here")
        return self._count

    def __getitem__(self, index: Any) -> Any:
        """Raise `LearnableError`."""
        raise LearnableError("completion_ids: the store keeps the number of tokens, and not which they are")

    def __iter__(self) -> Iterator[int]:
        """Raise `LearnableError`."""
        raise LearnableError("completion_ids: the store keeps the number of tokens, and not which they are")


def is_reward_function(parameters: Mapping[str, inspect.Parameter]) -> bool:
    """Whether what has these parameters is called with lists, as TRL does, and not with one completion."""
    return bool(MARKS & parameters.keys())


def read_parameters(name: str, parameters: Mapping[str, inspect.Parameter]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return what a reward function takes by name, and which columns it must be given.

    Raises `JudgeError` for one that needs what only a trainer has.
    """
    named = {p.name: p for p in parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    needed = [p.name for p in named.values() if p.default is p.empty and p.name not in GIVEN]
    if "trainer_state" in needed:
        raise JudgeError(
            f"verifier {name!r} needs trainer_state, and there is no trainer where completions are only judged: "
            "give it a default"
        )
    return frozenset(named), tuple(needed)


def _listed(answer: object) -> list[object]:
    """Return the rewards in a list: TRL takes any list, and so arrays and tensors too."""
    whole = getattr(answer, "tolist", None)
    rewards: Any = whole() if callable(whole) else answer
    if isinstance(rewards, str | Mapping) or not hasattr(rewards, "__iter__"):
        raise TypeError(f"the reward function returned {answer!r:.60}: return a list with a number for each completion")
    return list(rewards)


async def _awaited(answer: Awaitable[object]) -> object:
    return await answer


@cache
def _event_loop() -> asyncio.Runner:
    """Return this process's loop: one for all calls, as clients that a function keeps belong to theirs."""
    return asyncio.Runner()


def _log_nothing(name: str, value: object) -> None:
    """Stand in for the trainer's log."""
