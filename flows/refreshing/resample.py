"""Samples some prompts of a curated set from the new policy: anchors, then those whose decision may be another now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from learnable.data.curated.refreshed import StillInBand
from learnable.data.errors import LearnableError
from learnable.data.progress import progress
from learnable.data.records import Prompt, content_id, weights_id
from learnable.data.sources.selection import PromptSet
from learnable.filters.arrays import Indices
from learnable.filters.decisions.presets import Preset
from learnable.filters.refresh.staleness import Drifts, choose_anchors, find_unsure, fit_drifts, move_certificates
from learnable.filters.refresh.uncertainty import estimate_share_still_in_band
from learnable.flows.curation.steps import decide_groups
from learnable.flows.refreshing.pool import NEVER_SAMPLED, CuratedPool
from learnable.flows.run import Run
from learnable.flows.sampling.sampler import Collected, open_sampling

MAX_ROUNDS = 3  # of moving and sampling again: a second one finds few prompts, a third hardly any
INSPECTED = ("triage", "evidence")


@dataclass(frozen=True, slots=True)
class Resampled:
    """Prompts that were sampled again: their ids, a decided row each, and what was collected of them."""

    prompt_ids: Sequence[str]
    decided: pl.DataFrame
    collected: Collected

    def followed_by(self, later: Resampled) -> Resampled:
        """Return what a later call over these prompts and more brought, with what both of them generated."""
        return replace(later, collected=self.collected.followed_by(later.collected))


def resample(run: Run, prompts: Sequence[Prompt], before: Resampled | None = None) -> Resampled:
    """Sample prompts, each as long as its decision is worth it and as far as it went `before`, and decide them.

    Ctrl-C raises `InterruptedRunError`, as in a curation.
    """
    chosen = PromptSet(list(prompts))
    with open_sampling(run, chosen) as sampling, sampling.interruptible():
        sampling.run()
        if before is not None:
            sampling.grow(*_find_ends(prompts, before))
        progress().stage("Scoring the last rollouts")
        collected = sampling.collected()
    # One by one: a preset, and a goal for precision, are about the whole set.
    budget, preset = replace(run.settings.budget, precision=None), Preset("band", band=run.settings.band)
    alone = replace(run, settings=replace(run.settings, budget=budget, preset=preset))
    decided = decide_groups(alone, chosen, collected)
    return Resampled([prompt.prompt_id for prompt in prompts], decided.slice(0, len(decided)), collected)


def _find_ends(prompts: Sequence[Prompt], before: Resampled) -> tuple[Indices, Indices]:
    """Return the places of the prompts that were sampled before, and how many rollouts each had requested then."""
    groups = before.collected.groups
    requested = dict(zip(groups["prompt_id"], groups["requested"], strict=True))
    known = [(row, requested[p.prompt_id]) for row, p in enumerate(prompts) if p.prompt_id in requested]
    rows, ends = np.array(known, dtype=np.int64).reshape(-1, 2).T
    return rows, ends


def resample_unsure(run: Run, pool: CuratedPool, resampled: Resampled) -> tuple[Resampled, Drifts]:
    """Move the certificates, and sample again where that left a decision unsure, until it leaves none.

    With them goes a share of the clearly rejected prompts, so that a set never only shrinks. `resampled` are the
    anchors. Returns everything that was sampled again, and the drifts that are fitted to all of it.
    """
    more, drifts = _find_retested(run, pool), _fit(run, pool, resampled)
    for _ in range(MAX_ROUNDS):
        rest = find_others(pool, resampled)
        unsure = find_unsure(rest, move_rows(pool, rest, drifts))
        done = set(resampled.prompt_ids)
        fresh = list(dict.fromkeys([*unsure, *(name for name in more if name not in done)]))
        if not fresh:
            break
        progress().note(f"{len(fresh):,} of {rest.height:,} other prompts may have changed sides")
        resampled = resampled.followed_by(resample(run, pool.find([*resampled.prompt_ids, *fresh]), resampled))
        drifts = _fit(run, pool, resampled)
    return resampled, drifts


def find_anchors(pool: CuratedPool, count: int) -> list[str]:
    """Return the ids of the prompts that are sampled first.

    Raises `LearnableError` where no prompt has a certificate.
    """
    if anchors := choose_anchors(_sampled(pool), count, pool.settings.band):
        return anchors
    raise LearnableError(
        f"nothing to refresh: no prompt of {str(pool.curated.path)!r} was ever scored; "
        "curate it again with find-learnable"
    )


def find_others(pool: CuratedPool, resampled: Resampled) -> pl.DataFrame:
    """Return the certified rows of the pool's prompts that were not sampled again."""
    names = pl.DataFrame({"prompt_id": resampled.prompt_ids}, schema={"prompt_id": pl.String})
    return _sampled(pool).join(names, on="prompt_id", how="anti", maintain_order="left")


def move_rows(pool: CuratedPool, rows: pl.DataFrame, drifts: Drifts) -> pl.DataFrame:
    """Return certified rows of the pool with their certificates moved by the drifts."""
    settings = pool.settings
    return move_certificates(rows, drifts, pool.graded, settings.band, settings.group_size)


def estimate_still_in_band(run: Run, pool: CuratedPool, resampled: Resampled, drifts: Drifts) -> StillInBand | None:
    """Return how much of the old set is still in the band; None where nothing is known of its prompts."""
    rows = _sampled(pool)
    kept = rows.filter(pl.col("decision") == "keep")
    return estimate_share_still_in_band(rows, _read_signal(run, resampled), drifts, kept, pool.settings.band)


def _sampled(pool: CuratedPool) -> pl.DataFrame:
    trained = (pl.col("decision") == "keep") & (pl.col("split") == "train")
    rows = pool.rows.filter(~pl.col("decision").is_in(NEVER_SAMPLED)).drop(INSPECTED, strict=False)
    return rows.with_columns(trained.alias("trained"))


def _fit(run: Run, pool: CuratedPool, resampled: Resampled) -> Drifts:
    return fit_drifts(_sampled(pool), _read_signal(run, resampled))


def _read_signal(run: Run, resampled: Resampled) -> pl.DataFrame:
    signal = "mean" if run.settings.band.signal == "reward" else "pass_rate"
    return resampled.decided.select("prompt_id", "n_eff", pl.col(signal).alias("mean"))


def _find_retested(run: Run, pool: CuratedPool) -> list[str]:
    """Return a share of the rejected prompts, others for every policy."""
    names = _sampled(pool).filter(pl.col("decision") != "keep")["prompt_id"]
    weights = weights_id(run.policy.policy_id)
    return [name for name in names if int(content_id("retest", name, weights)[:8], 16) / 2.0**32 < pool.retest]
