"""What moved between two decided pools: which prompts joined the kept ones or left them, and the likeliest reason."""

from __future__ import annotations

import polars as pl

KEEP = "keep"
# Why a decision is another one, in the order in which reasons are looked for.
CAUSES = {
    "absent": "not in the other pool",
    "judge": "another judge, or another version of it",
    "rate": "its rate moved: the 90 % intervals do not meet",
    "rules": "other rules: band, preset, precision or group size",
    "rollouts": "the same policy, and other rollouts are counted",
    "noise": "too close to tell: the intervals meet",
}
LEFT, JOINED, STAYED, OUT = "left", "joined", "kept", "rejected"
SHOWN = ("decision", "verifier", "n", "mean", "ci_low", "ci_high", "alpha", "beta", "p_zero", "p_one", "n_eff")


def match_rows(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each prompt of either pool, with its columns before and (`_after`) after.

    Prompts are matched by their ids, and where no id is in both pools, as under another judge, by what they ask. `key`
    is that id or text. Columns `SHOWN` that a pool lacks are null.
    """
    first, second = _prepare(before), _prepare(after)
    by = "prompt_id" if first.join(second, on="prompt_id", how="semi").height else "question"
    one, other = (
        pool.with_columns(key=pl.col(by)).unique("key", keep="first", maintain_order=True) for pool in (first, second)
    )
    both = one.join(other, on="key", how="full", coalesce=True, suffix="_after", maintain_order="left_right")
    named = [pl.coalesce(name, f"{name}_after").alias(name) for name in ("prompt_id", "question", "family", "form")]
    return both.with_columns(named)


def explain_moves(
    matched: pl.DataFrame, *, same_policy: bool, same_rules: bool, changed_judges: frozenset[str] = frozenset()
) -> pl.DataFrame:
    """Add `move` (left, joined, kept, rejected) and, of those that moved, `cause`, a key of `CAUSES`.

    Args:
        matched: as of `match_rows`.
        same_policy: whether both pools were sampled from the same weights.
        same_rules: whether both were decided by the same band, preset and precision.
        changed_judges: verifiers whose version is another one.
    """
    was, is_ = pl.col("decision") == KEEP, pl.col("decision_after") == KEEP
    was, is_ = was.fill_null(False), is_.fill_null(False)
    apart = (pl.col("ci_high") < pl.col("ci_low_after")) | (pl.col("ci_low") > pl.col("ci_high_after"))
    other_judge = (pl.col("verifier") != pl.col("verifier_after")) | pl.col("verifier").is_in(list(changed_judges))
    cause = (
        pl.when(pl.col("decision").is_null() | pl.col("decision_after").is_null())
        .then(pl.lit("absent"))
        .when(other_judge.fill_null(False))
        .then(pl.lit("judge"))
        .when(apart.fill_null(False))
        .then(pl.lit("rate"))
        .when(pl.lit(not same_rules))
        .then(pl.lit("rules"))
        .when(pl.lit(same_policy) & (pl.col("n") != pl.col("n_after")))
        .then(pl.lit("rollouts"))
        .otherwise(pl.lit("noise"))
    )
    move = (
        pl.when(was & is_).then(pl.lit(STAYED)).when(was).then(pl.lit(LEFT)).when(is_).then(pl.lit(JOINED))
    ).otherwise(pl.lit(OUT))
    return matched.with_columns(move=move).with_columns(cause=pl.when(pl.col("move").is_in([LEFT, JOINED])).then(cause))


def _prepare(pool: pl.DataFrame) -> pl.DataFrame:
    question = pl.col("prompt")
    if pool.schema["prompt"] != pl.String:
        question = question.list.eval(pl.element().struct.field("content")).list.join("\n")
    there = [name for name in SHOWN if name in pool.columns]
    kinds = {name: pl.String if name in SHOWN[:2] else pl.Float64 for name in SHOWN if name not in pool.columns}
    missing = [pl.lit(None, kind).alias(name) for name, kind in kinds.items()]
    columns = ["prompt_id", question.alias("question"), "family", "form", *there, *missing]
    return pool.select(columns).with_columns(pl.col("decision").cast(pl.String))
