"""What the rollouts of a pool say of each prompt, added up a part of the pool at a time: rollouts are not kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from learnable.data.band import Band
from learnable.data.records import Truncated
from learnable.data.tables import with_own_texts
from learnable.filters.decisions.choosing import pick_demonstrations, pick_pairs
from learnable.filters.decisions.triage import Attempts, count_attempts, count_unread
from learnable.filters.posterior.certificate import FamilyPrior, certify
from learnable.filters.statistics.forms import prompt_components
from learnable.filters.statistics.groups import group_stats, list_rewards
from learnable.filters.statistics.variance import opening_stats

PROMPT_ORDER = ("family", "form", "prompt_id")
BY_LENGTH = ("num_tokens", "family")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a pool's rollouts say, in rows by prompt.

    `groups`: `prompt_id`, the columns of `group_stats`, `opening_stats` and `certify`, a row for each prompt that has
    rollouts. `components`: as of `prompt_components`. `attempts`: what explains that a prompt was never solved, but for
    its answers. `best`: `prompt_id` and `rollout_id` of the rollouts that `pick_demonstrations` picks. `pairs`: as of
    `pick_pairs`. `unread`: as of `count_unread`. `lengths`: `family`, `num_tokens`, and how many of its `rollouts`
    were so long, without those that the engine failed on, by length.
    """

    groups: pl.DataFrame
    components: pl.DataFrame
    attempts: Attempts
    best: pl.DataFrame
    pairs: pl.DataFrame
    unread: pl.DataFrame
    lengths: pl.DataFrame


def gather_evidence(
    parts: Iterable[pl.DataFrame],
    family_priors: Mapping[str, FamilyPrior],
    band: Band,
    group_size: int = 16,
    truncated: Truncated = "count",
    strata: pl.DataFrame | None = None,
) -> Evidence:
    """Add up scored rollouts that come in parts, of which one at a time is in memory, and certify the prompts.

    Args:
        parts: frames of one row a rollout, with every rollout of a prompt in one of them: `prompt_id`, `rollout_id`,
            `rollout_index`, `num_tokens`, `reward`, `passed`, `verdict`, `reason`, `components`, `family`, `form`, and
            `opening`, as for `opening_stats`.
        family_priors: as for `certify`.
        band: as for `certify`.
        group_size: as for `certify`.
        truncated: as for `group_stats`.
        strata: `prompt_id` and `stratum`, the key in `family_priors` of prompts whose prior is not their family's.

    The rows are those that one frame of all rollouts gives. Raises `ValueError` where there is no part at all.
    """
    gathered = [_gather(part, family_priors, band, group_size, truncated, strata) for part in parts]
    return Evidence(
        pl.concat([each.groups for each in gathered]),
        pl.concat([each.components for each in gathered]),
        Attempts.merge([each.attempts for each in gathered]),
        pl.concat([each.best for each in gathered]),
        pl.concat([each.pairs for each in gathered]),
        pl.concat([each.unread for each in gathered]).group_by("family", "form").sum().sort("family", "form"),
        pl.concat([each.lengths for each in gathered]).group_by(BY_LENGTH).sum().sort(BY_LENGTH),
    )


def find_length(lengths: pl.DataFrame, share: float) -> int:
    """Return the tokens that at least this share of the rollouts keep within; 0 for none.

    `lengths` are rows of `Evidence.lengths` in their order: all, or those of one family.

    >>> find_length(pl.DataFrame({"num_tokens": [3, 5, 9], "rollouts": [90, 5, 5]}), 0.95)
    5
    """
    within = lengths.filter(pl.col("rollouts").cum_sum() >= share * pl.col("rollouts").sum())
    return int(within["num_tokens"][0]) if within.height else 0


def _gather(
    scores: pl.DataFrame,
    family_priors: Mapping[str, FamilyPrior],
    band: Band,
    group_size: int,
    truncated: Truncated,
    strata: pl.DataFrame | None,
) -> Evidence:
    rows = scores.lazy()
    stats = (
        group_stats(rows, truncated=truncated)
        .join(opening_stats(rows, truncated), on="prompt_id", how="left")
        .join(rows.select("prompt_id", "family", "form").unique(), on="prompt_id")
        .sort(PROMPT_ORDER)
        .collect()
    )
    if strata is not None:
        placed = stats.join(strata, on="prompt_id", how="left", maintain_order="left")
        stats = placed.with_columns(family=pl.coalesce("stratum", "family")).drop("stratum")
    rewards = list_rewards(rows, truncated).collect() if _any_values(family_priors) else None
    completions = scores.filter(pl.col("verdict") != "engine_error")
    return Evidence(
        with_own_texts(certify(stats, family_priors, band, group_size, rewards).drop("family", "form")),
        with_own_texts(prompt_components(rows, truncated=truncated).collect()),
        count_attempts(scores),
        with_own_texts(pick_demonstrations(rows).collect()),
        with_own_texts(pick_pairs(rows, truncated).collect()),
        with_own_texts(count_unread(scores)),
        with_own_texts(completions.group_by(BY_LENGTH).agg(pl.len().alias("rollouts"))),
    )


def _any_values(family_priors: Mapping[str, FamilyPrior]) -> bool:
    return any(prior.value_model is not None for prior in family_priors.values())
