"""What the page says of a whole version before anybody looks at a prompt: figures, forecasts, spend, what changed."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from learnable.data.curated.curated_set import CuratedSet
from learnable.data.curated.record import to_plain
from learnable.data.records import JsonObject
from learnable.viewing.groups import BINS, Scores
from learnable.viewing.prompts import count_changes

KEPT = pl.col("decision") == "keep"
TOLD = tuple(
    """
    created run_id engine sampling chat knobs group_size band preset truncated seed expected_false_keeps forecast
    lengths verifiers conditions forms components findings predictions shelf_life drift changed refreshed_from effort
    """.split()
)
PICKED = 240  # certificates that are drawn: a chart has no more room


def summarise_version(curated: CuratedSet, rows: pl.DataFrame) -> JsonObject:
    """Return the figures of a version; `rows` are those of `read_prompts`.

    No path of a machine is among them, so that the page can be shown to others: sets, versions and policies are named.
    """
    manifest = curated.manifest
    plain = manifest.to_json()
    return {
        **{name: plain[name] for name in TOLD if plain.get(name) not in (None, {}, [])},
        "name": curated.path.parent.name if curated.path.name[1:].isdigit() else curated.path.name,
        "version": curated.path.name if curated.path.name[1:].isdigit() else "",
        "parent": manifest.parent,
        "policy": _name_policy(manifest.policy.policy_id),
        "priors": to_plain(manifest.family_priors),
        "totals": _total(rows),
        "spend": _list_spend(rows),
        "means": _count_means(rows),
        "certificates": _pick_certificates(rows),
        "levels": {name: rows[name].drop_nulls().unique().sort().to_list() for name in ("form", "family", "decision")},
        "changes": [list(change) for change in count_changes(rows)]
        if rows["before"].null_count() < rows.height
        else [],
    }


def summarise_scores(scores: Scores) -> JsonObject:
    """Return what all scores say as the page has it: rewards by bin, the kept prompts' apart; reasons and how often."""
    bins = {True: [0] * BINS, False: [0] * BINS}
    for kept, place, count in scores.rewards.iter_rows():
        bins[kept][place] = count
    return {
        "completions": scores.completions,
        "rewards": {"kept": bins[True], "others": bins[False]},
        "reasons": scores.reasons.to_dicts(),
        "components": scores.components.columns[1:],
    }


def _name_policy(policy_id: str) -> str:
    """Return a policy's id without the folders of the machine that it lay on; `org/name` stays."""
    path, at, weights = policy_id.rpartition("@")
    parts = path.replace("\\", "/").rstrip("/").split("/")
    return (path if len(parts) == 2 and all(parts) else parts[-1]) + at + weights


def _total(rows: pl.DataFrame) -> JsonObject:
    kept, train = rows.filter(KEPT), rows.filter(KEPT & (pl.col("part") == "train"))
    return {
        "prompts": rows.height,
        "kept": kept.height,
        "train": train.height,
        "test": kept.height - train.height,
        "rollouts": _sum(rows, "rollouts"),
        "tokens": _sum(rows, "tokens"),
        "truncated": _sum(rows, "n_truncated"),
        "errors": _sum(rows, "errors"),
        "usable": _sum(train, "usable_at_g"),
        "precision": kept["p_keep"].mean(),
    }


def _sum(rows: pl.DataFrame, name: str) -> float:
    return float(rows[name].fill_null(0).sum())


def _list_spend(rows: pl.DataFrame) -> Sequence[JsonObject]:
    spent = rows.group_by("decision").agg(
        pl.len().alias("prompts"), pl.col("rollouts").fill_null(0).sum(), pl.col("tokens").fill_null(0).sum()
    )
    return spent.sort("rollouts", "prompts", "decision", descending=[True, True, False]).to_dicts()


def _pick_certificates(rows: pl.DataFrame) -> Sequence[tuple[float, float, float, bool]]:
    """Return mean, interval and whether it was kept of prompts in the order of their means, evenly picked."""
    known = rows.filter(pl.col("mean").is_not_null() & pl.col("ci_low").is_not_null())
    ordered = known.select(pl.col("mean", "ci_low", "ci_high").round(4), KEPT.alias("kept")).sort(
        "mean", "ci_low", "ci_high"
    )
    every = max(1, ordered.height / PICKED)
    places = [int(place * every) for place in range(min(PICKED, ordered.height))]
    return ordered[places].rows()


def _count_means(rows: pl.DataFrame) -> JsonObject:
    """Count prompts by their mean reward, those that were kept apart."""
    place = (pl.col("mean") * BINS).floor().clip(0, BINS - 1).cast(pl.Int64)
    counted = rows.filter(pl.col("mean").is_not_null()).group_by(KEPT.alias("kept"), place.alias("bin")).len()
    bins = {True: [0] * BINS, False: [0] * BINS}
    for kept, at, count in counted.iter_rows():
        bins[bool(kept)][at] = count
    return {"kept": bins[True], "others": bins[False]}
