"""The prompts of a run: distinct, limited, and split into train and test before any of them is judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from learnable.data.errors import LearnableError
from learnable.data.records import Prompt
from learnable.data.sources.chance import hash_to_uniform
from learnable.data.sources.drawing import draw_prompts, take_prompts
from learnable.data.sources.packed import PackedPrompts


class PromptSet:
    """Distinct prompts, each in train or test, and what was dropped on the way.

    `duplicates` counts rows with equal content, `bad_rows` the rows of a file that are not prompts. `dropped` has one
    row for each other prompt that was dropped, with the reason (`decision`) and what it `collides_with`.
    """

    def __init__(self, prompts: Iterable[Prompt], duplicates: int = 0) -> None:
        self.prompts = prompts if isinstance(prompts, PackedPrompts) else PackedPrompts(prompts)
        self.duplicates = duplicates
        self.bad_rows = 0
        texts = dict.fromkeys(("prompt_id", "decision", "collides_with"), pl.String)
        self.dropped = pl.DataFrame(schema={**texts, "overlap": pl.Float64})
        self.dropped_prompts: list[Prompt] = []

    def without(self, dropped: pl.DataFrame) -> PromptSet:
        """Return this set without the prompts of these rows, which it remembers."""
        names = set(dropped["prompt_id"])
        places: tuple[list[int], list[int]] = ([], [])
        for place, name in enumerate(self.prompts.prompt_ids if names else ()):
            places[name in names].append(place)
        rest = PromptSet(self.prompts.take(places[False]) if names else self.prompts, self.duplicates)
        rest.bad_rows = self.bad_rows
        rest.dropped = dropped
        rest.dropped_prompts = [self.prompts[place] for place in places[True]]
        return rest

    def with_prompts(self, prompts: PackedPrompts) -> PromptSet:
        """Return this set with other prompts. What repeats one of them is on its side of the split."""
        rest = PromptSet(prompts, self.duplicates)
        rest.bad_rows, rest.dropped = self.bad_rows, self.dropped
        repeated = dict(self.dropped.select("prompt_id", "collides_with").iter_rows())
        originals = set(repeated.values())
        sides = {prompt.prompt_id: prompt.split for prompt in prompts if prompt.prompt_id in originals}
        rest.dropped_prompts = [
            replace(prompt, split=sides.get(repeated[prompt.prompt_id], prompt.split))
            for prompt in self.dropped_prompts
        ]
        return rest

    @property
    def everyone(self) -> PackedPrompts:
        """All prompts, those that were dropped too."""
        return PackedPrompts([*self.prompts, *self.dropped_prompts]) if self.dropped_prompts else self.prompts

    @property
    def verifiers(self) -> list[str]:
        """Names of the verifiers these prompts need."""
        return sorted(self.prompts.verifiers)


def select_prompts(candidates: Iterable[Prompt], limit: int | None, seed: int, *, in_order: bool = False) -> PromptSet:
    """Draw up to `limit` distinct prompts by the seed; `in_order` says that their source did so, and takes the first.

    Raises `LearnableError` when there is none at all, and where some are text and some chat messages.
    """
    drawn = take_prompts(candidates, limit) if in_order else draw_prompts(candidates, limit, seed)
    if not drawn.prompts:
        raise LearnableError(
            "no prompts to look at: check `location`, `forms`, `families`, `limit` and `knobs` difficulty"
        )
    _refuse_mixture(drawn.prompts)
    return PromptSet(drawn.prompts, drawn.duplicates)


def assign_splits(prompts: Sequence[Prompt], clusters: Sequence[str], share: float, seed: int) -> PackedPrompts:
    """Return the prompts with about a share of their clusters in the test split, each cluster on one side whole.

    Args:
        prompts: the pool.
        clusters: a name for each prompt, equal where one must not be trained on while the other is held out.
        share: of the clusters that is held out, 0 or more and less than 1.
        seed: of the draw.

    A cluster is held out where a hash of the seed and its name is below the share. So its side depends on nothing else
    in the pool, and stays where the pool grows, and the number is that of independent draws. There are two exceptions:
    a cluster of more than half of the prompts is trained on, and where nothing would be held out the smallest cluster
    is; where everything would be, the largest is trained on. One cluster alone is trained on.
    """
    sizes: dict[str, int] = {}
    for name in clusters:
        sizes[name] = sizes.get(name, 0) + 1

    def rank(name: str) -> float:
        return hash_to_uniform(seed, "split", name)

    # A problem of more than half of all prompts is trained on.
    limit = 0.5 * len(prompts)
    held_out = {name for name, size in sizes.items() if size <= limit and rank(name) < share}
    if len(sizes) < 2 or not share:
        held_out = set()
    elif not held_out:
        held_out = {min(sizes, key=lambda name: (sizes[name], rank(name)))}
    elif len(held_out) == len(sizes):
        held_out.remove(max(sizes, key=lambda name: (sizes[name], rank(name))))
    pool = prompts if isinstance(prompts, PackedPrompts) else PackedPrompts(prompts)
    return pool.with_split(name in held_out for name in clusters)


def _refuse_mixture(prompts: PackedPrompts) -> None:
    """Raise `LearnableError` where the column of prompts could be neither text nor chat messages."""
    firsts: dict[bool, str] = {}
    for prompt in prompts if len(prompts.kinds) > 1 else ():
        firsts.setdefault(isinstance(prompt.prompt, str), prompt.source)
    if len(firsts) > 1:
        raise LearnableError(
            f"prompts of one run are all text or all chat messages, but {firsts[True]} is text and {firsts[False]} is "
            'a list of messages: write the text as [{"role": "user", "content": ...}], or split the file in two'
        )
