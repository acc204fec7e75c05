"""The order of a refresh: ask anchors, move every certificate, ask again where a decision may have flipped, publish."""

from __future__ import annotations

import time

import polars as pl

from learnable.data.errors import LearnableError
from learnable.data.progress import progress
from learnable.data.records import content_id, weights_id
from learnable.data.sources.selection import PromptSet
from learnable.filters.decisions.band import REASONS, decide_certified, trim_to_precision
from learnable.filters.decisions.choosing import choose
from learnable.filters.refresh.staleness import (
    CERTIFIED_BY,
    Drifts,
    choose_anchors,
    find_unsure,
    fit_drifts,
    move_certificates,
)
from learnable.flows.curation.pipeline import Step, plain
from learnable.flows.curation.report import Report
from learnable.flows.curation.steps import is_anything_owed
from learnable.flows.engines import policy_for
from learnable.flows.refreshing.pool import NEVER_SAMPLED, CuratedPool, RefreshSettings, open_pool
from learnable.flows.refreshing.publishing import Changes, describe, publish_next
from learnable.flows.refreshing.resample import Asked, ask_again
from learnable.flows.run import Run, new_run_id
from learnable.flows.stores import held_store

MOST_ROUNDS = 3  # of moving and asking again: a second one finds few prompts, a third hardly any
INSPECTED = ("triage", "evidence")


def run_refresh(asked: RefreshSettings, step: Step = plain) -> Report:
    """Refresh a curated set for a new policy, and publish its next version, as the store's only writer.

    A set that was refreshed for this very policy is reported as it is.
    """
    started = time.monotonic()
    pool = open_pool(asked)
    with held_store(pool.settings) as store:
        run = Run(new_run_id(), pool.settings, policy_for(pool.settings), store)
        if is_done(run, pool):
            progress().note(f"nothing to refresh: {pool.curated.path} is for this policy already")
            return describe(pool.curated, generated=0, seconds=time.monotonic() - started)
        first = step(ask_again)(run, pool.find(find_anchors(pool, asked.anchors)))
        again, drifts = step(ask_unsure)(run, pool, first)
        decided = step(decide_all)(run, pool, again, drifts)
        store.write_groups(run.run_id, decided)
        changes = Changes(len(first.prompt_ids), again.prompt_ids, drifts, again.collected)
        curated = step(publish_next)(run, pool, decided, changes)
    return describe(curated, generated=again.collected.generated, seconds=time.monotonic() - started)


def is_done(run: Run, pool: CuratedPool) -> bool:
    """Whether the set is a refresh for this policy. Raises `LearnableError` where it was curated for it."""
    manifest = pool.curated.manifest
    if weights_id(manifest["policy"]["policy_id"]) != weights_id(run.policy.policy_id):
        return False
    if manifest.get("kind") == "refresh":
        return True
    raise LearnableError(
        f"nothing to refresh: curated set {str(pool.curated.path)!r} was made for {run.policy.policy_id}, the policy of "
        "--policy; name the policy that came of training"
    )


def is_engine_needed(asked: RefreshSettings) -> bool:
    """Whether anchors are owed: without them everything else is likely to be in the ledger too."""
    pool = open_pool(asked)
    with held_store(pool.settings) as store:
        run = Run(new_run_id(), pool.settings, policy_for(pool.settings), store)
        return not is_done(run, pool) and is_anything_owed(run, PromptSet(pool.find(find_anchors(pool, asked.anchors))))


def find_anchors(pool: CuratedPool, count: int) -> list[str]:
    """Return the prompts that are asked first. Raises `LearnableError` where no prompt has a certificate."""
    if anchors := choose_anchors(_sampled(pool), count, pool.settings.band):
        return anchors
    raise LearnableError(
        f"nothing to refresh: no prompt of {str(pool.curated.path)!r} was ever scored; curate it again with find-learnable"
    )


def ask_unsure(run: Run, pool: CuratedPool, asked: Asked) -> tuple[Asked, Drifts]:
    """Move the certificates and ask again where that left a decision unsure, until it leaves none.

    With them goes a share of the clearly rejected prompts, so that a set never only shrinks. Returns everything that
    was asked, and the drifts as all of it tells.
    """
    more, drifts = _retested(run, pool), _fit(run, pool, asked)
    for _ in range(MOST_ROUNDS):
        rest = _others(pool, asked)
        unsure = find_unsure(rest, _move(pool, rest, drifts))
        fresh = list(dict.fromkeys([*unsure, *(name for name in more if name not in set(asked.prompt_ids))]))
        if not fresh:
            break
        progress().note(f"{len(fresh):,} of {rest.height:,} other prompts may have changed sides")
        asked = asked.followed_by(ask_again(run, pool.find([*asked.prompt_ids, *fresh])))
        drifts = _fit(run, pool, asked)
    return asked, drifts


def decide_all(run: Run, pool: CuratedPool, asked: Asked, drifts: Drifts) -> pl.DataFrame:
    """Decide the whole pool: by their rollouts those that were asked, by their moved certificates the others.

    A moved row keeps the statistics of the rollouts that it was measured by; `certified_by` says so.
    """
    moved = _move(pool, _others(pool, asked), drifts).with_columns(stopped=pl.lit(True), threshold=pl.lit(0.5))
    by_move = decide_certified(moved.lazy(), run.settings.band).drop("stopped", "threshold", "trained").collect()
    parts = [_certified(asked.decided, "rollouts"), _certified(by_move, "moved")]
    decided = pl.concat(parts, how="diagonal_relaxed").lazy()
    if run.settings.budget.precision is not None:
        decided = trim_to_precision(decided, run.settings.budget.precision)
    never = pool.rows.filter(pl.col("decision").is_in(NEVER_SAMPLED)).drop(INSPECTED, strict=False)
    aside = never.with_columns(pl.col("decision").cast(pl.Enum(REASONS)))
    whole = pl.concat([choose(decided, run.settings.preset).collect(), aside], how="diagonal_relaxed")
    return whole.join(pool.carried, on="prompt_id", how="left").sort("family", "form", "prompt_id")


def _sampled(pool: CuratedPool) -> pl.DataFrame:
    trained = (pl.col("decision") == "keep") & (pl.col("split") == "train")
    rows = pool.rows.filter(~pl.col("decision").is_in(NEVER_SAMPLED)).drop(INSPECTED, strict=False)
    return rows.with_columns(trained.alias("trained"))


def _others(pool: CuratedPool, asked: Asked) -> pl.DataFrame:
    names = pl.DataFrame({"prompt_id": asked.prompt_ids}, schema={"prompt_id": pl.String})
    return _sampled(pool).join(names, on="prompt_id", how="anti", maintain_order="left")


def _fit(run: Run, pool: CuratedPool, asked: Asked) -> Drifts:
    signal = "mean" if run.settings.band.signal == "reward" else "pass_rate"
    return fit_drifts(_sampled(pool), asked.decided.select("prompt_id", "n_eff", pl.col(signal).alias("mean")))


def _move(pool: CuratedPool, rows: pl.DataFrame, drifts: Drifts) -> pl.DataFrame:
    settings = pool.settings
    return move_certificates(rows, drifts, pool.graded, settings.band, settings.group_size)


def _retested(run: Run, pool: CuratedPool) -> list[str]:
    """Return a share of the rejected prompts, others for every policy."""
    share = pool.curated.manifest["effort"]["retest"]
    names = _sampled(pool).filter(pl.col("decision") != "keep")["prompt_id"]
    weights = weights_id(run.policy.policy_id)
    return [name for name in names if int(content_id("retest", name, weights)[:8], 16) / 2.0**32 < share]


def _certified(rows: pl.DataFrame, by: str) -> pl.DataFrame:
    return rows.with_columns(pl.col("decision").cast(pl.Enum(REASONS)), pl.lit(by).alias(CERTIFIED_BY))
