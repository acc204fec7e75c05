"""Starts what was asked for on the command line or in a notebook: at once or on a schedule, with or without Prefect."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import LearnableError
from learnable.data.progress import Silence, progress, watched_by
from learnable.data.store import Store
from learnable.flows.curation import pipeline as curation
from learnable.flows.curation.goal import is_endless
from learnable.flows.curation.report import CurationReport
from learnable.flows.curation.steps import read_prompts
from learnable.flows.engines import engine_for, policy_for, stop_engines
from learnable.flows.looping import job as jobs
from learnable.flows.looping import pipeline as looping
from learnable.flows.looping.job_report import JobReport
from learnable.flows.looping.report import LoopReport
from learnable.flows.refreshing import pipeline as refreshing
from learnable.flows.refreshing.pool import open_pool
from learnable.flows.refreshing.publishing import RefreshReport
from learnable.flows.run import locked_store, start_run
from learnable.flows.sampling.sampler import is_anything_missing
from learnable.flows.scheduling.server import has_server, prefect_server
from learnable.flows.settings import CurateSettings, RefreshSettings
from learnable.flows.settings.loop import LoopSettings
from learnable.flows.tracking import check_tracker
from learnable.flows.training import stage as training
from learnable.train.preflight.bounds import check_numbers
from learnable.train.preflight.prepared import prepare_once, preparing_once
from learnable.train.results.report import TrainingReport
from learnable.train.settings import TrainSettings

if TYPE_CHECKING:
    from learnable.flows.scheduling.timetable import Timetable


def run_curation(
    settings: CurateSettings, train: TrainSettings | None = None, *, use_prefect: bool = False
) -> CurationReport:
    """Curate, train on the result where `train` says how, and return the report.

    Bad input raises `LearnableError` before anything heavy starts.
    """
    settings.engine.check()
    check_tracker(settings.report_to)
    with ExitStack() as locks:
        store = locks.enter_context(locked_store(settings))
        missing = use_prefect and _is_engine_needed(settings, store)
        if not use_prefect or not (missing or has_server()):  # a server would take longer to start than this run
            report = curation.run_curation(settings)
            locks.close()  # a training measures held-out prompts in processes that write to the store
            return report if train is None else _train_on(report, train)
        _start_server(settings, engine=missing)
        from learnable.flows.curate import curate

        if train is not None:
            locks.close()  # the flow takes it again, for as long as it curates
        return curate(settings, train)


def run_training(settings: TrainSettings, *, use_prefect: bool = False) -> TrainingReport:
    """Train on a curated set, and return the report. Raises `LearnableError` before anything heavy starts."""
    if not use_prefect:
        return training.run_training(settings, progress())
    with preparing_once():
        settings = prepare_once(settings).settings
        progress().stage("Starting the Prefect server")
        with prefect_server():
            from learnable.flows.finetune import finetune

        return finetune(settings)


def run_refresh(settings: RefreshSettings, *, use_prefect: bool = False) -> RefreshReport:
    """Refresh a curated set, and return the report. Bad input raises `LearnableError` before anything heavy starts."""
    pool = open_pool(settings)
    pool.settings.engine.check()
    with locked_store(pool.settings):
        with watched_by(Silence()):  # the run itself will say it
            needed = refreshing.is_engine_needed(settings)
        if not (use_prefect and needed):  # a server would take longer to start than this run
            return refreshing.run_refresh(settings)
        _start_server(pool.settings, engine=True)
        from learnable.flows.refresh import refresh

        return refresh(settings)


def run_loop(settings: LoopSettings, *, use_prefect: bool = False) -> LoopReport:
    """Train and refresh in rounds, and return the report. Raises `LearnableError` before anything heavy starts."""
    if not use_prefect:
        return looping.run_loop(settings)
    with preparing_once():
        with watched_by(Silence()):  # the run itself will say it
            looping.open_loop(settings)
        progress().stage("Starting the Prefect server")
        with prefect_server():
            from learnable.flows.loop import loop

        return loop(settings)


def run_job(curate: CurateSettings, train: TrainSettings, *, use_prefect: bool = False) -> JobReport:
    """Find prompts and train on them, in rounds, and return the report.

    Bad input raises `LearnableError` before anything heavy starts.
    """
    curate.engine.check()
    check_tracker(curate.report_to)
    if not use_prefect:
        return jobs.run_job(curate, train)
    check_numbers(train)
    jobs.plan_job(curate, train)
    progress().stage("Starting the Prefect server")
    with prefect_server():
        from learnable.flows.job import job

    return job(curate, train)


def serve_curation(settings: CurateSettings, train: TrainSettings | None, when: Timetable) -> None:
    """Curate on a schedule until SIGINT or SIGTERM. Raises `LearnableError` for input that no run could work with."""
    when.refuse_own_versions("a curation")
    settings.engine.check()
    check_tracker(settings.report_to)
    with watched_by(Silence()):  # each run will say it
        read_prompts(settings)
    policy_for(settings)
    from learnable.flows.curate import curate
    from learnable.flows.scheduling.serving import serve_flow

    serve_flow(curate, settings.set_name, {"settings": settings, "train": train}, when)


def serve_refresh(settings: RefreshSettings, when: Timetable) -> None:
    """Refresh on a schedule, as `serve_curation` curates."""
    when.refuse_own_versions("a refresh")
    pool = open_pool(settings)
    pool.settings.engine.check()
    from learnable.flows.refresh import refresh
    from learnable.flows.scheduling.serving import serve_flow

    serve_flow(refresh, pool.settings.set_name, {"settings": settings}, when)


def serve_training(settings: TrainSettings, when: Timetable) -> None:
    """Train on a schedule, as `serve_curation` curates: each run in a folder of its own.

    Raises `LearnableError` for settings that name one folder, or that no run could work with.
    """
    if settings.output or settings.resume:
        raise LearnableError("each scheduled run trains in a folder of its own: leave out `output` and `resume`")
    check_numbers(settings)
    curated = open_curated(settings.curated)
    from learnable.flows.finetune import finetune
    from learnable.flows.scheduling.serving import serve_flow

    serve_flow(finetune, curated.path.parent.name, {"settings": settings}, when)


def serve_loop(settings: LoopSettings, when: Timetable) -> None:
    """Loop on a schedule, as `serve_training` trains. Raises `LearnableError` for settings that name one folder."""
    when.refuse_own_versions("a loop")
    if settings.train.output:
        raise LearnableError("each scheduled loop has a folder of its own: leave out `output`")
    check_numbers(settings.train)
    curated = open_curated(settings.train.curated)
    from learnable.flows.loop import loop
    from learnable.flows.scheduling.serving import serve_flow

    serve_flow(loop, curated.path.parent.name, {"settings": settings}, when)


def _start_server(settings: CurateSettings, *, engine: bool) -> None:
    """Start Prefect's server, another process, and the `engine` beside it, or first where its options may be wrong."""
    if engine and settings.engine.options:
        progress().stage("Starting the engine")
        engine_for(settings)
        engine = False
    progress().stage("Starting the Prefect server and the engine" if engine else "Starting the Prefect server")
    with prefect_server():
        if engine:
            engine_for(settings)


def _is_engine_needed(settings: CurateSettings, store: Store) -> bool:
    """Whether the ledger lacks rollouts; the same look finds bad input early."""
    with watched_by(Silence()):  # the run itself will say it
        prompts = read_prompts(settings)
    run, endless = start_run(settings, policy_for(settings), store), is_endless(settings, len(prompts.prompts))
    return is_anything_missing(run, prompts, endless=endless)


def _train_on(report: CurationReport, train: TrainSettings) -> CurationReport:
    stop_engines()
    return replace(report, training=training.run_training(replace(train, curated=report.curated), progress()))
