"""The steps of a curation, plain functions that know no Prefect: `flows.curate` puts them in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import polars as pl
import pyarrow as pa

from learnable.data.errors import LearnableError
from learnable.data.forms import load_forms
from learnable.data.progress import progress
from learnable.data.records import Prompt
from learnable.data.sources.builtin import builtin_prompts
from learnable.data.sources.files.bad_rows import BadRows
from learnable.data.sources.files.columns import Columns
from learnable.data.sources.files.prompts import file_prompts
from learnable.data.sources.selection import PromptSet, select_prompts
from learnable.data.tables import carried_table, prompts_table
from learnable.filters.decisions.band import REASONS, decide, decide_certified, trim_to_precision
from learnable.filters.decisions.choosing import choose
from learnable.filters.posterior.certificate import certify
from learnable.filters.statistics.groups import group_stats
from learnable.filters.stopping.schedule import Schedule, hash_to_uniforms
from learnable.flows.curation.goal import first_limit
from learnable.flows.curation.screening import screen
from learnable.flows.run import Run
from learnable.flows.sampling.collected import Collected
from learnable.flows.sampling.collector import Collection
from learnable.flows.sampling.error_watch import ErrorWatch
from learnable.flows.sampling.sampler import AdaptiveSampling
from learnable.flows.sampling.top_up import sample_afterwards
from learnable.flows.settings import BUILTIN_LIMIT, CurateSettings
from learnable.verifiers.pool.scoring import ScoringPool
from learnable.verifiers.protocol import verifier_notice
from learnable.verifiers.registry import find_verifier

SCHEDULED = ("asked", "stopped", "threshold")


def read_prompts(settings: CurateSettings, limit: int | None = None) -> PromptSet:
    """Read, check and split the prompts; bad rows, duplicates and contaminated ones cost nothing.

    `limit` stands in for the settings' own where a goal needs more of a source without end.
    """
    wanted = settings.prompts
    limit = limit or wanted.limit or (None if wanted.location else first_limit(settings.budget.want))
    bad_rows = BadRows(skip=wanted.skip_bad_rows)
    candidates: Iterable[Prompt]
    if wanted.verifier:
        find_verifier(wanted.verifier)  # a wrong one is no fault of the rows
    if wanted.location:
        columns = Columns(wanted.prompt_column, wanted.answer_column, wanted.verifier)
        candidates = file_prompts(wanted.location, columns, wanted.dataset_split, bad_rows.add)
    else:
        own = load_forms(wanted.forms_file) if wanted.forms_file else {}
        count = limit or BUILTIN_LIMIT
        candidates = builtin_prompts(wanted.forms, wanted.families, count, settings.seed, wanted.knobs, own)
    checked = bad_rows.sift(_checked(candidates, bad_rows))
    chosen = select_prompts(checked, limit, settings.test_share, settings.seed)
    chosen.bad_rows = bad_rows.settle()
    if chosen.duplicates:
        progress().note(f"{chosen.duplicates} exact duplicates dropped")
    for verifier in chosen.verifiers:
        if notice := verifier_notice(find_verifier(verifier)):
            progress().warn(notice)
    return chosen.without(screen(chosen.prompts, wanted.decontaminate, wanted.near_duplicates))


def is_anything_owed(run: Run, prompts: PromptSet) -> bool:
    """Whether the engine is needed. Scores that the ledger lacks are made on the way."""
    with open_sampling(run, prompts) as sampling:
        return sampling.run(until_owed=True)


def roll_out_and_score(run: Run, prompts: PromptSet) -> Collected:
    """Give every prompt as many scored rollouts as its decision needs. Needs no engine when the ledger has everything.

    Ctrl-C raises `InterruptedRunError`: finished groups are kept, those in flight are dropped whole.
    """
    with open_sampling(run, prompts) as sampling:
        if sampling.held:
            progress().note(f"{sampling.held:,} rollouts reused from {run.settings.store}")
        with sampling.told_when_stopped():
            sampling.run()
            sample_afterwards(sampling, run.store)
            progress().stage("Scoring the last rollouts")
            return sampling.collected()


@contextmanager
def open_sampling(run: Run, prompts: PromptSet) -> Iterator[AdaptiveSampling]:
    """Open a run's sampling, with what the ledger holds for it."""
    settings, pool = run.settings, prompts.prompts
    schedule = Schedule(
        [prompt.family for prompt in pool],
        hash_to_uniforms([p.prompt_id for p in pool]),
        settings.band,
        settings.budget,
        settings.group_size,
    )
    held, redrawn = run.store.ledger.find_rollouts(run.draw, pool)
    held = held.filter(pl.col("rollout_index") < schedule.rewards.shape[1])
    watch = ErrorWatch()
    with (
        ScoringPool(settings.workers, settings.verifier_timeout, watch.see) as pool_of_judges,
        Collection(run.draw, pool, run.store, pool_of_judges, watch) as collection,
    ):
        pool_of_judges.warm_up(prompts.verifiers)
        collection.score_held(held)
        yield AdaptiveSampling(schedule, pool, collection, settings, held, redrawn)


def decide_groups(run: Run, prompts: PromptSet, collected: Collected) -> pl.DataFrame:
    """Reduce scores to groups, certify and decide each: the prompt columns, the statistics, the decision, users' columns.

    Prompts that were not looked at, since the goal was reached before, are left out.
    """
    settings = run.settings
    stats = group_stats(collected.scores.lazy(), truncated=settings.truncated)
    # One table for all of them, so that a column of text or of chats has one type even where none was dropped.
    everybody = [*prompts.prompts, *prompts.dropped_prompts]
    everyone = _frame(prompts_table(everybody))
    # A skipped prompt has no rollouts and stays in the table as not_scored.
    groups = (
        everyone.lazy()
        .join(collected.groups.lazy().filter(pl.col("asked") > 0), on="prompt_id")
        .join(stats, on="prompt_id", how="left")
        .with_columns(pl.col("rollouts", "tokens").fill_null(0))
        .sort("family", "form", "prompt_id")
        .collect()
    )
    certified = certify(groups, collected.family_priors, settings.band, settings.group_size).lazy()
    if settings.budget.sampling == "fixed":
        decided = decide(certified, settings.band)
    else:
        decided = decide_certified(certified, settings.band)
    if settings.budget.precision is not None:
        decided = trim_to_precision(decided, settings.budget.precision)
    chosen = choose(decided, settings.preset).drop(SCHEDULED)
    dropped = everyone.join(prompts.dropped, on="prompt_id")
    return (
        pl.concat([chosen, dropped.lazy().cast({"decision": pl.Enum(REASONS)})], how="diagonal")
        .with_columns(pl.col("rollouts", "tokens").fill_null(0))
        .join(_frame(carried_table(everybody)).lazy(), on="prompt_id", how="left")
        .sort("family", "form", "prompt_id")
        .collect()
    )


def _checked(prompts: Iterable[Prompt], bad_rows: BadRows) -> Iterator[Prompt]:
    for prompt in prompts:
        try:
            find_verifier(prompt.verifier).check_spec(prompt.spec)
        except LearnableError as error:
            bad_rows.add(LearnableError(f"{prompt.source}: {error}"))
        except Exception as error:  # a user's own judge may raise anything
            why = f"{prompt.verifier} cannot check this spec: {type(error).__name__}: {error}"
            bad_rows.add(LearnableError(f"{prompt.source}: {why}"))
        else:
            yield prompt


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    if not isinstance(frame, pl.DataFrame):
        raise TypeError("a table is a frame")
    return frame
