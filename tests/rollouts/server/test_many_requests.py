"""2,000 requests at once, against a server that is slow, refuses, breaks connections and hangs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from benchmarks.engines.servers import run_alone
from learnable.flows.curation.pipeline import run_curation
from learnable.rollouts.server import limits, models
from learnable.rollouts.settings import ServerSettings
from tests.flows.questions_for_tests import ask
from tests.rollouts.server.busy_server_for_tests import BusyServerProcess, Manners

pytestmark = pytest.mark.slow

MANY = 2000
UNRULY = Manners(slots=500, seconds=0.1, room=1800, gathers=1800, breaks=0.02)


def test_every_group_arrives_though_all_are_sent_at_once_and_memory_stays_bounded() -> None:
    """A process of 2,000 requests of 2 KB grows by less than 100 KB for each: no answer and no connection stays."""
    with BusyServerProcess(UNRULY) as server:
        figures = run_alone(server.url, MANY, most=4096, first=MANY, timeout=600.0)
        counts = server.counts
    assert (figures["groups"], figures["refusals"], figures["empty"]) == (MANY, 0, 0)
    assert figures["memory_growth"] < 200
    assert counts.peak >= UNRULY.gathers
    assert counts.refused
    assert counts.broken


def test_the_limit_follows_a_server_that_refuses_and_hangs() -> None:
    with BusyServerProcess(Manners(seconds=0.02, room=50, hangs=0.005, breaks=0.01)) as server:
        figures = run_alone(server.url, 600, most=4096, first=100, timeout=5.0)
        counts = server.counts
    assert figures["groups"] == 600
    assert figures["refusals"] == figures["empty"] == 0
    assert counts.hung
    assert counts.refused < 200


def test_no_failure_of_a_server_becomes_a_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server answers right or not at all, so that a reward of less than 1 could come from a failure alone."""
    monkeypatch.setattr(limits, "FIRST", MANY)
    monkeypatch.setattr(models, "CONNECT_TIMEOUT", 600.0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    settings = ask(tmp_path, [f"question {number}" for number in range(MANY)], str(tmp_path / "store"))
    with BusyServerProcess(UNRULY) as server:
        engine = ServerSettings((server.url,))
        report = run_curation(replace(settings, engine=engine, group_size=2))
        counts = server.counts
    stored = pl.concat(pl.read_parquet(path) for path in (tmp_path / "store").glob("scores/**/*.parquet"))
    assert report.totals.rollouts == stored.height == 2 * MANY
    assert stored["reward"].to_list() == [1.0] * stored.height
    assert set(stored["verdict"]) == {"scored"}
    assert counts.refused
    assert counts.broken
