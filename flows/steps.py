"""The steps of a curation, plain functions that know no Prefect: `flows.curate` puts them in order."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl
import polars.selectors as cs

from learnable.data.curated import CuratedSet, publish_curated
from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.ledger.ledger import Draw
from learnable.data.policies import Policy
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
from learnable.flows.collect import Collection
from learnable.flows.engines import engine_for
from learnable.flows.owed import Owed, find_owed
from learnable.flows.rollout import RollOut
from learnable.flows.settings import BUILTIN_LIMIT, CurateSettings
from learnable.rollouts.protocol import Engine
from learnable.verifiers.protocol import verifier_notice
from learnable.verifiers.registry import find_verifier
from learnable.verifiers.scoring import ScoringPool

NAMED_IN_WARNINGS = 3
DEMONSTRATION_COLUMNS = ("prompt", "prompt_id", "verifier", "spec", "family", "form")


@dataclass(frozen=True, slots=True)
class Run:
    """One run: its id, what was asked, the policy that answers, and the store it writes."""

    run_id: str
    settings: CurateSettings
    policy: Policy
    store: Store

    @property
    def draw(self) -> Draw:
        """What the rollouts of this run share."""
        return Draw(self.policy.policy_id, self.settings.sampling)


@dataclass(frozen=True, slots=True)
class Collected:
    """Every rollout of a run with its score, one row each, and how many of them this run generated."""

    scores: pl.DataFrame
    generated: int


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


def find_held(run: Run, prompts: PromptSet) -> tuple[pl.DataFrame, list[Owed]]:
    """Return the rollouts that the ledger holds for this run already, and what is still owed."""
    size = run.settings.group_size
    held, redrawn = run.store.ledger.find_rollouts(run.draw, [prompt.prompt_id for prompt in prompts.prompts])
    return held.filter(pl.col("rollout_index") < size), find_owed(prompts.prompts, held, redrawn, size)


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


def roll_out_and_score(run: Run, prompts: PromptSet) -> Collected:
    """Give every prompt a scored group. Needs no engine when the ledger has everything.

    Ctrl-C raises `InterruptedRunError`: finished groups are kept, those in flight are dropped whole.
    """
    held, owed = find_held(run, prompts)
    if held.height:
        progress().note(f"{held.height:,} rollouts reused from {run.settings.store}")
    with (
        ScoringPool(run.settings.workers, time_limit=run.settings.verifier_timeout) as pool,
        Collection(run.draw, prompts.prompts, run.store, pool) as collection,
    ):
        pool.warm_up(prompts.verifiers)
        try:
            collection.score_held(held)
            if owed:
                _generate(collection, owed, run.settings)
            progress().stage("Scoring the last rollouts")
            return Collected(collection.finish(), collection.writer.saved)
        except KeyboardInterrupt as interrupt:
            collection.writer.flush()
            raise InterruptedRunError(
                f"stopped: {collection.writer.saved:,} new rollouts are safe in {run.settings.store}, groups in flight were "
                "dropped; the same command goes on from there"
            ) from interrupt


def _generate(collection: Collection, owed: Sequence[Owed], settings: CurateSettings) -> None:
    progress().stage("Starting the engine")
    fit, _ = drop_long_prompts(owed, engine_for(settings))
    progress().stage("Rolling out")
    RollOut(collection, fit, settings).run()


def decide_groups(run: Run, prompts: PromptSet, collected: Collected) -> pl.DataFrame:
    """Reduce scores to groups and decide each: the prompt columns, the statistics, the decision."""
    table = pl.from_arrow(prompts_table(prompts.prompts))
    if not isinstance(table, pl.DataFrame):
        raise TypeError("a table of prompts must be a frame")
    stats = group_stats(collected.scores.lazy(), truncated=run.settings.truncated)
    # A skipped prompt has no rollouts and stays in the table as not_scored.
    joined = (
        table.lazy().join(stats, on="prompt_id", how="left").with_columns(pl.col("rollouts", "tokens").fill_null(0))
    )
    return decide(joined, run.settings.band).sort("family", "form", "prompt_id").collect()


def publish(run: Run, decided: pl.DataFrame, collected: Collected) -> CuratedSet:
    """Write the curated set: kept prompts, held-out ones, rejects with reasons, a random control, demonstrations."""
    kept = pl.col("decision") == "keep"
    in_train = pl.col("split") == "train"
    train = decided.filter(kept & in_train)
    pool = decided.filter(in_train & (pl.col("decision") != "not_scored"))
    parts = {
        "train": train,
        "test": decided.filter(kept & ~in_train),
        "rejects": decided.filter(~kept),
        "control": pool.sample(n=train.height, seed=run.settings.seed, shuffle=True),
        "demonstrations": _demonstrations(run, train, collected.scores),
    }
    tables = {name: part.with_columns(cs.enum().cast(pl.String)).to_arrow() for name, part in parts.items()}
    run.store.ledger.check_held()
    return publish_curated(run.store.curated / run.settings.set_name, tables, _manifest(run, decided))


def _demonstrations(run: Run, train: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    chosen = scores.join(train.select("prompt_id"), on="prompt_id", how="semi")
    best = pick_demonstrations(chosen.lazy()).collect()
    whole = [rows.select("rollout_id", "completion") for rows in run.store.ledger.read_completions(run.draw, best)]
    texts = pl.concat([pl.DataFrame(schema={"rollout_id": pl.String, "completion": pl.String}), *whole])
    shown = train.select(DEMONSTRATION_COLUMNS).join(
        best.select("prompt_id", "rollout_id").join(texts, on="rollout_id"), on="prompt_id", maintain_order="left"
    )
    if train.schema["prompt"] != pl.String:  # a chat's completion is a chat too
        turn = pl.struct(pl.lit("assistant").alias("role"), pl.col("completion").alias("content"))
        shown = shown.with_columns(pl.concat_list(turn).alias("completion"))
    return shown


def _manifest(run: Run, decided: pl.DataFrame) -> dict[str, Any]:
    settings = run.settings
    verifiers = decided["verifier"].unique().sort().to_list()
    return {
        "run_id": run.run_id,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "policy": asdict(run.policy),
        "engine": settings.engine.name,
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
