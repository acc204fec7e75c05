"""Groups of more rollouts than fit into memory: how many passes over their files, and what each of them reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from learnable.data.errors import LearnableError
from learnable.data.records import Truncated
from learnable.filters.band import Band
from learnable.filters.decisions.decide import decide
from learnable.filters.statistics.groups import READ, group_stats

ROWS_AT_ONCE = 25_000_000  # some 110 bytes each while they are grouped: under 4 GiB
SAMPLE = 250_000  # adjacent rows that show whether a prompt's rollouts lie together
SAMPLES = 3


def write_groups(
    files: Sequence[Path],
    band: Band,
    folder: Path,
    *,
    ks: Sequence[int] = (1, 4, 8),
    truncated: Truncated = "count",
    rows_at_once: int = ROWS_AT_ONCE,
) -> list[Path]:
    """Write the decided groups of `scan_groups`, a Parquet file a part; return the files.

    Raises `LearnableError` like `scan_groups`, and where the folder has Parquet files already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.glob("*.parquet")):
        raise LearnableError(f"{str(folder)!r} has Parquet files already: name a new folder for the groups")
    parts = scan_groups(files, band, ks=ks, truncated=truncated, rows_at_once=rows_at_once)
    written = [folder / f"groups-{number:05d}-of-{len(parts):05d}.parquet" for number in range(len(parts))]
    for part, path in zip(parts, written, strict=True):
        part.sink_parquet(path)
    return written


def scan_groups(
    files: Sequence[Path],
    band: Band,
    *,
    ks: Sequence[int] = (1, 4, 8),
    truncated: Truncated = "count",
    rows_at_once: int = ROWS_AT_ONCE,
) -> list[pl.LazyFrame]:
    """Return the statistics and decisions of every prompt in these files, in parts that hold each prompt once.

    Evaluate the parts one after the other, with `sink_parquet` or `collect(engine="streaming")`: each reads all files
    and groups its own share of the prompts. Files as the ledger writes them, with a prompt's rollouts together, take
    one part; rows in random order take one per `rows_at_once` rows. A prompt's row is bit for bit that of
    `group_stats`.

    Args:
        files: Parquet files of scored rollouts, with the columns `filters.statistics.groups.READ` and any others.
        band: what to keep.
        ks: as for `group_stats`.
        truncated: as for `group_stats`.
        rows_at_once: how many rows a part may hold at a time where each is of another prompt.

    Raises `LearnableError` for no files, a file that is none, or a missing column.
    """
    scores = _open(files)
    passes = _count_passes(scores, rows_at_once)
    share = pl.col("prompt_id").hash(seed=0) % passes  # shares prompts out; equal hashes do no harm
    parts = [scores.filter(share == part) for part in range(passes)] if passes > 1 else [scores]
    return [decide(group_stats(part, ks=ks, truncated=truncated), band) for part in parts]


def _open(files: Sequence[Path]) -> pl.LazyFrame:
    if not files:
        raise LearnableError("no Parquet files of scored rollouts were given")
    scores = pl.scan_parquet(list(files), glob=False)
    try:
        missing = [name for name in READ if name not in scores.collect_schema().names()]
    except (OSError, pl.exceptions.ComputeError) as error:
        raise LearnableError(f"{str(files[0])!r} cannot be read as Parquet: {error}") from error
    if missing:
        raise LearnableError(f"{str(files[0])!r} lacks {', '.join(missing)}: scored rollouts have {', '.join(READ)}")
    return scores.select(READ)


def _count_passes(scores: pl.LazyFrame, rows_at_once: int) -> int:
    """Return how many passes bound memory. A group that lies together takes the room of one row, else of all."""
    rows: int = scores.select(pl.len()).collect(engine="streaming").item()
    return max(1, math.ceil(rows * _distinct_share(scores, rows) / rows_at_once))


def _distinct_share(scores: pl.LazyFrame, rows: int) -> float:
    """Return prompts over rows among adjacent rows, the largest of some samples from beginning to end."""
    starts = {max(0, rows - SAMPLE) * step // (SAMPLES - 1) for step in range(SAMPLES)}
    samples = [scores.slice(start, SAMPLE) for start in starts]
    share = pl.col("prompt_id").n_unique() / pl.len().clip(1)
    shares: list[float] = [sample.select(share).collect(engine="streaming").item() for sample in samples]
    return max(shares)
