"""Sampling that stops, through the whole pipeline: paid for once, interrupted, resumed, topped up, retested."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import InterruptedRunError
from learnable.data.records import Sampling
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation import pipeline, steps
from learnable.flows.curation.goal import Goal
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.report import CurationReport
from learnable.flows.engines import use_engine
from learnable.flows.sampling import sampler
from learnable.flows.sampling.reward_table import RewardTable
from learnable.flows.sampling.sampler import is_anything_missing
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.protocol import Answer, GroupRequest, Refusal
from learnable.rollouts.settings import SimulatedSettings
from learnable.rollouts.simulated import SimulatedEngine


class CountedEngine(SimulatedEngine):
    """Counts what it draws; stops after `patience` groups as by Ctrl-C; refuses the prompts in `refused`."""

    def __init__(self, patience: int | None = None, refused: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self.patience, self.refused = patience, refused
        self.calls: list[list[GroupRequest]] = []

    @property
    def drawn(self) -> int:
        return sum(request.group_size for call in self.calls for request in call)

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        self.calls.append([])
        for request in requests:
            if self.patience is not None and sum(map(len, self.calls)) == self.patience:
                raise KeyboardInterrupt
            self.calls[-1].append(request)
            if request.prompt.text in self.refused:
                yield Refusal(request, "longer than the context")
            else:
                yield from super().generate([request], sampling)


@pytest.fixture
def settings(tmp_path: Path) -> CurateSettings:
    return CurateSettings(
        prompts=PromptSettings(families=("simulated",), limit=300),
        engine=SimulatedSettings(),
        store=str(tmp_path / "store"),
        workers=0,
    )


def run(settings: CurateSettings, engine: CountedEngine | None = None) -> tuple[CurationReport, CountedEngine]:
    engine = engine or CountedEngine()
    with use_engine(engine, settings):
        return run_curation(settings), engine


def groups_of(settings: CurateSettings, report: CurationReport) -> pl.DataFrame:
    return pl.read_parquet(Path(settings.store) / "groups" / f"{report.run_id}.parquet")


def test_groups_stop_when_they_have_told_enough(settings: CurateSettings) -> None:
    report, engine = run(settings)
    groups = groups_of(settings, report)
    assert engine.drawn == report.totals.rollouts == report.totals.generated == groups["n"].sum()
    assert engine.drawn < 20 * 300
    assert groups["n"].n_unique() > 4
    rates = groups["spec"].str.json_path_match("$.rate").cast(pl.Float64)
    inside = rates.is_between(0.2, 0.8)
    kept = groups["decision"] == "keep"
    assert (kept & inside).sum() / kept.sum() > 0.75
    assert (kept & inside).sum() / inside.sum() > 0.7
    mixed = [call for call in engine.calls if len({request.first_index == 0 for request in call}) == 2]
    assert mixed, "new groups and continuing ones share a call"


def test_the_same_command_again_pays_nothing_and_publishes_nothing(settings: CurateSettings) -> None:
    first, _ = run(settings)
    again, idle = run(settings)
    assert idle.calls == []
    assert again.curated == first.curated
    assert again.forms == first.forms


def test_a_row_carries_its_certificate(settings: CurateSettings) -> None:
    report, _ = run(settings)
    curated = open_curated(report.curated)
    rows = pl.DataFrame(curated.read("train"))
    assert (rows["p_keep"] >= 0.3).all()
    assert ((rows["ci_low"] < rows["mean"]) & (rows["mean"] < rows["ci_high"])).all()
    assert rows["usable_at_g"].min() > 0.5
    assert curated.manifest.family_priors["simulated"].fitted_to > 64
    expected = curated.manifest.expected_false_keeps
    assert 0 < expected < 0.3 * report.totals.kept
    assert report.certified_precision == pytest.approx(1 - expected / report.totals.kept)
    assert [row.group_size for row in curated.manifest.forecast.pool] == [4, 8, 16, 32, 64]


def test_the_manifest_says_how_long_the_completions_were(settings: CurateSettings) -> None:
    report, engine = run(settings)
    files = (Path(settings.store) / "rollouts").rglob("*.parquet")
    tokens = sorted(pl.concat([pl.read_parquet(file, columns=["num_tokens"]) for file in files])["num_tokens"])
    assert len(tokens) == engine.drawn
    manifest = open_curated(report.curated).manifest
    lengths = manifest.lengths
    assert lengths is not None
    assert manifest.family_lengths == {"simulated": lengths}
    assert (lengths.p50, lengths.longest) == (tokens[ceil(len(tokens) / 2) - 1], tokens[-1])
    assert lengths.p95 == tokens[ceil(len(tokens) * 0.95) - 1]


@pytest.mark.parametrize("patience", [5, 70, 200, 400])
def test_an_interrupted_run_goes_on_to_the_very_same_end(
    settings: CurateSettings, tmp_path: Path, patience: int
) -> None:
    whole, engine = run(replace(settings, store=str(tmp_path / "other")))
    with pytest.raises(InterruptedRunError):
        run(settings, CountedEngine(patience))
    report, rest = run(settings)
    assert report.forms == whole.forms
    assert report.totals.rollouts == whole.totals.rollouts == engine.drawn
    assert rest.drawn < engine.drawn


def test_more_prompts_pay_for_themselves_alone(settings: CurateSettings) -> None:
    _, first = run(settings)
    grown, more = run(replace(settings, prompts=replace(settings.prompts, limit=400)))
    assert more.drawn < 0.6 * first.drawn
    assert grown.totals.prompts == 400


def test_refused_prompts_are_named_not_scored_and_the_others_go_on(settings: CurateSettings) -> None:
    refused = frozenset({"simulated prompt 200"})
    report, _ = run(settings, CountedEngine(refused=refused))
    groups = groups_of(settings, report)
    assert set(groups.filter(pl.col("decision") == "not_scored")["prompt"]) == refused
    again, engine = run(settings)
    assert {request.prompt.text for call in engine.calls for request in call} >= refused  # still missing
    assert again.totals.decisions.get("not_scored") is None


def test_a_goal_stops_the_run_and_says_so(settings: CurateSettings) -> None:
    wanted = replace(
        settings, prompts=PromptSettings(families=("simulated",)), budget=SamplingBudget(want=40, precision=0.9)
    )
    report, engine = run(wanted)
    assert report.goal
    assert report.goal.reached
    assert 40 <= report.totals.kept < 50
    assert report.certified_precision >= 0.9
    assert report.totals.prompts < 300
    again, idle = run(wanted)
    assert idle.calls == []
    assert again.curated == report.curated
    assert engine.drawn == again.totals.rollouts


def test_a_source_that_runs_dry_says_how_many_it_gave(settings: CurateSettings) -> None:
    report, _ = run(replace(settings, budget=SamplingBudget(want=200)))
    assert report.goal == Goal(200, report.totals.kept, "300 prompts were looked at, all that `limit` 300 allows")
    assert not report.goal.reached


def test_a_goal_reads_on_in_a_source_without_end(settings: CurateSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("learnable.flows.curation.goal.BUILTIN_LIMIT", 64)
    monkeypatch.setattr("learnable.flows.curation.goal.READ_PER_KEPT", 1)
    wanted = replace(settings, prompts=PromptSettings(families=("simulated",)), budget=SamplingBudget(want=60))
    report, engine = run(wanted)
    assert report.goal
    assert report.goal.reached
    assert report.totals.prompts > 64
    assert report.totals.generated == engine.drawn


def test_kept_prompts_are_topped_up_on_request(settings: CurateSettings) -> None:
    budget = SamplingBudget(top_up=True)
    report, _ = run(replace(settings, budget=budget, group_size=32))
    groups = groups_of(settings, report)
    assert (groups.filter(pl.col("decision") == "keep")["n"] >= 32).all()
    assert groups["n"].min() < 16
    again, idle = run(replace(settings, budget=budget, group_size=32))
    assert idle.calls == []
    assert again.forms == report.forms


def test_a_later_run_that_generates_samples_some_rejected_prompts_again(settings: CurateSettings) -> None:
    budget = SamplingBudget(retest=0.2)
    first, _ = run(replace(settings, budget=budget))
    before = groups_of(settings, first)
    more = replace(settings, budget=budget, prompts=replace(settings.prompts, limit=310))
    second, _ = run(more)
    after = groups_of(settings, second)
    both = before.join(after, on="prompt_id", suffix="_after")
    retested = both.filter((pl.col("decision") != "keep") & (pl.col("n_after") == pl.col("n") + 4))
    assert 0.1 < retested.height / (before["decision"] != "keep").sum() < 0.35
    third, idle = run(more)
    assert idle.calls == []
    assert third.forms == second.forms


def test_a_lost_file_costs_what_was_in_it_and_no_retest(settings: CurateSettings) -> None:
    wanted = replace(settings, budget=SamplingBudget(retest=0.2))
    first, _ = run(wanted)
    for path in sorted(Path(settings.store).glob("rollouts/**/*.parquet")):
        lost = pl.read_parquet(path).height
        path.unlink()
        again, engine = run(wanted)
        assert engine.drawn == lost
        assert again.curated == first.curated


def test_what_a_fixed_run_paid_for_is_used(settings: CurateSettings) -> None:
    run(replace(settings, budget=SamplingBudget("fixed"), group_size=32))
    report, engine = run(settings)
    groups = groups_of(settings, report)
    assert (groups["n"] >= 32).all()
    assert engine.drawn < 0.05 * groups["n"].sum()


def test_passes_alone_decide_on_request(settings: CurateSettings) -> None:
    graded = replace(settings, prompts=replace(settings.prompts, knobs={"simulated.spread": "0.2"}))
    by_reward, _ = run(graded)
    by_pass, _ = run(replace(graded, preset=graded.preset.override(by="pass")))
    rows = groups_of(settings, by_pass)
    assert (rows["n_eff"] == rows["n"]).all()
    assert (groups_of(settings, by_reward)["n_eff"] > rows["n"].min()).all()
    assert by_pass.totals.rollouts > by_reward.totals.rollouts


def test_a_run_knows_what_is_missing_before_an_engine_starts(settings: CurateSettings) -> None:
    from learnable.flows.engines import policy_for
    from learnable.flows.run import Run, locked_store

    def missing() -> bool:
        with locked_store(settings) as store:
            return is_anything_missing(Run("r", settings, policy_for(settings), store), steps.read_prompts(settings))

    assert missing()
    run(settings)
    assert not missing()


def test_rewards_are_forgotten_once_the_sampling_is_over(
    settings: CurateSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine bytes a rollout would stay, while the run takes most memory, were anything of it part of a cycle."""
    tables: list[weakref.ref[RewardTable]] = []

    class SeenTable(RewardTable):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            tables.append(weakref.ref(self))

    decide = steps.decide_groups

    def look_and_decide(*arguments: Any) -> pl.DataFrame:
        assert [table() for table in tables] == [None]
        return decide(*arguments)

    monkeypatch.setattr(sampler, "RewardTable", SeenTable)
    monkeypatch.setattr(pipeline, "decide_groups", look_and_decide)
    gc.disable()
    try:
        run(settings)
    finally:
        gc.enable()
    assert len(tables) == 1


def test_graded_rewards_need_fewer_rollouts(settings: CurateSettings) -> None:
    ungraded, _ = run(settings)
    graded, _ = run(replace(settings, prompts=replace(settings.prompts, knobs={"simulated.spread": "0.15"})))
    assert graded.family_priors["simulated"].ess_per_rollout == pytest.approx(1 / (4 * 0.15**2), rel=0.15)
    assert graded.totals.rollouts < 0.8 * ungraded.totals.rollouts
    assert np.isfinite(graded.certified_precision or np.nan)


def test_the_pipeline_is_what_the_flow_runs() -> None:
    from learnable.flows import curate

    assert curate.run_curation is pipeline.run_curation
