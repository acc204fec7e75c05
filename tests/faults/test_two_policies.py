"""Two policies on one store at a time, killed and started again: neither waits, loses anything, or pays twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from upath import UPath

from tests.data.storage.object_store_for_tests import object_store
from tests.faults.runs_for_tests import PAID, SIMULATED, Run, Shell

ROLLOUTS = 3200
FIND = (*SIMULATED[:-2], "--limit", "400", "--group-size", "8", "--name", "both", "--engine-arg", "group_seconds=0.02")
POLICIES = ("first", "second")


@pytest.fixture(params=["local", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[UPath]:
    if request.param == "local":
        yield UPath(tmp_path / "store")
        return
    with object_store() as server:
        yield UPath(server.url, use_listings_cache=False)


def start(shell: Shell, store: UPath, policy: str) -> Run:
    books = f"paid-{policy}-{len(shell.runs)}"
    run = shell.start(*FIND, "--store", str(store), program=PAID, PAID=books, POLICY=policy, BEAT_SECONDS="4")
    run.books = shell.folder / books  # type: ignore[attr-defined]
    return run


def chunks(store: UPath, policy: str) -> list[UPath]:
    folder = store / "rollouts" / policy
    return list(folder.glob("*/*.parquet")) if folder.is_dir() else []


def stored(store: UPath, policy: str) -> dict[str, str]:
    """Return the completions of a policy by rollout, each of which lies there once."""
    tables = [pl.read_parquet(file.read_bytes()) for file in chunks(store, policy)]
    found = {row: text for table in tables for row, text in table.select("rollout_id", "completion").rows()}
    assert len(found) == sum(table.height for table in tables)
    return found


def wait_for_more(run: Run, store: UPath, policy: str) -> None:
    before = len(chunks(store, policy))

    def is_there() -> bool:
        time.sleep(0.2)  # the server of the objects is in this process
        return len(chunks(store, policy)) > before

    assert run.wait_until(is_there), run.err


def kill(run: Run, store: UPath, policy: str) -> set[str]:
    """Kill a run, and return what its policy has: all that was durable by then."""
    assert run.process.poll() is None, run.err
    run.kill()
    return set(stored(store, policy))


def paid(run: Run) -> set[str]:
    books: Path = run.books  # type: ignore[attr-defined]
    lines = books.read_text().split() if books.exists() else []
    assert len(lines) == len(set(lines))
    return set(lines)


def test_neither_waits_loses_or_pays_twice(shell: Shell, store: UPath) -> None:
    runs = {policy: start(shell, store, policy) for policy in POLICIES}
    for policy, run in runs.items():
        wait_for_more(run, store, policy)  # each writes while the other one has its lock
    durable = {policy: kill(run, store, policy) for policy, run in runs.items()}
    again = {policy: start(shell, store, policy) for policy in POLICIES}
    again["first"].wait_for("Rolling out")
    later = kill(again["first"], store, "first")
    last = {"first": start(shell, store, "first"), "second": again["second"]}
    for policy, run in last.items():
        report = run.end().report
        rollouts = stored(store, policy)
        assert len(rollouts) == ROLLOUTS
        assert durable[policy] <= rollouts.keys()
        assert paid(again[policy]).isdisjoint(durable[policy])
        assert paid(run) == rollouts.keys() - (later if policy == "first" else durable[policy])
        assert report["curated"].startswith(f"{store}/curated/both/v")
    assert "waiting for it" not in "".join(run.err for run in runs.values())
