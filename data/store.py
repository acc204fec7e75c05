"""The store: rollouts and scores as grow-only Parquet, groups per run, curated sets beside them.

<root>/rollouts/<run>-00000.parquet   written a chunk at a time, each file whole or absent
<root>/scores/<run>-00000.parquet
<root>/groups/<run>.parquet
<root>/curated/<name>/<version>/
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa

from learnable.data.errors import LearnableError
from learnable.data.records import Rollout, Score
from learnable.data.schemas import ROLLOUTS, SCORES
from learnable.data.tables import rollouts_table, scores_table, write_parquet


class Store:
    """One folder of everything a policy answered and what verifiers said of it.

    Raises `LearnableError` when the folder cannot be made or written.
    """

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root)
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LearnableError(
                f"store {str(root)!r} cannot be made ({error.strerror}): choose another --store"
            ) from error
        if not os.access(self.root, os.W_OK | os.X_OK):
            raise LearnableError(f"store {str(root)!r} cannot be written: choose another --store")

    @property
    def curated(self) -> Path:
        """The folder of curated sets."""
        return self.root / "curated"

    def append_rollouts(self, run_id: str, rollouts: Sequence[Rollout]) -> None:
        """Make a chunk of rollouts durable."""
        self._append("rollouts", run_id, rollouts_table(rollouts))

    def append_scores(self, run_id: str, scores: Iterable[tuple[str, str, str, Score]]) -> None:
        """Make a chunk of scores durable: tuples of rollout id, verifier, verifier version, score."""
        self._append("scores", run_id, scores_table(scores))

    def write_groups(self, run_id: str, groups: pl.DataFrame) -> None:
        """Write the run's decided groups."""
        write_parquet(groups.to_arrow(), self.root / "groups" / f"{run_id}.parquet")

    def find_rollouts(self, policy_id: str, sampling_id: str, prompt_ids: Sequence[str]) -> pl.DataFrame:
        """Return the stored rollouts of these prompts by this policy under this sampling, one row a key.

        Rollouts the engine failed on are left out: they are still owed.
        """
        wanted = pl.LazyFrame({"prompt_id": prompt_ids}, schema={"prompt_id": pl.String})
        return (
            self._scan("rollouts", ROLLOUTS)
            .filter(
                (pl.col("policy_id") == policy_id)
                & (pl.col("sampling_id") == sampling_id)
                & (pl.col("finish_reason") != "error")
            )
            .join(wanted, on="prompt_id", how="semi")
            .unique("rollout_id", keep="first", maintain_order=True)
            .collect()
        )

    def find_scores(self, rollout_ids: pl.Series, versions: dict[str, str]) -> pl.DataFrame:
        """Return the stored scores of these rollouts by these verifier versions, one row a rollout and verifier.

        Verifier errors are left out: a verifier that failed is asked again.
        """
        wanted = pl.LazyFrame({"rollout_id": rollout_ids}, schema={"rollout_id": pl.String})
        current = pl.LazyFrame(
            {"verifier": list(versions), "verifier_version": list(versions.values())},
            schema={"verifier": pl.String, "verifier_version": pl.String},
        )
        return (
            self._scan("scores", SCORES)
            .filter(pl.col("verdict").is_in(["scored", "truncated"]))
            .join(wanted, on="rollout_id", how="semi")
            .join(current, on=["verifier", "verifier_version"], how="semi")
            .unique(["rollout_id", "verifier"], keep="first", maintain_order=True)
            .collect()
        )

    def _append(self, table_name: str, run_id: str, table: pa.Table) -> None:
        if not table.num_rows:
            return
        folder = self.root / table_name
        written = len(list(folder.glob(f"{run_id}-*.parquet")))
        write_parquet(table, folder / f"{run_id}-{written:05d}.parquet")

    def _scan(self, table_name: str, schema: pa.Schema) -> pl.LazyFrame:
        files = sorted((self.root / table_name).glob("*.parquet"))
        if not files:
            return pl.LazyFrame(pl.from_arrow(schema.empty_table()))
        return pl.scan_parquet(files)
