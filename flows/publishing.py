"""Writes a curated set: the kept prompts, the rejected ones, a random control, and what they rest on."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import polars as pl
import polars.selectors as cs

from learnable.data.curated import CuratedSet, publish_curated
from learnable.filters.choosing import in_reserve
from learnable.filters.demonstrations import pick_demonstrations
from learnable.filters.forecast import forecast
from learnable.filters.summary import summarise
from learnable.flows.collected import Collected
from learnable.flows.inspection import Inspection
from learnable.flows.run import Run
from learnable.verifiers.registry import find_verifier

DEMONSTRATION_COLUMNS = ("prompt", "prompt_id", "verifier", "spec", "family", "form")
NOT_SAMPLED = ("not_scored", "duplicate", "contaminated")


def publish(run: Run, decided: pl.DataFrame, collected: Collected, inspection: Inspection) -> CuratedSet:
    """Write the curated set: kept prompts, held-out ones, rejects with reasons, a random control, demonstrations.

    Where the preset has a reserve, its prompts go to a part of their own instead of to the rejects.
    """
    kept = pl.col("decision") == "keep"
    in_train = pl.col("split") == "train"
    train = decided.filter(kept & in_train)
    pool = decided.filter(in_train & ~pl.col("decision").cast(pl.String).is_in(NOT_SAMPLED))
    aside = in_reserve(run.settings.preset)
    rejects = decided.filter(~kept & ~aside)
    parts = {
        "train": train,
        "test": decided.filter(kept & ~in_train),
        "rejects": rejects.join(inspection.triage, on="prompt_id", how="left", maintain_order="left"),
        "control": pool.sample(n=train.height, seed=run.settings.seed, shuffle=True),
        "demonstrations": _demonstrations(run, train, collected.scores),
    }
    if run.settings.preset.reserve is not None:
        parts["reserve"] = decided.filter(~kept & aside)
    tables = {name: part.with_columns(cs.enum().cast(pl.String)).to_arrow() for name, part in parts.items()}
    run.store.ledger.check_held()
    return publish_curated(
        run.store.curated / run.settings.set_name, tables, _manifest(run, decided, collected, inspection)
    )


def _demonstrations(run: Run, train: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    chosen = scores.join(train.select("prompt_id"), on="prompt_id", how="semi")
    best = pick_demonstrations(chosen.lazy()).collect()
    whole = [rows.select("rollout_id", "completion") for rows in run.store.ledger.read_completions(run.draw, best)]
    texts = pl.concat([pl.DataFrame(schema={"rollout_id": pl.String, "completion": pl.String}), *whole])
    shown = train.select(DEMONSTRATION_COLUMNS).join(
        best.select("prompt_id", "rollout_id").join(texts, on="rollout_id"), on="prompt_id", maintain_order="left"
    )
    if train.schema["prompt"] != pl.String:  # a chat's completion is a chat too
        turn = pl.struct(pl.lit("assistant").alias("role"), pl.col("completion").alias("content"))
        shown = shown.with_columns(pl.concat_list(turn).alias("completion"))
    return shown


def _manifest(run: Run, decided: pl.DataFrame, collected: Collected, inspection: Inspection) -> dict[str, Any]:
    settings = run.settings
    verifiers = decided["verifier"].unique().sort().to_list()
    graded = {name: belief.spread.graded for name, belief in collected.beliefs.items()}
    kept = decided.filter(pl.col("decision") == "keep")
    return {
        "run_id": run.run_id,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "policy": asdict(run.policy),
        "engine": settings.engine.name,
        "sampling": asdict(settings.sampling),
        "group_size": settings.group_size,
        "effort": asdict(settings.effort),
        "beliefs": {name: belief.as_dict() for name, belief in sorted(collected.beliefs.items())},
        "expected_false_keeps": float((1 - kept["p_keep"]).sum()),
        "forecast": {
            "curated": [asdict(row) for row in forecast(kept, graded)],
            "pool": [asdict(row) for row in forecast(decided, graded)],
        },
        "band": asdict(settings.band),
        "preset": asdict(settings.preset),
        "truncated": settings.truncated,
        "test_share": settings.test_share,
        "seed": settings.seed,
        "verifiers": {name: find_verifier(name).version for name in verifiers},
        "forms": summarise(decided.lazy()).collect().to_dicts(),
        "components": inspection.components.to_dicts(),
        "findings": [asdict(finding) for finding in inspection.findings],
    }
