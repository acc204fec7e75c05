"""Pass rates predicted before they are paid for, in the pipeline: what is saved, said, stored and refreshed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.records import Sampling
from learnable.filters.decisions.decide import PREDICTED
from learnable.filters.stopping import schedule as schedule_module
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation.cost import plan_curation
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.report import CurationReport, describe_predictions, render_markdown
from learnable.flows.engines import use_engine
from learnable.flows.refreshing.pipeline import run_refresh
from learnable.flows.settings import CurateSettings, PromptSettings, RefreshSettings
from learnable.flows.showing import find_row, read_rows, show_prompt, with_reason
from learnable.rollouts.protocol import Answer, GroupRequest
from learnable.rollouts.settings import SimulatedSettings
from learnable.rollouts.simulated import SimulatedEngine
from tests.flows.rated_for_tests import RatedEngine, ask_rated, make_policy

PROMPTS = 700


class CountedEngine(SimulatedEngine):
    """Counts the groups that it draws, and is stopped by Ctrl-C after so many."""

    def __init__(self, patience: int = 10**9) -> None:
        super().__init__()
        self.patience, self.groups = patience, 0

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        for request in requests:
            if self.groups == self.patience:
                raise KeyboardInterrupt
            self.groups += 1
            yield from super().generate([request], sampling)


@pytest.fixture(autouse=True)
def small_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_module, "ROUND_ROLLOUTS", 512)


def draw(seed: int, *, follows: bool = True) -> list[dict[str, Any]]:
    """Return rows whose pass rates follow a number in the text, a column and chance; or that of another row."""
    rng = np.random.default_rng(seed)
    size, level = rng.uniform(0, 6, PROMPTS), rng.integers(3, size=PROMPTS)
    rates = expit(12 - 4 * size + 3 * (level - 1) + 0.4 * rng.standard_normal(PROMPTS))
    if not follows:
        rates = rng.permutation(rates)
    return [
        {
            "prompt": f"Sum {int(10**one)}, item {number}.",
            "verifier": "simulated",
            "spec": {"rate": float(rate)},
            "level": f"Level {which}",
        }
        for number, (one, which, rate) in enumerate(zip(size, level, rates, strict=True))
    ]


def ask(folder: Path, rows: list[dict[str, Any]], store: str = "store", **more: Any) -> CurateSettings:
    (folder / "q.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    prompts = PromptSettings(location=str(folder / "q.jsonl"))
    return CurateSettings(prompts=prompts, engine=SimulatedSettings(), store=str(folder / store), workers=0, **more)


def run(settings: CurateSettings, engine: SimulatedEngine | None = None) -> CurationReport:
    with use_engine(engine or CountedEngine(), settings):
        return run_curation(settings)


def groups_of(settings: CurateSettings, report: CurationReport) -> pl.DataFrame:
    return pl.read_parquet(Path(settings.store) / "groups" / f"{report.run_id}.parquet")


def test_where_rates_have_nothing_to_do_with_the_text_nothing_changes(tmp_path: Path) -> None:
    rows = draw(5, follows=False)
    off, auto = (ask(tmp_path, rows, predict, predict=predict) for predict in ("off", "auto"))
    before, now = run(off), run(auto)
    assert groups_of(auto, now).equals(groups_of(off, before))
    shards = [open_curated(report.curated).manifest.parts for report in (before, now)]
    assert shards[0] == shards[1]
    assert now.predictions == {}
    assert "predictions" not in now.to_json()


def test_a_prediction_saves_rollouts_and_says_so(tmp_path: Path) -> None:
    rows = draw(6)
    off, auto = (ask(tmp_path, rows, predict, predict=predict) for predict in ("off", "auto"))
    before, now = run(off), run(auto)
    assert now.totals.rollouts < 0.75 * before.totals.rollouts
    groups = groups_of(auto, now)
    unsampled = groups.filter(pl.col("decision").cast(pl.String).is_in(PREDICTED))
    assert set(now.totals.decisions) >= {"keep", "too_easy", "too_hard"}
    assert sum(now.totals.decisions.get(name, 0) for name in PREDICTED) == unsampled.height > 30
    assert groups.height == PROMPTS
    assert unsampled["rollouts"].sum() == unsampled["n"].null_count() - unsampled.height == 0
    assert unsampled["p_in_band"].max() <= 0.02  # type: ignore[operator]
    rates = unsampled["spec"].str.json_path_match("$.rate").cast(pl.Float64)
    assert rates.is_between(0.2, 0.8).mean() < 0.03  # type: ignore[operator]
    assert (rates[0] > 0.5) == (unsampled["decision"][0] == "predicted_too_easy")
    told = now.predictions["q"]
    assert told.rejected == unsampled.height
    assert told.deviance_explained > 0.5
    assert "column level" in told.sources
    assert told.rollouts == now.totals.rollouts < told.usual_rollouts
    assert sum(stratum.prompts for stratum in told.strata) == PROMPTS
    assert open_curated(now.curated).manifest.predictions == now.predictions
    [text] = describe_predictions(now)
    assert f"{unsampled.height:,} prompts were rejected without a rollout" in text
    assert "% saved" in text
    assert text in render_markdown(now)
    pool = {row.group_size: row.zero_std_share for row in now.forecast.pool}
    for row in before.forecast.pool[:2]:
        assert pool[row.group_size] == pytest.approx(row.zero_std_share, abs=0.05)


@pytest.mark.slow
def test_the_same_command_again_generates_nothing_and_decides_the_same(tmp_path: Path) -> None:
    whole, broken = (ask(tmp_path, draw(7), name) for name in ("whole", "broken"))
    first = run(whole)
    idle = CountedEngine()
    second = run(whole, idle)
    assert idle.groups == second.totals.generated == 0
    assert second.curated == first.curated
    with pytest.raises(InterruptedRunError):
        run(broken, CountedEngine(patience=200))
    again = run(broken)
    assert groups_of(broken, again).equals(groups_of(whole, first))
    assert again.totals.generated < first.totals.generated
    assert first.predictions
    assert again.predictions == first.predictions


def test_columns_are_named_and_a_wrong_name_is_an_error(tmp_path: Path) -> None:
    rows = [row | {"other_solve_rate": row["spec"]["rate"]} for row in draw(8)]
    report = run(ask(tmp_path, rows, predict_from=("other_solve_rate",)))
    told = report.predictions["q"]
    assert told.known_rates == ("other_solve_rate",)
    assert "column level" not in told.sources
    assert "other_solve_rate: solve rates of other models" in describe_predictions(report)[0]
    with pytest.raises(LearnableError, match=r"`predict_from` levels: .* did you mean level"):
        run(ask(tmp_path, rows, predict_from=("levels",)))
    with pytest.raises(LearnableError, match="`predict` 'of' is not known: choose one of auto, off"):
        ask(tmp_path, rows, predict="of")
    with pytest.raises(LearnableError, match="`predict_from` level is for `predict` auto"):
        ask(tmp_path, rows, predict="off", predict_from=("level",))


def test_a_dry_run_and_a_goal_predict_too(tmp_path: Path) -> None:
    settings = ask(tmp_path, draw(9), budget=SamplingBudget(want=40))
    plan = plan_curation(settings)
    report = run(settings)
    assert plan.figures["rollouts"] is not None
    assert report.goal is not None
    assert report.goal.reached
    assert not set(report.totals.decisions) & set(PREDICTED)
    kept = groups_of(settings, report).filter(pl.col("decision") == "keep")
    rates = kept["spec"].str.json_path_match("$.rate").cast(pl.Float64)
    assert rates.is_between(0.15, 0.85).mean() > 0.8  # type: ignore[operator]


@pytest.mark.parametrize("follows", [True, False])
def test_prompts_without_rollouts_may_stay_in_the_set(tmp_path: Path, follows: bool) -> None:
    settings = ask(tmp_path, draw(11, follows=follows), budget=SamplingBudget(want=10), keep_unasked=True)
    report = run(settings)
    groups = groups_of(settings, report)
    unasked = groups.filter(pl.col("decision") == "unasked")
    assert groups.height == PROMPTS
    assert report.totals.decisions["unasked"] == unasked.height == (groups["rollouts"] == 0).sum() > PROMPTS // 2
    assert unasked["alpha"].null_count() == unasked["p_keep"].null_count() == 0
    said, true = (unasked["zero_std_at_16"], unasked["spec"].str.json_path_match("$.rate").cast(pl.Float64))
    assert said.mean() == pytest.approx((true**16 + (1 - true) ** 16).mean(), abs=0.1)
    assert (said.n_unique() > 3) == follows
    curated = open_curated(report.curated)
    pool = pl.DataFrame(curated.read("pool"))
    assert pool.height == (groups["split"] == "train").sum()
    shown = show_prompt(curated, find_row(read_rows(curated, ("rejects",)), unasked["prompt_id"][0]))
    assert shown.note.startswith("never sampled: others were enough")


@pytest.mark.slow
def test_prompts_without_rollouts_are_shown_retested_and_refreshed(tmp_path: Path) -> None:
    old, new = make_policy(tmp_path, "old"), make_policy(tmp_path, "new")
    rates = {row["prompt"]: row["spec"]["rate"] for row in draw(10)}
    texts = [f"sums {text}" for text in rates]
    settings = ask_rated(tmp_path, texts, old)
    with use_engine(RatedEngine(old, {f"sums {text}": rate for text, rate in rates.items()}), settings):
        report = run_curation(settings)
        further = run_curation(replace(settings, budget=SamplingBudget(max_group=60, retest=0.5)))
    assert further.totals.kept
    curated = open_curated(report.curated)
    rows = read_rows(curated, ("rejects",))
    chosen = with_reason(rows, "predicted_too_hard")
    assert chosen.height == report.totals.decisions["predicted_too_hard"]
    shown = show_prompt(curated, find_row(rows, chosen["prompt_id"][0]))
    assert shown.note.startswith("never sampled: its pass rate was predicted")
    assert chosen["split"].n_unique() == 2
    again = RefreshSettings(curated=report.curated, policy=new, workers=0)
    better = {f"sums {text}": min(1.3 * rate, 1.0) for text, rate in rates.items()}
    with use_engine(RatedEngine(new, better), replace(settings, policy=new)):
        refreshed = run_refresh(again)
    rejects = pl.DataFrame(open_curated(refreshed.curated).read("rejects"))
    assert rejects["prompt_id"].is_unique().all()
    still = rejects.filter(pl.col("decision").is_in(PREDICTED))
    assert 0 < still.height < report.totals.prompts
    assert still["n"].null_count() == still.height
    assert refreshed.refresh.changed.prompts == PROMPTS
