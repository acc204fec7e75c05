"""Which prompts are dropped before any rollout is paid for: contaminated ones, then duplicates of what is left."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from learnable.data.progress import progress
from learnable.data.records import Prompt
from learnable.data.sources.files.evaluation_sets import read_evaluation_set
from learnable.filters.duplicates.contamination import find_contaminated
from learnable.filters.duplicates.near_duplicates import NEAR, find_duplicates

COLUMNS = ("prompt_id", "decision", "collides_with", "overlap")


def screen(prompts: Sequence[Prompt], decontaminate: Sequence[str] = (), near: float | None = NEAR) -> pl.DataFrame:
    """Find the prompts to be dropped, and tell `progress()` how many there are.

    Args:
        prompts: the pool, in the order in which the first of several duplicates stays.
        decontaminate: evaluation sets, each as `data.sources.files.evaluation_sets.read_evaluation_set` takes it.
        near: least overlap of a near duplicate; None drops exact duplicates only.

    Returns:
        One row for each dropped prompt, in the order of `prompts`: `prompt_id`, `decision` ("contaminated" or
        "duplicate"), `collides_with` ("<set>:<item>", or the id of a prompt that stays), `overlap`. A prompt that is
        both is contaminated, and no prompt is called the duplicate of a contaminated one.
    """
    contaminated = find_contaminated(prompts, [read_evaluation_set(location) for location in decontaminate])
    spoilt = set(contaminated["prompt_id"])
    duplicates = find_duplicates([prompt for prompt in prompts if prompt.prompt_id not in spoilt], near)
    order = {prompt.prompt_id: number for number, prompt in reversed(list(enumerate(prompts)))}
    dropped = pl.concat([contaminated.select(COLUMNS), duplicates.select(COLUMNS)])
    dropped = dropped.sort(pl.col("prompt_id").replace_strict(order, return_dtype=pl.Int64))
    if dropped.height or decontaminate:
        progress().note(_sentence(len(order), contaminated, duplicates.height))
    return dropped


def _sentence(prompts: int, contaminated: pl.DataFrame, duplicates: int) -> str:
    names = contaminated["collides_with"].str.replace(r"(?s):.*$", "")
    by_set = ", ".join(f"{name} {count:,}" for name, count in sorted(names.value_counts().iter_rows()))
    where = f" ({by_set})" if by_set else ""
    return (
        f"{contaminated.height + duplicates:,} of {prompts:,} prompts dropped before any rollout: "
        f"{contaminated.height:,} contaminated{where}, {duplicates:,} duplicates"
    )
