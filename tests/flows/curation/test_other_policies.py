"""Pass rates predicted from what other policies made of the same prompts: imported counts, and the ledger's groups."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from learnable.data.ledger.counts import store_counts
from learnable.data.records import PassCount, text_key
from learnable.data.store import Store
from learnable.filters.arrays import Values
from learnable.filters.stopping import schedule as schedule_module
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.report import CurationReport
from learnable.flows.engines import use_engine
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.settings import SimulatedSettings
from tests.flows.rated_for_tests import RatedEngine, ask_rated, make_policy

PROMPTS, TRIES = 700, 8


@pytest.fixture(autouse=True)
def small_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_module, "ROUND_ROLLOUTS", 512)


def draw(seed: int) -> tuple[Values, Values]:
    """Return log-odds of two models on the same prompts, of which the second one is the better."""
    rng = np.random.default_rng(seed)
    odds = 3 * rng.standard_normal(PROMPTS)
    return odds + 0.4 * rng.standard_normal(PROMPTS), odds + 1 + 0.4 * rng.standard_normal(PROMPTS)


def ask(folder: Path, rates: Values, store: str, counts: Mapping[str, Values]) -> CurateSettings:
    """Return the settings of a run over texts that say nothing, in a store with imported counts."""
    rows = [{"prompt": f"Riddle {n}.", "verifier": "simulated", "spec": {"rate": r}} for n, r in enumerate(rates)]
    (folder / "q.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    opened = Store(str(folder / store))
    with opened.hold(wait=0, on_wait=print):
        for model, passes in counts.items():
            found = [PassCount(text_key(f"Riddle {n}."), model, TRIES, int(one)) for n, one in enumerate(passes)]
            store_counts(opened.root, found)
    prompts = PromptSettings(location=str(folder / "q.jsonl"))
    return CurateSettings(prompts=prompts, engine=SimulatedSettings(), store=str(folder / store), workers=0)


def groups_of(settings: CurateSettings, report: CurationReport) -> pl.DataFrame:
    return pl.read_parquet(Path(settings.store) / "groups" / f"{report.run_id}.parquet")


def test_imported_counts_save_rollouts(tmp_path: Path) -> None:
    mine, others = draw(1)
    passes = np.random.default_rng(2).binomial(TRIES, expit(others))
    bare = run_curation(ask(tmp_path, expit(mine), "bare", {}))
    settings = ask(tmp_path, expit(mine), "counts", {"llama-8b": passes})
    helped = run_curation(settings)
    assert bare.predictions == {}
    assert helped.totals.rollouts < 0.9 * bare.totals.rollouts
    assert "rates of policy llama-8b" in helped.predictions["q"].sources
    groups = groups_of(settings, helped).filter(pl.col("decision") == "keep")
    rates = groups["spec"].str.json_path_match("$.rate").cast(pl.Float64)
    assert rates.is_between(0.15, 0.85).mean() > 0.8  # type: ignore[operator]
    again = run_curation(settings)
    assert again.totals.generated == 0
    assert again.curated == helped.curated


def test_counts_that_are_noise_change_nothing(tmp_path: Path) -> None:
    mine, _ = draw(3)
    noise = np.random.default_rng(4).binomial(TRIES, 0.5, (2, PROMPTS))
    bare, noisy = (
        ask(tmp_path, expit(mine), "bare", {}),
        ask(tmp_path, expit(mine), "noisy", dict(zip("ab", noise, strict=True))),
    )
    before, now = run_curation(bare), run_curation(noisy)
    assert groups_of(noisy, now).equals(groups_of(bare, before))


@pytest.mark.slow
def test_the_ledgers_groups_of_another_policy_are_read_as_they_were_at_first(tmp_path: Path) -> None:
    old, new = make_policy(tmp_path, "old"), make_policy(tmp_path, "new")
    odds = dict(zip((old, new), draw(5), strict=True))
    texts = [f"riddles {n}" for n in range(PROMPTS)]
    settings = {name: ask_rated(tmp_path, texts, name) for name in odds}
    engines: dict[str, Any] = {
        name: RatedEngine(name, dict(zip(texts, expit(odds[name]).tolist(), strict=True))) for name in odds
    }

    def run(name: str, **more: Any) -> CurationReport:
        engines[name].requests.clear()
        with use_engine(engines[name], settings[name]):
            return run_curation(replace(settings[name], **more))

    first = run(old)
    assert first.predictions == {}
    alone = run(new, store=str(tmp_path / "alone"))
    second = run(new)
    assert second.totals.rollouts < 0.9 * alone.totals.rollouts
    [source] = [one for one in second.predictions["riddles"].sources if one.startswith("rates of policy")]
    assert source.startswith("rates of policy old@")
    for name, before in ((old, first), (new, second)):  # the old policy has not seen the new one when it was asked
        again = run(name)
        assert engines[name].requests == []
        assert again.predictions == before.predictions
        assert groups_of(settings[name], again).equals(groups_of(settings[name], before))
