"""A crash at touches of the disk: going on gives what an undisturbed run gives, and pays for what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import settings

from learnable.flows.sampling import chunk_writer as chunks
from tests.faults.crashes_for_tests import CHUNK, GROWN, merge
from tests.faults.runs_for_tests import Shell
from tests.faults.scripted_for_tests import GROUP_SIZE, SCRIPT, engine_of, run_small, small_settings
from tests.faults.stores_for_tests import check_rollouts, check_scores, leftovers, parts, rollouts
from tests.support.paths import ROOT

CASES = [("first", GROUP_SIZE), ("grow", GROWN), ("merge", GROUP_SIZE), ("tidy", GROUP_SIZE), ("deliver", GROUP_SIZE)]


@pytest.mark.parametrize(("job", "group_size"), CASES)
def test_at_touches_all_the_way(shell: Shell, monkeypatch: pytest.MonkeyPatch, job: str, group_size: int) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROLLOUTS", CHUNK)
    shell.run("crashes", job, program=("-m", "tests.faults.crashes_for_tests"), PYTHONPATH=str(ROOT))
    crashes, whole = sorted((shell.folder / "crashes").glob("[0-9]*")), shell.folder / "crashes" / "whole"
    assert len(crashes) > 15
    if settings.get_current_profile_name() != "thorough":  # as `make test-thorough` sets it
        crashes = crashes[::3]
    monkeypatch.setenv("XDG_CACHE_HOME", str(whole / "cache"))
    undisturbed = go_on(whole, job, group_size)
    for place in crashes:
        monkeypatch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        died = (place / "died").read_text()
        assert go_on(place, job, group_size) == undisturbed, died
        check_rollouts(place / "store", group_size * len(SCRIPT))
        check_scores(place / "store", group_size * len(SCRIPT))
        assert leftovers(place / "store") == [], died


def go_on(place: Path, job: str, group_size: int) -> Mapping[str, Any]:
    """Do again what was crashed; return the parts that a run publishes then."""
    before, paid = rows_of(place), paid_for(place)
    small = small_settings(place, group_size)
    engine = engine_of(small)
    report = run_small(small, engine)
    assert len(engine.paid) == group_size * len(SCRIPT) - len(paid)
    assert before <= rows_of(place)
    if job == "merge":
        merge(place)
    return parts(Path(report.curated))


def rows_of(place: Path) -> set[tuple[str, str]]:
    """Return the rollouts that lie in the store, with their texts."""
    return set(rollouts(place / "store").select("rollout_id", "completion").rows())


def paid_for(place: Path) -> set[str]:
    """Return what is durable, in the store or kept outside of it."""
    durable = {id_ for row in rollouts(place / "store").select("rollout_id").rows() for id_ in row}
    for path in (place / "cache").glob("learnable/unsaved/*/rollouts*/[!.]*.parquet"):
        durable |= set(pl.read_parquet(path, hive_partitioning=False)["rollout_id"])
    return durable
