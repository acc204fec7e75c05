"""A dry run: what it samples, what it keeps and says, and that the run after it goes as foreseen."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from learnable.cli.commands.find import show_plan
from learnable.cli.console import Shell
from learnable.data.errors import LearnableError
from learnable.data.progress import Silence, watched_by
from learnable.filters.stopping.budget import SamplingBudget
from learnable.filters.stopping.plan import Estimate
from learnable.flows.curation.cost import CostReport, plan_curation
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.settings import SimulatedSettings

Simulate = Callable[..., CurateSettings]
FIGURES = ["prompts", "kept", "rollouts", "tokens", "seconds"]


class Listener(Silence):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def simulate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Simulate:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def settings(budget: SamplingBudget, limit: int | None = None, **knobs: str) -> CurateSettings:
        return CurateSettings(
            prompts=PromptSettings(families=("simulated",), limit=limit, knobs=knobs),
            engine=SimulatedSettings(),
            budget=budget,
            store=str(tmp_path / "store"),
            workers=0,
        )

    return settings


def stored(settings: CurateSettings) -> int:
    return sum(pl.read_parquet(path).height for path in Path(settings.store).glob("rollouts/**/*.parquet"))


def holds(figure: Estimate | None, value: float) -> bool:
    assert figure is not None
    assert figure.low is not None
    assert figure.high is not None
    return figure.low <= value <= figure.high


def expected(plan: CostReport, name: str) -> float:
    figure = plan.figures[name]
    assert figure is not None
    assert figure.expected is not None
    return figure.expected


def test_a_run_goes_as_its_dry_run_foresaw(simulate: Simulate) -> None:
    settings = simulate(SamplingBudget(want=60))
    plan = plan_curation(settings)
    assert stored(settings) == plan.spent_rollouts == 64 * 8
    assert not (Path(settings.store) / "curated").exists()
    assert not (Path(settings.store) / "groups").exists()
    again = plan_curation(settings)
    assert again.figures == plan.figures  # from the ledger, the speed too
    assert stored(settings) == 64 * 8

    listener = Listener()
    with watched_by(listener):
        report = run_curation(settings)
    totals, figures = report.totals, plan.figures
    assert list(figures) == FIGURES
    assert report.goal
    assert report.goal.reached
    assert totals.generated == totals.rollouts - 64 * 8
    assert holds(figures["prompts"], totals.prompts)
    assert holds(figures["rollouts"], totals.rollouts)
    assert holds(figures["tokens"], totals.tokens)
    [told] = [note for note in listener.notes if note.startswith("about ")]
    assert " prompts (" in told
    assert " rollouts (" in told

    done = plan_curation(settings)
    assert done.spent_rollouts == totals.rollouts
    assert done.figures["prompts"] == Estimate.exactly(totals.prompts)
    assert holds(done.figures["seconds"], 0)


def test_time_and_cost_follow_from_the_measured_speed(simulate: Simulate) -> None:
    settings = simulate(SamplingBudget(), limit=200)
    plan_curation(settings)
    [file] = (Path(settings.store) / "speeds").glob("simulated-simulated.json")
    file.write_text(json.dumps({"tokens": 20, "seconds": 10.0}))
    plan = plan_curation(settings, gpu_hour_price=3.6)
    tokens, seconds, cost = (expected(plan, name) for name in ("tokens", "seconds", "cost"))
    assert plan.tokens_per_second == 2
    assert seconds == pytest.approx((tokens - 64 * 8 * 100) / 2, rel=1e-3)
    assert cost == pytest.approx(seconds / 1000, abs=0.01)
    assert plan.figures["prompts"] == Estimate.exactly(200)


def test_a_speed_that_was_never_measured_is_said_to_be_unknown(simulate: Simulate) -> None:
    settings = simulate(SamplingBudget(want=20))
    plan_curation(settings)
    [file] = (Path(settings.store) / "speeds").iterdir()
    file.unlink()
    plan = plan_curation(settings, gpu_hour_price=1.0)
    assert plan.figures["seconds"] is None is plan.figures["cost"]
    assert any(remark.startswith("time and cost are unknown") for remark in plan.remarks)


def test_a_source_that_is_too_small_says_so(simulate: Simulate) -> None:
    plan = plan_curation(simulate(SamplingBudget(want=300), limit=150))
    assert plan.chance == 0
    assert expected(plan, "prompts") == 150
    assert any("150 prompts" in remark and "0%" in remark for remark in plan.remarks)


def test_a_hopeless_pilot_says_that_there_may_be_no_end(simulate: Simulate) -> None:
    plan = plan_curation(simulate(SamplingBudget(want=50), alpha="0.01", beta="50"))
    assert (plan.figures["prompts"] or Estimate.exactly(0)).high is None
    assert any("no end" in remark for remark in plan.remarks)
    assert "no end" in shown(plan)


def test_groups_of_one_size_need_no_pilot(simulate: Simulate) -> None:
    settings = simulate(SamplingBudget(sampling="fixed"), limit=30)
    plan = plan_curation(settings)
    assert stored(settings) == 0
    assert plan.figures["rollouts"] == Estimate.exactly(30 * 16)
    assert plan.figures["tokens"] is None is plan.figures["kept"]
    assert any("tokens" in remark and "unknown" in remark for remark in plan.remarks)
    run_curation(replace(settings, prompts=replace(settings.prompts, limit=10)))
    later = plan_curation(settings)
    assert expected(later, "tokens") == 30 * 16 * 100
    assert later.spent_rollouts == 10 * 16


@pytest.mark.parametrize("price", [0.0, -2.0])
def test_a_price_is_more_than_nothing(simulate: Simulate, price: float) -> None:
    with pytest.raises(LearnableError, match="`gpu_hour_price`"):
        plan_curation(simulate(SamplingBudget()), gpu_hour_price=price)


def test_the_table_has_a_row_a_figure(simulate: Simulate) -> None:
    plan = plan_curation(simulate(SamplingBudget(want=60)), gpu_hour_price=2.0)
    text = shown(plan)
    for label in ("prompts looked at", "prompts kept", "rollouts", "completion tokens", "time", "cost"):
        assert label in text
    assert f"{expected(plan, 'rollouts'):,}" in text
    assert text.rstrip().endswith("the same command without --dry-run")
    assert json.loads(shown(plan, as_json=True)) == plan.to_json()


def shown(plan: CostReport, *, as_json: bool = False) -> str:
    out = Console(file=StringIO(), width=100)
    show_plan(Shell(as_json=as_json, quiet=True, out=out, err=out), plan)
    assert isinstance(out.file, StringIO)
    return out.file.getvalue()
