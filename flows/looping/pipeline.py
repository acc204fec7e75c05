"""The order of a loop: measure the policy; then each round trains, measures, and refreshes the set for the next one.

Each stage leaves its part in `loop.json`, so that a loop which was stopped goes on at the stage that was under way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from learnable.data.curated.curated_set import POOL_PARTS, open_curated
from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.policies import find_policy
from learnable.data.progress import Silence, progress, watched_by
from learnable.data.storage.lock import hold_output
from learnable.filters.refresh.staleness import CERTIFIED_BY
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.report import CurationReport
from learnable.flows.engines import stop_engines
from learnable.flows.evaluating.pipeline import run_evaluation
from learnable.flows.evaluating.report import EvalReport
from learnable.flows.looping.figure import draw_rounds
from learnable.flows.looping.report import FIGURE, LOOP, LoopReport, LoopRound, read_loop
from learnable.flows.refreshing.pipeline import run_refresh
from learnable.flows.refreshing.pool import open_pool
from learnable.flows.refreshing.publishing import RefreshReport
from learnable.flows.settings import CurateSettings, RefreshSettings
from learnable.flows.settings.evaluation import EvalSettings
from learnable.flows.settings.loop import LoopSettings
from learnable.flows.training.stage import run_training
from learnable.train.monitor.forecast import forecast_training
from learnable.train.preflight.drawing import choose_drawing
from learnable.train.preflight.loading import LoadedSet
from learnable.train.preflight.output import choose_run_folder
from learnable.train.preflight.prepared import prepare_once, preparing_once
from learnable.train.preflight.shards import count_rows
from learnable.train.results.comparison import MIN_PROMPTS
from learnable.train.results.evaluation import read_held_out
from learnable.train.results.figures import write_verdict
from learnable.train.results.report import TrainingReport
from learnable.train.settings import TrainSettings

PREFIX = "loop-"  # of the folders in `runs/`


def train_here(settings: TrainSettings) -> TrainingReport:
    """Train, and tell whoever watches this run. Raises `LearnableError` as `run_training` does."""
    return run_training(settings, progress())


@dataclass(frozen=True, slots=True)
class Stages:
    """What rounds are made of, those of a job too: plain functions, or with Prefect flows and tasks."""

    train: Callable[[TrainSettings], TrainingReport] = train_here
    evaluate: Callable[[EvalSettings], EvalReport] = run_evaluation
    refresh: Callable[[RefreshSettings], RefreshReport] = run_refresh
    find: Callable[[CurateSettings], CurationReport] = run_curation


def run_loop(settings: LoopSettings, stages: Stages | None = None) -> LoopReport:
    """Train, measure and refresh in rounds while held-out reward rises by more than its noise; return the report.

    Raises `LearnableError` for bad input before anything heavy starts, where another process is at this loop, and for a
    stage that failed; `InterruptedRunError` after Ctrl-C. The same call goes on where an earlier one ended so.
    """
    with preparing_once():
        loop = open_loop(settings)
        folder = Path(loop.folder)
        with hold_output(folder, "loop"):
            if (folder / LOOP).is_file():  # another process may have gone on with it since it was opened
                loop = read_loop(folder, settings)
            return _go_round(loop, stages or Stages())


def _go_round(loop: LoopReport, stages: Stages) -> LoopReport:
    loop.write()
    while not loop.end:
        try:
            loop = _run_stage(loop, stages)
        except (InterruptedRunError, KeyboardInterrupt) as stop:
            raise InterruptedRunError(
                f"stopped in round {loop.rounds[-1].number}: what is done is in {loop.folder}; the same command goes "
                "on from there"
            ) from stop
        loop.write()
    draw_rounds(loop, Path(loop.folder) / FIGURE)
    return loop


def open_loop(settings: LoopSettings) -> LoopReport:
    """Return the loop in its folder, or a new one whose settings, set and policy were looked at.

    Without a folder of its own that is the last of `runs/loop-NAME-N`, where these settings go on with it, or else the
    next. Raises `LearnableError` for what cannot work.
    """
    if settings.train.output:
        folder = Path(settings.train.output)
        return read_loop(folder, settings) if (folder / LOOP).is_file() else _begin_loop(folder, settings)
    last = Path(choose_run_folder(settings.train.curated, resume=True, prefix=PREFIX))
    if not (last / LOOP).is_file():
        return _begin_loop(last, settings)
    try:
        earlier = read_loop(last, settings)
    except LearnableError:  # other settings: another loop
        earlier = None
    if earlier and not earlier.end:
        progress().note(f"going on with {last}")
        return earlier
    return _begin_loop(Path(choose_run_folder(settings.train.curated, prefix=PREFIX)), settings)


def _begin_loop(folder: Path, settings: LoopSettings) -> LoopReport:
    """Return a new loop, once everything that can be known now says that its stages will run."""
    curated = open_curated(settings.train.curated)
    policy = settings.train.policy or curated.manifest.policy.name or find_policy().name
    first = _begin_round(settings, 1, str(curated.path), policy)
    if find_policy(policy).adapter:
        raise LearnableError(
            f"policy {policy!r} is a LoRA adapter, and a round leaves it merged into its base: give the merged model, "
            "and `lora_rank` to train adapters in every round"
        )
    prepare_once(_make_train_settings(settings, folder, first))
    settings.make_eval_settings(first.curated, policy)
    train = settings.train
    prompts = read_held_out(curated, train.held_out, train.families, train.eval_limit).prompts
    problems = {prompt.problem_id or prompt.prompt_id for prompt in prompts}
    if len(problems) < MIN_PROMPTS:
        raise LearnableError(
            f"curated set {first.curated!r} holds out {len(problems)} problems that are measured, and a gain is told "
            f"from its noise by {MIN_PROMPTS} or more: curate more prompts, raise `test_share`, or give `held_out` pool"
        )
    if settings.rounds > 1:
        with watched_by(Silence()):  # the refresh will say it
            open_pool(settings.make_refresh_settings(first.curated, policy))
    return LoopReport(str(folder), settings, (first,))


def _run_stage(loop: LoopReport, stages: Stages) -> LoopReport:
    """Return the loop after its next stage."""
    last = loop.rounds[-1]
    if loop.start is None:
        return replace(loop, start=_measure(loop, stages, 0).figures[0])
    if last.trained_policy is None:
        return _with_last(loop, _train(loop, stages))
    if last.held_out is None:
        measured = _measure(loop, stages, last.number)
        gain = measured.against.changes[0] if measured.against else None
        if gain:
            progress().note(f"round {last.number}: {write_verdict(gain)}")
        return _with_last(loop, replace(last, held_out=measured.figures[0], gain=gain))
    progress().note(f"round {last.number}: refreshing {last.version} for the policy that it trained")
    refreshed = stages.refresh(loop.settings.make_refresh_settings(last.curated, last.trained_policy))
    following = _begin_round(loop.settings, last.number + 1, refreshed.curated, last.trained_policy)
    return replace(loop, rounds=(*loop.rounds, following))


def _train(loop: LoopReport, stages: Stages) -> LoopRound:
    last = loop.rounds[-1]
    progress().note(
        f"round {last.number} of at most {loop.settings.rounds}: training on {last.version}, {last.kept} prompts"
    )
    stop_engines()  # an engine and a trainer never share a machine's memory
    report = stages.train(_make_train_settings(loop.settings, Path(loop.folder), last))
    return replace(last, trained_policy=report.trained_policy, steps=report.training.steps)


def _measure(loop: LoopReport, stages: Stages, number: int) -> EvalReport:
    """Measure the policy of a round on the first version's held-out prompts, against that of the round before it."""
    folder, first = Path(loop.folder), loop.rounds[0]
    before = _name_evaluation(folder, number - 1) if number else None
    policy = loop.rounds[number - 1].trained_policy if number else first.policy
    report = stages.evaluate(
        loop.settings.make_eval_settings(first.curated, policy or "", str(before) if before else None)
    )
    report.write(_name_evaluation(folder, number))
    return report


def _begin_round(settings: LoopSettings, number: int, curated: str, policy: str) -> LoopRound:
    version = LoadedSet.of(open_curated(curated))
    train, _ = choose_drawing(settings.train, version)
    forecast = forecast_training(version, train)
    return LoopRound(
        number=number,
        curated=str(version.path),
        parent=version.manifest.parent or "",
        kept=count_rows(version, "train" if train.method == "grpo" else train.rows_part, train.families),
        usable_share=None if forecast is None else round(1 - forecast.zero_std_share, 4),
        refresh_rollouts=_count_rollouts(curated) if number > 1 else 0,
        policy=policy,
    )


def _count_rollouts(curated: str) -> int:
    """Return how many rollouts a refresh rests on: those of its policy, also where it was stopped and went on."""
    version = open_curated(curated)
    parts = [version.read(part, columns=("n", CERTIFIED_BY)) for part in POOL_PARTS if version.shards(part)]
    rows = pl.concat([pl.DataFrame(part) for part in parts], how="vertical_relaxed")
    return int(rows.filter(pl.col(CERTIFIED_BY) == "rollouts")["n"].sum())


def _make_train_settings(settings: LoopSettings, folder: Path, row: LoopRound) -> TrainSettings:
    """Return how a round trains: without held-out figures of the stage's own, since the loop measures every policy."""
    output = folder / f"round-{row.number}" / "train"
    return replace(
        settings.train,
        curated=row.curated,
        policy=row.policy,
        output=str(output),
        evaluate=False,
        resume=(output / "settings.json").is_file(),
    )


def _name_evaluation(folder: Path, number: int) -> Path:
    return folder / f"round-{number}" / "held-out.json" if number else folder / "start.json"


def _with_last(loop: LoopReport, last: LoopRound) -> LoopReport:
    return replace(loop, rounds=(*loop.rounds[:-1], last))
