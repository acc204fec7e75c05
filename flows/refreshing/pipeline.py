"""The order of a refresh: sample anchors, move every certificate, sample again what may have changed sides, publish."""

from __future__ import annotations

import time

import polars as pl

from learnable.data.errors import LearnableError
from learnable.data.progress import progress
from learnable.data.records import weights_id
from learnable.data.sources.selection import PromptSet
from learnable.filters.decisions.choosing import choose
from learnable.filters.decisions.decide import PREDICTED, REASONS, decide_certified, trim_to_precision
from learnable.filters.refresh.staleness import CERTIFIED_BY, Drifts
from learnable.flows.curation.pipeline import Step, plain
from learnable.flows.engines import policy_for
from learnable.flows.refreshing.pool import NEVER_SAMPLED, CuratedPool, open_pool
from learnable.flows.refreshing.publishing import RefreshOutcome, RefreshReport, describe, publish_next
from learnable.flows.refreshing.resample import (
    INSPECTED,
    Resampled,
    estimate_still_in_band,
    find_anchors,
    find_others,
    move_rows,
    resample,
    resample_unsure,
)
from learnable.flows.run import Run, locked_store, start_run
from learnable.flows.sampling.sampler import is_anything_missing
from learnable.flows.settings import RefreshSettings
from learnable.train.preflight.shards import find_changed_verifiers
from learnable.viewing.report import write_beside


class UnmovedPolicyError(LearnableError):
    """A set was curated for the very policy that it is to be refreshed for."""


def run_refresh(settings: RefreshSettings, step: Step = plain) -> RefreshReport:
    """Refresh a curated set for a new policy, and publish its next version, as the store's only writer.

    A set that was refreshed for this very policy is reported as it is. Raises `LearnableError` for one that cannot be
    refreshed, and `InterruptedRunError` after Ctrl-C.
    """
    started = time.monotonic()
    pool = open_pool(settings)
    with locked_store(pool.settings) as store:
        run = start_run(pool.settings, policy_for(pool.settings), store)
        if is_done(run, pool):
            progress().note(f"nothing to refresh: {pool.curated.path} is for this policy already")
            return describe(pool.curated, generated=0, seconds=time.monotonic() - started)
        places = dict.fromkeys(pool.rows["verifier"].unique().sort(), f"curated set {str(pool.curated.path)!r}")
        for warning in find_changed_verifiers(pool.curated.manifest, places):
            progress().warn(warning)
        anchors = step(resample)(run, pool.find(find_anchors(pool, settings.anchors)))
        resampled, drifts = step(resample_unsure)(run, pool, anchors)
        decided = step(decide_all)(run, pool, resampled, drifts)
        store.write_groups(run.run_id, decided)
        still = estimate_still_in_band(run, pool, resampled, drifts)
        outcome = RefreshOutcome(len(anchors.prompt_ids), resampled.prompt_ids, drifts, still, resampled.collected)
        curated = step(publish_next)(run, pool, decided, outcome)
        write_beside(curated, store)
    return describe(curated, generated=resampled.collected.generated, seconds=time.monotonic() - started)


def is_done(run: Run, pool: CuratedPool) -> bool:
    """Whether the set is a refresh for this policy. Raises `UnmovedPolicyError` where it was curated for it."""
    manifest = pool.curated.manifest
    if weights_id(manifest.policy.policy_id) != weights_id(run.policy.policy_id):
        return False
    if manifest.refresh is not None:
        return True
    raise UnmovedPolicyError(
        f"nothing to refresh: curated set {str(pool.curated.path)!r} was made for {run.policy.policy_id}, "
        "the policy of `policy`; name the policy that came of training"
    )


def is_engine_needed(settings: RefreshSettings) -> bool:
    """Whether rollouts of anchors are missing: with them everything else is likely to be in the ledger too.

    Raises `LearnableError` for a set that cannot be refreshed.
    """
    pool = open_pool(settings)
    with locked_store(pool.settings) as store:
        run = start_run(pool.settings, policy_for(pool.settings), store)
        if is_done(run, pool):
            return False
        return is_anything_missing(run, PromptSet(pool.find(find_anchors(pool, settings.anchors))))


def decide_all(run: Run, pool: CuratedPool, resampled: Resampled, drifts: Drifts) -> pl.DataFrame:
    """Decide the whole pool: by their rollouts the prompts that were sampled again, by moved certificates the others.

    Returns a row a prompt. A moved row keeps the statistics of the rollouts that it was measured by; `certified_by`
    says so.
    """
    others = find_others(pool, resampled)
    moved = move_rows(pool, others, drifts).with_columns(stopped=pl.lit(True), threshold=pl.lit(0.5))
    by_move = decide_certified(moved.lazy(), run.settings.band).drop("stopped", "threshold", "trained").collect()
    parts = [_certified(resampled.decided, "rollouts"), _certified(by_move, "moved")]
    decided = _name_predicted(pl.concat(parts, how="diagonal_relaxed"), pool).lazy()
    if run.settings.budget.precision is not None:
        decided = trim_to_precision(decided, run.settings.budget.precision)
    never = pool.rows.filter(pl.col("decision").is_in(NEVER_SAMPLED)).drop(INSPECTED, strict=False)
    aside = never.with_columns(pl.col("decision").cast(pl.Enum(REASONS)))
    chosen = pl.concat([choose(decided, run.settings.preset).collect(), aside], how="diagonal_relaxed")
    return chosen.join(pool.carried, on="prompt_id", how="left").sort("family", "form", "prompt_id")


def _name_predicted(decided: pl.DataFrame, pool: CuratedPool) -> pl.DataFrame:
    """Let prompts that were rejected by a prediction, and still are without a rollout, keep that reason."""
    names = pool.rows.filter(pl.col("decision").is_in(PREDICTED))["prompt_id"]
    if not len(names):
        return decided
    still = (
        pl.col("prompt_id").is_in(names.implode()) & (pl.col(CERTIFIED_BY) == "moved") & (pl.col("decision") != "keep")
    )
    below = pl.col("decision") == "too_hard"
    named = pl.when(below).then(pl.lit(PREDICTED[1])).otherwise(pl.lit(PREDICTED[0]))
    decision = pl.when(still).then(named).otherwise(pl.col("decision").cast(pl.String)).cast(pl.Enum(REASONS))
    return decided.with_columns(decision.alias("decision"))


def _certified(rows: pl.DataFrame, by: str) -> pl.DataFrame:
    return rows.with_columns(pl.col("decision").cast(pl.Enum(REASONS)), pl.lit(by).alias(CERTIFIED_BY))
