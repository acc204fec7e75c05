"""The table of prompts that the page lists: a row a prompt of the pool, with its certificate and how it begins."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from learnable.data.curated.curated_set import POOL_PARTS, CuratedSet, open_curated
from learnable.data.errors import LearnableError
from learnable.data.records import SIMULATED_VERIFIER, Prompt, content_id
from learnable.data.storage.places import local_path
from learnable.data.tables import prompt_from_row

NAMES = ("part", "family", "form", "verifier", "decision", "triage", "source", "certified_by")
FIGURES = (
    "difficulty",
    "mean",
    "std",
    "pass_rate",
    "n",
    "rollouts",
    "tokens",
    "ci_low",
    "ci_high",
    "p_in_band",
    "p_keep",
    "usable_at_g",
    "expected_within_variance",
    "n_truncated",
    "n_verifier_error",
    "n_engine_error",
)
TEXTS = ("collides_with", "evidence")
HEADS = 24_000_000  # characters of the beginnings of all prompts together
HEAD, WHOLE = 160, 4_000  # of one prompt: as many at least, and at most


def scan_pool(curated: CuratedSet) -> pl.LazyFrame:
    """Return the prompts of a version that were kept or rejected, each with its `part`.

    Local shards are read as they are needed: this looks, and `CuratedSet.read` checks.
    """
    parts = [_scan_part(curated, part) for part in POOL_PARTS if curated.shards(part)]
    if not parts:
        raise LearnableError(f"curated set {str(curated.path)!r} has no shard: curate it again with find-learnable")
    return pl.concat(parts, how="diagonal_relaxed")


def _scan_part(curated: CuratedSet, part: str) -> pl.LazyFrame:
    files = [local_path(shard) for shard in curated.shards(part)]
    local = [file for file in files if file]
    rows = pl.scan_parquet(local) if len(local) == len(files) else pl.DataFrame(curated.read(part)).lazy()
    return rows.with_columns(pl.lit(part).alias("part"))


def read_prompts(curated: CuratedSet) -> pl.DataFrame:
    """Return the rows of `read_figures` with the columns of `read_heads`."""
    return pl.concat([read_figures(curated), read_heads(curated)], how="horizontal")


def read_heads(curated: CuratedSet) -> pl.DataFrame:
    """Return how each prompt of a version begins, in the order of `read_figures`: `head`, and whether that is `cut`."""
    pool = scan_pool(curated)
    width = measure_head(pool.select(pl.len()).collect().item())
    text = whole_text(pool)
    return pool.select(head=text.str.head(width), cut=text.str.len_chars() > width).collect()


def read_figures(curated: CuratedSet) -> pl.DataFrame:
    """Return a row a prompt: `prompt_id`, `NAMES`, `FIGURES` and `TEXTS`.

    `errors` counts its rollouts without an honest score, and `before` is its decision in the version that this one came
    from, null where there is none. What the version does not have is null.
    """
    pool = scan_pool(curated)
    names = pool.collect_schema().names()
    missing = [pl.lit(None, pl.String).alias(name) for name in (*NAMES, *TEXTS) if name not in names]
    missing += [pl.lit(None, pl.Float64).alias(name) for name in FIGURES if name not in names]
    rows = (
        pool.with_columns(*missing)
        .select("prompt_id", *NAMES, *FIGURES, *TEXTS)
        .with_columns(errors=pl.col("n_verifier_error") + pl.col("n_engine_error"))
        .drop("n_verifier_error", "n_engine_error")
        .collect()
    )
    before = read_decisions_before(curated)
    if before is None:
        return rows.with_columns(pl.lit(None, pl.String).alias("before"))
    return rows.join(before, on="prompt_id", how="left", maintain_order="left")


def read_questions(curated: CuratedSet, pool: pl.LazyFrame) -> list[Prompt]:
    """Return the prompts of a version as what was asked and judged, each once."""
    needed = (
        "prompt",
        "prompt_id",
        "problem_id",
        "verifier",
        "spec",
        "family",
        "form",
        "difficulty",
        "source",
        "split",
    )
    rows = pool.select(needed).unique("prompt_id", keep="first", maintain_order=True).collect()
    return [prompt_from_row(row, str(curated.path)) for row in rows.iter_rows(named=True)]


def read_question_ids(curated: CuratedSet) -> pl.DataFrame:
    """Return `question_id` and `prompt_id` of each prompt of a version."""
    rows = scan_pool(curated).select("prompt_id", "prompt", "verifier").collect()
    ids = [
        name if verifier == SIMULATED_VERIFIER else content_id(prompt) for name, prompt, verifier in rows.iter_rows()
    ]
    return rows.select("prompt_id", question_id=pl.Series(ids, dtype=pl.String))


def measure_head(prompts: int) -> int:
    """Return how many characters of each prompt the table has: fewer where there are many.

    >>> measure_head(100), measure_head(100_000), measure_head(10**6)
    (4000, 240, 160)
    """
    return max(HEAD, min(WHOLE, HEADS // max(prompts, 1)))


def whole_text(pool: pl.LazyFrame) -> pl.Expr:
    """Return the expression of a prompt as one text: the text itself, or the turns of a chat, each with its role."""
    if pool.collect_schema()["prompt"] == pl.String:
        return pl.col("prompt")
    turn = pl.format("{}: {}", pl.element().struct.field("role"), pl.element().struct.field("content"))
    return pl.col("prompt").list.eval(turn).list.join("\n\n")


def read_decisions_before(curated: CuratedSet) -> pl.DataFrame | None:
    """Return `prompt_id` and the decision `before`, of the version that this one came from; None where it is gone."""
    parent = curated.manifest.parent
    folder = curated.path.parent / parent if parent else None
    if folder is None or not folder.is_dir():
        return None
    rows = scan_pool(open_curated(folder))
    return rows.select("prompt_id", before="decision").unique("prompt_id", keep="first").collect()


def count_changes(rows: pl.DataFrame) -> Sequence[tuple[str | None, str | None, int]]:
    """Return how many prompts went from which decision to which; None before where a prompt is new."""
    counted = (
        rows.group_by("before", "decision").len().sort("len", "before", "decision", descending=[True, False, False])
    )
    return counted.rows()
