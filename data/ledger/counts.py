"""What other policies made of the same prompts, as counts: of models that were imported, and of those in the ledger.

<root>/counts/imported.parquet                  key, model, k, passes
<root>/counts/seen/<weights>/<sampling>.parquet prompt_id, policy, k, passes: what the ledger had of others by then

A prompt's rate is predicted from them, and a run must find them as they were when it is started again: what the ledger
has of other policies is noted once, the first time that a prompt is looked at under a policy and a sampling. What was
imported is read as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.ledger.ledger import Draw, Ledger, reread
from learnable.data.ledger.partition import DamagedFileError, Partition
from learnable.data.progress import progress
from learnable.data.records import PassCount, Prompt, text_key, weights_id
from learnable.data.storage.places import put
from learnable.data.tables import parquet_bytes

IMPORTED = {"key": pl.String, "model": pl.String, "k": pl.Int64, "passes": pl.Int64}
SEEN = {"prompt_id": pl.String, "policy": pl.String, "k": pl.Float64, "passes": pl.Float64}


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What an import brought: counts, prompts and models of the file; counts that are `new` or `changed` others."""

    counts: int
    prompts: int
    models: list[str]
    new: int
    changed: int


def store_counts(root: UPath, counts: Iterable[PassCount]) -> ImportSummary:
    """Add counts to those that were imported; one of the same prompt and model replaces what was there.

    Needs the store's lock. Counts of one prompt and model among `counts` are added up. Raises `LearnableError` where
    they cannot be read or written.
    """
    pair = ["key", "model"]
    rows = [(one.key, one.model, one.k, one.passes) for one in counts]
    given = pl.DataFrame(rows, IMPORTED, orient="row").group_by(pair, maintain_order=True).sum()
    before = _read(_imported(root), IMPORTED)
    changed = given.join(before, on=pair, suffix="_before").filter(
        (pl.col("k") != pl.col("k_before")) | (pl.col("passes") != pl.col("passes_before"))
    )
    new = given.join(before, on=pair, how="anti").height
    if new or changed.height:
        _write(_imported(root), pl.concat([before.join(given, on=pair, how="anti"), given]).sort(pair))
    models = given["model"].unique().sort().to_list()
    return ImportSummary(given.height, given["key"].n_unique(), models, new, changed.height)


def find_counts(ledger: Ledger, draw: Draw, prompts: Sequence[Prompt]) -> pl.DataFrame:
    """Return what other policies made of these prompts: `prompt_id`, `policy`, `k` (rewards) and `passes` (their sum).

    Those of the ledger are as they were when each prompt was first looked at under this `draw`, which is noted now for
    those that are new. Needs the store's lock. Raises `LearnableError` where they cannot be read or written.
    """
    ids = pl.DataFrame({"prompt_id": [prompt.prompt_id for prompt in prompts]})
    file = ledger.root / "counts" / "seen" / f"{draw.folder}.parquet"
    counts = _read(file, SEEN)
    new = ids.join(counts, on="prompt_id", how="anti")
    if new.height:
        others = _count_others(ledger, draw, frozenset(new["prompt_id"]))
        nothing = new.join(others, on="prompt_id", how="anti").with_columns(
            policy=pl.lit(None, pl.String), k=pl.lit(0.0), passes=pl.lit(0.0)
        )
        counts = pl.concat([counts, others, nothing])
        ledger.check_lock()
        _write(file, counts)
    of_ledger = counts.drop_nulls("policy").join(ids, on="prompt_id", how="semi")
    return pl.concat([_find_imported(ledger.root, prompts), of_ledger])


def _find_imported(root: UPath, prompts: Sequence[Prompt]) -> pl.DataFrame:
    imported = _read(_imported(root), IMPORTED)
    if not imported.height:
        return pl.DataFrame(schema=SEEN)
    keys = [(key, p.prompt_id) for p in prompts for key in (p.prompt_id, text_key(p.text))]
    pairs = pl.DataFrame(keys, {"key": pl.String, "prompt_id": pl.String}, orient="row").unique()
    return (
        pairs.join(imported, on="key")
        .group_by("prompt_id", pl.col("model").alias("policy"))
        .agg(pl.col("k", "passes").sum().cast(pl.Float64))
        .sort("prompt_id", "policy")
        .select(list(SEEN))
    )


def _count_others(ledger: Ledger, draw: Draw, prompts: frozenset[str]) -> pl.DataFrame:
    """Return the rewards that other policies have in the ledger, and this one under other samplings, by prompt."""
    own = (ledger.root / "scores" / draw.folder).path.rstrip("/")
    by_weights: dict[str, list[Partition]] = {}
    for partition in ledger.partitions("scores"):
        if partition.folder.parent.path.rstrip("/") != own:
            by_weights.setdefault(partition.folder.parent.parent.name, []).append(partition)
    last = {weights: max(map(_find_time, parts)) for weights, parts in by_weights.items()}
    # Of the ledger's policies the eight that were scored last are read for a prompt.
    latest = sorted(by_weights, key=lambda weights: (-last[weights], weights))[:8]
    counts = [_count_rewards(by_weights[weights], prompts) for weights in sorted(latest)]
    names = [_find_name(ledger, by_weights[weights][0]) for weights in sorted(latest)]
    columns = [
        one.with_columns(policy=pl.lit(name)).select(list(SEEN)) for one, name in zip(counts, names, strict=True)
    ]
    return pl.concat([pl.DataFrame(schema=SEEN), *columns]).sort("policy", "prompt_id")


def _count_rewards(partitions: Sequence[Partition], prompts: frozenset[str]) -> pl.DataFrame:
    """Return for each prompt how many rollouts have a reward, and the sum of these; each rollout once."""
    names, rows = ("prompt_id", "rollout_id", "reward"), []
    for partition in partitions:
        try:
            tables = reread(lambda one=partition: list(one.select("prompt_id", prompts, names)))  # type: ignore[misc]
            rows += [pl.DataFrame(table).select(names) for table in tables]
        except DamagedFileError as damage:
            progress().warn(f"{damage}; no pass rate is predicted from what it held")
    empty = pl.DataFrame(schema={"prompt_id": pl.String, "rollout_id": pl.String, "reward": pl.Float64})
    scored = pl.concat([empty, *rows]).drop_nulls("reward").unique(["prompt_id", "rollout_id"], keep="first")
    return scored.group_by("prompt_id").agg(k=pl.len().cast(pl.Float64), passes=pl.col("reward").sum())


def _find_time(partition: Partition) -> float:
    """Return when the last file of a partition was written, in seconds; 0 where nobody can tell."""
    try:
        return float(partition.chunks()[-1].path.stat().st_mtime)
    except (IndexError, OSError, AttributeError):
        return 0.0


def _find_name(ledger: Ledger, scores: Partition) -> str:
    """Return what the policy of a partition is called: as its first rollouts name it, or by its weights alone."""
    weights, sampling = scores.folder.parent.parent.name, scores.folder.parent.name
    try:
        chunk = Partition(ledger.root / "rollouts" / weights / sampling).chunks()[0]
        name = str(chunk.read_columns(chunk.read(), ["policy_id"])["policy_id"][0].as_py())
        return f"{name.partition('@')[0].rpartition('/')[2]}@{weights_id(name)[:8]}"
    except (DamagedFileError, IndexError, KeyError):
        return weights[:8]


def _imported(root: UPath) -> UPath:
    return root / "counts" / "imported.parquet"


def _read(file: UPath, schema: dict[str, Any]) -> pl.DataFrame:
    try:
        return pl.read_parquet(file.read_bytes()).select(pl.col(name).cast(kind) for name, kind in schema.items())
    except FileNotFoundError:
        return pl.DataFrame(schema=schema)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise LearnableError(
            f"cannot read {str(file)!r} ({' '.join(str(error).split())}): pass rates are predicted from it; move it "
            "away, and import again what was imported"
        ) from error


def _write(file: UPath, table: pl.DataFrame) -> None:
    try:
        put(file, parquet_bytes(table.to_arrow()))
    except OSError as error:
        raise LearnableError(f"cannot write {str(file)!r}: {error.strerror or error}") from error
