"""What the ledger lacks to give every prompt its group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from learnable.data.records import Prompt
from learnable.rollouts.protocol import GroupRequest


@dataclass(frozen=True, slots=True)
class Owed:
    """Rollouts of one prompt that are to be generated: `count` from index `first`.

    `redraw_seed` is the seed of the first where they ran out of tokens under a smaller cap and are drawn again: by
    their own seeds, so that long completions are not replaced by chance draws that happen to be short.
    """

    prompt: Prompt
    first: int
    count: int
    redraw_seed: int | None = None

    def request(self, seed: int) -> GroupRequest:
        """Return what to ask of an engine; `seed` is the run's."""
        return GroupRequest(self.prompt, self.count, first_index=self.first, seed=seed, redraw_seed=self.redraw_seed)


def find_owed(prompts: Sequence[Prompt], held: pl.DataFrame, redrawn: pl.DataFrame, group_size: int) -> list[Owed]:
    """Return what is missing to give every prompt a group of `group_size`.

    `held` and `redrawn` are those of `Ledger.find_rollouts`.
    """
    have = _indices(held, "rollout_index")
    seeds = _seeds(redrawn)
    return [
        owed
        for prompt in prompts
        for owed in _runs(prompt, have.get(prompt.prompt_id, frozenset()), seeds.get(prompt.prompt_id, {}), group_size)
    ]


def _runs(prompt: Prompt, have: frozenset[int], seeds: Mapping[int, int], group_size: int) -> Iterator[Owed]:
    """Yield runs of missing indices that one request can ask for: their seeds count up, or are all still free."""
    run: Owed | None = None
    for index in range(group_size):
        if index in have:
            continue
        seed = seeds.get(index)
        if run is not None and index == run.first + run.count and _next_seed(run) == seed:
            run = Owed(prompt, run.first, run.count + 1, run.redraw_seed)
            continue
        if run is not None:
            yield run
        run = Owed(prompt, index, 1, seed)
    if run is not None:
        yield run


def _next_seed(run: Owed) -> int | None:
    return None if run.redraw_seed is None else run.redraw_seed + run.count


def _indices(rollouts: pl.DataFrame, column: str) -> dict[str, frozenset[int]]:
    grouped = rollouts.group_by("prompt_id").agg(column)
    return {prompt_id: frozenset(indices) for prompt_id, indices in grouped.iter_rows()}


def _seeds(redrawn: pl.DataFrame) -> dict[str, dict[int, int]]:
    seeds: dict[str, dict[int, int]] = {}
    for prompt_id, index, seed in redrawn.select("prompt_id", "rollout_index", "seed").iter_rows():
        if seed is not None:
            seeds.setdefault(prompt_id, {})[index] = seed
    return seeds
