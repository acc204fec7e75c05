"""Writes a refreshed set as the next version of the set that it came from, and says what changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl
import polars.selectors as cs

from learnable.data.curated.curated_set import CuratedSet
from learnable.filters.refresh.staleness import Drifts, estimate_share_still_in_band
from learnable.flows.curation.inspection import Inspection, inspect_pool
from learnable.flows.curation.publishing import DECISION, judged, passed_completions, show, split_parts, write_version
from learnable.flows.curation.report import Report
from learnable.flows.refreshing.pool import CuratedPool
from learnable.flows.run import Run
from learnable.flows.sampling.collected import Collected

KEPT = DECISION == "keep"
WAS_KEPT, IS_KEPT = pl.col("was"), pl.col("is")
SIDES = (
    pl.len().alias("prompts"),
    WAS_KEPT.sum().alias("kept_before"),
    IS_KEPT.sum().alias("kept_now"),
    (WAS_KEPT & ~IS_KEPT).sum().alias("keep_to_drop"),
    (~WAS_KEPT & IS_KEPT).sum().alias("drop_to_keep"),
    (WAS_KEPT == IS_KEPT).sum().alias("unchanged"),
)
TOLD = ("policy", "engine", "refreshed_from", "changed", "shelf_life", "drift", "families")


@dataclass(frozen=True, slots=True)
class Changes:
    """What a refresh did: how many anchors it asked, all prompts it asked, the drifts, what was collected."""

    anchors: int
    asked: Sequence[str]
    drifts: Drifts
    collected: Collected


def publish_next(run: Run, pool: CuratedPool, decided: pl.DataFrame, changes: Changes) -> CuratedSet:
    """Write the next version: the parts of a curated set, with `certified_by` in every row."""
    rolled = decided.filter(pl.col("prompt_id").is_in(list(changes.asked)))
    inspection = inspect_pool(run, pool.find(changes.asked), rolled, changes.collected)
    parts = split_parts(run, decided, _triage(pool, changes, inspection))
    parts["demonstrations"] = show(parts["train"], _completions(run, pool, parts["train"], changes))
    return write_version(run, parts, _manifest(run, pool, decided, changes, inspection))


def describe(curated: CuratedSet, *, generated: int, seconds: float) -> Report:
    """Return the report of a refresh from what it published."""
    manifest = curated.manifest
    parts = {name: manifest["parts"][name]["rows"] for name in ("train", "test", "rejects")}
    return {
        "run_id": manifest["run_id"],
        "curated": str(curated.path),
        **{key: manifest[key] for key in TOLD},
        "totals": {**parts, "kept": parts["train"] + parts["test"], "generated": generated},
        "seconds": round(seconds, 2),
    }


def render_changes(report: Report) -> str:
    """Return a refresh's report as Markdown."""
    changed, life = report["changed"], report["shelf_life"]
    still = "" if life is None else f" Of the old set {life['share']:.0%} is still in the band."
    lines = [
        f"`{report['curated']}`: {changed['kept_now']} of {changed['prompts']} prompts kept for "
        f"`{report['policy']['policy_id']}`, {changed['asked_share']:.0%} asked again.{still}",
        "",
        "| family | prompts | asked again | kept before | kept now | left | joined |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    keys = ("family", "prompts", "asked_again", "kept_before", "kept_now", "keep_to_drop", "drop_to_keep")
    lines += [f"| {' | '.join(str(family[key]) for key in keys)} |" for family in report["families"]]
    return "\n".join(lines)


def _triage(pool: CuratedPool, changes: Changes, inspection: Inspection) -> pl.DataFrame:
    """Return why prompts were never solved: anew of those that were asked, as it was of the others."""
    found = inspection.triage.with_columns(cs.enum().cast(pl.String))
    if "triage" not in pool.rows.columns:
        return found
    before = pool.rows.filter(pl.col("triage").is_not_null() & ~pl.col("prompt_id").is_in(list(changes.asked)))
    return pl.concat([found, before.select(found.columns)], how="vertical_relaxed")


def _completions(run: Run, pool: CuratedPool, train: pl.DataFrame, changes: Changes) -> pl.DataFrame:
    """Return a passed completion of each prompt that has one: the new policy's, or else the one there was."""
    found = passed_completions(run, train, changes.collected.scores)
    before = pl.DataFrame(pool.curated.read("demonstrations")).join(found, on="prompt_id", how="anti")
    return pl.concat([found, before.select("prompt_id", pl.col("completion").cast(found.schema["completion"]))])


def _manifest(
    run: Run, pool: CuratedPool, decided: pl.DataFrame, changes: Changes, inspection: Inspection
) -> dict[str, Any]:
    """Return the parent's manifest with what is another now."""
    parent = pool.curated
    return {
        **{key: value for key, value in parent.manifest.items() if key not in ("parts", "schema")},
        "kind": "refresh",
        "parent": parent.path.name,
        "run_id": run.run_id,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "policy": asdict(run.policy),
        "engine": run.settings.engine.name,
        "refreshed_from": {"version": parent.path.name, "policy": parent.manifest["policy"]["policy_id"]},
        "changed": _changed(pool, decided, changes),
        "shelf_life": _shelf_life(pool, decided),
        "drift": [
            {"family": family, "trained": trained, **drift.to_json()}
            for (family, trained), drift in sorted(changes.drifts.items())
        ],
        "families": _families(pool, decided, changes),
        "beliefs": parent.manifest["beliefs"]
        | {name: family_prior.to_json() for name, family_prior in sorted(changes.collected.family_priors.items())},
        **judged(decided, pool.graded, inspection),
    }


def _changed(pool: CuratedPool, decided: pl.DataFrame, changes: Changes) -> dict[str, Any]:
    return {
        **_before_and_after(pool, decided).select(*SIDES).to_dicts()[0],
        "anchors": changes.anchors,
        "asked_again": len(changes.asked),
        "asked_share": round(len(changes.asked) / max(decided.height, 1), 4),
    }


def _families(pool: CuratedPool, decided: pl.DataFrame, changes: Changes) -> list[dict[str, Any]]:
    asked = pl.col("prompt_id").is_in(list(changes.asked)).sum().alias("asked_again")
    both = _before_and_after(pool, decided)
    return both.group_by("family").agg(*SIDES, asked).sort("family").to_dicts()


def _before_and_after(pool: CuratedPool, decided: pl.DataFrame) -> pl.DataFrame:
    before = pool.rows.select("prompt_id", KEPT.alias("was"))
    return decided.select("prompt_id", "family", KEPT.alias("is")).join(before, on="prompt_id")


def _shelf_life(pool: CuratedPool, decided: pl.DataFrame) -> dict[str, float] | None:
    old = pool.rows.filter(KEPT).select("prompt_id")
    now = decided.join(old, on="prompt_id", how="semi").filter(pl.col("p_in_band").is_not_null())
    found = estimate_share_still_in_band(now["p_in_band"].to_numpy())
    return None if found is None else {key: round(value, 4) for key, value in asdict(found).items()}
