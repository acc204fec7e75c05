"""The prompts of a run: distinct, limited, and split into train and test before any of them is judged."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

from learnable.data.errors import LearnableError
from learnable.data.records import Prompt, content_id


class PromptSet:
    """Distinct prompts with a split each, and how many exact duplicates were dropped on the way."""

    def __init__(self, prompts: list[Prompt], duplicates: int = 0) -> None:
        self.prompts = prompts
        self.duplicates = duplicates

    @property
    def verifiers(self) -> list[str]:
        """Names of the verifiers these prompts need."""
        return sorted({prompt.verifier for prompt in self.prompts})


def select_prompts(candidates: Iterable[Prompt], limit: int | None, test_share: float, seed: int) -> PromptSet:
    """Take up to `limit` distinct prompts and assign splits.

    Raises `LearnableError` when there is none at all.
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
        raise LearnableError("no prompts to look at: check --prompts, --form, --family and --limit")
    return PromptSet(assign_splits(distinct, test_share, seed), duplicates=seen.total() - len(seen))


def assign_splits(prompts: list[Prompt], test_share: float, seed: int) -> list[Prompt]:
    """Hold out `test_share` of each form, rounded, chosen by content and seed alone, not by order."""
    forms: dict[tuple[str, str], list[Prompt]] = {}
    for prompt in prompts:
        forms.setdefault((prompt.family, prompt.form), []).append(prompt)
    held_out: set[str] = set()
    for members in forms.values():
        ranked = sorted(prompt.prompt_id for prompt in members)
        random.Random(content_id(seed, "split")).shuffle(ranked)
        held_out.update(islice(ranked, round(test_share * len(ranked))))
    return [replace(p, split="test") if p.prompt_id in held_out else replace(p, split="train") for p in prompts]
