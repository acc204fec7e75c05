"""What the ledger lacks to give every prompt its group, and which of it can be generated at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from learnable.data.progress import progress
from learnable.data.records import Prompt
from learnable.rollouts.protocol import Engine, GroupRequest

NAMED_IN_WARNINGS = 3
UNCHECKED = "the engine cannot count tokens, so prompt lengths are unchecked: it refuses a prompt that is too long"


@dataclass(frozen=True, slots=True)
class MissingRollouts:
    """Rollouts of one question that are to be generated: `count` from index `first`.

    `prompt` is the first in the pool that asks it. `redraw_seed` is the seed of the first where they ran out of tokens
    under a smaller cap and are drawn again: by their own seeds, so that long completions are not replaced by chance
    draws that happen to be short. What is made `ahead` was not needed yet when it was requested.
    """

    prompt: Prompt
    first: int
    count: int
    redraw_seed: int | None = None
    ahead: bool = False

    def request(self, seed: int) -> GroupRequest:
        """Return the request to an engine; `seed` is the run's."""
        return GroupRequest(self.prompt, self.count, first_index=self.first, seed=seed, redraw_seed=self.redraw_seed)


def find_runs(prompt: Prompt, missing: Sequence[int], seeds: Mapping[int, int]) -> Iterator[MissingRollouts]:
    """Yield the runs of missing indices that one request can ask for: their seeds count up, or are all still free.

    `missing` ascends. `seeds` are those of rollouts that are to be drawn again.
    """
    run: MissingRollouts | None = None
    for index in missing:
        seed = seeds.get(index)
        if run is not None and index == run.first + run.count and _next_seed(run) == seed:
            run = MissingRollouts(prompt, run.first, run.count + 1, run.redraw_seed)
            continue
        if run is not None:
            yield run
        run = MissingRollouts(prompt, index, 1, seed)
    if run is not None:
        yield run


def redraw_seeds(redrawn: pl.DataFrame) -> dict[str, dict[int, int]]:
    """Return each question's seeds by index, of the rollouts to be drawn again (those of `Ledger.find_rollouts`)."""
    seeds: dict[str, dict[int, int]] = {}
    for question_id, index, seed in redrawn.select("question_id", "rollout_index", "seed").iter_rows():
        if seed is not None:
            seeds.setdefault(question_id, {})[index] = seed
    return seeds


def drop_long_prompts(
    missing: Sequence[MissingRollouts], engine: Engine, *, is_first: bool = True
) -> tuple[list[MissingRollouts], list[Prompt]]:
    """Set aside the prompts that leave no room for a completion in the policy's context, and name them in a warning.

    Returns what can be generated, and the prompts that were set aside, each once. Where the engine cannot count tokens,
    every prompt stays, and a note says so if this `is_first` call of the run.
    """
    if (counts := engine.count_tokens([m.prompt for m in missing])) is None:
        if is_first:
            progress().note(UNCHECKED)
        return list(missing), []
    fit = [m for m, count in zip(missing, counts, strict=True) if count < engine.max_context]
    long = {
        m.prompt.prompt_id: (m.prompt, count)
        for m, count in zip(missing, counts, strict=True)
        if count >= engine.max_context
    }
    if long:
        named = list(long.values())[:NAMED_IN_WARNINGS]
        names = ", ".join(f"{p.source} {p.prompt_id} ({count} tokens)" for p, count in named)
        more = f" and {len(long) - len(named)} more" if len(long) > len(named) else ""
        why = f"longer than the policy's context of {engine.max_context} tokens"
        progress().warn(f"{len(long)} prompts skipped: {why}: {names}{more}")
    return fit, [prompt for prompt, _ in long.values()]


def _next_seed(run: MissingRollouts) -> int | None:
    return None if run.redraw_seed is None else run.redraw_seed + run.count
