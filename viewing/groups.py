"""What the ledger holds of a set's prompts: completions with their scores, and what all scores together say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from learnable.data.curated.manifest import Manifest
from learnable.data.ledger.ledger import Draw, Ledger, share_out
from learnable.data.records import REWARDED_VERDICTS, Prompt

ROLLOUT_COLUMNS = (
    "rollout_index",
    "rollout_id",
    "finish_reason",
    "num_tokens",
    "reasoning_tokens",
    "max_tokens",
    "seed",
)
SCORE_COLUMNS = ("reward", "passed", "verdict", "reason", "components")
COMPONENTS = pl.List(pl.Struct({"key": pl.String, "value": pl.Float64}))  # as Arrow's maps are, to explode them
BINS = 20  # of rewards, between 0 and 1
ROLLOUTS_AT_ONCE = 1 << 17  # whose scores are in memory together: some 2 KB each
NAMED = 12  # reasons of a verdict that are told apart


@dataclass(frozen=True, slots=True)
class Scores:
    """What the scores of a version's prompts say.

    `rewards` has `kept` and `bin`, of `BINS`, with the `len` of completions in it. `reasons` has `verdict`, `passed`, a
    `reason` without its figures and quotes, an `example` of it, and `len`. `components` has `prompt_id` and a column
    of means for each component.
    """

    rewards: pl.DataFrame
    reasons: pl.DataFrame
    components: pl.DataFrame
    completions: int


def read_group(ledger: Ledger, manifest: Manifest, prompt: Prompt) -> pl.DataFrame:
    """Return the completions of a prompt by the manifest's policy and sampling, best first.

    Scores are those of the manifest's version of the prompt's verifier; a failed verifier leaves none.
    """
    return read_groups(ledger, manifest, [prompt]).drop("prompt_id")


def read_groups(ledger: Ledger, manifest: Manifest, prompts: Sequence[Prompt], *, errors: bool = False) -> pl.DataFrame:
    """Return the completions of some prompts, with `prompt_id`, each prompt's best first; else as `read_group`.

    With `errors`, the verdict and the reason of a verifier that failed are there too. This is the one place that joins
    the two tables for a reader; `docs/how-to/query-a-store.md` says how to do it by hand.
    """
    stored, scores = _read_scores(ledger, manifest, prompts, errors=errors)
    empty = pl.DataFrame(schema=dict.fromkeys(("rollout_id", "completion", "reasoning"), pl.String))
    draw = Draw(manifest.policy.policy_id, manifest.sampling)
    texts = pl.concat([empty, *ledger.read_completions(draw, stored, prompts, reasoning=True)])
    return (
        stored.select("prompt_id", *ROLLOUT_COLUMNS)
        .join(texts, on="rollout_id")
        .join(scores.select("prompt_id", "rollout_id", *SCORE_COLUMNS), on=["prompt_id", "rollout_id"], how="left")
        .sort("prompt_id", "reward", "rollout_index", descending=[False, True, False], nulls_last=True)
    )


def read_scores(
    ledger: Ledger, manifest: Manifest, prompts: Sequence[Prompt], rollouts: NDArray[np.int64], kept: frozenset[str]
) -> Scores:
    """Return what the scores of these prompts say.

    Args:
        ledger: has the scores.
        manifest: names the policy, the sampling and the versions of the verifiers.
        prompts: whose scores.
        rollouts: about how many each prompt has, so that few of them are in memory together.
        kept: the ids of the prompts that were kept.
    """
    rewards, reasons, components, total = [], [], [], 0
    order = ledger.order_by_file(Draw(manifest.policy.policy_id, manifest.sampling), prompts)
    for share in share_out(rollouts[order], ROLLOUTS_AT_ONCE):
        _, scores = _read_scores(ledger, manifest, [prompts[place] for place in order[share]], errors=True)
        total += scores.height
        is_kept = pl.Series("kept", [name in kept for name in scores["prompt_id"]], pl.Boolean)
        rewards.append(_count_rewards(scores.with_columns(is_kept)))
        reasons.append(_count_reasons(scores))
        components.append(_average_components(scores))
    return Scores(
        pl.concat(rewards).group_by("kept", "bin").agg(pl.col("len").sum()).sort("kept", "bin"),
        _name_reasons(pl.concat(reasons)),
        pl.concat(components, how="diagonal_relaxed"),
        total,
    )


def _read_scores(
    ledger: Ledger, manifest: Manifest, prompts: Sequence[Prompt], *, errors: bool
) -> tuple[pl.DataFrame, pl.DataFrame]:
    stored, _ = ledger.find_rollouts(Draw(manifest.policy.policy_id, manifest.sampling), prompts)
    used = {prompt.verifier for prompt in prompts}
    versions = {name: version for name, version in manifest.verifiers.items() if name in used}
    draw = Draw(manifest.policy.policy_id, manifest.sampling)
    return stored, ledger.find_scores(draw, stored, versions, errors=errors)


def _count_rewards(scores: pl.DataFrame) -> pl.DataFrame:
    bin_of = (pl.col("reward") * BINS).floor().clip(0, BINS - 1).cast(pl.Int64)
    judged = scores.filter(pl.col("reward").is_not_null())
    return judged.group_by("kept", bin_of.alias("bin")).len()


def _count_reasons(scores: pl.DataFrame) -> pl.DataFrame:
    """Count reasons by what they are like: the first of several, its figures as # and its quotes as …."""
    first = pl.col("reason").fill_null("").str.split("; ").list.first().fill_null("")
    like = (
        first.str.replace_all(r"'[^']*'|\"[^\"]*\"", "…")
        .str.replace_all(r"-?\d+(\.\d+)?", "#")
        .str.replace_all(r"^answered .*", "answered …")
        .str.head(120)
    )
    by = ["verdict", "passed", "reason"]
    with_reason = scores.filter(pl.col("reason").fill_null("") != "").with_columns(example="reason", reason=like)
    return with_reason.group_by(by).agg(pl.len().alias("len"), pl.col("example").min().str.head(400))


def _name_reasons(counted: pl.DataFrame) -> pl.DataFrame:
    by = ["verdict", "passed", "reason"]
    summed = counted.group_by(by).agg(pl.col("len").sum(), pl.col("example").min())
    ordered = summed.sort("len", "reason", descending=[True, False])
    return ordered.group_by("verdict", maintain_order=True).head(NAMED)


def _average_components(scores: pl.DataFrame) -> pl.DataFrame:
    parts = (
        scores.lazy()
        .filter(pl.col("verdict").is_in(REWARDED_VERDICTS))
        .select("prompt_id", pl.col("components").cast(COMPONENTS))
        .explode("components")
        .select(
            "prompt_id",
            name=pl.col("components").struct.field("key"),
            value=pl.col("components").struct.field("value"),
        )
        .filter(pl.col("value").is_not_null())
        .group_by("prompt_id", "name")
        .agg(pl.col("value").mean())
        .sort("prompt_id", "name")
        .collect()
    )
    if not parts.height:
        return pl.DataFrame(schema={"prompt_id": pl.String})
    return parts.pivot("name", index="prompt_id", values="value")
