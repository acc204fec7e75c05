"""Curated prompts as TRL reads them: those that are trained on, and those of a look at what is held out."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from learnable.data.curated.curated_set import POOL_PART, CuratedSet, download_curated, open_curated
from learnable.data.storage.places import PathOrUrl
from learnable.filters.decisions.decide import expected_mean
from learnable.train.rewards import CERTIFIED_PASS_RATE, CERTIFIED_REWARD, HELD_OUT, REVIEW, STORED_SCORE

if TYPE_CHECKING:
    from datasets import Dataset

# What TRL itself passes to a reward function, or reads of a row: a user's column of that name would break the call.
RESERVED_COLUMNS = (
    "prompts",
    "completion",
    "completions",
    "completion_ids",
    "trainer_state",
    "log_extra",
    "log_metric",
    "image",
    "images",
    "live_row",
    HELD_OUT,
    CERTIFIED_REWARD,
    CERTIFIED_PASS_RATE,
    STORED_SCORE,
)


def load_prompts(curated: PathOrUrl, part: str = POOL_PART, families: Collection[str] = ()) -> Dataset:
    """Return the prompts of a curated set to train on, for a script that uses TRL directly.

    `curated` is the folder of a set or of one of its versions, `part` one that `learnable train --part` takes: of the
    pool, what was kept and rejected alike, `LearnabilitySampler` draws what can be learned from. Raises
    `LearnableError` for a set that is not there or cannot be read.
    """
    opened = download_curated(open_curated(curated))
    return make_dataset(opened, opened.read(part, families))


def make_dataset(curated: CuratedSet, rows: pa.Table) -> Dataset:
    """Return rows of a set as TRL reads them, with what their certificates promise.

    Every column reaches the reward functions, but for those whose names TRL uses.
    """
    from datasets import Dataset

    rows = rows.drop_columns([column for column in RESERVED_COLUMNS if column in rows.column_names])
    return Dataset(add_promise(rows, curated.manifest.band.signal).combine_chunks())


def add_promise(rows: pa.Table, signal: str) -> pa.Table:
    """Add the mean that each row's certificate expects, of rewards or of passes; nothing where rows have none."""
    if not {"alpha", "beta", "p_zero", "p_one"} <= set(rows.column_names):
        return rows
    certificates = pl.DataFrame(pl.from_arrow(rows.select(["alpha", "beta", "p_zero", "p_one"])))
    promised = certificates.select(expected_mean()).to_series().to_arrow()
    return rows.append_column(CERTIFIED_REWARD if signal == "reward" else CERTIFIED_PASS_RATE, promised)


def load_looks(curated: CuratedSet, families: Collection[str], batch: int) -> dict[str, Dataset]:
    """Return the prompts of a look during training, marked for the reward function: kept ones, and mastered ones.

    Both are held out. Mastered are those that were left out as too easy and never failed; a set without any has no
    `REVIEW`. `batch` prompts are answered at once.
    """
    kept, mastered = curated.read("test", families), curated.read_mastered("test", families)
    if mastered.num_rows:
        mastered = mastered.filter(pc.equal(mastered["pass_rate"], pa.scalar(1.0)))
    wanted = {HELD_OUT: (kept, 32), REVIEW: (mastered, 16)}  # prompts, or some more: see `fill_batches`
    looks = {
        name: make_dataset(curated, rows.slice(0, fill_batches(count, rows.num_rows, batch)))
        for name, (rows, count) in wanted.items()
        if rows.num_rows
    }
    return {name: rows.add_column(HELD_OUT, [name] * len(rows)) for name, rows in looks.items()}


def fill_batches(wanted: int, available: int, batch: int) -> int:
    """Return how many of the prompts found a look takes: `wanted` or a few more, in whole batches.

    TRL's figure of a look is the mean of its batches, so that of a smaller last one would count for more.

    >>> [fill_batches(16, available, batch=5) for available in (100, 13, 3)]
    [20, 10, 3]
    """
    filled = min(-(-wanted // batch), available // batch) * batch
    return filled or min(wanted, available)
