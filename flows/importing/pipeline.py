"""The order of an import: read, store what is new, decide as a curation does, publish. Nothing is drawn."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.ledger.counts import ImportSummary, store_counts
from learnable.data.ledger.imports import GivenRollout, Imports
from learnable.data.policies import Policy, find_policy
from learnable.data.progress import progress
from learnable.data.records import Prompt, Rollout, Sampling, Score, Verdict, content_id
from learnable.data.sources.files.bad_rows import BadRows
from learnable.data.sources.rollouts.counts import CountColumns, Counted, is_count_table, is_text_table, read_counts
from learnable.data.sources.rollouts.files import (
    RolloutFiles,
    Survey,
    file_label,
    name_question,
    open_rollout_files,
    read_first,
)
from learnable.data.sources.rollouts.formats import Imported
from learnable.data.sources.selection import PromptSet
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation.inspection import inspect_pool
from learnable.flows.curation.publishing import publish
from learnable.flows.curation.report import CurationReport, build_report, find_warnings
from learnable.flows.curation.steps import decide_groups
from learnable.flows.importing.counted import LARGEST, add_up, collect_counts, is_too_large, question_of
from learnable.flows.importing.judging import Comparison, compare_with_recorded
from learnable.flows.importing.prompts import judged_prompts, name_recorded, pool_of, recorded_prompt
from learnable.flows.run import Run, locked_store, start_run
from learnable.flows.sampling.sampler import Collected, open_sampling
from learnable.flows.settings import ChatSettings, CurateSettings
from learnable.flows.settings.curation import HERE
from learnable.flows.settings.importing import ImportedSettings, ImportSettings
from learnable.rollouts.server.models import UNHASHED
from learnable.verifiers.own.scale import RewardScale, read_scale
from learnable.verifiers.registry import find_verifier, trust_verifier
from learnable.viewing.report import write_beside

COUNTS = "counts"  # the format of count tables


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import came to: the format and the files' names, what is in them, and the set that was made of it.

    `rollouts` are those of the files with a reward, `new` of them were not in the ledger before; `unrewarded` have
    none, and `bad_rows` are no rollouts. Of count tables, `counts` says what came in. `curation` is None where no set
    was made, which `why` explains.
    """

    format: str
    title: str
    files: tuple[str, ...]
    rewards_by: str
    rollouts: int = 0
    new: int = 0
    unrewarded: int = 0
    bad_rows: int = 0
    counts: ImportSummary | None = None
    comparison: Comparison | None = None
    curation: CurationReport | None = None
    why: str = ""


def run_import(settings: ImportSettings) -> ImportReport:
    """Bring files in, and make a curated set of them. Raises `LearnableError` for what is neither rollouts nor counts.

    Ctrl-C raises `InterruptedRunError`: what was written is kept, and the same command goes on from there.
    """
    started = time.monotonic()
    if settings.curation.prompts.verifier:
        trust_verifier(settings.curation.prompts.verifier)
    columns = CountColumns(
        settings.k, settings.rate, settings.curation.prompts.prompt_column, settings.curation.policy or ""
    )
    firsts = [next(iter(read_first(file)), {}) for file in settings.files]
    counted = [is_count_table(first, columns) for first in firsts]
    if any(counted):
        for file, first, is_counted in zip(settings.files, firsts, counted, strict=True):
            if not is_counted and not is_text_table(first):
                raise LearnableError(f"{file!r} is no table of counts, and others are: import it by itself")
        return _import_counts(settings, columns, started)
    for name, given in (("`k`", settings.k), ("`rate`", settings.rate)):
        if given:
            raise LearnableError(f"{name} {given} is for count tables, and these files hold rollouts: leave it out")
    files = open_rollout_files(settings.files, settings.reward, skip_bad_rows=settings.curation.prompts.skip_bad_rows)
    return _import_rollouts(settings, files, started)


def _import_rollouts(settings: ImportSettings, files: RolloutFiles, started: float) -> ImportReport:
    survey, scale = files.survey(), read_range(settings)
    files, survey = _choose_model(settings, files, survey)
    _check_rewards(survey, scale, files)
    policy = find_imported_policy(settings.curation.policy, survey.models, file_label(files.files[0]))
    sampling = replace(settings.curation.sampling, max_tokens=_find_cap(settings, survey))
    engine = ImportedSettings(files.format.name, files.names)
    curation = _as_run(settings.curation, engine, sampling, survey.largest_group)
    recorded = name_recorded(files.format.name, scale)
    family = file_label(files.files[0])
    given = {name: recorded_prompt(recorded, question, family) for name, question in survey.questions.items()}
    bad_rows = BadRows(skip=curation.prompts.skip_bad_rows)
    judge = curation.prompts.verifier
    judged = judged_prompts(survey.questions, curation, family, bad_rows) if judge else {}
    pool = pool_of(list(judged.values() if judge else given.values()), curation)
    pool.bad_rows = survey.bad_rows + bad_rows.settle()
    with locked_store(curation, policy) as store:
        run = start_run(curation, policy, store)
        new = _store(run, files, survey, scale, given, judged=bool(judge))
        report = _publish(run, pool, _collect(run, pool), started)
        both = [name for name in given if name in judged]
        comparison = (
            compare_with_recorded(run, [given[name] for name in both], [judged[name] for name in both])
            if both
            else None
        )
    return ImportReport(
        files.format.name,
        files.format.title,
        files.names,
        recorded,
        survey.rollouts - survey.unrewarded,
        new,
        survey.unrewarded,
        survey.bad_rows,
        comparison=comparison,
        curation=report,
    )


def _import_counts(settings: ImportSettings, columns: CountColumns, started: float) -> ImportReport:
    bad_rows = BadRows(skip=settings.curation.prompts.skip_bad_rows)
    found = []
    for row in read_counts(settings.files, columns, bad_rows.add):
        bad_rows.good += 1
        found.append(row)
    bad_rows.settle()
    names = tuple(Path(file).name for file in settings.files)
    models = sorted({row.count.model for row in found})
    mine = [row for row in found if row.count.model == (settings.curation.policy or models[0])]
    engine = ImportedSettings(COUNTS, names)
    recorded = name_recorded(COUNTS, RewardScale())
    why = _why_no_set(settings, models, mine)
    with locked_store(settings.curation, whole=True) as store:
        summary = store_counts(store.root, [row.count for row in found])
        report = ImportReport(COUNTS, "pass counts", names, recorded, bad_rows=bad_rows.count, counts=summary, why=why)
        if why:
            return report
        totals = add_up(mine)
        largest = max(k for _, k, _ in totals.values())
        curation = _as_run(settings.curation, engine, settings.curation.sampling, min(largest, LARGEST))
        questions = {name: question_of(first) for name, (first, _, _) in totals.items()}
        family = file_label(settings.files[0])
        if curation.prompts.verifier:
            prompts = judged_prompts(questions, curation, family, bad_rows)
        else:
            prompts = {name: recorded_prompt(recorded, one, family) for name, one in questions.items()}
        by_prompt = {prompt.prompt_id: totals[name][1:] for name, prompt in prompts.items()}
        if is_too_large(list(prompts.values()), by_prompt):
            return replace(
                report, why=f"a prompt has more than {LARGEST:,} completions, the most that a set is made of"
            )
        pool = pool_of(list(prompts.values()), curation)
        policy = find_imported_policy(settings.curation.policy or mine[0].count.model, (), family)
        run = start_run(curation, policy, store)
        return replace(report, curation=_publish(run, pool, collect_counts(run, pool, by_prompt), started))


def _why_no_set(settings: ImportSettings, models: Sequence[str], mine: Sequence[Counted]) -> str:
    """Say why no set is made of the counts, or of these models' together; "" where one is."""
    if len(models) > 1 and not settings.curation.policy:
        return f"of {len(models)} models: give `policy` MODEL, one of those above, for a set of its counts"
    if not mine:
        raise LearnableError(
            f"`policy` {settings.curation.policy} is none of the models of these counts: give one of "
            f"{', '.join(models)}"
        )
    if any(row.prompt is None for row in mine):
        return "there are ids and no texts: give a second file with the columns prompt_id and prompt, for a set"
    return ""


def read_range(settings: ImportSettings) -> RewardScale:
    """Return where the files' rewards lie. Raises `LearnableError` for what is no range."""
    passes = settings.reward_pass
    if not settings.reward_range and passes is None:
        return RewardScale()
    try:
        return read_scale(settings.reward_range or "0..1", None if passes is None else repr(passes))
    except LearnableError as error:
        raise LearnableError(str(error).replace("`verifier_", "`reward_")) from error


def _check_rewards(survey: Survey, scale: RewardScale, files: RolloutFiles) -> None:
    low, high = survey.rewards
    if scale.lowest <= low and high <= scale.highest:
        return
    raise LearnableError(
        f"{', '.join(files.names)}: rewards go from {low:g} to {high:g}, outside of "
        f"{scale.lowest:g}..{scale.highest:g}: "
        "say where they lie with `reward_range` LOW..HIGH, and which pass with `reward_pass`, or name another with "
        "`reward`"
    )


def _choose_model(settings: ImportSettings, files: RolloutFiles, survey: Survey) -> tuple[RolloutFiles, Survey]:
    """Return the files with the rollouts of one model alone. Raises `LearnableError` for several, and none named."""
    models, wanted = sorted(filter(None, survey.models)), settings.curation.policy
    if len(models) < 2:
        return files, survey
    if wanted not in models:
        raise LearnableError(
            f"{', '.join(files.names)}: rollouts of {len(models)} models ({', '.join(models)}): name one with `policy`"
        )
    chosen = replace(files, model=str(wanted))
    return chosen, chosen.survey()


def find_imported_policy(name: str | None, models: Iterable[str], label: str) -> Policy:
    """Return whose rollouts these are: a folder's or a hub id's weights where they are known, or a name alone.

    A name alone has the id that a server has of whose weights nothing is known: a run on such a server goes on.
    Raises `LearnableError` for a folder without a model.
    """
    named = [model for model in models if model]
    if name is None:
        if not named:
            progress().note(
                f"the files name no model, so it is called {label!r} here: give `policy`, a folder or a hub id, and "
                "find-learnable goes on from these rollouts"
            )
        name = named[0] if named else label
    elif Path(name).is_dir() or name.startswith((".", "/", "~")):
        return find_policy(name)
    if "/" in name:
        with suppress(LearnableError):  # the hub is out of reach, or has no such model: then its name says which
            return find_policy(name)
    return Policy(path=name, policy_id=f"{name}@{UNHASHED}-{content_id(name)}")


def _find_cap(settings: ImportSettings, survey: Survey) -> int:
    return settings.max_tokens or survey.longest or Sampling().max_tokens


def _as_run(settings: CurateSettings, engine: ImportedSettings, sampling: Sampling, largest: int) -> CurateSettings:
    """Return the settings of a curation that draws nothing, of groups of any size."""
    return replace(
        settings,
        engine=engine,
        sampling=sampling,
        chat=ChatSettings(mode="off"),
        budget=SamplingBudget(max_group=max(largest, settings.group_size)),
        predict="off",
        workers=settings.workers if settings.prompts.verifier else 0,
        score_on=settings.score_on if settings.prompts.verifier else HERE,
    )


def _store(
    run: Run, files: RolloutFiles, survey: Survey, scale: RewardScale, given: dict[str, Prompt], *, judged: bool
) -> int:
    """Bring the rollouts into the ledger; return how many are new. Those without a reward are for a judge alone."""
    prompts = list(given.values())
    version = find_verifier(prompts[0].verifier).version
    imports, new, looked_at = Imports(run.store.ledger, run.draw, prompts, version), 0, 0
    rows = _to_rollouts(run, files, scale, given, judged=judged)
    try:
        for written in imports.store(rows):
            new, looked_at = new + written, min(looked_at + 4096, survey.rollouts)
            progress().rollouts(looked_at, survey.rollouts, 0)
    except KeyboardInterrupt as interrupt:
        raise InterruptedRunError(
            f"stopped: {new:,} new rollouts are safe in {run.settings.store}; the same command goes on from there"
        ) from interrupt
    return new


def _to_rollouts(
    run: Run, files: RolloutFiles, scale: RewardScale, given: dict[str, Prompt], *, judged: bool
) -> Iterator[GivenRollout]:
    for key, one in files.read():
        if one.reward is None and not judged:
            continue
        prompt = given[name_question(one.prompt, one.row)]
        yield GivenRollout(key, prompt, _make_rollout(run, prompt, one), _make_score(one, scale))


def _make_rollout(run: Run, prompt: Prompt, one: Imported) -> Rollout:
    sampling = run.settings.sampling
    return Rollout(
        question_id=prompt.question_id,
        policy_id=run.policy.policy_id,
        sampling_id=sampling.sampling_id,
        max_tokens=sampling.max_tokens,
        rollout_index=0,
        completion=one.completion,
        finish_reason=one.finish_reason,
        num_tokens=one.num_tokens,
    )


def _make_score(one: Imported, scale: RewardScale) -> Score:
    if one.reward is None:
        return Score.unscored("the file has no reward for it")
    found = scale.score(one.reward)
    parts = {name: value for name, value in one.components.items() if 0 <= value <= 1}
    verdict: Verdict = "truncated" if one.finish_reason == "length" else "scored"
    passed = found.passed if one.passed is None else one.passed
    return replace(found, passed=passed, components=parts, verdict=verdict)


def _collect(run: Run, pool: PromptSet) -> Collected:
    progress().stage("Deciding")
    with open_sampling(run, pool) as sampling:
        sampling.take_stored()
        collected = sampling.collected()
    lengths = collected.evidence.lengths.filter(collected.evidence.lengths["num_tokens"] > 0)
    return replace(collected, evidence=replace(collected.evidence, lengths=lengths))


def _publish(run: Run, pool: PromptSet, collected: Collected, started: float) -> CurationReport:
    decided = decide_groups(run, pool, collected)
    inspection = inspect_pool(decided.rows, collected)
    curated = publish(run, decided, collected, inspection)
    write_beside(curated, run.store)
    if curated.manifest.run_id == run.run_id:  # else the last version says the same
        run.store.write_groups(run.run_id, decided)
    seconds = time.monotonic() - started
    report = build_report(run, pool, decided.rows, curated, collected, inspection, seconds=seconds)
    for warning in find_warnings(report):
        progress().warn(warning)
    return report
