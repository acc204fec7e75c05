"""Prompts that leave no room for a completion are set aside, and named."""

from __future__ import annotations

from collections.abc import Sequence

from learnable.data.progress import progress
from learnable.data.records import Prompt
from learnable.flows.sampling.missing import MissingRollouts
from learnable.rollouts.protocol import Engine

NAMED_IN_WARNINGS = 3
UNCHECKED = "the engine cannot count tokens, so prompt lengths are unchecked: it refuses a prompt that is too long"


def drop_long_prompts(
    owed: Sequence[MissingRollouts], engine: Engine, *, is_first: bool = True
) -> tuple[list[MissingRollouts], list[Prompt]]:
    """Set aside the prompts that leave no room for a completion in the policy's context, and name them.

    Where the engine cannot count tokens, every prompt stays, and a note says so if this `is_first` call of the run.
    """
    if (counts := engine.count_tokens([o.prompt for o in owed])) is None:
        if is_first:
            progress().note(UNCHECKED)
        return list(owed), []
    fit = [o for o, count in zip(owed, counts, strict=True) if count < engine.max_context]
    long = {
        o.prompt.prompt_id: (o.prompt, count)
        for o, count in zip(owed, counts, strict=True)
        if count >= engine.max_context
    }
    if long:
        named = list(long.values())[:NAMED_IN_WARNINGS]
        names = ", ".join(f"{p.source} {p.prompt_id} ({count} tokens)" for p, count in named)
        more = f" and {len(long) - len(named)} more" if len(long) > len(named) else ""
        progress().warn(
            f"{len(long)} prompts skipped: longer than the policy's context of {engine.max_context} tokens: {names}{more}"
        )
    return fit, [prompt for prompt, _ in long.values()]
