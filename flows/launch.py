"""Runs the curation from a command line or a notebook, as a Prefect flow or without Prefect."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from learnable.data.progress import Silence, progress, watched_by
from learnable.data.storage.store import Store
from learnable.flows.curation.pipeline import run_pipeline
from learnable.flows.curation.report import Report
from learnable.flows.curation.steps import is_anything_owed, read_prompts
from learnable.flows.engines import engine_for, policy_for, stop_engines
from learnable.flows.run import Run, new_run_id
from learnable.flows.scheduling.server import TEMPORARY, OwnServer, start_own_server
from learnable.flows.settings import CurateSettings
from learnable.flows.stores import held_store
from learnable.train.preflight.checks import prepare_run
from learnable.train.settings import TrainSettings
from learnable.train.stage import train_curated

PREFECT_DEFAULTS = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_LOGGING_LEVEL": "CRITICAL",  # the console says what went wrong, once
}

_temporary: list[OwnServer] = []  # at most one, which all runs of this process share


def run_curation(settings: CurateSettings, train: TrainSettings | None = None, *, use_prefect: bool = False) -> Report:
    """Curate, train on the result if asked to, and return the report.

    Bad input raises `LearnableError` before anything heavy starts.
    """
    with held_store(settings) as store:
        owed = _is_anything_owed(settings, store)
        if not use_prefect or not (owed or has_server()):  # nothing to generate: a server would take longer to start
            return _curate_plainly(settings, train)
        progress().stage("Starting the Prefect server and the engine" if owed else "Starting the Prefect server")
        with prefect_server():  # another process: its start and the engine's go side by side
            if owed:
                engine_for(settings)
        from learnable.flows.curate import curate

        return curate(settings, train)


def run_training(settings: TrainSettings, *, use_prefect: bool = False) -> Report:
    """Train on a curated set, and return the report."""
    if not use_prefect:
        return train_curated(settings, progress()).as_json()
    settings = prepare_run(settings).settings
    progress().stage("Starting the Prefect server")
    with prefect_server():
        from learnable.flows.finetune import finetune

    return finetune(settings)


@contextmanager
def prefect_server() -> Iterator[None]:
    """Start a temporary Prefect server, unless one is configured, while the block runs; wait for it at the end.

    It ends when this process does.
    """
    for name, value in PREFECT_DEFAULTS.items():
        os.environ.setdefault(name, value)
    if has_server() or _temporary:
        yield
        return
    server = start_own_server(TEMPORARY)
    try:
        yield
        server.wait_until_ready()
    except BaseException:
        server.stop()
        raise
    _let_clients_use(server)


def _is_anything_owed(settings: CurateSettings, store: Store) -> bool:
    """Whether the engine is needed; the same look finds bad input early."""
    with watched_by(Silence()):  # the run itself will say it
        prompts = read_prompts(settings)
    return is_anything_owed(Run(new_run_id(), settings, policy_for(settings), store), prompts)


def _curate_plainly(settings: CurateSettings, train: TrainSettings | None) -> Report:
    report = run_pipeline(settings)
    if train is not None:
        stop_engines()
        report["training"] = train_curated(replace(train, curated=report["curated"]), progress()).as_json()
    return report


def has_server() -> bool:
    """Whether a Prefect server is configured, rather than to be started for this run."""
    from prefect.settings import PREFECT_API_URL

    return bool(PREFECT_API_URL.value())


def _let_clients_use(server: OwnServer) -> None:
    """Give the server to Prefect as the one that its clients start where none is configured: they find it running."""
    from prefect.server.api.server import SubprocessASGIServer

    shared = SubprocessASGIServer()
    shared.port, shared.server_process, shared.running = server.port, server.process, True
    _temporary.append(server)
    atexit.register(server.stop)
