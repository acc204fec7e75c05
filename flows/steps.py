"""The steps of a curation, plain functions that know no Prefect: `flows.curate` puts them in order."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import polars as pl
import polars.selectors as cs

from learnable.data.curated import CuratedSet, publish_curated
from learnable.data.errors import LearnableError
from learnable.data.policies import find_policy
from learnable.data.progress import progress
from learnable.data.records import Prompt
from learnable.data.sources.builtin import builtin_prompts
from learnable.data.sources.files import file_prompts
from learnable.data.sources.rows import Columns
from learnable.data.sources.selection import PromptSet, select_prompts
from learnable.data.store import Store
from learnable.data.tables import prompts_table
from learnable.filters.band import decide
from learnable.filters.demonstrations import pick_demonstrations
from learnable.filters.groups import group_stats
from learnable.filters.summary import summarise
from learnable.flows.collect import Collection, Owed, find_owed
from learnable.flows.engines import engine_for
from learnable.flows.settings import BUILTIN_LIMIT, CurateSettings
from learnable.rollouts.protocol import Engine
from learnable.verifiers.protocol import verifier_notice
from learnable.verifiers.registry import find_verifier
from learnable.verifiers.scoring import ScoringPool

NAMED_IN_WARNINGS = 3
DEMONSTRATION_COLUMNS = ("prompt", "prompt_id", "verifier", "spec", "family", "form")


def new_run_id() -> str:
    """Return an id that sorts by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"


def read_prompts(settings: CurateSettings) -> PromptSet:
    """Read, check and split the prompts; exact duplicates are dropped and counted."""
    wanted = settings.prompts
    candidates: Iterable[Prompt]
    if wanted.location:
        columns = Columns(wanted.prompt_column, wanted.answer_column, wanted.verifier)
        candidates = file_prompts(wanted.location, columns, wanted.dataset_split)
    else:
        limit = wanted.limit or BUILTIN_LIMIT
        candidates = builtin_prompts(wanted.forms, wanted.families, limit, settings.seed, wanted.knobs)
    chosen = select_prompts(_checked(candidates), wanted.limit, settings.test_share, settings.seed)
    if chosen.duplicates:
        progress().note(f"{chosen.duplicates} exact duplicates dropped")
    for verifier in chosen.verifiers:
        if notice := verifier_notice(find_verifier(verifier)):
            progress().warn(notice)
    return chosen


def find_stored(prompts: PromptSet, store: Store, settings: CurateSettings) -> tuple[pl.DataFrame, list[Owed]]:
    """Return the rollouts that the store holds for this run already, and what is still owed."""
    policy = find_policy(settings.policy)
    wanted = [prompt.prompt_id for prompt in prompts.prompts]
    stored = store.find_rollouts(policy.policy_id, settings.sampling.sampling_id, wanted)
    stored = stored.filter(pl.col("rollout_index") < settings.group_size)
    return stored, find_owed(prompts.prompts, stored, settings.group_size)


def drop_long_prompts(owed: Sequence[Owed], engine: Engine) -> tuple[list[Owed], list[Prompt]]:
    """Set aside the prompts that leave no room for a completion in the policy's context, and name them."""
    counts = engine.count_tokens([o.prompt for o in owed])
    fit = [o for o, count in zip(owed, counts, strict=True) if count < engine.max_context]
    long = [(o.prompt, count) for o, count in zip(owed, counts, strict=True) if count >= engine.max_context]
    if long:
        names = ", ".join(f"{p.source} {p.prompt_id} ({count} tokens)" for p, count in long[:NAMED_IN_WARNINGS])
        more = f" and {len(long) - NAMED_IN_WARNINGS} more" if len(long) > NAMED_IN_WARNINGS else ""
        progress().warn(
            f"{len(long)} prompts skipped: longer than the policy's context of {engine.max_context} tokens: {names}{more}"
        )
    return fit, [prompt for prompt, _ in long]


def roll_out_and_score(run_id: str, prompts: PromptSet, store: Store, settings: CurateSettings) -> pl.DataFrame:
    """Give every prompt a scored group: one row a rollout. Needs no engine when the store has everything."""
    stored, owed = find_stored(prompts, store, settings)
    if stored.height:
        progress().note(f"{stored.height:,} rollouts reused from {settings.store}")
    with ScoringPool(settings.workers) as pool:
        pool.warm_up(prompts.verifiers)
        collection = Collection(run_id, prompts.prompts, store, pool)
        collection.score_stored(stored)
        if owed:
            progress().stage("Starting the engine")
            engine = engine_for(settings)
            owed, _ = drop_long_prompts(owed, engine)
            progress().stage("Rolling out")
            collection.roll_out(engine, owed, settings.sampling, settings.seed)
        progress().stage("Scoring the last rollouts")
        return collection.finish()


def decide_groups(prompts: PromptSet, scores: pl.DataFrame, settings: CurateSettings) -> pl.DataFrame:
    """Reduce scores to groups and decide each: the prompt columns, the statistics, the decision."""
    table = pl.from_arrow(prompts_table(prompts.prompts))
    if not isinstance(table, pl.DataFrame):
        raise TypeError("a table of prompts must be a frame")
    stats = group_stats(scores.lazy(), truncated=settings.truncated)
    # A skipped prompt has no rollouts and stays in the table as not_scored.
    joined = (
        table.lazy().join(stats, on="prompt_id", how="left").with_columns(pl.col("rollouts", "tokens").fill_null(0))
    )
    return decide(joined, settings.band).sort("family", "form", "prompt_id").collect()


def publish(run_id: str, decided: pl.DataFrame, scores: pl.DataFrame, settings: CurateSettings) -> CuratedSet:
    """Write the curated set: kept prompts, held-out ones, rejects with reasons, a random control, demonstrations."""
    store = Store(settings.store)
    kept = pl.col("decision") == "keep"
    in_train = pl.col("split") == "train"
    train = decided.filter(kept & in_train)
    pool = decided.filter(in_train & (pl.col("decision") != "not_scored"))
    parts = {
        "train": train,
        "test": decided.filter(kept & ~in_train),
        "rejects": decided.filter(~kept),
        "control": pool.sample(n=train.height, seed=settings.seed, shuffle=True),
        "demonstrations": _demonstrations(train, scores, store, settings),
    }
    tables = {name: part.with_columns(cs.enum().cast(pl.String)).to_arrow() for name, part in parts.items()}
    return publish_curated(store.curated / settings.set_name, tables, _manifest(run_id, decided, settings))


def _demonstrations(train: pl.DataFrame, scores: pl.DataFrame, store: Store, settings: CurateSettings) -> pl.DataFrame:
    policy, ids = find_policy(settings.policy), train["prompt_id"].to_list()
    rollouts = store.find_rollouts(policy.policy_id, settings.sampling.sampling_id, ids)
    best = pick_demonstrations(scores.lazy()).collect()
    texts = best.join(rollouts.select("rollout_id", "completion"), on="rollout_id")
    shown = train.select(DEMONSTRATION_COLUMNS).join(texts, on="prompt_id", maintain_order="left")
    if train.schema["prompt"] != pl.String:  # a chat's completion is a chat too
        turn = pl.struct(pl.lit("assistant").alias("role"), pl.col("completion").alias("content"))
        shown = shown.with_columns(pl.concat_list(turn).alias("completion"))
    return shown


def _manifest(run_id: str, decided: pl.DataFrame, settings: CurateSettings) -> dict[str, Any]:
    verifiers = decided["verifier"].unique().sort().to_list()
    return {
        "run_id": run_id,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "policy": asdict(find_policy(settings.policy)),
        "sampling": asdict(settings.sampling),
        "group_size": settings.group_size,
        "band": asdict(settings.band),
        "truncated": settings.truncated,
        "test_share": settings.test_share,
        "seed": settings.seed,
        "verifiers": {name: find_verifier(name).version for name in verifiers},
        "forms": summarise(decided.lazy()).collect().to_dicts(),
    }


def _checked(prompts: Iterable[Prompt]) -> Iterable[Prompt]:
    for prompt in prompts:
        try:
            find_verifier(prompt.verifier).check_spec(prompt.spec)
        except LearnableError as error:
            raise LearnableError(f"{prompt.source}: {error}") from error
        yield prompt
