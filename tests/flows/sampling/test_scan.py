"""A run's own rollouts, read back in parts: the same decisions as from one frame, and memory that does not grow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import LearnableError
from learnable.data.ledger.partition import Partition
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.report import CurationReport
from learnable.flows.engines import use_engine
from learnable.flows.sampling import chunk_writer, sampler, scan
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.settings import SimulatedSettings
from learnable.rollouts.simulated import SimulatedEngine

PARTS = ("train", "test", "rejects", "control", "demonstrations", "preferences")
GROWN = """
import resource, sys
from learnable.data.ledger import upkeep
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.settings import SimulatedSettings
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.sampling import scan
from learnable.viewing import groups, sample
import learnable.flows.curation.publishing, pandas
scan.ROLLOUTS_AT_ONCE = groups.ROLLOUTS_AT_ONCE = 2048
sample.PILOT, sample.COMPLETIONS = 16, 2048
upkeep.MANY_FILES = 1_000_000  # none is merged, which takes as much memory as a merged file is large
settings = CurateSettings(prompts=PromptSettings(location=sys.argv[1]), engine=SimulatedSettings(), store=sys.argv[2],
    budget=SamplingBudget("fixed"), group_size=int(sys.argv[3]), workers=0)
run_curation(settings)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def write_pool(path: Path, count: int, **graded: Any) -> str:
    specs = ({"rate": (number * 37 % 101) / 100, **(graded if number % 2 else {})} for number in range(count))
    rows = ({"prompt": f"pool {n}", "verifier": "simulated", "spec": spec} for n, spec in enumerate(specs))
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


@pytest.fixture
def settings(tmp_path: Path) -> CurateSettings:
    pool = write_pool(tmp_path / "pool.jsonl", 150, cases=4, partial_credit=0.5)
    return CurateSettings(
        prompts=PromptSettings(location=pool), engine=SimulatedSettings(), store=str(tmp_path / "whole"), workers=0
    )


def curate(settings: CurateSettings, **options: Any) -> tuple[CurationReport, dict[str, pl.DataFrame]]:
    with use_engine(SimulatedEngine(**options), settings):
        report = run_curation(settings)
    curated = open_curated(report.curated)
    return report, {part: pl.DataFrame(curated.read(part)) for part in PARTS}


@pytest.mark.parametrize("budget", [SamplingBudget(), SamplingBudget("fixed"), SamplingBudget(top_up=True)])
def test_a_pool_in_many_parts_is_decided_as_it_is_in_one(
    settings: CurateSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: SamplingBudget
) -> None:
    settings = replace(settings, budget=budget, truncated="exclude")
    whole, one = curate(settings, truncated_share=0.1)
    monkeypatch.setattr(scan, "ROLLOUTS_AT_ONCE", 200)
    monkeypatch.setattr(sampler, "PROMPTS_AT_ONCE", 20)
    shared = replace(settings, store=str(tmp_path / "shared"))
    for _ in ("new", "from the ledger"):
        report, many = curate(shared, truncated_share=0.1)
        assert report.totals == replace(whole.totals, generated=report.totals.generated)
        assert report.triage == whole.triage
        assert report.findings == whole.findings
        for part in PARTS:  # a value model's matrix products differ in the last digit where fewer rows go in
            assert_frame_equal(many[part], one[part], rel_tol=1e-9, abs_tol=1e-12)


def test_what_is_decided_is_what_the_ledger_has(settings: CurateSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is lost between the last rollout and the decisions is no group of fewer rollouts."""
    settings = replace(settings, budget=SamplingBudget("fixed"))
    finish = sampler.Collector.finish

    def lose(self: sampler.Collector) -> None:
        finish(self)
        next(Path(settings.store, "scores").rglob("*.parquet")).unlink()

    with monkeypatch.context() as patch, use_engine(SimulatedEngine(), settings):
        patch.setattr(sampler.Collector, "finish", lose)
        with pytest.raises(LearnableError, match="cannot be read back"):
            run_curation(settings)
    report, _ = curate(settings)
    assert report.totals.generated == 0
    assert report.totals.rollouts == 150 * 16


def test_a_part_reads_the_files_that_have_its_prompts_and_no_others(
    settings: CurateSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a pool of ten times as many prompts would take a hundred times as long."""
    monkeypatch.setattr(chunk_writer, "CHUNK_ROLLOUTS", 160)
    monkeypatch.setattr(chunk_writer, "MAX_WAITING", 160)
    monkeypatch.setattr(scan, "ROLLOUTS_AT_ONCE", 160)
    settings = replace(settings, budget=SamplingBudget("fixed"))
    read: list[str] = []
    select = Partition._select

    def count(self: Partition, chunk: Any, *rest: Any) -> Any:
        read.append(chunk.path.name)
        return select(self, chunk, *rest)

    monkeypatch.setattr(Partition, "_select", count)
    curate(settings)
    files = sum(len(list(Path(settings.store, table).rglob("*.parquet"))) for table in ("rollouts", "scores"))
    assert files >= 16
    assert len(read) <= 6 * files, "each once to learn what is in it, and in the parts that it overlaps"


@pytest.mark.slow
def test_memory_does_not_grow_with_rollouts(tmp_path: Path) -> None:
    """1,500 prompts with 16 and with 64 rollouts each, in processes of their own.

    72,000 rollouts more may take five bytes each in the table of rewards. Where every score is in memory, while groups
    are decided or for the report, they take some 600 bytes each, 41 MiB.
    """
    pool = write_pool(tmp_path / "pool.jsonl", 1500)
    peaks = []
    for size in ("16", "64"):
        command = [sys.executable, "-c", GROWN, pool, str(tmp_path / size), size]
        environment = {**os.environ, "POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        peaks.append(int(done.stdout.split()[-1]) / 1024)
    assert peaks[1] - peaks[0] < 24, f"{peaks[0]:.0f} and {peaks[1]:.0f} MiB"
