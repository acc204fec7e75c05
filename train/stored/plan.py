"""The stored batches of a run: planned once, where it begins, and kept for a run that goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from learnable.data.band import Signal
from learnable.data.errors import LearnableError
from learnable.data.ledger.ledger import Draw, Ledger
from learnable.data.records import Prompt, Score
from learnable.data.schemas import TEXT_PROMPT, prompts_schema
from learnable.data.storage.places import write_whole
from learnable.data.tables import prompt_from_row
from learnable.train.stored.groups import SCORE, add_tokens, deal_groups, plan_batches, read_scored
from learnable.verifiers.registry import find_verifier

FILE = "stored_rollouts.parquet"
START_LOGPROBS = (
    "start_logprobs"  # column: log-probabilities by the policy as training began, where the trainer keeps none
)


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """Stored groups for one generation batch. `rows` are those of the data set, each once and in their order.

    `completions` has a row each, group by group, with the columns `token_ids`, those of `SCORE`, and `START_LOGPROBS`
    where the trainer does not keep the policy of the start.
    """

    rows: tuple[int, ...]
    completions: pl.DataFrame

    def take(self, places: Sequence[tuple[int, int]]) -> pl.DataFrame:
        """Return the completions at these places, each a row of the data set and a place in its group."""
        size = self.completions.height // len(self.rows)
        first = {row: number * size for number, row in enumerate(self.rows)}
        return self.completions[[first[row] + place for row, place in places]]


def list_scores(completions: pl.DataFrame) -> list[Score]:
    """Return the stored score of each completion."""
    return [
        Score(**{**one, "components": dict(one["components"] or {}), "reason": one["reason"] or ""})
        for one in completions.select(SCORE).to_dicts()
    ]


def read_groups(
    ledger: Ledger,
    draw: Draw,
    prompts: Sequence[Prompt],
    size: int,
    signal: Signal,
    seed: int,
    tokenizer: Any = None,
) -> pl.DataFrame:
    """Return the stored completions of these prompts in groups of `size`, as `deal_groups` does.

    Scores are those of the verifiers as they are here. Without a tokenizer the tokens are left out, and groups are
    counted of which some may turn out to have none. Raises `LearnableError` as the ledger does.
    """
    versions = {name: find_verifier(name).version for name in {prompt.verifier for prompt in prompts}}
    rows = read_scored(ledger, draw, prompts, versions)
    if tokenizer is not None:
        rows = add_tokens(ledger, draw, prompts, rows, tokenizer)
    return deal_groups(rows, size, signal, seed)


def list_prompts(rows: pa.Table, where: str) -> list[Prompt]:
    """Return the prompts of a data set. Raises `LearnableError` where its rows are not those of a curated set."""
    columns = [name for name in prompts_schema(TEXT_PROMPT).names if name in rows.column_names]
    try:
        return [prompt_from_row(row, where) for row in rows.select(columns).to_pylist()]
    except KeyError as error:
        raise LearnableError(
            f"the data set has no column {error}: stored rollouts are found by it, so train on load_prompts({where!r})"
        ) from error


def make_batches(
    groups: pl.DataFrame, prompts: Sequence[Prompt], chances: NDArray[np.float64], places: int, most: int, seed: int
) -> pl.DataFrame:
    """Return the rows of `groups` that are in a batch, with columns `batch` and `row`, batch by batch in their order.

    `places` are the prompts of a batch, `chances` how often the sampler would take each prompt.
    """
    row_of = {prompt.prompt_id: row for row, prompt in reversed(list(enumerate(prompts)))}
    owners = groups.group_by("group", maintain_order=True).first()["prompt_id"].to_list()
    batches = plan_batches(np.array([row_of[name] for name in owners], np.int64), chances, places, most, seed)
    numbered = [(group, number, place) for number, batch in enumerate(batches) for place, group in enumerate(batch)]
    placed = pl.DataFrame(numbered, {"group": pl.Int64, "batch": pl.Int64, "place": pl.Int64}, orient="row")
    rows = [row_of[name] for name in groups["prompt_id"]]
    placed_rows = groups.with_columns(row=pl.Series(rows, dtype=pl.Int64)).join(
        placed, on="group", maintain_order="left"
    )
    return placed_rows.sort("batch", "place", maintain_order=True)


def write_batches(batches: pl.DataFrame, folder: Path) -> None:
    """Keep the batches of a run beside its checkpoints."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / FILE, lambda file: batches.write_parquet(file))


def read_batches(folder: Path) -> list[StoredBatch]:
    """Return the batches of a run. Raises `LearnableError` where it has none, or the file cannot be read."""
    try:
        rows = pl.read_parquet(folder / FILE)
    except FileNotFoundError as error:
        raise LearnableError(
            f"{folder}: no {FILE}: the run that wrote these checkpoints had no stored rollouts"
        ) from error
    except pl.exceptions.PolarsError as error:
        raise LearnableError(f"{folder / FILE} cannot be read ({error}): start a new run") from error
    return [
        StoredBatch(tuple(part["row"].unique(maintain_order=True).to_list()), part)
        for part in rows.partition_by("batch", maintain_order=True)
    ]
