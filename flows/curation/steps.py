"""The steps of a curation, plain functions that know no Prefect: `flows.curate` puts them in order."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import polars as pl

from learnable.data.errors import LearnableError
from learnable.data.progress import progress
from learnable.data.records import Prompt
from learnable.data.sources.files.bad_rows import BadRowError, BadRows
from learnable.data.sources.files.columns import Columns
from learnable.data.sources.files.evaluation_sets import read_evaluation_set
from learnable.data.sources.files.locations import find_local
from learnable.data.sources.files.prompts import file_prompts
from learnable.data.sources.files.templates import read_template
from learnable.data.sources.gym.location import is_gym
from learnable.data.sources.gym.prompts import gym_prompts
from learnable.data.sources.packed import PackedRows
from learnable.data.sources.selection import PromptSet, assign_splits, select_prompts
from learnable.data.tables import carried_table, refuse_mixture
from learnable.filters.decisions.choosing import choose, expected_within_variance
from learnable.filters.decisions.decide import REASONS, decide, decide_certified, decide_predicted, trim_to_precision
from learnable.filters.decisions.evidence import PROMPT_ORDER
from learnable.filters.duplicates.clusters import cluster_problems
from learnable.filters.duplicates.contamination import find_contaminated
from learnable.filters.duplicates.near_duplicates import NEAR_OVERLAP, find_duplicates
from learnable.filters.posterior.belief import Belief
from learnable.filters.posterior.certificate import describe_belief
from learnable.filters.prediction.features import check_columns
from learnable.flows.curation.chat import check_chat, decide_chat
from learnable.flows.curation.goal import first_limit, is_endless
from learnable.flows.run import Run
from learnable.flows.sampling.sampler import Collected, open_sampling
from learnable.flows.sampling.top_up import top_up
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.flows.settings.curation import BUILTIN_LIMIT, HERE
from learnable.verifiers.families.prompts import builtin_prompts, count_problems, require_problems
from learnable.verifiers.families.registry import load_forms
from learnable.verifiers.families.wordings import NATURAL_WORDING, PLAIN_WORDING, find_wording, reword
from learnable.verifiers.protocol import verifier_notice
from learnable.verifiers.registry import find_verifier, trust_verifiers

READ_AHEAD = 1_000_000  # rows of a data set on the hub that a limit draws from
DROPPED = ("prompt_id", "decision", "collides_with", "overlap")


def read_prompts(settings: CurateSettings, limit: int | None = None) -> PromptSet:
    """Read, draw, check and split the prompts; bad rows, duplicates and contaminated ones cost nothing.

    What users bring is read whole and drawn from by the seed; generators draw by it themselves. `limit`
    stands in for the settings' own where a goal needs more of a source without end. Raises `LearnableError` for a
    source that cannot be read, and for rows that are no prompts unless the settings say to skip them.
    """
    wanted = settings.prompts
    limit = limit or wanted.limit or (first_limit(settings.budget.want) if wanted.is_generated else None)
    bad_rows = BadRows(skip=wanted.skip_bad_rows)
    trust_verifiers(filter(None, (wanted.verifier, *wanted.trusted)))  # a wrong one is no fault of the rows
    chat = decide_chat(settings)
    candidates = map(chat.dress, _find_candidates(settings, limit, bad_rows, is_chat=chat.is_on))
    checked = bad_rows.sift(_check_specs(candidates, bad_rows))
    chosen = select_prompts(checked, limit, settings.seed, in_order=wanted.is_generated)
    chosen.bad_rows = bad_rows.settle()
    check_chat(chat, chosen.prompts, settings.sampling)
    check_columns(chosen.prompts, settings.predict_from)
    if chosen.duplicates:
        progress().note(f"{chosen.duplicates} exact duplicates dropped")
    for verifier in chosen.verifiers if settings.score_on == HERE else ():  # else the nodes have notices of their own
        if notice := verifier_notice(find_verifier(verifier)):
            progress().warn(notice)
    return hold_out(chosen.without(screen(chosen.prompts, wanted.decontaminate, wanted.near_duplicates)), settings)


def _find_candidates(
    settings: CurateSettings, limit: int | None, bad_rows: BadRows, *, is_chat: bool
) -> Iterable[Prompt]:
    wanted = settings.prompts
    if wanted.location and is_gym(wanted.location):
        return gym_prompts(wanted.location, settings.seed)
    if wanted.location:
        columns = columns_of(wanted)
        prompts = file_prompts(wanted.location, columns, wanted.dataset_split, bad_rows.add)
        streams = limit is not None and find_local(wanted.location) is None
        return _read_ahead(prompts, wanted.location) if streams else prompts
    own = _generate(wanted, limit or BUILTIN_LIMIT, settings.seed, is_chat=is_chat)
    return (replace(prompt, spec={**wanted.spec, **prompt.spec}) for prompt in own) if wanted.spec else own


def columns_of(wanted: PromptSettings) -> Columns:
    """Return how the columns of a source are read. Raises `LearnableError` for a template that names none."""
    if wanted.prompt_template:
        read_template(wanted.prompt_template)  # a wrong one is no fault of the rows
    return Columns(
        wanted.prompt_column,
        wanted.answer_column,
        wanted.verifier,
        wanted.split_by,
        wanted.spec,
        template=wanted.prompt_template,
    )


def _generate(wanted: PromptSettings, count: int, seed: int, *, is_chat: bool) -> Iterator[Prompt]:
    """Yield so many built-in prompts, in the words that were chosen."""
    own = load_forms(wanted.forms_file)
    wording = find_wording(wanted.wording or (NATURAL_WORDING if is_chat else PLAIN_WORDING))
    if wanted.limit:
        require_problems(wanted.limit, wanted.forms, wanted.families, wanted.knobs, own)
    problems = count_problems(wanted.forms, wanted.families, wanted.knobs, own)
    plain = builtin_prompts(wanted.forms, wanted.families, None, seed, wanted.knobs, own)
    worded = plain if wording is None else reword(plain, wording, wanted.knobs, own)
    return islice(worded, min(count, problems or sys.maxsize))


def _read_ahead(prompts: Iterable[Prompt], location: str) -> Iterator[Prompt]:
    """Yield the prompts of a data set on the hub, of which there may be more than anybody would wait for."""
    for number, prompt in enumerate(prompts):
        if number == READ_AHEAD:
            progress().warn(
                f"`limit` draws from the first {READ_AHEAD:,} rows of {location}, which has more: where their order "
                "means something, fetch it whole and give the files"
            )
            return
        yield prompt


def hold_out(pool: PromptSet, settings: CurateSettings) -> PromptSet:
    """Return the pool with a share of its problems held out; says so where that cannot be, before anything is paid."""
    near = settings.prompts.near_duplicates
    clusters = cluster_problems(pool.prompts, near=near is None or near > NEAR_OVERLAP)
    split = pool.with_prompts(assign_splits(pool.prompts, clusters, settings.test_share, settings.seed))
    if pool.prompts and settings.test_share and len(set(clusters)) == 1:
        why = "there is one prompt" if len(clusters) == 1 else f"the {len(clusters):,} prompts are one problem"
        progress().warn(
            f"nothing is held out, for {why}, and a problem is not split: look at more, name what tells problems apart "
            "with `split_by`, or give `test_share` 0"
        )
    return split


def screen(
    prompts: Sequence[Prompt], decontaminate: Sequence[str] = (), near: float | None = NEAR_OVERLAP
) -> pl.DataFrame:
    """Find the prompts to be dropped, and tell `progress()` how many there are.

    Args:
        prompts: the pool, in the order in which the first of several duplicates stays.
        decontaminate: evaluation sets, each as `data.sources.files.evaluation_sets.read_evaluation_set` takes it.
        near: least overlap of a near duplicate; None drops exact duplicates only.

    Returns:
        One row for each dropped prompt, in the order of `prompts`: `prompt_id`, `decision` ("contaminated" or
        "duplicate"), `collides_with` ("<set>:<item>", or the id of a prompt that stays), `overlap`. A prompt that is
        both is contaminated, and no prompt is called the duplicate of a contaminated one.
    """
    contaminated = find_contaminated(prompts, [read_evaluation_set(location) for location in decontaminate])
    spoilt = set(contaminated["prompt_id"])
    others = [prompt for prompt in prompts if prompt.prompt_id not in spoilt] if spoilt else prompts
    duplicates = find_duplicates(others, near)
    dropped = pl.concat([contaminated.select(DROPPED), duplicates.select(DROPPED)])
    names, order = set(dropped["prompt_id"]), dict[str, int]()
    for number, prompt in enumerate(prompts if names else ()):
        if prompt.prompt_id in names:
            order.setdefault(prompt.prompt_id, number)
    dropped = dropped.sort(pl.col("prompt_id").replace_strict(order, return_dtype=pl.Int64))
    if dropped.height or decontaminate:
        progress().note(_sentence(len({prompt.prompt_id for prompt in prompts}), contaminated, duplicates.height))
    return dropped


def _sentence(prompts: int, contaminated: pl.DataFrame, duplicates: int) -> str:
    names = contaminated["collides_with"].str.replace(r"(?s):.*$", "")
    by_set = ", ".join(f"{name} {count:,}" for name, count in sorted(names.value_counts().iter_rows()))
    where = f" ({by_set})" if by_set else ""
    return (
        f"{contaminated.height + duplicates:,} of {prompts:,} prompts dropped before any rollout: "
        f"{contaminated.height:,} contaminated{where}, {duplicates:,} duplicates"
    )


def roll_out_and_score(run: Run, prompts: PromptSet) -> Collected:
    """Give every prompt as many scored rollouts as its decision needs. Needs no engine when the ledger has everything.

    Ctrl-C raises `InterruptedRunError`: finished groups are kept, those in flight are dropped whole.
    """
    with open_sampling(run, prompts, endless=is_endless(run.settings, len(prompts.prompts))) as sampling:
        if sampling.stored:
            progress().note(f"{sampling.stored:,} rollouts reused from {run.settings.store}")
        with sampling.interruptible():
            sampling.run()
            top_up(sampling, run.store)
            progress().stage("Scoring the last rollouts")
            return sampling.collected()


def decide_groups(run: Run, prompts: PromptSet, collected: Collected) -> PackedRows:
    """Decide each group by its certificate, and choose among them. Takes the rows by prompt out of `collected`.

    Returns a row a prompt: its columns, its statistics, its certificate, its decision, and the users' own columns.
    Prompts that were not looked at, since the goal was reached before, are left out. Raises `LearnableError` where
    some prompts are text and some are chats.
    """
    everybody = prompts.everyone
    refuse_mixture(everybody.kinds)
    # They are in order before: of a large pool, sorting the table would take the memory for a second one.
    everyone = everybody.list_rows().lazy()
    # A skipped prompt has no rollouts and stays in the table as not_scored.
    certified = _line_up(everyone.collect(), collected)
    dropped = everyone.join(prompts.dropped.lazy(), on="prompt_id").cast({"decision": pl.Enum(REASONS)})
    parts = [_choose(run.settings, certified), dropped]
    if collected.beliefs:
        parts.append(_list_unsampled(run.settings, everyone, collected))
    decided = pl.concat(parts, how="diagonal")
    if len(parts) > 2 or prompts.dropped_prompts:
        decided = decided.with_columns(pl.col("rollouts", "tokens").fill_null(0)).sort(PROMPT_ORDER)
    if everybody.carry_columns:
        carried = pl.LazyFrame(carried_table(everybody))
        decided = decided.join(carried, on="prompt_id", how="left", maintain_order="left")
    return PackedRows(everybody, decided.collect())


def _line_up(everyone: pl.DataFrame, collected: Collected) -> pl.DataFrame:
    """Join the prompts that were looked at with what was found of them: by narrow joins of rows, and one copy."""
    groups = collected.groups.lazy().filter(pl.col("requested") > 0)
    found = collected.evidence.groups
    rows = (
        everyone.lazy()
        .select("prompt_id")
        .with_row_index("_row")
        .join(groups, on="prompt_id", maintain_order="left")
        .join(
            found.lazy().select("prompt_id").with_row_index("_found"),
            on="prompt_id",
            how="left",
            maintain_order="left",
        )
        .collect()
    )
    prompts = everyone if rows.height == everyone.height else everyone[rows["_row"]]
    names = [name for name in found.columns if name != "prompt_id"]
    # A column at a time leaves what was found: of a large pool, a second copy would take as much memory as all else.
    of_rollouts = pl.DataFrame([found.drop_in_place(name).gather(rows["_found"]) for name in names])
    joined = pl.concat([prompts, rows.drop("prompt_id", "_row", "_found"), of_rollouts], how="horizontal")
    return joined.with_columns(pl.col("rollouts", "tokens").fill_null(0))


def _list_unsampled(settings: CurateSettings, everyone: pl.LazyFrame, collected: Collected) -> pl.LazyFrame:
    """Return rows of prompts without rollouts, with the certificates of their strata or families.

    Those that a prediction rejects, and those that were not asked where the settings keep them.
    """
    listed = pl.col("rejected") | (pl.lit(settings.keep_unasked) & (pl.col("requested") == 0) & ~pl.col("stopped"))
    unsampled = collected.groups.lazy().filter(listed).select("prompt_id", "stratum", "predicted_rate", "rejected")
    knowledge = [
        pl.DataFrame(
            {"stratum": [name]} | describe_belief(Belief(belief.weights[None]), settings.band, settings.group_size)
        )
        for name, belief in sorted(collected.beliefs.items())
    ]
    rows = everyone.join(unsampled, on="prompt_id").join(pl.concat(knowledge).lazy(), on="stratum").drop("stratum")
    certified = rows.with_columns(
        n_eff=pl.lit(0.0), variance_share=pl.lit(1.0), p_keep=pl.col("p_in_band") * pl.col("p_min_std")
    )
    return decide_predicted(certified, settings.band).with_columns(
        expected_within_variance().alias("expected_within_variance")
    )


def _choose(settings: CurateSettings, certified: pl.DataFrame) -> pl.LazyFrame:
    """Decide prompts one by one, then choose among them as the goal and the preset say."""
    groups, budget = certified.lazy(), settings.budget
    decided = decide(groups, settings.band) if budget.sampling == "fixed" else decide_certified(groups, settings.band)
    if budget.precision is not None:
        decided = trim_to_precision(decided, budget.precision)
    scheduled = ("requested", "opening", "stopped", "threshold", "stratum", "rejected")
    return choose(decided, settings.preset).drop(scheduled, strict=False)


def _check_specs(prompts: Iterable[Prompt], bad_rows: BadRows) -> Iterator[Prompt]:
    for prompt in prompts:
        try:
            find_verifier(prompt.verifier).check_spec(prompt.spec)
        except LearnableError as error:
            bad_rows.add(BadRowError(prompt.source, str(error)))
        except Exception as error:  # a user's own judge may raise anything
            why = f"{prompt.verifier} cannot check this spec: {type(error).__name__}: {error}"
            bad_rows.add(BadRowError(prompt.source, why))
        else:
            yield prompt
