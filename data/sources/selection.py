"""The prompts of a run: distinct, limited, and split into train and test before any of them is judged."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

import polars as pl

from learnable.data.errors import LearnableError
from learnable.data.records import Prompt, content_id

DROPPED = {"prompt_id": pl.String, "decision": pl.String, "collides_with": pl.String, "overlap": pl.Float64}


class PromptSet:
    """Distinct prompts, each in train or test, and what was dropped on the way.

    `duplicates` counts rows with equal content, `bad_rows` the rows of a file that are not prompts. `dropped` has one
    row for each other prompt that was dropped, with the reason (`decision`) and what it `collides_with`.
    """

    def __init__(self, prompts: list[Prompt], duplicates: int = 0) -> None:
        self.prompts = prompts
        self.duplicates = duplicates
        self.bad_rows = 0
        self.dropped = pl.DataFrame(schema=DROPPED)
        self.dropped_prompts: list[Prompt] = []

    def without(self, dropped: pl.DataFrame) -> PromptSet:
        """Return this set without the prompts of these rows, which it remembers."""
        names = set(dropped["prompt_id"])
        rest = PromptSet([prompt for prompt in self.prompts if prompt.prompt_id not in names], self.duplicates)
        rest.bad_rows = self.bad_rows
        rest.dropped = dropped
        rest.dropped_prompts = [prompt for prompt in self.prompts if prompt.prompt_id in names]
        return rest

    @property
    def verifiers(self) -> list[str]:
        """Names of the verifiers these prompts need."""
        return sorted({prompt.verifier for prompt in self.prompts})


def select_prompts(candidates: Iterable[Prompt], limit: int | None, test_share: float, seed: int) -> PromptSet:
    """Take up to `limit` distinct prompts and assign splits.

    Raises `LearnableError` when there is none at all, and where some are text and some chat messages.
    """
    seen: Counter[str] = Counter()
    distinct: list[Prompt] = []
    for prompt in candidates:
        if limit is not None and len(distinct) >= limit:
            break
        seen[prompt.prompt_id] += 1
        if seen[prompt.prompt_id] == 1:
            distinct.append(prompt)
    if not distinct:
        raise LearnableError("no prompts to look at: check --prompts, --form, --family, --limit and --knob difficulty")
    _refuse_mixture(distinct)
    return PromptSet(assign_splits(distinct, test_share, seed), duplicates=seen.total() - len(seen))


def assign_splits(prompts: list[Prompt], test_share: float, seed: int) -> list[Prompt]:
    """Return the prompts with a share `test_share` of each form in the test split.

    The number is rounded. Which prompts are held out follows from their content and the seed, not from their order.
    """
    forms: dict[tuple[str, str], list[Prompt]] = {}
    for prompt in prompts:
        forms.setdefault((prompt.family, prompt.form), []).append(prompt)
    held_out: set[str] = set()
    for members in forms.values():
        ranked = sorted(prompt.prompt_id for prompt in members)
        random.Random(content_id(seed, "split")).shuffle(ranked)
        held_out.update(islice(ranked, round(test_share * len(ranked))))
    return [replace(p, split="test") if p.prompt_id in held_out else replace(p, split="train") for p in prompts]


def _refuse_mixture(prompts: list[Prompt]) -> None:
    """Raise `LearnableError` where the column of prompts could be neither text nor chat messages."""
    firsts = {isinstance(prompt.prompt, str): prompt.source for prompt in reversed(prompts)}
    if len(firsts) > 1:
        raise LearnableError(
            f"prompts of one run are all text or all chat messages, but {firsts[True]} is text and {firsts[False]} is "
            'a list of messages: write the text as [{"role": "user", "content": ...}], or split the file in two'
        )
