"""What lies in a store, read file by file without the product's own code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

LASTING = {".lock", ".locks"}


def files(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file under `folder` that is not hidden, by its path there; without indices."""
    found = (path for path in folder.rglob("[!.]*") if path.is_file() and not path.parent.name.startswith("."))
    found = (path for path in found if path.suffix != ".arrow")  # they may go at any time
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def rollouts(store: Path) -> pl.DataFrame:
    """Return every row of every file of rollouts, twice where it is there twice."""
    return _rows(store / "rollouts", {"rollout_id": pl.String, "completion": pl.String})


def scores(store: Path) -> pl.DataFrame:
    """Return every row of every file of scores."""
    return _rows(store / "scores", {"rollout_id": pl.String, "verdict": pl.String})


def check_rollouts(store: Path, count: int) -> pl.DataFrame:
    """See that exactly `count` rollouts are there, each once, and return them."""
    rows = rollouts(store)
    assert rows.height == count
    assert rows["rollout_id"].n_unique() == count
    return rows


def check_scores(store: Path, count: int) -> None:
    """See that each of `count` rollouts has one score."""
    rows = scores(store)
    assert rows.height == count
    assert set(rows["rollout_id"]) == set(rollouts(store)["rollout_id"])


def leftovers(store: Path) -> list[str]:
    """Return what a run should not have left behind."""
    return sorted(str(path.relative_to(store)) for path in store.rglob(".*") if path.name not in LASTING)


def parts(curated: Path) -> Mapping[str, Any]:
    """Return how many rows each part of a curated set has, and the SHA-256 of its shards as they are on disk."""
    manifest = json.loads((curated / "manifest.json").read_text())
    on_disk = files(curated)
    for part in manifest["parts"].values():
        assert {name: on_disk[name] for name in part["sha256"]} == part["sha256"]
    named: Mapping[str, Any] = manifest["parts"]
    return named


def group_files(store: Path) -> set[str]:
    """Return the SHA-256 of every run's groups."""
    return set(files(store / "groups").values())


def _rows(folder: Path, schema: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    tables = [pl.read_parquet(path, hive_partitioning=False) for path in sorted(folder.rglob("*.parquet"))]
    return pl.concat(tables) if tables else pl.DataFrame(schema=schema)
