"""What requests have cost, and whether another group may be sent: never more than the user gave."""

from __future__ import annotations

from dataclasses import dataclass

from learnable.data.errors import SpentBudgetError
from learnable.data.records import message_list
from learnable.rollouts.protocol import GroupRequest

TEMPLATE_TOKENS = 256  # that a chat template may add to a prompt


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the requests of one command may cost: in tokens of prompts and completions, and in money.

    Prices are those of a million tokens, in any currency. None allows anything.
    """

    max_tokens: int | None = None
    max_cost: float | None = None
    prompt_price: float = 0.0
    completion_price: float = 0.0

    def price(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Return what so many tokens cost."""
        return (prompt_tokens * self.prompt_price + completion_tokens * self.completion_price) / 1e6

    def covers(self, prompt_tokens: float, completion_tokens: float) -> bool:
        """Whether so many tokens are allowed."""
        return (self.max_tokens is None or prompt_tokens + completion_tokens <= self.max_tokens) and (
            self.max_cost is None or self.price(prompt_tokens, completion_tokens) <= self.max_cost * (1 + 1e-9)
        )

    def __str__(self) -> str:
        tokens = f"{self.max_tokens:,} tokens" if self.max_tokens is not None else ""
        return " and ".join(filter(None, (tokens, f"{self.max_cost:g}" if self.max_cost is not None else "")))


@dataclass(slots=True)
class Reserve:
    """What a group that was begun may still cost at most, in tokens."""

    prompt_tokens: float
    completion_tokens: float
    completions: int


class Spending:
    """What one command's requests have cost so far. A group is begun only if the whole of it can be paid for.

    So the allowance is never exceeded, and no completion that was paid for lacks the rest of its group. What a server
    counts of a request that it never answered is not known here.
    """

    def __init__(self, allowance: Allowance) -> None:
        self.allowance = allowance
        self.prompt_tokens = self.completion_tokens = 0.0
        self._reserved = [0.0, 0.0]  # prompt and completion tokens

    @property
    def is_limited(self) -> bool:
        """Whether anything is not allowed."""
        return self.allowance.max_tokens is not None or self.allowance.max_cost is not None

    @property
    def cost(self) -> float:
        """What has been spent, in money."""
        return self.allowance.price(self.prompt_tokens, self.completion_tokens)

    def reserve(self, request: GroupRequest, max_tokens: int, requests: int) -> Reserve | None:
        """Set aside what a group may cost at most, sent in so many requests; None where that is no longer allowed."""
        prompt = requests * (_count_bytes(request) + TEMPLATE_TOKENS)  # no tokenizer has a token of less than a byte
        completion = request.group_size * max_tokens
        reserved = self._reserved
        if self.is_limited and not self.allowance.covers(
            self.prompt_tokens + reserved[0] + prompt, self.completion_tokens + reserved[1] + completion
        ):
            return None
        reserved[0] += prompt
        reserved[1] += completion
        return Reserve(prompt, completion, request.group_size)

    def spend(self, reserve: Reserve, completions: int, prompt_tokens: int, completion_tokens: int) -> None:
        """Count an answer of so many completions, and free the share that was reserved for them."""
        self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens
        self.release(reserve, completions)

    def release(self, reserve: Reserve, completions: int) -> None:
        """Free what was reserved for so many completions."""
        share = min(completions / reserve.completions, 1.0) if reserve.completions else 0.0
        for index, tokens in enumerate((reserve.prompt_tokens * share, reserve.completion_tokens * share)):
            self._reserved[index] -= tokens
        reserve.prompt_tokens *= 1 - share
        reserve.completion_tokens *= 1 - share
        reserve.completions -= completions

    def describe(self) -> str:
        """Return what was spent of what is allowed; nothing where all is allowed."""
        if not self.is_limited:
            return ""
        cost = f" for {self.cost:.4g}" if self.allowance.max_cost is not None else ""
        return f"{self.prompt_tokens + self.completion_tokens:,.0f} tokens{cost} of {self.allowance} spent"

    def explain_end(self, missing: int) -> SpentBudgetError:
        """Return why so many groups were not begun."""
        nothing = "" if self.completion_tokens else ": not one group is sure to cost less, so give more"
        return SpentBudgetError(
            f"the budget is spent ({self.describe()}){nothing}. {missing:,} groups of those at hand were not sent. "
            "Finished groups are in the store; the same command goes on from there with as much again"
        )


_accounts: dict[Allowance, Spending] = {}


def open_account(allowance: Allowance) -> Spending:
    """Return what this process has spent of an allowance: an engine that is started anew goes on with it."""
    return _accounts.setdefault(allowance, Spending(allowance))


def close_account(allowance: Allowance) -> None:
    """Let the next run of this process begin anew."""
    _accounts.pop(allowance, None)


def _count_bytes(request: GroupRequest) -> int:
    prompt = message_list(request.prompt.prompt)
    if isinstance(prompt, str):
        return len(prompt.encode(errors="replace"))
    return sum(len(str(part).encode(errors="replace")) for turn in prompt for part in turn.values())
