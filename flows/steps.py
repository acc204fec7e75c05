"""The steps of a curation, plain functions that know no Prefect: `flows.curate` puts them in order."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl
import polars.selectors as cs
import pyarrow as pa

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
from learnable.filters.band import decide, decide_certified, trim_to_precision
from learnable.filters.certificate import certify
from learnable.filters.demonstrations import pick_demonstrations
from learnable.filters.forecast import forecast
from learnable.filters.groups import group_stats
from learnable.filters.schedule import Schedule, lots
from learnable.filters.summary import summarise
from learnable.flows.adaptive import AdaptiveSampling
from learnable.flows.afterwards import sample_afterwards
from learnable.flows.collect import Collection
from learnable.flows.collected import Collected
from learnable.flows.goal import first_limit
from learnable.flows.settings import BUILTIN_LIMIT, CurateSettings
from learnable.verifiers.protocol import verifier_notice
from learnable.verifiers.registry import find_verifier
from learnable.verifiers.scoring import ScoringPool

SCHEDULED = ("asked", "stopped", "threshold")
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


def new_run_id() -> str:
    """Return an id that sorts by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"


def read_prompts(settings: CurateSettings, limit: int | None = None) -> PromptSet:
    """Read, check and split the prompts; exact duplicates are dropped and counted.

    `limit` stands in for the settings' own where a goal needs more of a source without end.
    """
    wanted = settings.prompts
    limit = limit or wanted.limit or (None if wanted.location else first_limit(settings.effort.want))
    candidates: Iterable[Prompt]
    if wanted.location:
        columns = Columns(wanted.prompt_column, wanted.answer_column, wanted.verifier)
        candidates = file_prompts(wanted.location, columns, wanted.dataset_split)
    else:
        candidates = builtin_prompts(wanted.forms, wanted.families, limit or BUILTIN_LIMIT, settings.seed, wanted.knobs)
    chosen = select_prompts(_checked(candidates), limit, settings.test_share, settings.seed)
    if chosen.duplicates:
        progress().note(f"{chosen.duplicates} exact duplicates dropped")
    for verifier in chosen.verifiers:
        if notice := verifier_notice(find_verifier(verifier)):
            progress().warn(notice)
    return chosen


def is_anything_owed(run: Run, prompts: PromptSet) -> bool:
    """Whether the engine is needed. Scores that the ledger lacks are made on the way."""
    with _sampling(run, prompts) as sampling:
        return sampling.run(until_owed=True)


def roll_out_and_score(run: Run, prompts: PromptSet) -> Collected:
    """Give every prompt as many scored rollouts as its decision needs. Needs no engine when the ledger has everything.

    Ctrl-C raises `InterruptedRunError`: finished groups are kept, those in flight are dropped whole.
    """
    with _sampling(run, prompts) as sampling:
        writer = sampling.collection.writer
        try:
            sampling.run()
            sample_afterwards(sampling, run.store)
            progress().stage("Scoring the last rollouts")
            return _collected(sampling)
        except KeyboardInterrupt as interrupt:
            writer.flush()
            raise InterruptedRunError(
                f"stopped: {writer.saved:,} new rollouts are safe in {run.settings.store}, groups in flight were "
                "dropped; the same command goes on from there"
            ) from interrupt


@contextmanager
def _sampling(run: Run, prompts: PromptSet) -> Iterator[AdaptiveSampling]:
    """Open a run's sampling, with what the ledger holds for it."""
    settings, pool = run.settings, prompts.prompts
    schedule = Schedule(
        [prompt.family for prompt in pool],
        lots([p.prompt_id for p in pool]),
        settings.band,
        settings.effort,
        settings.group_size,
    )
    held, redrawn = run.store.ledger.find_rollouts(run.draw, [prompt.prompt_id for prompt in pool])
    held = held.filter(pl.col("rollout_index") < schedule.rewards.shape[1])
    if held.height:
        progress().note(f"{held.height:,} rollouts are in {settings.store} already")
    with (
        ScoringPool(settings.workers, time_limit=settings.verifier_timeout) as pool_of_judges,
        Collection(run.draw, pool, run.store, pool_of_judges) as collection,
    ):
        pool_of_judges.warm_up(prompts.verifiers)
        collection.score_held(held)
        yield AdaptiveSampling(schedule, pool, collection, settings, held, redrawn)


def _collected(sampling: AdaptiveSampling) -> Collected:
    schedule = sampling.schedule
    groups = pl.DataFrame(
        {
            "prompt_id": [prompt.prompt_id for prompt in sampling.prompts],
            "asked": schedule.asked,
            "stopped": schedule.stopped,
            "threshold": schedule.thresholds(),
        }
    )
    scores = sampling.select(sampling.collection.finish())
    writer = sampling.collection.writer
    return Collected(scores, groups, schedule.beliefs, len(schedule.certified()), schedule.gave_up, writer.saved)


def decide_groups(run: Run, prompts: PromptSet, collected: Collected) -> pl.DataFrame:
    """Reduce scores to groups, certify and decide each: the prompt columns, the statistics, the decision.

    Prompts that were not looked at, since the goal was reached before, are left out.
    """
    settings = run.settings
    stats = group_stats(collected.scores.lazy(), truncated=settings.truncated)
    # A skipped prompt has no rollouts and stays in the table as not_scored.
    groups = (
        _frame(prompts_table(prompts.prompts))
        .lazy()
        .join(collected.groups.lazy().filter(pl.col("asked") > 0), on="prompt_id")
        .join(stats, on="prompt_id", how="left")
        .with_columns(pl.col("rollouts", "tokens").fill_null(0))
        .sort("family", "form", "prompt_id")
        .collect()
    )
    certified = certify(groups, collected.beliefs, settings.band, settings.group_size).lazy()
    if settings.effort.sampling == "fixed":
        return decide(certified, settings.band).drop(SCHEDULED).collect()
    decided = decide_certified(certified, settings.band)
    if settings.effort.precision is not None:
        decided = trim_to_precision(decided, settings.effort.precision)
    return decided.drop(SCHEDULED).sort("family", "form", "prompt_id").collect()


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
    return publish_curated(run.store.curated / run.settings.set_name, tables, _manifest(run, decided, collected))


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


def _manifest(run: Run, decided: pl.DataFrame, collected: Collected) -> dict[str, Any]:
    settings = run.settings
    verifiers = decided["verifier"].unique().sort().to_list()
    graded = {name: belief.spread.graded for name, belief in collected.beliefs.items()}
    kept = decided.filter(pl.col("decision") == "keep")
    return {
        "run_id": run.run_id,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "policy": asdict(run.policy),
        "engine": settings.engine.name,
        "sampling": asdict(settings.sampling),
        "group_size": settings.group_size,
        "effort": asdict(settings.effort),
        "beliefs": {name: belief.as_dict() for name, belief in sorted(collected.beliefs.items())},
        "expected_false_keeps": float((1 - kept["p_keep"]).sum()),
        "forecast": {
            "curated": [asdict(row) for row in forecast(kept, graded)],
            "pool": [asdict(row) for row in forecast(decided, graded)],
        },
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


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    if not isinstance(frame, pl.DataFrame):
        raise TypeError("a table is a frame")
    return frame
