"""Writes a refreshed set as the next version of the set that it came from, and says what changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import polars as pl
import polars.selectors as cs

from learnable.data.curated.curated_set import CuratedSet
from learnable.data.curated.manifest import FamilyPriorRecord, Manifest
from learnable.data.curated.record import to_plain
from learnable.data.curated.refreshed import Changes, FamilyChanges, FamilyDrift, Origin, RefreshRecord, StillInBand
from learnable.data.errors import LearnableError
from learnable.data.plain_text import quote_markdown
from learnable.data.policies import Policy
from learnable.data.records import JsonObject
from learnable.filters.refresh.staleness import Drifts
from learnable.flows.curation.inspection import Inspection, inspect_pool
from learnable.flows.curation.publishing import (
    KEPT,
    are_chats,
    describe_family_lengths,
    describe_lengths,
    describe_rows,
    find_trained,
    read_completions,
    split_parts,
    with_prompts,
    write_version,
)
from learnable.flows.refreshing.pool import CuratedPool
from learnable.flows.run import Run
from learnable.flows.sampling.sampler import Collected

WAS_KEPT, IS_KEPT = pl.col("was"), pl.col("is")
SIDES = (
    pl.len().alias("prompts"),
    WAS_KEPT.sum().alias("kept_before"),
    IS_KEPT.sum().alias("kept_now"),
    (WAS_KEPT & ~IS_KEPT).sum().alias("keep_to_drop"),
    (~WAS_KEPT & IS_KEPT).sum().alias("drop_to_keep"),
    (WAS_KEPT == IS_KEPT).sum().alias("unchanged"),
)


@dataclass(frozen=True, slots=True)
class RefreshOutcome:
    """What a refresh did and found.

    How many anchors it sampled, all prompts it sampled, the drifts, how much of the old set is still in the band, and
    what was collected.
    """

    anchors: int
    prompt_ids: Sequence[str]
    drifts: Drifts
    still_in_band: StillInBand | None
    collected: Collected


@dataclass(frozen=True, slots=True)
class RefreshTotals:
    """Prompts in each part of the new version, `kept` ones in `train` and `test`, and rollouts `generated`."""

    train: int
    test: int
    rejects: int
    kept: int
    generated: int


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """What a refresh came to: the version it published, what it says of itself, totals, seconds of wall clock."""

    run_id: str
    curated: str
    policy: Policy
    engine: str
    refresh: RefreshRecord
    totals: RefreshTotals
    seconds: float

    def to_json(self) -> JsonObject:
        """Return the report as `--json` prints it."""
        return {
            "run_id": self.run_id,
            "curated": self.curated,
            "policy": to_plain(self.policy),
            "engine": self.engine,
            **{key: value for key, value in self.refresh.to_json().items() if key != "kind"},
            "totals": to_plain(self.totals),
            "seconds": self.seconds,
        }


def publish_next(run: Run, pool: CuratedPool, decided: pl.DataFrame, outcome: RefreshOutcome) -> CuratedSet:
    """Write the next version: the parts of a curated set, with `certified_by` in every row.

    Raises `LearnableError` where it cannot be written.
    """
    rolled = decided.filter(pl.col("prompt_id").is_in(list(outcome.prompt_ids)))
    inspection = inspect_pool(rolled, outcome.collected)
    parts = split_parts(run, decided, _triage(pool, outcome, inspection))
    texts = read_completions(find_trained(decided), outcome.collected, are_chats=are_chats(decided))
    for part, completions in (("demonstrations", texts.best), ("preferences", texts.pairs)):
        parts[part] = with_prompts(parts["train"], _carry_on(pool, part, completions))
    return write_version(run, parts, _manifest(run, pool, decided, outcome, inspection))


def describe(curated: CuratedSet, *, generated: int, seconds: float) -> RefreshReport:
    """Return the report of a refresh from what it published. Raises `LearnableError` for a set that none made."""
    manifest = curated.manifest
    if manifest.refresh is None:
        raise LearnableError(f"curated set {str(curated.path)!r} was made by no refresh")
    train, test, rejects = (manifest.parts[name].rows for name in ("train", "test", "rejects"))
    return RefreshReport(
        run_id=manifest.run_id,
        curated=str(curated.path),
        policy=manifest.policy,
        engine=manifest.engine,
        refresh=manifest.refresh,
        totals=RefreshTotals(train, test, rejects, kept=train + test, generated=generated),
        seconds=round(seconds, 2),
    )


def describe_changes(report: RefreshReport) -> str:
    """Return what a refresh came to, in two sentences."""
    changed = report.refresh.changed
    return (
        f"{changed.resampled:,} of {changed.prompts:,} prompts asked again ({changed.resampled_share:.0%}), "
        f"{changed.anchors:,} of them anchors; {report.totals.generated:,} new rollouts, {report.seconds:.0f} s.\n"
        f"{changed.keep_to_drop} left the set, {changed.drop_to_keep} joined it; "
        f"{changed.unchanged:,} prompts, kept or not, stay as they were."
    )


def render_changes(report: RefreshReport) -> str:
    """Return a refresh's report as Markdown."""
    changed, in_band = report.refresh.changed, report.refresh.still_in_band
    still = "" if in_band is None else f" Of the old set {in_band.share:.0%} is still in the band."
    lines = [
        f"{quote_markdown(report.curated)}: {changed.kept_now} of {changed.prompts} prompts kept for "
        f"{quote_markdown(report.policy.policy_id)}, {changed.resampled_share:.0%} asked again.{still}",
        "",
        "| family | prompts | asked again | kept before | kept now | left | joined |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in report.refresh.families:
        counts = (row.prompts, row.resampled, row.kept_before, row.kept_now, row.keep_to_drop, row.drop_to_keep)
        lines.append(f"| {' | '.join(map(str, (quote_markdown(row.family), *counts)))} |")
    return "\n".join(lines)


def _triage(pool: CuratedPool, outcome: RefreshOutcome, inspection: Inspection) -> pl.DataFrame:
    """Return why prompts were never solved: anew of those that were sampled again, as it was of the others."""
    triage = inspection.triage.with_columns(cs.enum().cast(pl.String))
    before = pool.rows.filter(pl.col("triage").is_not_null() & ~pl.col("prompt_id").is_in(list(outcome.prompt_ids)))
    return pl.concat([triage, before.select(triage.columns)], how="vertical_relaxed")


def _carry_on(pool: CuratedPool, part: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the completions of a part: of each prompt the new policy's, or else those that there were."""
    before = pl.DataFrame(pool.curated.read(part)).join(rows, on="prompt_id", how="anti")
    return pl.concat([rows, before.select(pl.col(name).cast(kind) for name, kind in rows.schema.items())])


def _manifest(
    run: Run, pool: CuratedPool, decided: pl.DataFrame, outcome: RefreshOutcome, inspection: Inspection
) -> Manifest:
    """Return the parent's manifest with what is another now."""
    parent = pool.curated
    fitted = {name: family_prior.to_json() for name, family_prior in sorted(outcome.collected.family_priors.items())}
    priors = {name: FamilyPriorRecord.from_json(figures) for name, figures in fitted.items()}
    own_lengths = describe_family_lengths(outcome.collected.evidence.lengths)
    manifest = parent.manifest.with_changes(
        parent=parent.path.name,
        run_id=run.run_id,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        policy=run.policy,
        engine=run.settings.engine.name,
        family_priors={**parent.manifest.family_priors, **priors},
        lengths=describe_lengths(outcome.collected.evidence.lengths),
        family_lengths={**(parent.manifest.family_lengths or {}), **own_lengths} or None,
        refresh=RefreshRecord(
            refreshed_from=Origin(version=parent.path.name, policy=parent.manifest.policy.policy_id),
            changed=_count_changes(pool, decided, outcome),
            still_in_band=_still_in_band(outcome.still_in_band),
            drift=_drift_rows(outcome.drifts),
            families=_count_by_family(pool, decided, outcome),
        ),
    )
    return describe_rows(run, manifest, decided, pool.graded, inspection)


def _drift_rows(drifts: Drifts) -> tuple[FamilyDrift, ...]:
    return tuple(
        FamilyDrift(family=family, trained=trained, **drift.to_json())
        for (family, trained), drift in sorted(drifts.items())
    )


def _count_changes(pool: CuratedPool, decided: pl.DataFrame, outcome: RefreshOutcome) -> Changes:
    resampled = len(outcome.prompt_ids)
    return Changes(
        **_before_and_after(pool, decided).select(*SIDES).to_dicts()[0],
        anchors=outcome.anchors,
        resampled=resampled,
        resampled_share=round(resampled / max(decided.height, 1), 4),
    )


def _count_by_family(pool: CuratedPool, decided: pl.DataFrame, outcome: RefreshOutcome) -> tuple[FamilyChanges, ...]:
    resampled = pl.col("prompt_id").is_in(list(outcome.prompt_ids)).sum().alias("resampled")
    counts = _before_and_after(pool, decided).group_by("family").agg(*SIDES, resampled).sort("family")
    return tuple(FamilyChanges(**row) for row in counts.to_dicts())


def _before_and_after(pool: CuratedPool, decided: pl.DataFrame) -> pl.DataFrame:
    before = pool.rows.select("prompt_id", KEPT.alias("was"))
    return decided.select("prompt_id", "family", KEPT.alias("is")).join(before, on="prompt_id")


def _still_in_band(share: StillInBand | None) -> StillInBand | None:
    return None if share is None else StillInBand(*(round(value, 4) for value in (share.share, share.low, share.high)))
